"""DOUBT: how unsure a judge is of a verdict; higher means more doubt."""

from adjudge.uncertainty.entropy import (
    confidence,
    mean_preference,
    preference_entropy,
    verdict,
    verdicts,
)
from adjudge.uncertainty.single_order import random_orders, single_order_preference
from adjudge.uncertainty.swap_vote import swap_vote_preference

__all__ = [
    "confidence",
    "mean_preference",
    "preference_entropy",
    "random_orders",
    "single_order_preference",
    "swap_vote_preference",
    "verdict",
    "verdicts",
]
