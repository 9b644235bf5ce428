"""Tournaments from verdicts, the report, and the noisy judge."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.data import read_tournaments
from adjudge.data.tournaments import build_tournaments
from adjudge.diagnosis import diagnose_transitivity
from adjudge.present.result import plain
from simulators import simulate_tournaments


def _rows(*rows: tuple[object, ...], names: str = "doc_id model_a model_b verdict") -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=names.split(), orient="row")


CIRCLE = (("d", "x", "y", "A"), ("d", "y", "z", "A"), ("d", "z", "x", "A"))


def test_a_circle_is_counted_whichever_side_a_model_is_on() -> None:
    turned = [(doc, b, a, {"A": "B"}[v]) for doc, a, b, v in CIRCLE]
    for rows in (CIRCLE, turned, (*CIRCLE[:2], turned[2])):
        group = diagnose_transitivity(_rows(*rows)).groups[0]
        assert (group.cycles, group.triples, group.complete) == (1, 1, 1)


def test_repeats_within_an_order_do_not_outvote_the_other_order() -> None:
    names = "doc_id model_a model_b verdict order repeat"
    rows = [("d", "x", "y", "A", "ab", str(k)) for k in range(3)]
    rows += [("d", "x", "y", "B", "ba", "0")]
    [edges] = build_tournaments(read_tournaments(_rows(*rows, names=names)))
    assert edges.winner.tolist() == [0]  # one vote per order: a tie
    assert edges.asked.tolist() == [4]


def test_a_pair_listed_the_other_way_round_counts_its_order_rightly() -> None:
    names = "doc_id model_a model_b verdict order"
    # x wins when shown first and, in the second row, loses when shown first: two different orders.
    rows = [("d", "x", "y", "A", "ab"), ("d", "y", "x", "A", "ab")]
    [edges] = build_tournaments(
        read_tournaments(
            _rows(rows[0], names=names).vstack(_rows(("d", "x", "y", "B", "ba"), names=names))
        )
    )
    assert edges.winner.tolist() == [0]
    [other] = build_tournaments(
        pl.DataFrame(rows, schema=names.split(), orient="row").with_columns(
            judge=pl.lit("j"), criterion=pl.lit("c")
        )
    )
    assert other.win_share.tolist() == [0.5]


def test_unanimous_asks_for_every_vote() -> None:
    rows = _rows(
        ("d", "x", "y", "A", "tie"), names="doc_id model_a model_b verdict_fwd verdict_rev"
    )
    [mean] = build_tournaments(read_tournaments(rows))
    [all_] = build_tournaments(read_tournaments(rows), combine="unanimous")
    assert (mean.winner.tolist(), all_.winner.tolist()) == ([1], [0])


def test_thirds_that_cancel_are_a_tie() -> None:
    names = "doc_id model_a model_b p_a order repeat"
    rows = [("d", "x", "y", p, "ab", str(k)) for k, p in enumerate((0.1, 0.2, 0.3))]
    rows += [("d", "x", "y", p, "ba", str(k)) for k, p in enumerate((0.9, 0.8, 0.7))]
    [edges] = build_tournaments(read_tournaments(_rows(*rows, names=names)))
    assert edges.winner.tolist() == [0]


@pytest.mark.parametrize(
    ("names", "first"),
    [
        ("doc_id model_a model_b p_a p_tie verdict", ("d", "x", "y", 0.55, 0.7, "tie")),
        ("doc_id model_a model_b p_a p_tie", ("d", "x", "y", 0.55, 0.7)),
        ("doc_id model_a model_b p_a verdict", ("d", "x", "y", 0.55, "tie")),
    ],
)
def test_the_tie_of_a_judge_is_a_tied_edge_whatever_p_a(
    names: str, first: tuple[str | float, ...]
) -> None:
    decided = {"p_a": 0.9, "p_tie": 0.05, "verdict": "A"}
    others = [
        (*pair, *(decided[name] for name in names.split()[3:]))
        for pair in (("d", "y", "z"), ("d", "z", "x"))
    ]
    group = diagnose_transitivity(_rows(first, *others, names=names)).groups[0]
    assert (group.decisive_edges, group.tied_edges, group.cycles) == (2, 1, 0)


def test_ties_and_gaps_are_counted_not_guessed() -> None:
    rows = _rows(
        ("d", "x", "y", "A"), ("d", "y", "z", "tie"), ("d", "z", "x", None), ("e", "x", "y", "B")
    )
    report = diagnose_transitivity(rows)
    [group] = report.groups
    assert (group.decisive_edges, group.tied_edges, group.missing_edges) == (2, 1, 1)
    assert (group.documents, group.documents_with_triples, group.mean_rate) == (2, 0, None)
    assert sum(report.dropped.values()) == 1
    assert "nothing to count" in report.explain()


def test_a_document_without_any_verdict_is_no_document() -> None:
    circle = [(doc, *edge) for doc in "de" for edge in zip("xyz", "yzx", "AAA", strict=True)]
    rows = _rows(*circle).with_columns(status=pl.lit(["ok"] * 3 + ["error"] * 3).explode())
    report = diagnose_transitivity(rows)
    [group] = report.groups
    assert (group.documents, group.missing_edges, group.eq1_mean) == (1, 0, 1.0)
    assert report.dropped == {"status error": 3}
    nothing = diagnose_transitivity(rows.with_columns(status=pl.lit("refused")))
    [group] = nothing.groups
    assert (group.documents, group.models, group.mean_rate) == (0, 0, None)
    assert "nothing to count" in nothing.explain()
    assert nothing.dropped == {"status refused": 6}


def test_judges_protocols_and_criteria_are_kept_apart() -> None:
    frame = pl.concat(
        [
            simulate_tournaments(judge=judge, criterion=criterion, documents=3).frame
            for judge in ("one", "two")
            for criterion in ("fluency", "relevance")
        ]
    )
    groups = diagnose_transitivity(frame, replicates=5).groups
    assert [(g.judge, g.criterion) for g in groups] == [
        ("one", "fluency"),
        ("one", "relevance"),
        ("two", "fluency"),
        ("two", "relevance"),
    ]


def test_pandas_polars_and_a_seed_give_one_answer() -> None:
    drawn = simulate_tournaments(documents=6, ties=0.1, missing=0.1, seed=3).frame
    again = pd.DataFrame({name: drawn[name].to_list() for name in drawn.columns})
    assert plain(diagnose_transitivity(drawn)) == plain(diagnose_transitivity(again))


def test_the_expected_rate_is_that_of_the_judge_who_made_the_data() -> None:
    drawn = simulate_tournaments(documents=400, models=6, spread=1.5, seed=8)
    report = diagnose_transitivity(drawn.frame)
    [group] = report.groups
    assert group.expected_rate is not None
    assert group.mean_rate is not None
    assert group.expected_rate == pytest.approx(group.mean_rate, abs=0.02)
    assert group.p_value is not None
    assert group.p_value > 0.05
    assert "noise around one ranking explains as many" in report.explain()


def test_a_judge_that_goes_round_everywhere_contradicts_itself() -> None:
    drawn = simulate_tournaments(documents=20, models=7, circular=1.0, seed=2)
    report = diagnose_transitivity(drawn.frame)
    [group] = report.groups
    assert group.mean_rate == pytest.approx(14 / 35)  # the most there can be: beyond random
    assert group.p_value is not None
    assert group.p_value <= 0.025
    assert "noise around one ranking does not explain as many" in report.explain()


def test_a_few_circular_documents_are_named() -> None:
    drawn = simulate_tournaments(
        documents=60, models=7, circular=0.2, noise=0.2, spread=3.0, seed=2
    )
    report = diagnose_transitivity(drawn.frame, worst=5)
    [group] = report.groups
    circular = {f"doc-{k:02d}" for k in np.flatnonzero(drawn.circular)}
    assert {document.doc_id for document in report.worst} <= circular
    assert all(len(document.cycle) == 3 for document in report.worst)
    assert group.share_with_cycle is not None
    assert group.same_rate_interval is not None
    assert group.share_with_cycle < group.same_rate_interval.low
    assert "they are in fewer documents than if they were spread" in report.explain()


def test_win_rate_confidence_comes_from_repeats() -> None:
    drawn = simulate_tournaments(repeats=3, repeat_noise=0.0, documents=4)
    assert diagnose_transitivity(drawn.frame).groups[0].win_rate_confidence == 1.0
    noisy = simulate_tournaments(repeats=3, repeat_noise=5.0, documents=10)
    confidence = diagnose_transitivity(noisy.frame).groups[0].win_rate_confidence
    assert confidence is not None
    assert 0.66 < confidence < 0.95
    assert diagnose_transitivity(_rows(*CIRCLE)).groups[0].win_rate_confidence is None


def test_models_in_another_case_are_pointed_at() -> None:
    """Z is not z, so nothing closes the circle; the warning says why."""
    rows = [("x", "y", "A"), ("y", "z", "A"), ("Z", "x", "A")]
    names = ("doc_id", "model_a", "model_b", "verdict")
    cycles = diagnose_transitivity([dict(zip(names, ("d1", *row), strict=True)) for row in rows])
    assert cycles.groups[0].cycles == 0
    assert cycles.warnings == ("'Z' and 'z' are 2 models here: give one name if they are one",)
    assert "warning: 'Z' and 'z' are 2 models here" in str(cycles)
