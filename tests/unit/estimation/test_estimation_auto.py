"""Which method is taken without asking, and what is said about the ones that were not."""

from __future__ import annotations

import numpy as np
import pytest
from estimation_rows import HUMAN, JUDGE, paper

from adjudge.estimation import estimate
from adjudge.estimation.groups import GroupedEstimate
from adjudge.present.text import interval


def test_auto_follows_what_is_recorded_and_what_the_judge_says() -> None:
    rows = {"judge": JUDGE, "human": HUMAN}
    recorded = estimate({**rows, "sampled_by": [None] * 1000 + ["random"] * 200})
    assert (recorded.method, recorded.labels_drawn) == ("conditional", "recorded")
    assert "sampled_by" in recorded.why
    for one_unmarked in (None, ""):
        some = [None] * 1000 + ["random"] * 199 + [one_unmarked]
        assert estimate({**rows, "sampled_by": some}).method == "misclassification"
    doubt = [None] * 1000 + ["random"] * 199 + ["doubt"]  # left out, so that the others are random
    assert estimate({**rows, "sampled_by": doubt}).method == "conditional"
    soft = [0.9 if v else 0.2 for v in JUDGE]
    assert estimate(judge=soft, human=HUMAN).method == "misclassification"
    assert estimate(judge=soft, human=HUMAN, labels_are_random=True).method == "ppi++"
    words = [["B", "A"][v] for v in JUDGE]
    classes = [None if h is None else ["B", "A"][h] for h in HUMAN]
    assert estimate(judge=words, human=classes, labels_are_random=True).method == "ppi++"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strata": ["a", "b"] * 600}, "--strata"),
        ({"interval": "profile"}, "--interval profile"),
        ({"by": ["a", "b"] * 600, "pool": True}, "--pool"),
    ],
)
def test_options_that_ask_for_a_confusion_matrix_get_one(
    options: dict[str, object], said: str
) -> None:
    got = estimate(judge=JUDGE, human=HUMAN, labels_are_random=True, **options)
    assert got.method == "misclassification"
    one = got.groups[0] if isinstance(got, GroupedEstimate) else got
    assert one.why == f"misclassification, because {said} needs it"


def test_what_declaring_and_people_alone_would_give_is_said() -> None:
    got = paper()
    declared = paper(labels_are_random=True)
    offer = got.if_random
    assert (offer.estimate, offer.low, offer.high) == (
        declared.estimate, declared.low, declared.high,
    )  # fmt: skip
    assert f"--labels-are-random gives {declared.text} (conditional)" in str(got)
    assert declared.if_random is None
    assert "Random labels?" not in str(declared)
    people = paper(method="human-only")
    for result in (got, declared):
        assert (result.people_alone.low, result.people_alone.high) == (people.low, people.high)
        ends = interval(people.low, people.high)
        assert f"human-only random labels 0.500 {ends}" in " ".join(result.explain().split())
    assert got.people_are_narrower
    assert "People alone are narrower, if the labels are a random sample: " in str(got)
    assert not declared.people_are_narrower
    assert "narrower" not in str(declared)
    assert people.people_alone is None


def test_the_verdicts_on_random_labels_count_for_the_judges_rate_too() -> None:
    declared, asked = paper(labels_are_random=True), paper(method="conditional")
    p = (550 + 120) / 1200
    assert declared.estimate == pytest.approx(p * 90 / 120 + (1 - p) * 10 / 80)
    assert asked.estimate == pytest.approx(0.55 * 90 / 120 + 0.45 * 10 / 80)
    assert declared.width < asked.width
    # Else labels that leave few test rows would make it wider than people alone.
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.5
    judge = np.where(rng.random(600) < 0.85, truth, ~truth).astype(int)
    human = [*truth[:560].astype(int).tolist(), *[None] * 40]
    most = estimate(judge=judge, human=human, labels_are_random=True)
    assert not most.people_are_narrower
    assert estimate(judge=judge, human=human, method="conditional").people_are_narrower


def test_no_label_under_one_verdict_says_which_rows_to_label() -> None:
    judge = [1, 0] * 50 + [1] * 30
    human = [None] * 100 + [1, 0, 1] * 10
    got = estimate(judge=judge, human=human, labels_are_random=True)
    assert got.estimate is None
    assert "says 0 on 38.5 % of the rows" in got.reason
    assert "label some rows of verdict 0 at random" in got.reason


def test_an_interval_of_everything_is_no_number() -> None:
    # A judge barely better than a coin on 20 labels: Eq. 6 reaches over both ends.
    judge = [1, 0] * 100 + [1] * 6 + [0] * 4 + [0] * 6 + [1] * 4
    human = [None] * 200 + [1] * 10 + [0] * 10
    for shape in ("wald", "profile"):
        got = estimate(judge=judge, human=human, interval=shape)
        assert got.estimate is got.low is got.high is None
        assert "the interval is all of [0, 1]" in got.reason
        assert str(got).startswith("No misclassification estimate: the interval is all")
    clustered = estimate(judge=judge, human=human, cluster=[i % 3 for i in range(220)])
    assert clustered.estimate is None
    both = estimate(judge=judge * 2, human=human * 2, by=["a"] * 220 + ["b"] * 220)
    assert both.refused == ("a", "b")


def test_people_alone_of_classes() -> None:
    words = [["B", "A"][v] for v in JUDGE]
    classes = [None if h is None else ["B", "A"][h] for h in HUMAN]
    exact = paper(method="human-only")
    shares = estimate(judge=words, human=classes).classes
    assert shares[0].human_only_interval == exact.interval


def test_people_alone_are_narrower_only_if_it_shows() -> None:
    judge = [1] * 26 + [0] * 24 + [1] * 14 + [0] * 7
    human = [1] * 14 + [0] * 12 + [1] * 7 + [0] * 17 + [None] * 21
    got = estimate(judge=judge, human=human, method="conditional")
    assert round(got.people_alone.width, 4) == 0.2861 < round(got.width, 4) == 0.2865
    assert "narrower" not in str(got)
