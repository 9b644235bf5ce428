"""Learned doubt and the learned jury: what they buy, what they keep, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from adjudge.data import prepare_grades, read_judgments, read_tournaments, write_result
from adjudge.data.judgments import read_wins
from adjudge.data.outcomes import judge_scores
from adjudge.data.verdicts import prepare_verdicts
from adjudge.errors import ArgumentError, DataError
from adjudge.selection import (
    Jury,
    Learned,
    calibrate,
    evaluate_doubt,
    read_policy,
    scope_threshold,
    select,
)
from adjudge.selection.doubts.evidence import Evidence, LearnedMargin, doubt_of, log_odds
from adjudge.simulate.pairs import two_order_judge
from simulators import misled_judges, several_judges


def frame_of(p, prefers_a, **columns):
    n = len(p)
    shared = {"id": [f"pair-{i:04d}" for i in range(n)], "label": np.where(prefers_a, "A", "B")}
    return pl.concat(
        pl.DataFrame({**shared, "judge": f"judge-{j}", "p_a": p[:, j], **columns})
        for j in range(p.shape[1])
    )


def misled(n=300, seed=0):
    """Four judges, three of them worse than a coin, with lengths and a category."""
    rng = np.random.default_rng([seed, 9])
    return frame_of(
        *misled_judges(n, seed=seed),
        length_a=rng.integers(1, 900, n),
        length_b=rng.integers(1, 900, n),
        kind=rng.choice(["code", "math"], n),
    )


def one_judge(n=300, seed=0, **columns):
    made = pl.DataFrame(two_order_judge(n, seed=seed))
    return made.with_columns(judge=pl.lit("x"), protocol=pl.lit("preference"), **columns)


# --- what it buys ----------------------------------------------------------------------------


def coverage_after(p, prefers_a, *candidates, n=300):
    """Share of new pairs that scope at alpha 0.1 accepts after n labels, for each candidate."""
    old, new = frame_of(p[:n], prefers_a[:n]), frame_of(p[n:], prefers_a[n:]).drop("label")
    policies = [calibrate(old, alpha=0.1, **options) for options in candidates]
    return [
        select(new, policy, judge=options.get("judge")).summary.accepted_share
        for policy, options in zip(policies, candidates, strict=True)
    ]


MEAN, LEARNED = {"doubt": Jury("mean")}, {"doubt": Learned(jury=Jury())}


def test_the_learned_jury_beats_the_best_judge_where_the_others_are_worse_than_chance():
    alone = [{"judge": f"judge-{j}"} for j in range(4)]
    draws = np.array(
        [coverage_after(*misled_judges(700, seed=seed), *alone, MEAN, LEARNED) for seed in range(6)]
    )
    *judges, mean, learned = draws.mean(axis=0)
    assert learned > max(judges) + 0.2
    assert mean < max(judges)
    assert (draws[:, -1] > draws[:, :4].max(axis=1)).all()


def test_on_clean_judges_the_learned_jury_loses_little():
    """At most 0.02 of the mean's coverage at 300 labels, of which 90 are learned from.

    Over 300 draws the loss is known to within 0.006 (one standard error); it is near 0.005, and
    all of it is the price of the 90 labels.
    """
    lost = []
    for seed in range(300):
        p, prefers_a = several_judges(1300, skills=(1.0, 0.9, 0.8), scales=(2, 2, 2), seed=seed)
        pairs = Evidence(judges=("x", "y", "z"), p=p)
        learned = LearnedMargin.fit(replace(pairs, p=p[:90]), prefers_a[:90], seed=seed)

        def coverage(margin, start, right=prefers_a):
            scores, errors = doubt_of(margin), ((margin > 0) != (right > 0)).astype(int)
            rule = scope_threshold(scores[start:300], errors[start:300], alpha=0.1)
            return rule.accept(scores[300:]).mean()

        mean = log_odds(p).mean(axis=1)
        lost.append(coverage(mean, 0) - coverage(learned.margins(pairs), 90))
    assert np.std(lost) / np.sqrt(len(lost)) < 0.006
    assert np.mean(lost) <= 0.02


# --- what it keeps ---------------------------------------------------------------------------


@pytest.mark.parametrize("jury", [None, Jury()])
def test_select_has_the_scores_of_calibrate_to_the_last_bit(tmp_path, jury):
    frame = misled().with_columns(response_a=pl.lit("ab"), response_b=pl.lit("c"))
    if jury is None:
        frame = frame.filter(pl.col("judge") == "judge-0").drop("length_a", "length_b")
    made = calibrate(frame, alpha=0.2, doubt=Learned(category="kind", jury=jury))
    path = write_result(made, tmp_path / "policy.json")
    assert read_policy(path) == made
    rows = select(frame.drop("label"), path).rows
    assert rows.height == 300
    scores = made.groups[0].scores
    assert len(scores) == 210
    assert set(scores) <= set(rows["learned_doubt"].to_list())
    few = select(frame.drop("label").filter(pl.col("id") == "pair-0042"), path).rows
    mine = rows.filter(pl.col("id") == "pair-0042")
    assert few["learned_doubt"][0] == mine["learned_doubt"][0]


def test_the_order_of_the_rows_decides_nothing():
    frame = misled()
    made = calibrate(frame, doubt=Learned(category="kind", jury=Jury()))
    again = calibrate(
        frame.sample(fraction=1, shuffle=True, seed=3), doubt=Learned(category="kind", jury=Jury())
    )
    assert again == made
    other = calibrate(frame, doubt=Learned(category="kind", jury=Jury()), seed=1)
    assert other.doubt.weights != made.doubt.weights


def test_the_judges_word_is_kept_and_overturned_verdicts_are_counted():
    frame = misled()
    policy = calibrate(frame, alpha=0.1, doubt=Learned(jury=Jury()))
    assert 0 < policy.doubt.n_overturned < policy.n_calibration == 210
    assert policy.dropped["label used to learn the doubt"] == 90 == policy.doubt.n_learning
    mean = select(frame.drop("label"), calibrate(frame, alpha=0.3, doubt=Jury("mean"))).rows
    run = select(frame.drop("label"), policy)
    own = read_judgments(frame).filter(pl.col("judge") == "judge-0").sort("id")["verdict"].to_list()
    for rows in (run.rows, mean):
        assert rows.sort("id")["judge_verdict"].to_list() == own
    assert run.rows["p_a"].to_list() == mean["p_a"].to_list()
    assert run.rows["verdict"].to_list() != mean["verdict"].to_list()
    assert mean["verdict"].to_list() == [None if p == 0.5 else "AB"[p < 0.5] for p in mean["p_a"]]
    assert "learned_doubt" not in mean.columns
    turned = run.rows.filter("accepted", pl.col("verdict") != pl.col("judge_verdict"))
    assert run.summary.n_overturned == turned.height > 0
    assert f"verdict differs from judge_verdict in {turned.height} of" in str(run)
    # calibrate compares with the same judge: on the rows that it did not learn from.
    calibrating = run.rows.filter(pl.col("learned_doubt").is_in(policy.groups[0].scores))
    assert calibrating.height == policy.doubt.n_verdicts
    differ = calibrating.filter(pl.col("verdict") != pl.col("judge_verdict")).height
    assert policy.doubt.n_overturned == differ
    first = "verdict differs from judge_verdict, that of judge-0"
    assert f"{first}, in {differ} of 210 rows" in str(policy)


def test_readers_of_a_selection_take_its_verdict_and_calibrate_takes_the_judges():
    """Also if the names in the file would allow both; a lone judge_verdict is the verdict."""
    frame = misled().with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"), doc_id="id")
    selected = select(frame, calibrate(frame, alpha=0.1, doubt=Learned(jury=Jury()))).rows
    decided = selected["verdict"].to_list()
    assert decided != read_judgments(selected.select("id", "p_a"))["verdict"].to_list()
    assert read_judgments(selected)["verdict"].to_list() == decided
    wins = [None if one is None else float(one == "A") for one in decided]
    assert read_wins(selected, "x").frame["judge"].to_list() == wins
    assert read_tournaments(selected).filter(pl.col("verdict").is_not_null()).height
    assert "p_a" not in read_tournaments(selected).columns
    scores = judge_scores(selected, verdict=None, score=None, exclude="label")
    assert scores.source == "verdicts in verdict"
    biased = prepare_verdicts(selected)
    assert (biased.graded, biased.frame["verdict"].to_list()) == (False, decided)
    names = {"human": [1], "accepted": [True], "verdict": [1], "judge_verdict": [0]}
    assert prepare_grades(names).judge.tolist() == [1.0]
    assert prepare_grades({"human": [1], "judge_verdict": [0]}).judge.tolist() == [0.0]
    plain = selected.drop("accepted", "verdict", "judge_verdict", "learned_doubt")
    assert calibrate(selected, alpha=0.3) == calibrate(plain, alpha=0.3)
    again, first = (select(rows, calibrate(plain, alpha=0.3)).rows for rows in (selected, plain))
    assert again.select(first.columns).equals(first)
    assert again["input_accepted"].to_list() == selected["accepted"].to_list()


def test_errors_are_those_of_the_learned_verdict():
    frame = misled()
    policy = calibrate(frame, alpha=0.1, doubt=Learned(jury=Jury()))
    rows = select(frame.drop("label"), policy).rows
    label = frame.filter(pl.col("judge") == "judge-0").select("id", "label")
    right = rows.join(label, on="id")
    wrong = right.filter("accepted")["verdict"] != right.filter("accepted")["label"]
    assert wrong.mean() < 0.12
    assert policy.n_errors < 0.3 * policy.n_calibration


def test_no_margin_is_no_verdict():
    frame = one_judge(200).with_columns(
        p_fwd=pl.when(pl.int_range(200) < 20).then(0.6).otherwise("p_fwd"),
        p_rev=pl.when(pl.int_range(200) < 20).then(0.4).otherwise("p_rev"),
    )
    policy = calibrate(frame, alpha=0.45, doubt="learned")
    assert any("labelled rows (margin 0): each counts" in line for line in policy.warnings)
    rows = select(frame.drop("label"), policy).rows.head(20)
    assert rows["verdict"].null_count() == 20
    assert rows["reason"].unique().to_list() == ["no verdict"]


def test_a_tie_of_the_judge_stays_one():
    frame = one_judge(200).with_columns(
        p_tie=pl.when(pl.int_range(200) < 20).then(0.9).otherwise(0.0),
        p_fwd=pl.when(pl.int_range(200) < 20).then(0.5).otherwise("p_fwd"),
        p_rev=pl.when(pl.int_range(200) < 20).then(0.52).otherwise("p_rev"),
    )
    policy = calibrate(frame, alpha=0.45, doubt="learned")
    rows = select(frame.drop("label"), policy).rows.head(20)
    assert rows["verdict"].unique().to_list() == ["tie"]
    assert rows["learned_doubt"].null_count() == 20
    assert not rows["accepted"].any()
    seen = evaluate_doubt(frame, doubt="learned", splits=5, alphas=[0.45])
    assert max(one.coverage for one in seen.comparisons) < 1


def test_human_ties_are_not_learned_from():
    frame = one_judge(200).with_columns(
        label=pl.when(pl.int_range(200) % 2 == 0).then(pl.lit("tie")).otherwise("label")
    )
    policy = calibrate(frame, alpha=0.45, doubt="learned", ties="error")
    assert policy.n_calibration == 140
    assert policy.dropped["label used to learn the doubt"] == 60
    assert 20 <= policy.doubt.n_learning <= 40


def test_prompts_are_learned_from_whole():
    frame = misled(400).with_columns(prompt_id=pl.col("id").str.slice(-2, 2))
    policy = calibrate(frame, alpha=0.3, doubt=Learned(jury=Jury()))
    assert policy.cluster == "prompt_id"
    assert (policy.doubt.n_learning, policy.n_calibration) == (120, 70)


def test_groups_and_every_guarantee_take_learned_scores():
    frame = misled(400)
    for guarantee in ("scope", "fdr", "pac"):
        made = calibrate(
            frame, alpha=0.2, doubt=Learned(jury=Jury()), by="kind", guarantee=guarantee
        )
        assert [group.group for group in made.groups] == ["math", "code"]
        assert select(frame.drop("label"), made).summary.n_accepted > 100


# --- what it refuses -------------------------------------------------------------------------


def test_a_missing_column_is_refused_by_name():
    frame = misled()
    with pytest.raises(ArgumentError, match="length_a is there, but length_b is missing"):
        calibrate(frame.drop("length_b"), doubt=Learned(jury=Jury()))
    with pytest.raises(ArgumentError, match="category = 'topic': choose a column"):
        calibrate(frame, doubt=Learned(category="topic", jury=Jury()))
    policy = calibrate(frame, doubt=Learned(category="kind", jury=Jury()))
    for column in ("length_a", "length_b", "kind"):
        with pytest.raises(ArgumentError, match=f"judgments = '{column}': the learned doubt needs"):
            select(frame.drop("label", column), policy)
    gap = pl.when(pl.col("id") == "pair-0007").then(None).otherwise("length_a").alias("length_a")
    with pytest.raises(ArgumentError, match="length_a of id 'pair-0007'"):
        calibrate(frame.with_columns(gap), doubt=Learned(jury=Jury()))
    ordered = calibrate(one_judge(), doubt="learned")
    assert "sign x order gap" in ordered.doubt.columns
    new = one_judge(20).select("id", "judge", "protocol", p_a=pl.col("p_fwd"))
    with pytest.raises(ArgumentError, match="p_fwd, p_rev"):
        select(new, ordered)


def test_texts_give_lengths_in_characters():
    n, rng = 200, np.random.default_rng(0)
    texts = {f"response_{side}": ["é" * k for k in rng.integers(1, 50, n)] for side in "ab"}
    frame = one_judge(n, **{name: pl.Series(texts[name]) for name in texts})
    numbers = one_judge(n, **{
        f"length_{side}": pl.Series([len(t) for t in texts[f"response_{side}"]]) for side in "ab"
    })  # fmt: skip
    by_text, by_number = (calibrate(f, alpha=0.3, doubt="learned") for f in (frame, numbers))
    assert (by_text.doubt.lengths, by_number.doubt.lengths) == ("response", "length")
    assert by_text.groups == by_number.groups
    with pytest.raises(ArgumentError, match="'response_a'"):
        select(numbers.drop("label"), by_text)  # another unit is not the same length


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"doubt": "learned"}, "4 judges or protocols: select one with --judge"),
        ({"doubt": "boosted", "judge": "judge-0"}, "choose one of own, jury, learned"),
        ({"doubt": Jury("learned")}, "jury = 'learned': choose one of mean"),
        ({"doubt": Learned(share=0.01, jury=Jury())}, "leaves 3 labels to learn from"),
        ({"doubt": Learned(share=1.0, jury=Jury())}, "learning_share"),
    ],
)
def test_options_that_do_not_fit(options, match):
    with pytest.raises(ArgumentError, match=match):
        calibrate(misled(), **options)


def test_few_labels_get_advice():
    assert any(
        "the doubt that is not learned" in w
        for w in calibrate(misled(140), doubt=Learned(jury=Jury())).warnings
    )
    enough = calibrate(misled(160), doubt=Learned(jury=Jury())).warnings
    assert not any("the doubt that is not learned" in line for line in enough)


# --- before calibrating ----------------------------------------------------------------------


def test_evaluate_shows_whether_it_pays():
    seen = evaluate_doubt(misled(), doubt=Learned(jury=Jury()), splits=40, alphas=[0.1, 0.2])
    assert seen.comparison_splits == 40
    names = [f"judge-{j}" for j in range(4)] + ["jury (mean)", "jury (learned)"]
    assert list(dict.fromkeys(one.candidate for one in seen.comparisons)) == names
    assert len(seen.comparisons) == 6 * 3 * 2
    scope = {
        one.candidate: one for one in seen.comparisons if (one.method, one.alpha) == ("scope", 0.1)
    }
    learned = scope["jury (learned)"]
    assert learned.learned
    assert learned.coverage > scope["judge-0"].coverage + 0.1
    assert learned.risk < 0.12
    assert any("--choose-on IDS" in line for line in seen.warnings)
    assert "jury (learned) accepts" in str(seen)


def test_the_judge_alone_is_the_same_in_both_tables():
    frame = misled()
    seen = evaluate_doubt(frame, doubt=Jury("mean"), splits=30, alphas=[0.2])
    own = {m.method: m.coverage for m in seen.methods if m.judge == "judge-0"}
    for one in seen.comparisons:
        assert not one.learned
        if one.candidate == "judge-0":
            assert one.coverage == own[one.method]


def test_evaluate_learns_by_prompt_and_from_one_judge():
    frame = one_judge(160).with_columns(prompt_id=pl.col("id").str.slice(-2, 2))
    seen = evaluate_doubt(frame, doubt="learned", splits=10, alphas=[0.3])
    assert [one.candidate for one in seen.comparisons][::3] == ["x", "learned doubt"]
    assert any("100 labelled rows: below about 150" in line for line in seen.warnings)


def test_halves_too_small_to_learn_from_are_refused():
    with pytest.raises(ArgumentError, match="leaves 9 labels to learn from in each half"):
        evaluate_doubt(one_judge(60), doubt="learned")
    assert evaluate_doubt(one_judge(60), doubt=None, splits=5).comparisons == ()


def test_what_was_chosen_on_does_not_calibrate():
    frame = misled().with_columns(prompt_id=pl.col("id").str.slice(-3, 2))
    ids = frame.filter(pl.col("id").str.ends_with("0")).select("id").unique()
    seen = evaluate_doubt(frame, doubt=Jury("mean"), splits=5, alphas=[0.2], choose_on=ids)
    assert seen.signals[0].n == 30
    assert any("with --leave-out and the same ids" in line for line in seen.warnings)
    plain = calibrate(frame, alpha=0.3, doubt=Jury("mean"), cluster=None, leave_out=ids)
    assert plain.n_calibration == 270
    assert plain.dropped["left out by id"] == 120
    # Rows of the same prompt are not independent of those that were chosen on.
    with pytest.raises(ArgumentError, match="leaves no labelled row"):
        calibrate(frame, doubt=Jury("mean"), leave_out=ids)
    half = ids.filter(pl.col("id") < "pair-0150")
    made = calibrate(frame, alpha=0.3, doubt=Jury("mean"), leave_out=half)
    assert made.dropped["same prompt_id as a row left out"] > 0
    with pytest.raises(ArgumentError, match="no labelled row has one of its ids"):
        evaluate_doubt(frame, choose_on=pl.DataFrame({"id": ["nobody"]}))
    with pytest.raises(DataError, match="column id"):
        calibrate(frame, doubt=Jury("mean"), leave_out=pl.DataFrame({"name": ["x"]}))


def test_a_doubt_that_was_edited_is_refused(tmp_path):
    made = calibrate(misled(), doubt=Learned(jury=Jury()))
    short = replace(made, doubt=replace(made.doubt, weights=made.doubt.weights[1:]))
    path = write_result(short, tmp_path / "policy.json")
    with pytest.raises(DataError, match="columns has 11, scales has 11, weights has 10"):
        read_policy(path)
