"""Rows of the judges that are named, and the interval that uses the other groups' rates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import GroupedEstimate, MeanEstimate, estimate
from adjudge.estimation.estimators.base import Outcome
from adjudge.estimation.estimators.ppi import PPI, tuned_weight
from adjudge.estimation.sample import make_sample
from adjudge.estimation.sharing import Prior, prior_from, shared_interval, shared_intervals
from simulators import panel_rows

JUDGES = {"gpt": 1.0, "claude": 0.9, "small": 0.8}
RATES = {"w": 0.4, "x": 0.5, "y": 0.6, "z": 0.75}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return panel_rows(RATES, JUDGES, questions=300, labels=80, seed=3).drop("truth")


@pytest.fixture(scope="module")
def long(rows: pl.DataFrame) -> pl.DataFrame:
    """A row per answer and judge."""
    return rows.unpivot(
        list(JUDGES),
        index=["id", "prompt_id", "model", "human"],
        variable_name="judge_name",
        value_name="judge",
    )


def by_model(rows: object, **options: object) -> GroupedEstimate:
    given = {"judges": list(JUDGES), "by": "model", "labels_are_random": True, **options}
    result = estimate(rows, **given)  # type: ignore[arg-type]
    assert isinstance(result, GroupedEstimate)
    return result


def numbers(result: GroupedEstimate) -> list[tuple[object, ...]]:
    return [(rate.group, rate.estimate, rate.low, rate.high, rate.n_test) for rate in result.rates]


def test_several_judges_are_the_mean_of_their_verdicts_by_ppi(rows: pl.DataFrame) -> None:
    result = by_model(rows)
    assert result.method == "ppi++"
    mean = rows.with_columns(judge=pl.mean_horizontal(*JUDGES)).drop(*JUDGES)
    assert numbers(result) == numbers(by_model(mean, judges=()))
    for rate, truth in zip(result.rates, RATES.values(), strict=True):
        assert rate.low <= truth <= rate.high
    note = "the judge is the mean verdict of 3: gpt, claude, small"
    assert note in result.rates[0].assumptions


def test_one_name_means_the_rows_of_that_judge(rows: pl.DataFrame, long: pl.DataFrame) -> None:
    alone = by_model(rows.with_columns(judge="claude").drop(*JUDGES), judges=())
    assert alone.method == "conditional"
    assert numbers(by_model(rows, judges=["claude"])) == numbers(alone)
    kept = by_model(long, judges=["claude"])
    assert numbers(kept) == numbers(alone)
    assert kept.dropped == {"row of another judge": 2400}
    options = {"labels_are_random": False, "interval": "profile", "cluster": "none"}
    profile = by_model(long, judges=["claude"], **options)
    assert numbers(profile) == numbers(by_model(rows, judges=["claude"], **options))


def test_one_row_per_judge_is_the_same_as_one_column(
    rows: pl.DataFrame, long: pl.DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    wide = numbers(by_model(rows))
    assert numbers(by_model(long)) == wide
    assert numbers(by_model(long.sample(fraction=1, shuffle=True, seed=1)))[0][1:] in [
        pytest.approx(rate[1:]) for rate in wide
    ]
    # As `adjudge judge` writes it, and with the name in `judge` and the verdict elsewhere.
    named = long.rename({"judge": "p_pass"}).rename({"judge_name": "judge"})
    assert numbers(by_model(named)) == wide
    assert numbers(by_model(named, judge_column="p_pass")) == wide
    caplog.clear()
    assert numbers(by_model(named.rename({"p_pass": "verdict"}))) == wide
    assert [record.getMessage() for record in caplog.records] == [
        "the DataFrame: read verdict as judge"
    ]
    # An id that is a question, and models under another name.
    by_question = long.with_columns(id="prompt_id").rename({"model": "system"})
    assert numbers(by_model(by_question, by="system")) == wide
    assert numbers(by_model(rows.drop("id"))) == wide
    with pytest.raises(DataError, match="column id: is missing"):
        by_model(long.drop("id"))


def test_rows_of_one_answer_twice(rows: pl.DataFrame, long: pl.DataFrame) -> None:
    for table in (rows, long):
        again = by_model(pl.concat([table, table.head(1)]))
        assert numbers(again) == numbers(by_model(table))
        assert again.dropped == {"the same row again": 1}
    other = long.head(1).with_columns(judge=1 - pl.col("judge"))
    with pytest.raises(DataError, match="is in the file twice"):
        by_model(pl.concat([long, other]))


def test_labels_can_be_on_any_judges_row(rows: pl.DataFrame, long: pl.DataFrame) -> None:
    own = pl.when(pl.col("judge_name") == "claude").then("human")
    assert numbers(by_model(long.with_columns(human=own))) == numbers(by_model(rows))
    labelled = (pl.col("judge_name") == "gpt") & pl.col("human").is_not_null()
    torn = pl.when(labelled).then(1 - pl.col("human")).otherwise("human")
    with pytest.raises(DataError, match="have different labels; keep one label per id"):
        by_model(long.with_columns(human=torn))
    how = pl.when(pl.col("human").is_not_null()).then(pl.lit("random"))
    recorded = long.with_columns(human=own).with_columns(sampled_by=how)
    assert by_model(recorded, labels_are_random=False).rates[0].labels_drawn == "recorded"
    mixed = recorded.with_columns(
        human=pl.when(pl.col("judge_name") != "small").then(pl.col("human").max().over("id"))
    )
    assert by_model(mixed, labels_are_random=False).rates[0].labels_drawn == "unknown"
    picked = pl.when(pl.col("sampled_by").is_not_null()).then(pl.lit("plan"))
    planned = recorded.with_columns(sampled_by=picked, sampling_probability=pl.lit(0.3))
    with pytest.raises(ArgumentError, match="needs verdicts of 0 and 1, not probabilities"):
        by_model(planned)


def test_rows_that_a_judge_did_not_judge_are_counted(
    rows: pl.DataFrame, long: pl.DataFrame
) -> None:
    number = pl.int_range(pl.len())
    gaps = rows.with_columns(
        gpt=pl.when(number >= 5).then("gpt"), small=pl.when(number != 7).then("small")
    )
    assert by_model(gaps).dropped == {"no verdict of gpt": 5, "no verdict of small": 1}
    missing = (pl.col("judge_name") == "gpt") & pl.col("id").is_in(["w-0", "w-1"])
    short = by_model(long.filter(~missing))
    assert short.dropped == {"not judged by every judge": 2}
    assert short.rates[0].n_test + short.rates[0].n_calibration == 298
    failed = long.with_columns(
        status=pl.when(missing).then(pl.lit("error")).otherwise(pl.lit("ok")),
        judge=pl.when(~missing).then("judge"),
    )
    assert by_model(failed).dropped == {"status error": 2}
    assert numbers(by_model(failed)) == numbers(short)
    with pytest.raises(DataError, match="column small: no row has a judge verdict"):
        by_model(rows.with_columns(small=pl.lit(None, pl.Int64)))
    apart = rows.with_columns(
        gpt=pl.when(number < 600).then("gpt"), small=pl.when(number >= 600).then("small")
    )
    with pytest.raises(DataError, match="no row has a verdict of every judge"):
        by_model(apart)


def test_words_and_labels_from_a_second_file(rows: pl.DataFrame) -> None:
    words = rows.with_columns(
        pl.col(c).replace_strict({0: "no", 1: "yes"}, default=None, return_dtype=pl.String)
        for c in (*JUDGES, "human")
    )
    plain = numbers(by_model(rows))
    assert numbers(by_model(words, positive="yes")) == plain
    assert numbers(by_model(words)) == plain
    labels = rows.filter(pl.col("human").is_not_null()).select("id", label="human")
    apart = rows.with_columns(human=pl.lit(None, pl.Int64))
    assert numbers(by_model(apart, labels=labels)) == plain
    strange = words.with_columns(pl.col(*JUDGES, "human").replace({"yes": "good", "no": "bad"}))
    with pytest.raises(ArgumentError, match="name the class that counts as 1: --positive"):
        by_model(strange)
    assert numbers(by_model(strange, labels_as={"good": "1", "bad": "0"})) == plain


def test_scores_and_win_rates_of_several_judges() -> None:
    rng = np.random.default_rng(0)
    quality = rng.integers(1, 6, 400)
    scores = {
        "first": quality,
        "second": np.clip(quality + rng.integers(-1, 2, 400), 1, 5),
        "human": [int(value) if at < 120 else None for at, value in enumerate(quality)],
    }
    mean = estimate(scores, judges=["first", "second"], labels_are_random=True)
    with pytest.raises(ArgumentError, match="share = True: is for rates"):
        estimate(scores, judges=["first"], share=True)
    words = {"judge": list("abc") * 8, "human": list("abc") * 8, "model": list("wxyz") * 6}
    with pytest.raises(ArgumentError, match="share = True: is for rates"):
        estimate(words, by="model", share=True)
    assert isinstance(mean, MeanEstimate)
    assert mean.means[0].naive == pytest.approx(
        (scores["first"].mean() + scores["second"].mean()) / 2
    )
    unlabelled = {**scores, "third": rng.random(400), "human": [None] * 400}
    with pytest.raises(ArgumentError, match="verdicts are on one scale"):
        estimate(unlabelled, judges=["first", "third"])
    pairs = (
        pl.DataFrame({"id": range(300)})
        .with_columns(
            model_a=pl.lit("new"),
            model_b=pl.lit("old"),
            label=pl.when(pl.col("id") < 90).then(pl.lit("A")).otherwise(None),
        )
        .with_columns(label=pl.when(pl.col("id") % 3 > 0).then("label").otherwise(pl.lit("B")))
    )
    pairs = pairs.with_columns(label=pl.when(pl.col("id") < 90).then("label"))
    asked = pl.concat(
        pairs.with_columns(judge=pl.lit(judge), p_a=pl.Series(rng.random(300)))
        for judge in ("one", "two")
    )
    both = estimate(asked, model="new", judges=["one", "two"], labels_are_random=True)
    assert both.naive == pytest.approx(asked["p_a"].mean())
    one = estimate(asked, model="new", judges=["one"], labels_are_random=True)
    kept = asked.filter(pl.col("judge") == "one")
    assert one.estimate == estimate(kept, model="new", labels_are_random=True).estimate
    assert one.dropped == {"row of another judge": 300}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"judges": ["gpt", "gpt"]}, "name each judge once"),
        ({"judges": ["gpt", "llama"]}, "column judge_name: llama is neither a column nor"),
        ({"judges": ["llama"]}, "keep one row per id and judge"),
        ({"method": "conditional"}, "needs verdicts of 0 and 1, not probabilities"),
        ({"interval": "profile"}, "cannot be used with probabilities"),
        ({"by": None, "share": True}, "needs 4 groups or more"),
        ({"judges": ["gpt"], "pool": True, "share": True}, "each group's own labels"),
        ({"interval": "profile", "share": True}, "each group's own labels"),
    ],
)
def test_what_cannot_be_computed_is_refused(
    rows: pl.DataFrame, options: dict[str, object], said: str
) -> None:
    with pytest.raises((ArgumentError, DataError), match=said):
        by_model(rows, **options)


def test_the_judges_of_the_file_are_named(long: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="llama is neither .*; the judges are claude, gpt, small"):
        by_model(long, judges=["gpt", "llama"])
    with pytest.raises(DataError, match="has 3 judges: claude.* .estimate --judge NAME."):
        estimate(long, labels_are_random=True)
    with pytest.raises(ArgumentError, match="give the table that has their rows"):
        estimate(judge=[1, 0], human=[1, 0], judges=["gpt"])
    with pytest.raises(ArgumentError, match="give the table that has their rows"):
        estimate(long, judge=[1, 0], judges=["gpt"])


def test_from_the_command_line(
    rows: pl.DataFrame, long: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    rows.write_csv(path)
    long.write_csv(tmp_path / "long.csv")
    words = ["estimate", str(path), "--judge", "gpt", "--judge", "small", "--by", "model"]
    assert run([*words, "--labels-are-random", "--share", "--json", "--plot", "p.png"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["kind"], result["method"]) == ("grouped_estimate", "ppi++")
    assert all(
        rate["interval"]["low"] < rate["shared_interval"]["high"] <= 1 for rate in result["groups"]
    )
    assert run([*words, "--labels-are-random", "--fail-below", "0.6"]) == 2
    capsys.readouterr()
    one = ["estimate", str(tmp_path / "long.csv"), "--judge", "gpt", "--by", "model"]
    assert run([*one, "--labels-are-random", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dropped"] == {"row of another judge": 2400}


# --- the interval that uses the other groups' rates ---


def test_the_prior_of_a_group_is_fitted_on_the_others(rows: pl.DataFrame) -> None:
    plain = by_model(rows, judges=["gpt"])
    shared = by_model(rows, judges=["gpt"], share=True)
    assert numbers(shared) == numbers(plain)
    assert all(rate.shared_interval is None for rate in plain.rates)
    for rate in shared.rates:
        others = [other for other in plain.rates if other.group != rate.group]
        prior = prior_from(
            [other.estimate for other in others], [other.standard_error for other in others]
        )
        freedom = rate.n_calibration - 1
        centre = (rate.low + rate.high) / 2
        error = rate.width / 2 / -student.ppf(0.025, freedom)
        ends = shared_interval(centre, error, freedom, prior, confidence_level=0.95)
        assert (rate.shared_interval.low, rate.shared_interval.high) == pytest.approx(ends)
    assert "shared interval" in str(shared)
    assert "shared interval" not in str(plain)


@pytest.mark.parametrize("method", ["ppi++", "human-only"])
@pytest.mark.parametrize("clustered", [False, True])
def test_a_shared_interval_has_the_error_of_the_plain_one(method: str, clustered: bool) -> None:
    """Also where a few large clusters decide it: then their degrees of freedom are few."""
    rng = np.random.default_rng(6)
    by = np.repeat(np.arange(5), 200)
    people = rng.integers(0, 2, 1000)
    judge = np.where(rng.random(1000) < 0.8, people, 1 - people)
    human = [int(h) if at % 200 < 80 else None for at, h in enumerate(people)]
    cluster = np.arange(1000) // np.where(np.arange(1000) % 200 < 40, 20, 2) if clustered else None
    options = {"by": by, "cluster": cluster, "method": method, "labels_are_random": True}
    got = estimate(judge=judge, human=human, share=True, **options)
    for rate in got.rates:
        others = [other for other in got.rates if other is not rate]
        prior = prior_from([o.estimate for o in others], [o.standard_error for o in others])
        freedom = 79.0
        if cluster is not None:
            sizes = np.unique(cluster[by == int(rate.group)][:80], return_counts=True)[1]
            freedom = 80**2 / float(sizes @ sizes) - 1
        error = rate.width / 2 / -student.ppf(0.025, freedom)
        centre = (rate.low + rate.high) / 2
        ends = shared_interval(centre, error, freedom, prior, confidence_level=0.95)
        assert (rate.shared_interval.low, rate.shared_interval.high) == pytest.approx(ends)


def test_groups_without_an_estimate_are_in_no_prior() -> None:
    def outcome(rate: float) -> Outcome:
        return Outcome(rate, centre=rate, half=0.1, standard_error=0.05)

    three = [outcome(0.4), outcome(0.5), outcome(0.6)]
    refused = Outcome(reason="no label")
    intervals = shared_intervals([*three, refused], [60] * 4, confidence_level=0.95)
    assert intervals == [None] * 4
    four = shared_intervals([*three, outcome(0.5), refused], [60] * 5, confidence_level=0.95)
    assert four[:4] == shared_intervals([*three, outcome(0.5)], [60] * 4, confidence_level=0.95)
    assert None not in four[:4]
    assert four[4] is None


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
