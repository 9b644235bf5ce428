"""Several judges in one rate: what the prediction is made from, which rows, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.stats import t as student

from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate
from adjudge.estimation.estimators.ppi import PPI, tuned_weight
from adjudge.estimation.panel import PanelEstimate
from adjudge.estimation.panel_statistics import (
    FOLDS,
    PENALTY,
    Prior,
    cross_fit,
    make_columns,
    prior_from,
    ridge_logit,
    shared_interval,
)
from adjudge.estimation.sample import make_sample
from adjudge.records import Interval
from simulators import panel_rows

JUDGES = {"gpt": 1.0, "claude": 0.9, "small": 0.8}
RATES = {"w": 0.4, "x": 0.5, "y": 0.6, "z": 0.75}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return panel_rows(RATES, JUDGES, questions=300, labels=80, seed=3).drop("truth")


def panel(rows: object, **options: object) -> PanelEstimate:
    given = {"judges": list(JUDGES), "by": "model", "labels_are_random": True, **options}
    result = estimate(rows, **given)  # type: ignore[arg-type]
    assert isinstance(result, PanelEstimate)
    return result


def test_each_model_has_its_rate_next_to_one_judges_and_peoples(rows: pl.DataFrame) -> None:
    got = panel(rows)
    assert [one.group for one in got.groups] == list(RATES)
    assert got.question == "prompt_id"
    for one, rate in zip(got.groups, RATES.values(), strict=True):
        assert one.low <= rate <= one.high
        mine = rows.filter(pl.col("model") == one.group)
        for single in one.alone:  # what `estimate` gives for that judge without the others
            alone = estimate(
                mine, judge_column=single.judge, cluster="prompt_id", labels_are_random=True
            )
            assert single.method == alone.method == "conditional"
            assert (*single.interval,) == pytest.approx((alone.low, alone.high))
        alone = estimate(mine, judge_column="gpt")
        people = estimate(mine, judge_column="gpt", cluster="prompt_id", method="human-only")
        assert one.narrowest.width == min(single.width for single in one.alone)
        assert one.narrowing == one.width / one.narrowest.width
        assert (*one.human_only_interval,) == pytest.approx((people.low, people.high))
        assert one.naive[0] == alone.naive
        assert (one.n_labels, one.n_test) == (80, 220)
    assert np.mean([one.narrowing for one in got.groups]) < 0.99
    assert got.promise.startswith("approximate")
    assert "approximate" in str(got)
    assert panel(rows).to_dict() == got.to_dict()
    assert panel(rows, seed=7).groups[0].estimate != got.groups[0].estimate


@pytest.mark.parametrize("cluster", ["prompt_id", None])
def test_the_order_of_the_rows_changes_nothing(rows: pl.DataFrame, cluster: str | None) -> None:
    given = rows if cluster else rows.drop("prompt_id")
    one, other = panel(given), panel(given.sample(fraction=1, shuffle=True, seed=1))
    by_name = {rate.group: rate for rate in other.groups}
    for rate in one.groups:
        again = by_name[rate.group]
        assert (again.estimate, again.low) == pytest.approx((rate.estimate, rate.low), abs=1e-9)


def test_one_row_per_judge_is_the_same_as_one_column(rows: pl.DataFrame) -> None:
    long = rows.unpivot(
        list(JUDGES),
        index=["id", "prompt_id", "model", "human"],
        variable_name="judge_name",
        value_name="judge",
    )
    wide = panel(rows).to_dict()
    assert panel(long).to_dict() == wide
    # As `adjudge judge` writes it: the name in `judge`, the verdict in another column.
    named = long.rename({"judge": "p_pass"}).rename({"judge_name": "judge"})
    assert panel(named, judge_column="p_pass").to_dict() == wide
    with pytest.raises(DataError, match="'w-0', judge_name 'gpt' is in the file twice"):
        panel(pl.concat([long, long.head(1)]))
    torn = long.with_columns(
        human=pl.when((pl.col("judge_name") == "gpt") & pl.col("human").is_not_null())
        .then(1 - pl.col("human"))
        .otherwise("human")
    )
    with pytest.raises(DataError, match="has different labels for different judges"):
        panel(torn)
    with pytest.raises(DataError, match="llama is neither a column nor a judge's name"):
        panel(long, judges=["gpt", "llama"])


def test_rows_that_a_judge_did_not_judge_are_counted(rows: pl.DataFrame) -> None:
    number = pl.int_range(pl.len())
    gaps = rows.with_columns(
        gpt=pl.when(number >= 5).then("gpt"), small=pl.when(number != 7).then("small")
    )
    assert panel(gaps).dropped == {"no verdict of small": 1, "no verdict of gpt": 5}
    with pytest.raises(DataError, match="no row has a verdict of every judge"):
        panel(rows.with_columns(small=pl.lit(None, pl.Int64)))
    with pytest.raises(DataError, match=r"row 3, column small: '7' is not a verdict"):
        panel(rows.with_columns(small=pl.when(number == 2).then(7).otherwise("small")))


def test_words_and_labels_from_a_second_file(rows: pl.DataFrame) -> None:
    words = rows.with_columns(
        pl.col(c).replace_strict({0: "no", 1: "yes"}, default=None, return_dtype=pl.String)
        for c in (*JUDGES, "human")
    )
    assert panel(words, positive="yes").to_dict() == panel(rows).to_dict()
    labels = rows.filter(pl.col("human").is_not_null()).select("id", label="human")
    apart = panel(rows.with_columns(human=pl.lit(None, pl.Int64)), labels=labels)
    assert apart.groups == panel(rows).groups
    assert panel(words).groups == panel(rows).groups
    strange = words.with_columns(pl.col(*JUDGES, "human").replace({"yes": "good", "no": "bad"}))
    with pytest.raises(DataError, match="row 1, column claude: .* --positive"):
        panel(strange)
    as_said = panel(strange, labels_as={"good": "1", "bad": "0"})
    assert as_said.groups == panel(rows).groups


def test_labels_must_be_a_random_sample(rows: pl.DataFrame) -> None:
    with pytest.raises(ArgumentError, match="declare it with --labels-are-random"):
        panel(rows, labels_are_random=False)
    how = pl.when(pl.col("human").is_not_null()).then(pl.lit("random"))
    recorded = panel(rows.with_columns(sampled_by=how), labels_are_random=False)
    assert recorded.labels_drawn == "recorded"
    plan = pl.when(pl.col("human").is_not_null()).then(pl.lit("plan"))
    planned = rows.with_columns(sampled_by=plan, sampling_probability=pl.lit(0.3))
    with pytest.raises(ArgumentError, match="use one judge and method conditional"):
        panel(planned)


def test_few_labels_are_left_to_one_judge(rows: pl.DataFrame) -> None:
    seen = pl.col("human").is_not_null().cum_sum().over("model")
    few = rows.with_columns(human=pl.when((pl.col("model") != "x") | (seen <= 49)).then("human"))
    got = panel(few, share=True)
    x = got.groups[1]
    alone = estimate(
        few.filter(pl.col("model") == "x"),
        judge_column="gpt",
        cluster="prompt_id",
        labels_are_random=True,
    )
    assert (x.method, x.n_labels) == ("conditional", 49)
    assert (x.low, x.high) == pytest.approx((alone.low, alone.high))
    assert x.shared_interval is None
    assert any("fewer than 50 labels: conditional with gpt alone" in text for text in x.warnings)
    soft = few.with_columns(gpt=0.2 + 0.6 * pl.col("gpt"))
    assert panel(soft).groups[1].method == "ppi++"


def test_they_are_reported_only_where_they_are_narrower_than_every_judge_alone() -> None:
    alike = panel_rows({"x": 0.5}, JUDGES, questions=400, labels=150, seed=0)
    assert "Report them as approximate, with their intervals." in str(panel(alike, by=None))
    good = {"gpt": 2.5, "claude": 0.5, "small": 0.4}
    got = panel(panel_rows({"x": 0.5, "y": 0.7}, good, questions=300, labels=60, seed=1))
    assert [one.group for one in got.groups if one.narrowing >= 1] == ["y"]
    assert "except for y: gpt alone is narrower there" in str(got)
    x = replace(got.groups[0], interval=Interval(0.1, 0.9, 0.95))
    text = "Several judges do not help here: report one judge, --judge-column gpt."
    assert text in str(replace(got, groups=(x, got.groups[1])))


def test_a_shift_of_the_labels_is_warned_of(rows: pl.DataFrame) -> None:
    picked = rows.with_columns(
        human=pl.when((pl.col("model") != "x") | (pl.col("gpt") == 1)).then("human")
    )
    got = panel(picked)
    assert any(text.startswith("x – label shift") for text in got.all_warnings)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"judges": ["gpt"]},
            "two or more different judges; .* --judge-column NAME .* --column judge=",
        ),
        ({"judges": ["gpt", "gpt"]}, "two or more different judges"),
        ({"judges": ["gpt", "human"]}, "is used for something else"),
        ({"judges": ["gpt", "model"]}, "is used for something else"),
        ({"method": "ppi++"}, "is for one judge"),
        ({"interval": "profile"}, "is for one judge"),
        ({"pool": True}, "is for one judge"),
        ({"strata": "model"}, "is for one judge"),
        ({"by": [0] * 1200}, "name a column of the table"),
        ({"by": None, "share": True}, "needs 4 groups or more"),
        ({"judges": (), "share": True}, "is for several judges"),
    ],
)
def test_options_that_do_not_go_together(
    rows: pl.DataFrame, options: dict[str, object], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        panel(rows, **options)


def test_without_groups_and_without_questions(rows: pl.DataFrame) -> None:
    one = panel(rows.filter(pl.col("model") == "z").drop("prompt_id"), by=None)
    assert (len(one.groups), one.groups[0].group, one.question) == (1, None, None)
    assert one.groups[0].low <= 0.75 <= one.groups[0].high
    apart = panel(rows.drop("prompt_id"))
    assert "no column of questions" in apart.warnings[0]


def test_from_the_command_line(
    rows: pl.DataFrame, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    rows.write_csv(path)
    words = ["estimate", str(path), "--judge", "gpt", "--judge", "small", "--by", "model"]
    assert run([*words, "--labels-are-random", "--share", "--json", "--plot", "p.png"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert got["kind"] == "panel_estimate"
    assert all(
        one["interval"]["low"] < one["shared_interval"]["high"] <= 1 for one in got["groups"]
    )
    assert run([*words, "--labels-are-random", "--fail-below", "0.6"]) == 2
    assert run(words) == 1
    assert "--labels-are-random" in capsys.readouterr().err


def test_the_ridge_logit_is_at_its_minimum() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(200), rng.normal(size=(200, 3))])
    y = (rng.random(200) < 1 / (1 + np.exp(-x @ [0.5, 2, -1, 0]))).astype(float)

    def loss(w: np.ndarray) -> float:
        z = x @ w
        return float(np.logaddexp(0, z).sum() - y @ z + PENALTY / 2 * w[1:] @ w[1:])

    assert loss(ridge_logit(x, y)) <= minimize(loss, np.zeros(4)).fun + 1e-4
    alike = ridge_logit(x, np.ones(200))
    assert np.isfinite(alike).all()


def test_no_row_is_predicted_by_a_label_of_its_own_question() -> None:
    rng = np.random.default_rng(1)
    questions = np.repeat(np.arange(60), 2)
    folds = (np.arange(60) % FOLDS)[questions]
    columns = make_columns(rng.random((120, 2)), np.tile([0, 1], 60), 2, questions)
    labels, known = (rng.random(120) < 0.5).astype(float), rng.random(120) < 0.6
    before = cross_fit(columns, labels, known, folds)
    other = labels.copy()
    other[folds == 0] = 1 - other[folds == 0]
    after = cross_fit(columns, other, known, folds)
    assert (before[folds == 0] == after[folds == 0]).all()
    assert (before[folds != 0] != after[folds != 0]).all()


def test_what_judges_say_about_other_answers_to_the_question() -> None:
    verdicts = np.array([[1.0], [0.0], [1.0], [0.0], [1.0]])
    groups, questions = np.array([0, 1, 1, 0, 0]), np.array([0, 0, 0, 1, 2])
    columns = make_columns(verdicts, groups, 2, questions)[:, 2]
    others = np.array([0.5, 1.0, 1.0, 0.6, 0.6])  # alone with its question: the overall mean
    centred = others - others.mean()
    assert columns == pytest.approx(centred / np.sqrt((centred**2).mean()))


def test_a_vague_prior_gives_students_interval_and_any_prior_keeps_the_level() -> None:
    vague = shared_interval(0.4, 0.03, 60, Prior(0.9, 1e4), confidence_level=0.9)
    half = student.isf(0.05, 60) * 0.03
    assert vague == pytest.approx((0.4 - half, 0.4 + half), abs=1e-6)
    rng = np.random.default_rng(0)
    for prior in (Prior(0.5, 0.05), Prior(0.3, 0.02), Prior(0.62, 0.1)):
        draws = 0.5 + 0.04 * rng.standard_t(49, 400)
        ends = [shared_interval(y, 0.04, 49, prior, confidence_level=0.95) for y in draws]
        assert np.mean([low <= 0.5 <= high for low, high in ends]) > 0.91
    sharp = shared_interval(0.5, 0.04, 49, Prior(0.9, 1e-4), confidence_level=0.95)
    assert sharp[0] == pytest.approx(0.5 - student.isf(0.05, 49) * 0.04)  # one-sided at this end
    assert sharp[1] == pytest.approx(0.9, abs=0.01)  # and as far as the prior at the other
    near = shared_interval(0.5, 0.04, 49, Prior(0.5, 0.05), confidence_level=0.95)
    assert near[1] - near[0] < 0.9 * 2 * student.isf(0.025, 49) * 0.04


def test_the_prior_takes_the_noise_of_the_others_out() -> None:
    alike = prior_from([0.5, 0.52, 0.48, 0.51], [0.05] * 4)
    assert alike.sd == pytest.approx(0.05 / 2)  # no spread of their own: the mean's noise is left
    apart = prior_from([0.2, 0.4, 0.6, 0.8], [0.01] * 4)
    assert apart.mean == pytest.approx(0.5)
    assert apart.sd == pytest.approx(
        np.std([0.2, 0.4, 0.6, 0.8], ddof=1) * np.sqrt(5 / 4), rel=0.02
    )


def test_the_adjusted_interval_by_hand() -> None:
    rng = np.random.default_rng(2)
    f = rng.random(300)
    human = [int(v > rng.random()) if i < 60 else None for i, v in enumerate(f)]
    sample = make_sample(f, human)
    lam = tuned_weight(sample)
    rest = np.append(np.array(human[:60]) - lam * f[:60], np.array([1, 1, 0, 0]) - lam * f.mean())
    se = np.sqrt(lam**2 * f[60:].var() / 240 + rest.var(ddof=1) / 64)
    centre = lam * f[60:].mean() + rest.mean()
    half = 2.000995 * se  # Student's quantile for 59 degrees of freedom
    got = PPI.compute(sample)
    assert (got.low, got.high) == pytest.approx((centre - half, centre + half))
    plain = np.array(human[:60]) - lam * f[:60]
    assert got.estimate == pytest.approx(lam * f[60:].mean() + plain.mean())
    assert got.standard_error == pytest.approx(
        np.sqrt(lam**2 * f[60:].var() / 240 + plain.var() / 60)
    )
