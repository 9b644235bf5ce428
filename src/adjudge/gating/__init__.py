"""DECIDE: the card of a judge, and the gate that passes or fails a run by people's number."""

from adjudge.gating.card import JudgeCard, LabelsOnCard, ReadingCard, make_card, read_card
from adjudge.gating.card_check import CardCheck, CardDiff, diff_cards, verify_card
from adjudge.gating.decision import Outcome, decide
from adjudge.gating.gate import GateResult, ReadingRun, gate

__all__ = [
    "CardCheck",
    "CardDiff",
    "GateResult",
    "JudgeCard",
    "LabelsOnCard",
    "Outcome",
    "ReadingCard",
    "ReadingRun",
    "decide",
    "diff_cards",
    "gate",
    "make_card",
    "read_card",
    "verify_card",
]
