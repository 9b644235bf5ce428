"""All biases from one file, each where its columns are there."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from adjudge.diagnosis import diagnose_bias
from adjudge.diagnosis.consistency import position_bias
from adjudge.errors import ArgumentError, DataError
from adjudge.present.result import plain

RNG = np.random.default_rng(3)
N = 80


def _frame(**more: object) -> pl.DataFrame:
    p_fwd = RNG.random(N).round(3)
    columns = {
        "id": [f"pair-{k}" for k in range(N)],
        "judge": ["gpt-4o"] * N,
        "p_fwd": p_fwd,
        "p_rev": (p_fwd * 0.8).round(3),
        "label": RNG.choice(["A", "B", "tie"], N),
        "prompt_id": [f"prompt-{k // 4}" for k in range(N)],
        "model_a": RNG.choice(["gpt-4", "llama-3"], N),
        "model_b": RNG.choice(["gpt-4", "claude-3"], N),
        "response_a": ["x" * int(k) for k in RNG.integers(1, 50, N)],
        "response_b": ["x" * int(k) for k in RNG.integers(1, 50, N)],
        "score_a": RNG.integers(1, 6, N),
        "score_b": RNG.integers(1, 6, N),
    }
    return pl.DataFrame({**columns, **more})


def test_everything_is_measured_where_everything_is_there() -> None:
    report = diagnose_bias(_frame())
    assert report.clustered_by == "prompt_id"
    assert report.clusters == N // 4
    # One judge's points need another's to be held against.
    assert set(report.not_measured) == {"family_scores"}
    fields = report.to_dict()
    assert set(fields["position"]) >= {"first_share", "interval", "flip_share"}
    assert all(fields[name] is not None for name in ("verbosity", "agreement", "reliability"))
    assert fields["judges"][0]["judge"] == "gpt-4o"
    json.loads(report.to_json())


def test_what_is_missing_is_named_with_its_reason() -> None:
    report = diagnose_bias({"id": ["a", "b"], "p_a": [0.9, 0.2]})
    assert report.position is None
    assert set(report.not_measured) == {
        "position",
        "length",
        "verbosity",
        "family",
        "agreement",
        "reliability",
        "contradictions",
    }
    assert "not measured" in str(report)


def test_several_judges_stand_apart_and_together() -> None:
    both = pl.concat([_frame(), _frame(judge=["claude-3-opus"] * N)])
    report = diagnose_bias(both)
    assert [judge.judge for judge in report.judges] == ["claude-3-opus", "gpt-4o"]
    assert report.position is not None
    assert report.position.n == 2 * N
    assert report.position.clusters == N // 4
    assert report.family is None
    assert report.judges[0].family is not None


def test_without_labels_the_other_judges_are_the_reference() -> None:
    one = _frame().drop("label")
    two = one.with_columns(judge=pl.lit("claude-3-opus"))
    family = diagnose_bias(pl.concat([one, two])).judges[1].family
    assert family is not None
    assert family.reference == "the other judges"
    assert family.excess == 0.0  # they say the same


def test_verdicts_in_both_orders_are_enough_for_position() -> None:
    report = diagnose_bias(
        {"question": [1, 1, 2, 2], "first": ["A", "A", "B", None], "second": ["B", "A", "B", "A"]},
        columns={"verdict_fwd": "first", "verdict_rev": "second"},
        cluster="question",
    )
    assert report.position is not None
    assert report.position.n == 3
    assert report.position.flip_share == pytest.approx(1 / 3)
    assert "no confidence" in report.not_measured["reliability"]


def test_bare_scores_give_verdicts_and_near_ties_in_score() -> None:
    frame = _frame().select(
        "id", "judge", "score_a", "score_b", "response_a", "response_b", "label"
    )
    report = diagnose_bias(frame, near_tie=1.0)
    assert report.verbosity is not None
    assert report.verbosity.near_tie == 1.0
    assert report.agreement is not None
    assert report.contradictions is None


def test_pairs_and_labels_join_by_id() -> None:
    rows = _frame()
    bare = rows.select("id", "judge", "p_fwd", "p_rev")
    pairs = rows.select("id", "response_a", "response_b", "model_a", "model_b").with_columns(
        prompt=pl.lit("?")
    )
    labels = pl.concat(
        [
            rows.select("id", "label", pl.lit(rater).alias("rater")).filter(
                pl.col("label") != "tie"
            )
            for rater in ("ann", "bob")
        ]
    )
    report = diagnose_bias(bare, pairs=pairs, labels=labels)
    assert report.verbosity is not None
    assert report.agreement is not None
    assert report.agreement.ceiling is not None
    assert report.agreement.ceiling.raw == 1.0  # both raters said the same


def test_pandas_gives_the_same_answer() -> None:
    frame = _frame()
    again = pd.DataFrame({name: frame[name].to_list() for name in frame.columns})
    assert plain(diagnose_bias(frame)) == plain(diagnose_bias(again))


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(DataError, match="has no judgment"):
        diagnose_bias({"id": ["a"], "prompt_id": ["p"]})
    with pytest.raises(ArgumentError, match="cluster = 'nowhere': choose a column: id, judge"):
        diagnose_bias(_frame(), cluster="nowhere")
    with pytest.raises(ArgumentError, match="by = 'nowhere': choose a column"):
        diagnose_bias(_frame(), by="nowhere")
    with pytest.raises(DataError, match="'maybe' is not known"):
        diagnose_bias({"id": ["a"], "verdict_fwd": ["maybe"], "verdict_rev": ["A"]})


def test_a_pair_without_a_prompt_is_a_cluster_of_its_own_whichever_judges_saw_it() -> None:
    one = _frame()
    gaps = one.with_columns(prompt_id=pl.when(pl.int_range(N) >= 8).then("prompt_id"))
    report = diagnose_bias(pl.concat([gaps, gaps.with_columns(judge=pl.lit("claude-3-opus"))]))
    assert report.clustered_by == "prompt_id"
    assert report.clusters == 8 + gaps["prompt_id"].drop_nulls().n_unique()
    assert report.rows == 2 * N


def test_battles_are_judgments_with_peoples_winner_as_label() -> None:
    battles = {
        "model_a": ["gpt-4", "llama-2", "gpt-3.5", "claude-1"] * 30,
        "model_b": ["llama-2", "gpt-4", "claude-1", "llama-2"] * 30,
        "winner": ["model_b", "model_b", "tie", "model_a"] * 30,
        "gpt4_says": ["A", "B", "A", "A"] * 30,
        "prompt_id": [f"prompt-{k}" for k in range(120)],
    }
    report = diagnose_bias(battles, judge="gpt-4-0613", columns={"verdict": "gpt4_says"})
    # On the 90 battles of OpenAI against others the judge always names OpenAI; people give it
    # nothing, everything and one half.
    assert report.family is not None
    assert (report.family.n, report.family.family) == (90, "OpenAI")
    assert report.family.excess == pytest.approx(1 - 1.5 / 3)
    assert report.agreement is not None
    assert report.agreement.raw == pytest.approx(2 / 3)
    with pytest.raises(ArgumentError, match="names its judges"):
        diagnose_bias({**battles, "judge": ["x"] * 120}, judge="y")


def test_the_released_scores_of_soft_elo_are_read_as_battles() -> None:
    rows = [
        {
            "row_id": f"r{k}",
            "model_a": "gpt-4o",
            "model_b": "gemma-2",
            "human_pref": 0.0,
            "judge_pref": 0.0,
            "scores_a": "{'clarity': 9.0}",
            "scores_b": f"{{'clarity': {9.5 if k < 5 else 5.0}}}",
        }
        for k in range(20)
    ]
    report = diagnose_bias(rows, judge="qwen3-32b")
    assert report.contradictions is not None
    assert (report.contradictions.n, report.contradictions.share) == (20, 0.25)
    assert report.agreement is not None
    assert report.agreement.raw == 1.0


def test_scores_alone_cannot_contradict_themselves() -> None:
    scored = {
        "model_a": ["x", "y"],
        "model_b": ["y", "x"],
        "winner": ["tie", "model_a"],
        "score_a": [1.0, 2.0],
        "score_b": [2.0, 1.0],
    }
    rubric = _rubric(0.3).with_columns(score_a=5 + pl.col("p_a"), score_b=6 - pl.col("p_a"))
    for rows in (scored, rubric):
        report = diagnose_bias(rows)
        assert report.contradictions is None
        assert "computed from the scores" in report.not_measured["contradictions"]
        assert "against own scores" not in str(report)


def test_length_needs_models_or_labels_and_is_shown_with_them() -> None:
    rng = np.random.default_rng(0)
    n = 240
    length_a, length_b = rng.integers(50, 900, n), rng.integers(50, 900, n)
    longer = np.where(length_a > length_b, 0.9, 0.1)
    rows = {
        "id": [str(k) for k in range(n)],
        "judge": ["wordy-judge"] * n,
        "p_a": np.where(rng.random(n) < 0.7, longer, 1 - longer),
        "length_a": length_a,
        "length_b": length_b,
    }
    alone = diagnose_bias(rows)
    assert alone.length is None
    assert "name model_a and model_b, or give labels" in alone.not_measured["length"]
    named = {**rows, "model_a": ["x", "y"] * (n // 2), "model_b": ["y", "z"] * (n // 2)}
    report = diagnose_bias(named)
    assert report.length is not None
    assert report.length.biased
    assert "wordy-judge shows a bias in 1 of 1 test: length" in str(report)
    assert report.floor == 0.03
    assert not diagnose_bias(named, floor=0.4).length.biased
    labelled = diagnose_bias({**rows, "label": rng.choice(["A", "B"], n).tolist()})
    assert labelled.length.excess is not None
    assert labelled.length.biased


def test_annotations_of_alpaca_eval_are_judgments_with_lengths() -> None:
    row = {"generator_1": "base", "annotator": "gpt", "output_1": "short"}
    rows = [
        {
            **row,
            "instruction": f"question {k}",
            "generator_2": "null" if k % 2 else "chatty",
            "output_2": "pick this one" if k % 2 else "word " * (1 + k),
            "preference": 1.9,
        }
        for k in range(60)
    ]
    report = diagnose_bias(rows)
    assert report.length is not None
    assert (report.length.n, report.length.models) == (59, 3)
    assert [one.model for one in report.same_answers] == ["null"]
    # The texts of a published file are pairs, by the ids that its judgments have.
    texts = diagnose_bias(rows, pairs=rows)
    assert texts.verbosity == report.verbosity
    assert texts.length == report.length


def test_points_for_the_own_family_are_held_against_the_other_judges() -> None:
    draw = np.random.default_rng(5)
    models = ["gpt-4", "gpt-4o", "gpt-3.5", "llama-3", "claude-3", "qwen-2", "yi-34b"]
    rows = []
    for k in range(280):
        a, b = draw.choice(len(models), 2, replace=False)
        quality = {side: 5 + draw.normal() for side in "ab"}
        for judge in ("gpt-5", "llama-4", "mistral-large"):
            liking = {
                side: 0.5 if judge == "gpt-5" and models[m] in models[:3] else 0.0
                for side, m in (("a", a), ("b", b))
            }
            rows.append(
                {
                    "id": f"battle-{k}",
                    "judge": judge,
                    "model_a": models[a],
                    "model_b": models[b],
                    "winner": None if k else "tie",
                    **{f"score_{s}": quality[s] + liking[s] + draw.normal(0, 0.2) for s in "ab"},
                }
            )
    report = diagnose_bias(rows)
    result = {one.judge: one.family_scores for one in report.judges}
    own = result["gpt-5"]
    assert own is not None
    assert (own.own_models, own.other_models, own.biased) == (3, 4, True)
    assert own.low is not None
    assert own.high is not None
    assert own.low <= 0.5 <= own.high
    assert own.excess == pytest.approx(0.5, abs=0.1)
    fair = result["llama-4"]
    assert fair is not None
    # One model of its own: no interval, and that is said.
    assert (fair.own_models, fair.low, fair.biased) == (1, None, False)
    assert "no interval: one model alone on a side" in str(fair)


def _rubric(lift: float, n: int = 200) -> pl.DataFrame:
    """Judgments as the rubric protocol writes them: the first slot is given `lift` points."""
    rng = np.random.default_rng(11)
    quality = rng.normal(0, 1.5, n)
    ahead, behind = (quality + shift + rng.normal(0, 0.5, n) for shift in (lift, -lift))
    s = (ahead + behind) / 2
    return pl.DataFrame(
        {
            "id": [f"pair-{k}" for k in range(n)],
            "judge": ["qwen"] * n,
            "protocol": ["rubric"] * n,
            "p_a": np.where(ahead * behind < 0, 0.5, 0.5 + s / 18),
            "score_a": 5 + s / 2,
            "score_b": 5 - s / 2,
            "score_diff_ab": ahead,
            "score_diff_ba": behind,
            "length_a": rng.integers(10, 500, n),
            "length_b": rng.integers(501, 900, n),
        }
    )


def test_a_rubric_in_both_orders_shows_position_in_verdicts_and_points() -> None:
    frame = _rubric(0.5)
    report = diagnose_bias(frame)
    result = report.position
    assert result is not None
    ahead, behind = frame["score_diff_ab"].to_numpy(), frame["score_diff_ba"].to_numpy()
    assert result.first_share == pytest.approx(((ahead > 0).mean() + (behind < 0).mean()) / 2)
    assert result.flip_share == pytest.approx(((ahead > 0) != (behind > 0)).mean())
    assert result.first_advantage == pytest.approx((ahead - behind).mean() / 2)
    assert result.advantage_interval is not None
    assert 0 < result.advantage_interval.low < 0.5 < result.advantage_interval.high
    assert "being shown first is worth +0.5" in str(result)
    # Near-tied in points, as in the paper; 0.1 of a rubric's p_a would be 1.8 points.
    assert report.verbosity is not None
    assert report.verbosity.near_tie == 0.3
    assert report.verbosity.n == int((np.abs(ahead + behind) / 2 <= 0.3).sum())
    json.dumps(plain(report), allow_nan=False)
    # 1/2 + s/18 is no probability, labels or not.
    labelled = diagnose_bias(frame.with_columns(label=pl.lit("A")))
    assert labelled.reliability is None
    assert "not a probability" in labelled.not_measured["reliability"]


def test_one_order_without_scores_has_no_advantage_and_equal_ones_an_end() -> None:
    assert diagnose_bias(_frame()).position.first_advantage is None
    same = _rubric(0.0).with_columns(score_diff_ba=pl.col("score_diff_ab"))
    result = diagnose_bias(same).position
    assert (result.first_share, result.first_advantage, result.flip_share) == (0.5, 0.0, 0.0)
    assert result.advantage_interval.low < 0 < result.advantage_interval.high


def test_the_interval_of_the_advantage_holds_its_level() -> None:
    """Prompts of five like pairs, no advantage: at most one alarm in twenty, within chance."""
    rng = np.random.default_rng(5)
    rounds, prompts, per = 600, 30, 5
    alarms = 0
    clusters = np.repeat(np.arange(prompts), per)
    for _ in range(rounds):
        shared = rng.normal(0, 0.6, prompts)[clusters]
        noise = shared + rng.normal(0, 0.4, prompts * per)
        quality = rng.normal(0, 1, prompts * per)
        ahead, behind = quality + noise, quality - noise
        result = position_bias(
            ahead > 0, behind > 0, gap_fwd=ahead, gap_rev=behind, clusters=clusters
        )
        alarms += not result.advantage_interval.low <= 0 <= result.advantage_interval.high
    assert alarms <= stats.binom.ppf(0.9999, rounds, 0.05)


def test_rows_that_a_diagnosis_cannot_use_are_counted_by_reason() -> None:
    lengths: list[int | None] = [5] * 7 + [None]
    report = diagnose_bias(
        {
            "id": list("abcdefgh"),
            "p_fwd": [0.55] * 8,
            "p_rev": [0.55] * 8,
            "length_a": lengths,
            "length_b": [3] * 8,
            "label": ["A"] * 5 + ["tie"] * 2 + [None],
        }
    )
    assert report.verbosity is not None
    assert report.verbosity.dropped == {"no length": 1}
    assert report.reliability is not None
    assert report.reliability.dropped == {"no human label": 1, "human tie": 2}
    assert report.agreement is not None
    assert report.agreement.dropped == {"human tie": 2, "no human label": 1}


def test_a_near_tie_of_nothing_is_refused() -> None:
    with pytest.raises(ArgumentError, match="near_tie = 0"):
        diagnose_bias(_frame(), near_tie=0)
