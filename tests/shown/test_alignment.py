"""What people see of an alignment: fixed results in, exact text out."""

from __future__ import annotations

from dataclasses import replace

from adjudge.alignment import Alignment, AlignmentPlan
from adjudge.alignment.parts import Look
from adjudge.alignment.result import ChangedRow, TriedPrompt
from adjudge.records import Interval
from shown import assert_shown, decision, panel, points, title, y_ticks

TEXTS = {"prompt": "q", "response_a": "x", "response_b": "y"}
RESULT = Alignment(
    judge="openai:small",
    proposer="openai:large",
    protocol="preference",
    chosen="rewrite 1.2",
    gain=0.213,
    interval=Interval(0.116, 0.3, level=0.95),
    own_accuracy=0.607,
    own_interval=Interval(0.51, 0.69, level=0.975),
    aligned_accuracy=0.82,
    aligned_interval=Interval(0.74, 0.88, level=0.975),
    look=1,
    looks=1,
    ledger=(
        Look(look=1, own="openai:small, own ab", chosen="openai:small, rewrite cd", rows="ef"),
    ),
    n_propose=60,
    n_select=90,
    n_certify=150,
    certify_questions=150,
    smallest_gain=0.0723,
    own_on_select=0.6,
    best_on_select=0.8,
    tried=(
        TriedPrompt(name="rewrite 1.2", rows=90, accuracy=0.8),
        TriedPrompt(name="rewrite 1.3", rows=0, accuracy=None, dropped="it copies a case"),
    ),
    own_prompt="Which is better?\n{prompt}",
    aligned_prompt="Which is correct?\n{prompt}",
    changed=(
        ChangedRow(id="p1", change="fixed", label="A", before="B", after="A", texts=TEXTS),
        ChangedRow(id="p2", change="broken", label="A", before="A", after=None, texts=TEXTS),
    ),
    suspects=("p7",),
    calls=1910,
    cost=0.42,
    own_cost_per_row=0.0001,
    aligned_cost_per_row=0.0002,
    alpha=0.1,
    guarantee="scope",
    accepted_share=0.547,
    seed=0,
    store="align.db",
    dropped={"no label": 12},
    assumptions=("labels are random",),
)
KEPT = replace(
    RESULT,
    **dict.fromkeys(
        ("chosen", "gain", "interval", "own_accuracy", "own_interval", "aligned_accuracy",
         "aligned_interval", "look", "aligned_prompt", "own_cost_per_row", "aligned_cost_per_row",
         "accepted_share", "cost"),
    ),
    ledger=(), changed=(), suspects=(), dropped={}, best_on_select=0.62,
)  # fmt: skip


PLAN = AlignmentPlan(
    judge="x",
    n_propose=60,
    n_select=90,
    n_certify=150,
    certify_questions=150,
    candidates=12,
    smallest_gain=0.0723,
    looks_left=1,
    most_calls=3060,
    most_cost=None,
)


def test_a_gain() -> None:
    assert_shown(
        RESULT,
        [
            "Gain 0.213, 95 % interval [0.116, 0.300], on 150 labels that the search never saw "
            "(look 1 of 1)",
            "own 0.607 [0.510, 0.690], aligned 0.820 [0.740, 0.880] (97.5 % intervals); chosen: "
            "rewrite 1.2, of 1 prompt tried, 1 rewrite not usable, 1,910 calls, $0.42",
            "policy: scope accepts 54.7 % at alpha 0.1",
            "detail: Cost",
            "detail: Dollars a row: own 0.00010, aligned 0.00020",
            "detail: What changed in the prompt",
            "detail: -Which is better?",
            "detail: +Which is correct?",
            "detail: Changed verdicts: 1 fixed, 1 broken",
            "detail: row | change | people | before | after",
            "detail: p1 | fixed | A | B | A",
            "detail: p2 | broken | A | A | none",
            "figure: Accuracy on labels that the search never saw, with both intervals.",
            "detail: All prompts that were tried",
            "detail: prompt | rows of select | accuracy | dropped",
            "detail: rewrite 1.2 | 90 | 0.800",
            "detail: rewrite 1.3 | 0 | – | it copies a case",
            "detail: Suspect labels",
            "detail: 1 label to check: all good prompts disagree with them. Relabel them without "
            "showing this list, mixed with other rows: p7",
            "detail: Looks at these labels",
            "detail: look 1: openai:small, rewrite cd against openai:small, own ab",
            "left out, 12 rows: no label",
            "detail: What this assumes",
            "detail: labels are random",
        ],
    )


def test_no_gain() -> None:
    lines = str(replace(RESULT, gain=0.02, interval=Interval(-0.05, 0.09, level=0.95))).splitlines()
    assert lines[0].startswith("No gain shown: gain 0.020, 95 % interval [-0.050, 0.090]")
    assert str(KEPT).splitlines()[:2] == [
        "No gain shown: the own prompt stays. On 90 labels of the search it is right on 60 %, the "
        "best other prompt on 62 %",
        "1 prompt tried, 1 rewrite not usable, 1,910 calls. The 150 labels kept for the final "
        "number were not used; they can show a gain of 7.2 points or more.",
    ]


def test_the_picture() -> None:
    axes = panel(RESULT)
    assert title(axes) == "Gain 0.213 [0.116, 0.300] on 150 labels"
    assert y_ticks(axes) == ["own prompt", "aligned prompt"]
    assert points(axes) == [[(51.0, 0.0), (69.0, 0.0)], [(74.0, 1.0), (88.0, 1.0)]]


def test_repeated_questions_are_named() -> None:
    lines = str(replace(PLAN, certify_questions=40, smallest_gain=0.196)).splitlines()
    assert lines[0] == (
        "150 labels on 40 questions for the final number can show a gain of 19.6 points or more"
    )


def test_a_plan() -> None:
    assert str(PLAN).splitlines() == [
        "150 labels for the final number can show a gain of 7.2 points or more",
        "60 labels to propose, 90 to select, 150 to certify; 1 look left. 12 candidates, 3,060 "
        "calls at most; no price is known.",
    ]


def test_what_follows_from_an_alignment() -> None:
    assert decision(RESULT) == "Use prompt rewrite 1.2: gain 0.213 [0.116, 0.300]"
    assert decision(KEPT) == "Keep your own prompt: no gain shown"
