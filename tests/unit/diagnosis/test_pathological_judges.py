"""Judges that do not judge are called what they are."""

from __future__ import annotations

import numpy as np
import polars as pl

from adjudge.diagnosis import diagnose_bias, diagnose_scores, diagnose_transitivity
from simulators import simulate_scores, simulate_tournaments

RNG = np.random.default_rng(4)
N = 120
LABELS = RNG.choice(["A", "B"], N).tolist()
PROMPTS = [f"prompt-{k // 3}" for k in range(N)]


def _judgments(p_fwd: object, p_rev: object) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [str(k) for k in range(N)],
            "p_fwd": p_fwd,
            "p_rev": p_rev,
            "label": LABELS,
            "prompt_id": PROMPTS,
        }
    )


def test_a_judge_that_always_picks_the_first_answer() -> None:
    report = diagnose_bias(_judgments([0.9] * N, [0.05] * N))
    position = report.position
    assert position is not None
    assert (position.first_share, position.flip_share, position.biased) == (1.0, 1.0, True)
    assert position.low is not None
    assert position.low > 0.9
    assert "it prefers the first slot so much that its verdicts say little" in str(position)
    assert "Use another judge or prompt." in str(report)
    assert "its verdicts say little about answers" in report.explain()


def test_a_judge_that_always_picks_the_second_answer() -> None:
    position = diagnose_bias(_judgments([0.1] * N, [0.95] * N)).position
    assert position is not None
    assert position.first_share == 0.0
    assert "it prefers the second slot so much" in str(position)


def test_always_first_makes_ties_of_tournaments_and_no_cycle() -> None:
    frame = simulate_tournaments(
        documents=5, noise=0.0, spread=0.1, order_pull=50.0, both_orders=True
    ).frame
    [group] = diagnose_transitivity(frame).groups
    assert group.decisive_edges == 0
    assert group.mean_rate is None


def test_a_judge_that_always_says_three() -> None:
    drawn = simulate_scores(documents=60, models=4, seed=3).frame.drop("score_probs")
    report = diagnose_scores(drawn.with_columns(judge_score=pl.lit(3.0)))
    assert "gives 3 to all 240 rows" in str(report)
    assert all(group.spearman is None and len(group.by_width) == 1 for group in report.groups)
    [entry] = report.human_agreement
    assert entry.agreement.kappa == 0.0
    assert "says 3 every time" in str(entry.agreement)
    assert all(group.coverage >= 1 - group.alpha - 0.05 for group in report.groups)


def test_a_judge_that_copies_the_human_score() -> None:
    drawn = simulate_scores(documents=60, models=4, raters=1, seed=3).frame.drop("score_probs")
    report = diagnose_scores(drawn.with_columns(judge_score=pl.col("rater1")))
    constant = [g for g in report.groups if g.method == "constant"]
    assert all((g.coverage, g.mean_size, g.trust) == (1.0, 1.0, 1.0) for g in constant)
    # Learned from 15 documents, in which some scores are rare.
    learned = [g for g in report.groups if g.method == "learned"]
    assert all(g.trust == 1.0 and g.mean_size < 1.5 for g in learned if g.alpha >= 0.1)
    assert "equals the human score on all 240 rows: check that it did not see" in str(report)
    [entry] = report.human_agreement
    assert (entry.agreement.raw, entry.agreement.kappa, entry.agreement.alpha) == (1.0, 1.0, 1.0)
    assert entry.agreement.kappa_interval is not None
    assert 0.8 < entry.agreement.kappa_interval.low < 1


def test_a_judge_that_copies_the_human_label() -> None:
    p = np.where(np.array(LABELS) == "A", 1.0, 0.0)
    report = diagnose_bias(_judgments(p, p))
    assert report.agreement is not None
    assert report.position is not None
    assert report.agreement.raw == 1.0
    assert "check that the judge did not see the labels" in str(report.agreement)
    assert not report.position.biased
    assert report.position.flip_share == 0.0


def test_a_coin_is_called_a_coin() -> None:
    rng = np.random.default_rng(8)
    p = rng.choice([0.2, 0.8], N)
    report = diagnose_bias(_judgments(p, p))
    assert report.agreement is not None
    assert "not shown to be more than chance" in str(report.agreement)
    assert report.reliability is not None
    assert report.reliability.biased
    assert "over-confident by" in str(report.reliability)
