"""The front door: which method, which rows, what is refused and what is said."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimation_rows import HUMAN, JUDGE, paper
from tests.support.estimation_rows import METHODS

from adjudge.data.grades import prepare_grades
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate, plan_rate
from adjudge.estimation.classes import ClassEstimate
from adjudge.estimation.groups import GroupedEstimate
from simulators import BinaryModel, binary_rows


def test_the_papers_case_through_the_front_door() -> None:
    got = paper()
    assert got.method == "misclassification"
    assert got.estimate == pytest.approx(0.25 / 0.6, abs=1e-12)
    assert (got.low, got.high) == pytest.approx((0.3005595043455206, 0.5229674313921099), abs=1e-12)
    assert (got.naive, got.sensitivity, got.specificity) == (0.55, 0.9, 0.7)
    assert (got.n_test, got.n_calibration_positive, got.n_calibration_negative) == (1000, 100, 100)
    # Eq. 9 by hand: (0.55*0.45/1000 + (7/12)^2*0.21/100 + (5/12)^2*0.09/100) / 0.36
    by_hand = (0.0002475 + 49 / 144 * 0.0021 + 25 / 144 * 0.0009) / 0.36
    assert got.standard_error == pytest.approx(math.sqrt(by_hand), abs=1e-12)
    assert {one.method for one in got.alternatives} == set(METHODS) - {"misclassification"}


AGREED = """method interval_method estimate interval confidence_level naive naive_interval
sensitivity specificity n_test n_calibration_positive n_calibration_negative assumptions warnings
dropped"""


def test_json_has_the_agreed_names() -> None:
    assert set(json.loads(paper().to_json())) >= set(AGREED.split())


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, dict])
def test_polars_pandas_and_dict_give_the_same(make) -> None:
    frame = make({"j": JUDGE, "h": HUMAN})
    got = estimate(frame, judge_column="j", human_column="h")
    assert got.to_dict() == paper().to_dict()


def test_numpy_arrays_with_nan_and_booleans() -> None:
    human = np.array([np.nan if h is None else h for h in HUMAN])
    got = estimate(judge=np.array(JUDGE, dtype=bool), human=human)
    assert got.to_dict() == paper().to_dict()


def test_auto_follows_the_declaration_and_never_a_test() -> None:
    # The labelled rows differ strongly from the test rows here; auto must not look.
    shifted = {"judge": [1] * 500 + JUDGE[1000:], "human": [None] * 500 + HUMAN[1000:]}
    assert estimate(shifted).method == "misclassification"
    declared = estimate(shifted, labels_are_random=True)
    assert declared.method == "conditional"
    assert "declared" in declared.why
    assert declared.label_shift.p_value < 1e-6
    [warning] = declared.warnings
    assert "fewer than one random sample in a million looks like this" in warning
    assert "labelled: 80 of 80 rows of verdict 0, 120 of 620 of verdict 1" in warning
    assert "if rows were drawn by verdict, declare --labels-by-verdict" in warning
    assert declared.naive == 620 / 700
    assert "Do not report" not in str(declared)
    assert declared.rows_interval is not None
    # Nothing is offered; the reason names the cause.
    assert estimate(shifted).estimate is None
    assert "rows were drawn by verdict, so declare that: --labels-by-verdict" in (
        estimate(shifted).reason or ""
    )
    assert "Random labels?" not in str(estimate(shifted))
    assert "Random labels?" in str(paper())


def test_recorded_random_labels_get_a_p_value_and_nothing_else() -> None:
    shifted = {"judge": [1] * 500 + JUDGE[1000:], "human": [None] * 500 + HUMAN[1000:]}
    sampled_by = [None if label is None else "random" for label in shifted["human"]]
    got = estimate({**shifted, "sampled_by": sampled_by})
    assert (got.method, got.labels_drawn, got.warnings) == ("conditional", "recorded", ())
    assert got.label_shift.p_value < 1e-6
    assert not got.label_shift.doubtful
    assert got.label_shift.explanation.endswith(f"(p = {got.label_shift.p_value:.2g})")


def test_the_remark_about_labels_is_divided_by_the_groups() -> None:
    """p = 0.0009 in a: below 0.001 alone, not below 0.001 / 2 in one of two groups."""
    rows = {
        "judge": [1] * 24 + [0] * 16 + [1] * 62 + [0] * 138 + [1, 0] * 60,
        "human": [1, 0] * 20 + [None] * 200 + [1, 0] * 20 + [None] * 80,
        "model": ["a"] * 240 + ["b"] * 120,
    }
    alone = estimate(judge=rows["judge"][:240], human=rows["human"][:240], labels_are_random=True)
    assert 0.0005 < alone.label_shift.p_value < 0.001
    assert alone.label_shift.doubtful
    grouped = estimate(rows, by="model", labels_are_random=True)
    assert grouped.groups[0].label_shift.p_value == alone.label_shift.p_value
    assert not grouped.groups[0].label_shift.doubtful


def test_every_method_runs_and_states_its_assumption() -> None:
    seen = {}
    for method in METHODS:
        got = paper(method=method)
        assert got.method == method
        assert got.low <= got.estimate <= got.high
        seen[method] = got.assumptions[0]
    assert len(set(seen.values())) == len(METHODS)
    assert paper(method="human-only").estimate == 0.5
    assert paper(method="naive").estimate == 0.55
    assert paper(method="difference").estimate == pytest.approx(0.55 + 0.5 - 0.6)
    assert paper(method="conditional").estimate == pytest.approx(0.55 * 0.75 + 0.45 * 0.125)


def test_a_coin_is_refused_and_the_profile_says_anything_goes() -> None:
    judge = [1, 0] * 500 + [1, 0] * 50
    human = [None] * 1000 + [1] * 50 + [0] * 50
    got = estimate(judge=judge, human=human)
    assert got.estimate is got.low is got.high is None
    assert "not better than chance" in got.reason
    assert got.naive == 0.5
    profile = estimate(judge=judge, human=human, interval="profile")
    assert profile.estimate is profile.low is profile.high is None
    assert "not better than chance" in profile.reason
    assert "every rate is compatible with these labels" in profile.reason


def test_refused_when_only_the_adjusted_shares_fall_to_a_coin() -> None:
    # q0 = 1/1, q1 = 1/100: 1.01 > 1 raw, 2/3 + 2/102 < 1 adjusted.
    judge = [1, 0] * 5 + [0] + [1] + [0] * 99
    human = [None] * 10 + [0] + [1] * 100
    got = estimate(judge=judge, human=human, method="misclassification")
    assert got.estimate is None
    assert "adjustment" in got.reason


@pytest.mark.parametrize(
    ("human", "said"),
    [
        ([None] * 6 + [1] * 4, "human label 0"),
        ([None] * 6 + [0] * 4, "human label 1"),
        ([None] * 10, "no row has a human label"),
    ],
)
def test_what_is_missing_is_named(human: list[object], said: str) -> None:
    got = estimate(judge=[1, 0] * 5, human=human)
    assert got.estimate is None
    assert said in got.reason


def test_a_table_with_a_label_on_every_row_gives_the_human_rate() -> None:
    judge, human = [1, 0] * 50, [1, 1, 0, 1] * 25
    got = estimate(judge=judge, human=human)
    alone = estimate(judge=judge, human=human, method="human-only")
    assert (got.method, got.estimate, got.interval) == ("human-only", 0.75, alone.interval)
    assert got.why == "human-only, because every row has a human label"
    named = estimate(judge=judge, human=human, method="misclassification")
    assert named.estimate is None
    assert "every row has a human label" in (named.reason or "")


def test_rows_without_a_verdict_are_counted_and_labels_by_doubt_not_used() -> None:
    frame = pl.DataFrame(
        {
            "judge": [*JUDGE, None, None, 1],
            "human": [*HUMAN, 1, None, 1],
            "sampled_by": [None] * 1000 + ["random"] * 200 + ["random", None, "doubt"],
        }
    )
    got = estimate(frame)
    assert got.dropped["no judge verdict"] == 2
    assert sum("doubt" in reason for reason in got.dropped) == 1
    assert (got.n_test, got.n_calibration) == (1001, 200)


@pytest.mark.parametrize("way", ["surest", "audit"])
def test_labels_of_the_surest_rows_are_refused(way: str) -> None:
    rows = {"judge": JUDGE, "human": HUMAN}
    labelled = sum(h is not None for h in HUMAN)
    with pytest.raises(DataError, match=f"{labelled} labels were sampled by {way} .* at random"):
        estimate(pl.DataFrame(rows).with_columns(sampled_by=pl.lit(way)))
    # The last row is labelled.
    got = estimate(pl.DataFrame(rows | {"sampled_by": ["random"] * (len(HUMAN) - 1) + [way]}))
    assert got.dropped[f"label sampled by {way}: not used, its row is unlabelled"] == 1
    assert got.n_calibration == labelled - 1


def test_planned_rows_are_only_for_conditional_or_weights() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(4000) < 0.5
    judge = np.where(rng.random(4000) < np.where(truth, 0.9, 0.7), truth, ~truth).astype(int)
    chance = np.where(judge == 1, 0.05, 0.2)
    picked = rng.random(4000) < chance
    frame = pl.DataFrame(
        {
            "judge": judge,
            "human": [int(t) if p else None for t, p in zip(truth, picked, strict=True)],
            "sampled_by": ["plan" if p else None for p in picked],
            "sampling_probability": chance,
        }
    )
    auto = estimate(frame)
    weighted = estimate(frame, method="misclassification")
    as_if_random = estimate(frame.drop("sampled_by", "sampling_probability"))
    assert auto.method == "conditional"
    for got in (auto, weighted):
        assert got.estimate == pytest.approx(truth.mean(), abs=0.05)
        assert got.n_test == 4000
    assert abs(as_if_random.estimate - truth.mean()) > 0.15
    for method in ("human-only", "difference", "ppi++"):
        with pytest.raises(ArgumentError, match="picked by a plan"):
            estimate(frame, method=method)
    with pytest.raises(DataError, match="row 1, column sampling_probability"):
        estimate(
            pl.DataFrame(
                {
                    "judge": [1, 0],
                    "human": [1, None],
                    "sampled_by": ["plan", None],
                    "sampling_probability": [None, None],
                },
                schema_overrides={"sampling_probability": pl.Float64},
            )
        )


def test_planned_labels_of_classes_are_refused() -> None:
    with pytest.raises(DataError, match="picked by a plan"):
        estimate(
            judge=["A", "B", "tie", "A"],
            human=["A", "B", None, None],
            sampling_probability=[0.5, 0.5, None, None],
        )


def test_pooling_warns_and_per_group_does_not() -> None:
    rows = binary_rows(
        {
            "a": BinaryModel(rate=0.5, specificity=0.5, sensitivity=0.95),
            "b": BinaryModel(rate=0.5, specificity=0.95, sensitivity=0.7),
        },
        prompts=2000,
        labels=800,
        seed=1,
    )
    apart = estimate(rows, by="model")
    pooled = estimate(rows, by="model", pool=True, cluster="none")
    assert isinstance(apart, GroupedEstimate)
    assert apart.warnings == ()
    assert "the same error rates" in pooled.warnings[0]
    assert all(one.low <= 0.5 <= one.high for one in apart.groups)
    assert not all(one.low <= 0.5 <= one.high for one in pooled.groups)
    assert [one.n_calibration for one in pooled.groups] == [800, 800]
    # Labels of other groups are not about this one: people alone have only its own.
    assert [one.people_alone for one in pooled.groups] == [g.people_alone for g in apart.groups]
    for method in ("human-only", "conditional", "ppi++"):
        with pytest.raises(ArgumentError, match=r"pool = True: .* a random sample of each group's"):
            estimate(rows, by="model", pool=True, method=method)
    mixed = estimate(rows)
    assert "the rows of 2 models are mixed; a rate per model: --by model (by=)" in mixed.warnings
    strata = estimate(rows, strata="model")
    assert strata.warnings == mixed.warnings


def test_three_classes_and_two_equal_the_binary_case() -> None:
    text = ["B", "A"]
    judge = [text[v] for v in JUDGE]
    human = [None if h is None else text[h] for h in HUMAN]
    two = estimate(judge=judge, human=human)
    assert isinstance(two, ClassEstimate)
    share = {one.label: one for one in two.classes}
    binary = estimate(judge=judge, human=human, positive="A")
    assert share["A"].estimate == pytest.approx(binary.estimate, abs=1e-12)
    assert (share["A"].low, share["A"].high) == (binary.low, binary.high)  # Eq. 6 in both
    assert share["A"].estimate + share["B"].estimate == pytest.approx(1)
    assert binary.estimate == pytest.approx(0.25 / 0.6, abs=1e-12)
    three = estimate(
        judge=["A"] * 50 + ["B"] * 30 + ["tie"] * 20 + ["A", "A", "B", "B", "tie", "tie"] * 20,
        human=[None] * 100 + ["A", "A", "B", "B", "tie", "tie"] * 20,
    )
    assert [one.estimate for one in three.classes] == pytest.approx([0.5, 0.3, 0.2])
    assert three.condition_number == pytest.approx(1)
    never = estimate(judge=["A", "B"] * 50, human=["A", "B", "tie", None] * 25)
    assert not never.estimated
    assert "never says tie" in never.reason


@pytest.mark.parametrize("by", [None, ["m"] * 1200])
def test_exact_intervals_of_classes_are_called_so(by: list[str] | None) -> None:
    judge, human = (["BA"[v] if v is not None else None for v in row] for row in (JUDGE, HUMAN))
    for method, interval in (("human-only", "exact"), ("naive", "exact"), ("ppi++", "wald")):
        got = estimate(judge=judge, human=human, by=by, method=method)
        assert got.interval_method == interval
        classes = got if by is None else got.groups[0]
        assert classes.interval_method == interval
        binary = paper(method=method)
        assert (classes.classes[0].low, classes.classes[0].high) == (binary.low, binary.high)


def test_probabilities() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random(3000) < 0.4
    p = np.clip(rng.normal(np.where(truth, 0.7, 0.4), 0.15), 0, 1)
    human = [int(t) if i < 600 else None for i, t in enumerate(truth)]
    got = estimate(judge=p, human=human)
    assert got.judge_scale == "probability"
    assert got.sensitivity is None
    assert got.low <= 0.4 <= got.high
    with pytest.raises(ArgumentError, match="needs verdicts of 0 and 1"):
        estimate(judge=p, human=human, method="conditional")
    with pytest.raises(ArgumentError, match="verdicts of 0 and 1"):
        estimate(judge=p, human=human, interval="profile")
    turned = estimate(judge=1 - p, human=human)
    assert turned.estimate is None
    assert "in the right direction" in turned.reason


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "magic"}, "choose one of"),
        ({"interval": "bayes"}, "choose one of"),
        ({"confidence_level": 1.0}, "strictly between"),
        ({"pool": True}, r"name their column with --by model \(by=\)"),
        ({"method": "ppi++", "interval": "profile"}, "the method here is ppi"),
        ({"strata": [0] * 1200, "method": "ppi++"}, "only misclassification has strata"),
        ({"cluster": [0] * 1200, "interval": "profile"}, "independent"),
        ({"cluster": [0] * 3}, "one value for each of the 1200 rows"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        paper(**options)


def test_bad_values_name_row_and_column() -> None:
    with pytest.raises(DataError, match="row 3, column judge"):
        estimate({"judge": [1, 0, 1.5, None], "human": [1, 0, None, None]})
    with pytest.raises(DataError, match="column verdict: is missing; .* columns here: judge"):
        estimate({"judge": [1], "human": [1]}, judge_column="verdict")
    with pytest.raises(DataError, match="row 2, column sampled_by"):
        estimate({"judge": [1, 0], "human": [1, 0], "sampled_by": ["random", "luck"]})


def test_one_cluster_is_refused_not_divided_by() -> None:
    for method in METHODS:
        got = paper(cluster=["one"] * 1200, method=method)
        assert got.estimate is None, method
        assert "clusters" in got.reason


def test_the_doubts_of_a_group_come_with_what_to_do() -> None:
    weak = BinaryModel(rate=0.5, specificity=0.6, sensitivity=0.9)
    rows = binary_rows({"a": weak, "b": weak, "c": weak}, prompts=300, labels=75, seed=4)
    grouped = estimate(rows, by="model")
    doubted = [one.group for one in grouped.groups if one.warnings]
    assert doubted
    remedy = "report the profile interval, which keeps its level: --interval profile"
    assert remedy in str(grouped)
    assert len(grouped.all_warnings) == len(set(grouped.all_warnings))
    assert all(any(name in text for text in grouped.all_warnings) for name in doubted)
    profile = estimate(rows, by="model", interval="profile")
    assert profile.all_warnings == ()
    # Clusters have no profile interval: nobody is sent there to be refused.
    text = str(estimate(rows, by="model", cluster="prompt_id"))
    assert "can cover less than its level" in text
    assert "--interval profile" not in text


def test_labels_of_unknown_rows_are_counted_or_refused() -> None:
    rows = pl.DataFrame(
        {"id": [f"r{i}" for i in range(1200)], "judge": JUDGE, "human": [None] * 1200},
        schema_overrides={"human": pl.Int64},
    )
    labels = pl.DataFrame(
        {"id": [f"r{i}" for i in range(1000, 1200)] + ["x"], "label": [*HUMAN[1000:], 1]}
    )
    got = estimate(rows, labels=labels)
    assert got.estimate == pytest.approx(0.25 / 0.6)
    assert got.dropped == {"label of an id without a row": 1}
    with pytest.raises(
        DataError, match="no row has one of its ids, 'x'; give labels of these rows"
    ):
        estimate(rows, labels=labels.tail(1))


def test_verdicts_and_labels_in_different_words_are_refused() -> None:
    judge, human = ["good", "bad"] * 20, ["1", "0"] * 10 + [None] * 20
    for options in ({}, {"positive": "good"}):
        with pytest.raises(DataError, match="says bad, good, people say 0, 1: no value in common"):
            estimate(judge=judge, human=human, **options)
    # pandas turns whole numbers with gaps into floats: 2.0 is the class 2.
    frame = pd.DataFrame({"judge": [1, 2, 3] * 30, "human": [1, 2, 3] * 20 + [None] * 30})
    shares = estimate(frame, method="misclassification")
    assert [one.label for one in shares.classes] == ["1", "2", "3"]


def test_one_word_among_passes_and_fails_is_refused_with_a_remedy_that_works() -> None:
    judged = ["yes", "no"] * 20 + ["parse_error"]
    people = ["yes", "no"] * 10 + [None] * 21
    rows = {"judge": judged, "human": people}
    with pytest.raises(DataError, match="says parse_error: neither pass .* 'parse_error='"):
        estimate(rows, labels_are_random=True)
    done = estimate(rows, labels_are_random=True, labels_as={"parse_error": ""})
    assert done.dropped == {"no judge verdict": 1}


def test_a_sampling_probability_that_is_none_names_its_row() -> None:
    frame = {"judge": [1, 0, 1], "human": [1, 0, None], "sampled_by": ["plan", "plan", None]}
    for bad in ("x", "1.5", "0"):
        with pytest.raises(DataError, match="row 2, column sampling_probability"):
            estimate({**frame, "sampling_probability": ["0.5", bad, None]})


def test_clusters_of_classes_widen_and_are_counted() -> None:
    rng = np.random.default_rng(7)
    truth = rng.choice(3, 400, p=[0.5, 0.3, 0.2])
    confusion = np.array([[0.8, 0.1, 0.2], [0.1, 0.8, 0.2], [0.1, 0.1, 0.6]])
    said = np.array([rng.choice(3, p=confusion[:, b]) for b in truth])
    names = np.array(["A", "B", "tie"])
    judge = names[said].tolist()
    human = [str(names[b]) if i < 200 else None for i, b in enumerate(truth)]
    once = estimate(judge=judge, human=human)
    alone = estimate(judge=judge, human=human, cluster=list(range(400)))
    # Every row four times over, the copies in one cluster: no new information.
    copied = estimate(judge=judge * 4, human=human * 4, cluster=list(range(400)) * 4)
    for one, same, more in zip(once.classes, alone.classes, copied.classes, strict=True):
        assert one.estimate == pytest.approx(same.estimate) == pytest.approx(more.estimate)
        assert same.high - same.low == pytest.approx(one.high - one.low, rel=0.02)
        assert more.high - more.low == pytest.approx(one.high - one.low, rel=0.06)
    assert "clusters are independent" in copied.assumptions[1]
    few = estimate(judge=judge, human=human, cluster=[i // 200 for i in range(400)])
    assert not few.estimated
    assert "fewer than two clusters" in few.reason


def test_a_group_is_estimated_as_if_it_came_alone() -> None:
    """Also where its probabilities happen to be 0 and 1: they are not verdicts."""
    rng = np.random.default_rng(11)
    group = np.repeat(["a", "b"], 300)
    truth = rng.random(600) < 0.5
    judge = np.where(rng.random(600) < 0.8, truth, ~truth).astype(float)
    human = [int(t) if i % 3 == 0 else None for i, t in enumerate(truth)]
    for cluster in (None, [i // 2 for i in range(600)]):
        grouped = estimate(judge=judge, human=human, by=group, cluster=cluster)
        alone = estimate(judge=judge[300:], human=human[300:], cluster=cluster and cluster[300:])
        both = grouped.groups[1]
        assert (both.low, both.high) == pytest.approx((alone.low, alone.high), abs=1e-12)
    judge[:300] = np.where(judge[:300] == 1, 0.9, 0.2)
    soft = estimate(judge=judge, human=human, by=group)
    assert {one.judge_scale for one in soft.groups} == {"probability"}


def test_probabilities_of_a_label_in_words() -> None:
    """What `adjudge judge` writes: p_a, and labels A, B or tie."""
    rng = np.random.default_rng(12)
    truth = rng.choice(["A", "B", "tie"], 900, p=[0.5, 0.3, 0.2])
    p_a = np.clip(rng.normal(np.where(truth == "A", 0.7, 0.4), 0.15), 0, 1)
    label = [str(t) if i < 300 else None for i, t in enumerate(truth)]
    got = estimate(
        {"p_a": p_a, "label": label}, judge_column="p_a", human_column="label", positive="A"
    )
    same = estimate(judge=p_a, human=[None if t is None else int(t == "A") for t in label])
    assert (got.estimate, got.low, got.high) == (same.estimate, same.low, same.high)
    with pytest.raises(DataError, match="a verdict of 1 means: --positive NAME"):
        estimate({"p_a": p_a, "label": label}, judge_column="p_a", human_column="label")


@pytest.mark.parametrize("call", [estimate, plan_rate, prepare_grades])
def test_a_misspelled_option_is_refused(call) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'methd'"):
        call({"judge": [1, 0], "human": [1, None]}, methd="ppi++")


def test_classes_without_a_test_row_have_the_judges_share_of_all_rows() -> None:
    """Before, the judge's share of every class was 0.000."""
    got = estimate({"judge": list("abcab"), "human": list("abcba")})
    assert got.n_test == 0
    assert [rate.naive for rate in got.classes] == [0.4, 0.4, 0.2]
    assert [rate.naive for rate in got.intervals()] == [0.4, 0.4, 0.2]
    line = next(line for line in str(got).splitlines() if line.startswith(" a "))
    assert line.split()[1:4] == ["–", "–", "0.400"]


def test_a_misspelt_name_of_ours_is_seen_in_the_error() -> None:
    rows = {"judge": [1, 0, 1], "human": [1, 1, 0]}
    with pytest.raises(
        DataError, match=r"column judge: is missing; .*: judge \(read as judg\), human"
    ):
        estimate(rows, columns={"judg": "judge"})


def test_two_clusters_are_the_fewest_for_an_interval() -> None:
    rng = np.random.default_rng(0)
    judge = rng.integers(0, 2, 60)
    human = np.where(rng.random(60) < 0.8, judge, 1 - judge).tolist()[:30] + [None] * 30
    of_one, of_two = (
        estimate(
            {"judge": judge, "human": human, "doc_id": [str(n % clusters) for n in range(60)]},
            cluster="doc_id",
            method="ppi++",
            labels_are_random=True,
        )
        for clusters in (1, 2)
    )
    assert of_one.interval is None
    assert of_one.reason.startswith("fewer than two clusters")
    assert of_two.interval is not None
