"""What a card, its check, a comparison of cards and a gate show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge.estimation import RateInterval
from adjudge.evaluation import JudgeEvaluation, VerdictAgreement
from adjudge.gating import CardCheck, CardDiff, GateResult, JudgeCard, LabelsOnCard
from adjudge.gating.card import PromiseOnCard
from adjudge.gating.card_check import Change
from shown import assert_shown, decision, ends, legend, read_lines, y_ticks

AGREEMENT = VerdictAgreement(
    judge="gpt",
    n=20,
    n_rows=30,
    clusters=20,
    agreement=0.8,
    interval=ends(0.6, 0.95),
    constant="pass",
    gain=0.3,
    gain_interval=ends(0.1, 0.5),
    kappa=None,
    kappa_interval=None,
    names=("pass", "fail"),
    matrix=((8, 2, 0), (2, 8, 0)),
    classes=(),
    people=None,
)
CARD = JudgeCard(
    made_on="2026-11-19",
    expires_on="2026-12-31",
    expires_after=5000,
    judge="gpt",
    protocol="grade",
    judge_fingerprint="f1",
    fingerprint_parts={"model": "gpt", "protocol": "grade", "protocol.criteria": "x" * 200},
    calibrated_on={"served_model": ("gpt-2026-01",)},
    labels=LabelsOnCard(
        n=20,
        digest="sha256:ab",
        labelled_by={"person": 20},
        raters=2,
        first="2026-10-01",
        last="2026-10-09",
    ),
    evaluation=JudgeEvaluation(
        unit="answer",
        drawn="random",
        clustered_by=None,
        confidence_level=0.95,
        judges=(AGREEMENT,),
        assumptions=("FIRST",),
        dropped={},
        seed=0,
    ),
    policy=PromiseOnCard(
        digest="sha256:cd",
        guarantee="pac",
        alpha=0.1,
        delta=0.1,
        coverage=0.5,
        empirical_risk=0.04,
        promise="THE PROMISE",
        not_promised="ANOTHER",
    ),
    verdict_codes=(0,) * 8 + (1,) * 2 + (0,) * 2 + (1,) * 8,
    label_codes=(0,) * 10 + (1,) * 10,
    adjudge_version="0.1.0",
)
GATE = GateResult(
    outcome="pass",
    at_least=0.8,
    confidence_level=0.95,
    decided_by="labels of this run",
    numbers=(
        RateInterval(
            name=None,
            estimate=0.85,
            interval=ends(0.81, 0.89),
            naive=0.9,
            n=600,
            n_labels=120,
            reason=None,
        ),
    ),
    assumptions=("FIRST",),
    warnings=("A WARNING",),
    dropped={"no judge verdict": 2},
)
CHECK = CardCheck(path="card.json", digest="matches")
SAME = CardDiff(old="old.json", new="new.json", changes=())
PROMISE = (
    "detail: Promise: if people's rate is at least 0.800, the gate fails in about 2.5 % of samples "
    "or less; if it is not, it passes in about 2.5 % or less"
)
BELOW = [
    "warning: A WARNING",
    "left out 2 rows: no judge verdict",
    "detail: What this assumes and does not promise",
    PROMISE,
    "detail: It assumes: FIRST",
    "figure: The numbers that the gate decides on; a line at what was asked for.",
]


def test_a_card() -> None:
    lines = read_lines(CARD._repr_html_())
    assert lines[:18] == [
        "gpt agrees with people on 80 % of 20 labelled answers, 95 % interval [60.0, 95.0]",
        "It expires on 2026-12-31 or after 5,000 rows.",
        "line | on this card",
        "judge | gpt",
        "protocol | grade",
        "fingerprint | f1",
        "model | gpt",
        "served_model | gpt-2026-01",
        "labels | 20, drawn: at random",
        "labels made | 20 by a person, 2 raters",
        "labels from | 2026-10-01 to 2026-10-09",
        "labels digest | sha256:ab",
        "agreement | 80 % [60.0, 95.0]",
        "policy | sha256:cd",
        "promise | THE PROMISE",
        "accepted of the labels | 50 %, 4 % wrong",
        "made | 2026-11-19",
        "expires | on 2026-12-31 or after 5,000 rows",
    ]
    assert "detail: It does not promise: ANOTHER" in lines
    assert 'that is 30.0 points more than always saying "pass" [10.0, 50.0]' in lines
    assert "adjudge monitor judge ROWS --judge JUDGE --state judge.json" in str(CARD)
    never = replace(CARD, expires_on=None, expires_after=None, policy=None, fingerprint_parts=None)
    assert "expires" in str(never)
    assert "It expires" not in str(never)


def test_a_gate_that_passes_fails_or_does_not_know() -> None:
    first = "people's number 0.850 [0.810, 0.890]; asked for at least 0.800"
    second = "120 labels, 600 rows; the judge alone says 0.900"
    assert_shown(GATE, [f"PASS: {first}", second, *BELOW])
    assert decision(GATE) == f"Pass: {first}"
    assert_shown(replace(GATE, outcome="fail"), [f"bad: FAIL: {first}", second, *BELOW])
    unknown = replace(
        GATE,
        outcome="inconclusive",
        reasons=("A REASON",),
        labels_needed=300,
        questions_needed=None,
    )
    needed = "about 300 labels in all decide, if the number stays as it is"
    assert_shown(unknown, [f"INCONCLUSIVE: {first}", "A REASON", needed, second, *BELOW])


def test_a_gate_by_the_judge_alone_or_by_the_card() -> None:
    [number] = GATE.numbers
    alone = replace(
        GATE,
        outcome="inconclusive",
        decided_by="the judge alone",
        numbers=(replace(number, estimate=None, interval=None, n_labels=0),),
    )
    assert str(alone).startswith(
        "INCONCLUSIVE: people's number is not known; asked for at least 0.800"
    )
    card = str(replace(GATE, decided_by="labels of the card"))
    assert "120 labels of the card, 600 rows" in card
    assert (
        "errs on these rows as on the labelled rows of its card"
        in replace(GATE, decided_by="labels of the card").explain()
    )


def test_a_gate_of_several_numbers_and_one_against_a_baseline() -> None:
    [number] = GATE.numbers
    several = replace(GATE, numbers=(replace(number, name="a"), replace(number, name="b")))
    lines = str(several).splitlines()
    assert lines[0] == (
        "PASS: a 0.850 [0.810, 0.890], b 0.850 [0.810, 0.890]; asked for at least 0.800"
    )
    gap = replace(number, name="new - old", estimate=0.01, interval=ends(-0.01, 0.03), naive=0.02)
    against = replace(
        GATE, at_least=None, margin=0.02, numbers=(gap,), warnings=(), questions_needed=900
    )
    lines = str(against).splitlines()
    assert lines[:3] == [
        "PASS: new - old 0.010 [-0.010, 0.030]; asked for at least -0.020 against the baseline",
        "about 900 labelled questions in all decide, if the number stays as it is",
        "120 labels, 600 questions; the judge alone says 0.020",
    ]


def test_the_picture_of_a_gate_has_its_limits() -> None:
    [axes] = GATE.plot().axes
    assert y_ticks(axes) == ["all rows"]
    assert axes.get_xlabel() == "asked for at least 0.800"
    assert [line.get_xdata()[0] for line in axes.lines] == [0.81, 0.8]
    assert legend(GATE.plot()) == ["people's number, with its interval", "the judge alone"]
    [number] = GATE.numbers
    long = replace(number, name="answers of monday.csv - answers of sunday.csv")
    against = replace(GATE, at_least=None, margin=0.02, numbers=(long,))
    [axes] = against.plot().axes
    assert y_ticks(axes) == [long.name]
    assert axes.lines[-1].get_xdata()[0] == -0.02


@pytest.mark.parametrize(
    ("check", "first"),
    [
        (
            CHECK,
            "card.json is unchanged: its digest matches",
        ),
        (
            CardCheck(path="card.json", digest="matches", with_rows=True),
            "card.json is unchanged: its digest matches, and it agrees with the rows",
        ),
        (
            CardCheck(path="card.json", digest="differs", unreadable="labels.n is text"),
            "card.json was changed: its digest differs; labels.n is text",
        ),
        (
            CardCheck(path="card.json", digest="matches", expired="the card expired on 2026-12-31"),
            "card.json does not hold: the card expired on 2026-12-31; its digest matches",
        ),
        (
            CardCheck(
                path="card.json",
                digest="matches",
                with_rows=True,
                changes=(Change(line="agreement", old="80 %", new="70 %"),),
            ),
            "card.json was changed: its digest matches, and 1 line differs with the rows",
        ),
    ],
)
def test_a_check(check: CardCheck, first: str) -> None:
    assert str(check).splitlines()[0] == first
    assert check.intact == ("unchanged" in first)


def test_what_changed() -> None:
    changes = (
        Change(line="fingerprint", old="f1", new="f2"),
        Change(line="expires", old=None, new="on 2026-12-31"),
    )
    assert_shown(
        CardDiff(old="old.json", new="new.json", changes=changes),
        [
            "2 lines changed: fingerprint, expires",
            "line | old.json | new.json",
            "fingerprint | f1 | f2",
            "expires | – | on 2026-12-31",
        ],
    )
    assert_shown(SAME, ["new.json says what old.json says"])
