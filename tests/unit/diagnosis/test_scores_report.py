"""The diagnosis of scores."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from adjudge.diagnosis import diagnose_scores, score_set_rows
from adjudge.errors import ArgumentError, DataError
from adjudge.present.render.terminal import render_terminal
from adjudge.statistics.numbers import mean_known
from simulators import simulate_scores

DRAWN = simulate_scores(
    documents=60,
    models=6,
    criteria={"fluency": 1.6, "relevance": 0.6},
    judges={"one": 0.6, "two": 0.8},
    seed=5,
).frame


def test_groups_cover_at_each_level_and_shrink_with_alpha() -> None:
    report = diagnose_scores(DRAWN, seed=1)
    methods = {g.method for g in report.groups}
    assert methods == {"constant", "per-criterion", "adaptive", "learned"}
    assert len(report.groups) == 4 * 2 * 2 * 4
    for g in report.groups:
        if g.method != "constant":
            assert g.coverage >= 1 - g.alpha - 0.03
        assert g.trust + g.look + g.human == pytest.approx(1.0)
    for judge, criterion, method in {(g.judge, g.criterion, g.method) for g in report.groups}:
        sizes = [
            g.mean_size
            for g in report.groups
            if (g.judge, g.criterion, g.method) == (judge, criterion, method)
        ]
        assert sizes == sorted(sizes, reverse=True)


def test_a_shared_quantile_covers_the_hard_criterion_less() -> None:
    report = diagnose_scores(DRAWN, alphas=[0.2], seed=1)
    of = {(g.judge, g.criterion, g.method): g for g in report.groups}
    for judge in ("one", "two"):
        hard, easy = of[judge, "fluency", "constant"], of[judge, "relevance", "constant"]
        assert hard.coverage < easy.coverage
        assert hard.quantile == easy.quantile


def test_adaptive_width_follows_the_error_where_constant_width_does_not() -> None:
    report = diagnose_scores(DRAWN, alphas=[0.1], seed=1)
    methods = {group.method for group in report.groups}
    of = {m: mean_known(g.spearman for g in report.groups if g.method == m) for m in methods}
    assert of["adaptive"] is not None
    assert of["per-criterion"] is not None
    assert of["adaptive"] > 0.05 > of["per-criterion"]


def test_the_width_of_residual_sets_follows_the_judges_score() -> None:
    """A width that is a function of the judge's score can still rank rows by error."""
    judge = [5] * 60 + [3] * 60
    human = [5] * 60 + [1, 2, 4, 5] * 15
    ids = [str(at) for at in range(120)]
    report = diagnose_scores(
        {"doc_id": ids, "judge_score": judge, "human_score": human}, alphas=[0.1], sets="residual"
    )
    [group] = report.groups
    assert group.spearman is not None
    assert group.spearman > 0.8
    assert "their width is a function of the judge's score" in report.explain()
    assert report.unit == "row"


def test_means_of_the_judge_and_of_people_lead() -> None:
    report = diagnose_scores(DRAWN, alphas=[0.1], splits=1)
    rated = DRAWN.with_columns(people=pl.mean_horizontal("rater1", "rater2", "rater3"))
    for part in report.means:
        named = {"judge": part.judge, "criterion": part.criterion, "model": part.model}
        rows = rated.filter(**{key: name for key, name in named.items() if name is not None})
        assert part.n == rows.height
        assert part.judge_mean == pytest.approx(rows["judge_score"].mean())
        assert part.human_mean == pytest.approx(rows["people"].mean())
        assert part.difference == pytest.approx(part.judge_mean - part.human_mean)
        assert part.interval is not None
        assert part.difference in part.interval
    assert len(report.means) == 2 * (1 + 2 + 6)
    assert str(report).startswith("2 judges score ")


def test_equal_rows_of_a_document_do_not_narrow_the_interval_of_the_means() -> None:
    once = DRAWN.filter(judge="one", criterion="fluency", model="system-0").drop("id", strict=False)
    many = pl.concat(once.with_columns(model=pl.lit(f"m{k}")) for k in range(10))
    single, repeated = (diagnose_scores(rows, splits=1).means[0] for rows in (once, many))
    assert (single.n, repeated.n) == (60, 600)
    assert repeated.low == pytest.approx(single.low)
    assert repeated.high == pytest.approx(single.high)


@pytest.mark.parametrize("misleading", [False, True])
def test_a_row_is_trusted_only_if_small_sets_have_small_errors(misleading: bool) -> None:
    """A judge a point too high where people always say 5 has small sets and the larger errors."""
    rng = np.random.default_rng(4)
    judge = np.repeat([2.0, 4.0], 100)
    human = np.where(
        judge == 4, 5 if misleading else 4, np.clip(judge + rng.integers(-1, 2, 200), 1, 5)
    )
    rows = {"doc_id": [str(at) for at in range(200)], "judge_score": judge, "human_score": human}
    written = score_set_rows(rows)
    small = written.filter(pl.col("set_size") <= 2)
    assert small["judge_score"].unique().to_list() == [4.0]
    assert small["advice"].unique().to_list() == ["look" if misleading else "trust"]
    assert ("trust" in str(diagnose_scores(rows, alphas=[0.1]))) == (not misleading)


def test_a_row_is_trusted_only_if_its_set_contains_the_judges_score() -> None:
    """People say 5 to nearly everything: sets of {5} also where the judge says 3."""
    rng = np.random.default_rng(5)
    human = np.where(rng.random(400) < 0.15, rng.integers(1, 5, 400), 5)
    judge = np.where(human < 5, 1, rng.choice([3, 5], 400))
    rows = {"doc_id": [str(at) for at in range(400)], "judge_score": judge, "human_score": human}
    written = score_set_rows(rows).with_columns(
        inside=pl.col("judge_score").is_between("set_low", "set_high")
    )
    small = written.filter(pl.col("set_size") <= 2)
    assert small["inside"].mean() < 0.7
    assert set(small.filter("inside")["advice"]) == {"trust"}
    assert set(small.filter(~pl.col("inside"))["advice"]) == {"look"}
    report = diagnose_scores(rows, alphas=[0.1])
    [group] = report.main_groups
    assert group.inside is not None
    assert 0.3 < group.inside < 0.7
    assert "with the judge's score in it" in str(report)
    # Sets miss the answers worth catching, and the result says so.
    lowest = min(group.by_score, key=lambda score: score.coverage)
    assert lowest.coverage < 0.45
    assert lowest.n == int((human == lowest.score).sum())
    assert f"missed: people's {lowest.score} is in its set in" in str(report)
    assert sum(s.coverage * s.n for s in group.by_score) / 400 == pytest.approx(
        group.coverage, abs=0.01
    )


def test_a_judge_that_ignores_the_answers_does_not_pay() -> None:
    rng = np.random.default_rng(6)
    human = rng.choice([3, 4, 5], 600, p=[0.2, 0.6, 0.2])
    rows = {"doc_id": [str(at) for at in range(600)], "human_score": human}
    useless = diagnose_scores({**rows, "judge_score": rng.integers(1, 6, 600)}, alphas=[0.1])
    [group] = useless.main_groups
    assert group.shuffled_size == pytest.approx(group.mean_size, rel=0.05)
    assert "this judge does not pay" in str(useless)
    near = np.clip(human + rng.choice([-1, 0, 1], 600, p=[0.1, 0.8, 0.1]), 1, 5)
    useful = diagnose_scores({**rows, "judge_score": near}, alphas=[0.1])
    assert useful.main_groups[0].pays
    assert "does not pay" not in str(useful)


def test_sets_are_chosen_by_the_documents_or_by_name() -> None:
    rows = DRAWN.drop("score_probs")
    assert diagnose_scores(rows, alphas=[0.1], splits=1).sets == "learned"
    # 56 documents are needed at 0.05, and 98 at 0.03.
    assert diagnose_scores(rows, alphas=[0.05], splits=1).sets == "learned"
    report = diagnose_scores(rows, alphas=[0.03], splits=1)
    assert report.sets == "residual"
    needed = "need 98 labelled documents for each judge and criterion at alpha 0.03"
    assert needed in report.explain()
    crossed = diagnose_scores(rows, alphas=[0.1], sets="cross-fitted", splits=2)
    assert (crossed.sets, crossed.main_method) == ("cross-fitted", "cross-fitted")
    assert "at least about 1 - 2 alpha - sqrt(2/D)" in crossed.explain()
    assert diagnose_scores(DRAWN, alphas=[0.1], sets="adaptive", splits=1).main_method == "adaptive"
    with pytest.raises(DataError, match="column score_probs"):
        diagnose_scores(rows, sets="adaptive")


@pytest.mark.parametrize("sets", ["learned", "cross-fitted"])
def test_a_criterion_of_one_document_gets_the_whole_scale(sets: str) -> None:
    # In every split one half knows nothing of it.
    rare = (pl.col("criterion") == "fluency") & (pl.col("doc_id") != "doc-3")
    rows = DRAWN.drop("score_probs").filter(~rare)
    report = diagnose_scores(rows, alphas=[0.1], sets=sets, splits=12)
    own = [g for g in report.groups if (g.method, g.criterion) == (sets, "fluency")]
    assert [(g.mean_size, g.whole_scale, g.documents) for g in own] == [(5.0, True, 1)] * 2


def test_learned_sets_follow_a_judge_that_is_a_point_too_generous() -> None:
    drawn = simulate_scores(documents=100, models=6, judges={"kind": 0.4}, shift=1.2, seed=4).frame
    report = diagnose_scores(drawn.drop("score_probs"), alphas=[0.1], splits=10)
    sizes = {g.method: g.mean_size for g in report.groups}
    covered = {g.method: g.coverage for g in report.groups}
    assert sizes["learned"] < sizes["constant"] - 0.5
    assert covered["learned"] >= 0.9


def test_judges_with_hundreds_of_different_scores_are_no_reason_to_refuse() -> None:
    rng = np.random.default_rng(6)
    score = (DRAWN["judge_score"] + pl.Series(rng.uniform(-0.4, 0.4, DRAWN.height))).clip(1, 5)
    report = diagnose_scores(DRAWN.with_columns(judge_score=score), alphas=[0.1], splits=2)
    assert score.n_unique() > 1000
    assert report.sets == "learned"
    assert all(h.agreement.kappa is not None for h in report.human_agreement)


def test_judges_agree_on_width_where_documents_are_hard() -> None:
    report = diagnose_scores(DRAWN, alphas=[0.1], seed=1)
    pairs = [a for a in report.agreement if a.method == "adaptive"]
    assert {a.criterion for a in pairs} == {"fluency", "relevance"}
    for a in pairs:
        assert (a.judge_a, a.judge_b, a.n) == ("one", "two", 360)
        assert a.spearman is not None
        assert a.spearman > 0


def test_groups_by_a_column_have_their_own_quantile() -> None:
    frame = DRAWN.with_columns(
        pl.when(pl.col("model") < "system-3").then(pl.lit("x")).otherwise(pl.lit("y")).alias("kind")
    )
    report = diagnose_scores(frame, by="kind", alphas=[0.1], splits=3)
    assert "per-group" in {g.method for g in report.groups}
    with pytest.raises(DataError, match="column nowhere"):
        diagnose_scores(frame, by="nowhere")


def test_too_few_documents_are_said_to_be_too_few() -> None:
    few = DRAWN.filter(pl.col("doc_id").is_in([f"doc-{k}" for k in range(12)]))
    report = diagnose_scores(few, alphas=[0.1])
    assert all(g.mean_size == 5.0 for g in report.groups)
    assert "calibration needs 9 labelled documents and has 6" in str(report)


def test_the_same_seed_gives_the_same_report_and_a_random_rater_another() -> None:
    one, two = (diagnose_scores(DRAWN, alphas=[0.1], splits=4, seed=9) for _ in range(2))
    assert one.to_json() == two.to_json()
    other = diagnose_scores(DRAWN, alphas=[0.1], splits=4, target="rater", seed=9)
    assert other.target == "rater"
    assert np.mean([g.mean_size for g in other.groups]) > np.mean([g.mean_size for g in one.groups])


def test_rows_without_a_person_get_a_set_and_advice() -> None:
    raters = ["rater1", "rater2", "rater3"]
    fresh = DRAWN.with_columns(
        pl.when(pl.col("doc_id") == "doc-0").then(None).otherwise(pl.col(name)).alias(name)
        for name in raters
    )
    for sets in ("learned", "cross-fitted", "residual", "adaptive"):
        rows = score_set_rows(fresh, sets=sets)
        assert rows.height == fresh.height
        new = rows.filter(~pl.col("calibrated"))
        assert new["doc_id"].unique().to_list() == ["doc-0"]
        assert new["set_size"].null_count() == 0
        width = pl.col("set_high") - pl.col("set_low") + 1
        assert rows.select((width == pl.col("set_size")).all()).item()
        assert set(rows["advice"]) <= {"trust", "look", "human"}


def test_silent_rows_get_no_set_and_are_counted() -> None:
    frame = DRAWN.with_row_index("n").with_columns(
        judge_score=pl.when(pl.col("n") < 5).then(None).otherwise(pl.col("judge_score"))
    )
    report = diagnose_scores(frame.drop("n", "score_probs"), alphas=[0.1], splits=2)
    assert report.dropped == {"status error": 5}
    assert score_set_rows(frame.drop("n"))["advice"].null_count() == 5


def test_a_judge_without_all_its_probabilities_has_no_adaptive_sets() -> None:
    first = (pl.col("judge") == "one") & (pl.int_range(pl.len()) < 3)
    rows = DRAWN.with_columns(pl.when(~first).then("score_probs"))
    report = diagnose_scores(rows, alphas=[0.1], splits=2)
    assert {g.judge for g in report.groups if g.method == "adaptive"} == {"two"}
    assert any(text.startswith("no adaptive sets for one:") for text in report.assumptions)
    assert not any("adaptive" in text for text in diagnose_scores(DRAWN, splits=2).assumptions)


def test_an_empty_set_has_no_ends() -> None:
    # The judge was never off, so that 2.5 is nearer to no whole score than the quantile of 0.
    judge = [3.0] * 39 + [2.5]
    human = [3] * 39 + [None]
    rows = {"doc_id": [str(d) for d in range(40)], "judge_score": judge, "human_score": human}
    ends = score_set_rows(rows, sets="residual").select("set_low", "set_high", "set_size", "advice")
    # A judge that always says the same does not agree with people above chance.
    assert ends.row(0) == (3, 3, 1, "look")
    assert ends.row(39) == (None, None, 0, "human")
    # Learned sets are never empty.
    assert score_set_rows(rows)["set_size"].to_list() == [1] * 40


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(ArgumentError, match="weigh = 'row'"):
        score_set_rows(DRAWN, weigh="row")
    with pytest.raises(ArgumentError, match="at least one error level"):
        diagnose_scores(DRAWN, alphas=[])
    with pytest.raises(DataError, match="no human scores"):
        diagnose_scores(DRAWN.drop("rater1", "rater2", "rater3"))
    with pytest.raises(ArgumentError, match="scale is 2 to 4"):
        diagnose_scores(DRAWN, scale=(2, 4))
    with pytest.raises(ArgumentError, match="give their scale"):
        diagnose_scores(DRAWN, scale=(1, 7))
    with pytest.raises(DataError, match="one labelled document"):
        diagnose_scores(
            {"doc_id": ["a", "a"], "id": ["1", "2"], "judge_score": [1, 2], "human_score": [1, 2]}
        )


def test_the_sizes_of_several_judges_fit_eighty_columns() -> None:
    rng = np.random.default_rng(2)
    rows = [
        {
            "id": f"{judge}-{doc}-{criterion}",
            "doc_id": f"d{doc}",
            "criterion": criterion,
            "judge": judge,
            "judge_score": int(rng.integers(1, 6)),
            "human_score": int(rng.integers(1, 6)),
        }
        for judge in ("a-model-with-a-long-name-2024-05-13", "another-long-name-70b-chat-hf")
        for doc in range(40)
        for criterion in ("coherence", "consistency")
    ]
    screen = Console(file=io.StringIO(), width=80, color_system=None, record=True)
    report = diagnose_scores(pl.DataFrame(rows))
    for part in render_terminal(report.view(), explain=True):
        screen.print(part)
    text = screen.export_text()
    assert text.count("another-long-name-70b-chat-hf: scores in a set on average") == 1
    shown = [line.split() for line in text.splitlines() if line.strip().startswith("consistency ")]
    sizes = [cells for cells in shown if len(cells) == 2 + 4]
    assert len(sizes) == 6
    assert "left out at this width: Krippendorff's alpha" in text
    assert "left out at this width" not in text.replace("left out at this width: Krippendorff", "")


def test_points_for_the_own_family_are_held_against_people() -> None:
    names = dict(zip(sorted(DRAWN["model"].unique()), ("x", "x", "x", "y", "y", "y"), strict=True))
    fair = diagnose_scores(DRAWN, splits=1, families={"one": "x", **names})
    assert [bias.judge for bias in fair.family] == ["one"]
    lifted = pl.col("model").replace_strict(names) == "x"
    partial = DRAWN.with_columns(
        judge_score=pl.when(lifted & (pl.col("judge") == "one"))
        .then((pl.col("judge_score") + 1).clip(1, 5))
        .otherwise(pl.col("judge_score"))
    )
    [bias] = diagnose_scores(partial, splits=1, families={"one": "x", **names}).family
    assert bias.reference == "people"
    assert (bias.own_models, bias.other_models, bias.biased) == (3, 3, True)
    assert fair.family[0].excess is not None
    assert bias.excess is not None
    assert 0.4 < bias.excess - fair.family[0].excess <= 1
    assert diagnose_scores(DRAWN, splits=1).family == ()
