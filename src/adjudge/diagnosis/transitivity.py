"""Contradictions of a judge: cycles per document (diagnosis paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import comb

import numpy as np

from adjudge.data.tables import TableLike
from adjudge.data.tournaments import Combine, TournamentRows, Tournaments, prepare_tournaments
from adjudge.diagnosis._intervals import mean_interval, mean_or_none, share_interval
from adjudge.diagnosis.cycles import count_cycles, cyclic_triples
from adjudge.diagnosis.expected import ExpectedCycles, expected_cycles
from adjudge.results.diagnosis import (
    CycleCount,
    Transitivity,
    TransitivityGroup,
    Triple,
    WorstDocument,
)
from adjudge.validation import Seed, count, open_unit

_ASSUMPTIONS = (
    "rate = 3-cycles / decisive triples of a document; ties and missing edges are in no triple; "
    "Eq. 1 of the paper divides by all C(n, 3) triples of n models",
    "expected: a Bradley-Terry judge with one strength per model, redrawn on the same decisive "
    "edges; a random judge would have 0.25",
)


def diagnose_transitivity(
    source: TableLike | TournamentRows,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    combine: Combine = "mean",
    replicates: int = 200,
    worst: int = 10,
    confidence_level: float = 0.95,
    seed: Seed = 0,
) -> Transitivity:
    """Cycles per document for each judge and criterion, and the rate that noise alone gives.

    rho(x) = 3-cycles / decisive triples (Eq. 1 if the tournament is complete).

    Args:
        source: doc_id, model_a, model_b and verdict (A, B, tie, empty) or p_a, about model_a; or
            both orders in one row as verdict_fwd and verdict_rev. About model_a, whichever was
            shown first. Optional: judge, criterion, order, repeat. A path or a frame.
        columns: Columns with other names. Our column names to those of the table.
        labels_as: Meaning of words in label and verdict columns. Their words to ours.
        combine: How repeats and orders become one edge: mean (more than half) or unanimous.
        replicates: Simulations of the noisy judge.
        worst: How many of the worst documents to list.
        confidence_level: Level of all intervals.
        seed: Seed of everything random.

    >>> circle = [("x", "y", "A"), ("y", "z", "A"), ("x", "z", "B")]
    >>> names = ("doc_id", "model_a", "model_b", "verdict")
    >>> cycles = diagnose_transitivity([dict(zip(names, ("d1", *row))) for row in circle])
    >>> cycles.groups[0].cycles, cycles.worst[0].doc_id, cycles.worst[0].rate
    (1, 'd1', 1.0)

    The expected rate treats differences in quality between documents as noise. A judge below it
    detects such differences. A judge above it is less consistent than coin flips between the
    fitted strengths. With fewer than about ten documents the fit follows the data too closely for
    a useful comparison.
    """
    count(replicates, "replicates", least=1)
    count(worst, "worst")
    open_unit(confidence_level, "confidence_level")
    rows = prepare_tournaments(source, columns=columns, labels_as=labels_as, combine=combine)
    groups: list[TransitivityGroup] = []
    suspects: list[WorstDocument] = []
    for tournaments in rows.tournaments:
        counts = [
            count_cycles(tournaments.matrix(number)[0])
            for number in range(len(tournaments.documents))
        ]
        expected = expected_cycles(tournaments, replicates=replicates, seed=seed)
        groups.append(_group(tournaments, counts, expected, confidence_level))
        suspects.extend(_suspects(tournaments, counts, worst))
    suspects.sort(key=lambda document: (-document.rate, -document.cycles))
    return Transitivity(
        groups=tuple(groups),
        worst=tuple(suspects[:worst]),
        combine=combine,
        rows=rows.rows,
        dropped=rows.dropped,
        replicates=replicates,
        confidence_level=confidence_level,
        seed=seed if isinstance(seed, int) else None,
        assumptions=_ASSUMPTIONS,
    )


def _group(
    tournaments: Tournaments,
    counts: list[CycleCount],
    expected: ExpectedCycles,
    confidence_level: float,
) -> TransitivityGroup:
    possible = np.array([comb(int(n), 2) for n in tournaments.entrants])
    decisive = np.bincount(
        tournaments.document[tournaments.winner != 0], minlength=len(tournaments.documents)
    )
    rates = np.array([one.rate for one in counts if one.rate is not None])
    of_all = np.array(
        [
            one.cycles / comb(int(n), 3)
            for one, n in zip(counts, tournaments.entrants, strict=True)
            if n >= 3
        ]
    )
    own, n = np.arange(len(rates)), len(rates)
    mean = mean_interval(rates, own, confidence_level, bounds=(0.0, 1.0))
    cyclic = (rates > 0).astype(np.float64)
    cyclic_range = share_interval(cyclic, own, confidence_level)
    repeated = tournaments.asked > 1
    sure = np.maximum(tournaments.win_share, 1 - tournaments.win_share)[repeated]
    return TransitivityGroup(
        judge=tournaments.judge,
        criterion=tournaments.criterion,
        documents=len(tournaments.documents),
        documents_with_triples=n,
        complete=int(((decisive == possible) & (possible >= 3)).sum()),
        cycles=sum(one.cycles for one in counts),
        triples=sum(one.triples for one in counts),
        mean_rate=mean_or_none(rates),
        mean_low=mean[0],
        mean_high=mean[1],
        median_rate=float(np.median(rates)) if n else None,
        max_rate=float(rates.max()) if n else None,
        share_with_cycle=mean_or_none(cyclic),
        share_low=cyclic_range[0],
        share_high=cyclic_range[1],
        **asdict(expected),
        models=len(tournaments.models),
        decisive_edges=int((tournaments.winner != 0).sum()),
        tied_edges=int((tournaments.winner == 0).sum()),
        missing_edges=int(possible.sum()) - len(tournaments.winner),
        repeated_edges=int(repeated.sum()),
        win_rate_confidence=mean_or_none(sure),
        rates=tuple(float(rate) for rate in rates),
        eq1_mean=mean_or_none(of_all),
        eq1_median=float(np.median(of_all)) if len(of_all) else None,
        eq1_max=float(of_all.max()) if len(of_all) else None,
        eq1_share=mean_or_none((of_all > 0).astype(np.float64)),
    )


def _suspects(
    tournaments: Tournaments, counts: list[CycleCount], worst: int
) -> list[WorstDocument]:
    cyclic = [number for number, one in enumerate(counts) if one.cycles]
    cyclic.sort(key=lambda number: (-(counts[number].rate or 0.0), -counts[number].cycles))
    suspects, models = [], tournaments.models
    for number in cyclic[:worst]:
        beats, sure = tournaments.matrix(number)
        # Sorting by confidence needs every cycle; a very large tournament gets the first few.
        weigh = sure if counts[number].cycles <= 100_000 else None
        triples = cyclic_triples(beats, weigh, limit=3)
        suspects.append(
            WorstDocument(
                doc_id=tournaments.documents[number],
                rate=counts[number].rate or 0.0,
                judge=tournaments.judge,
                criterion=tournaments.criterion,
                cycles=counts[number].cycles,
                triples=counts[number].triples,
                examples=tuple(
                    Triple(
                        models=(models[i], models[j], models[k]),
                        weakest=float(min(sure[i, j], sure[j, k], sure[k, i])),
                    )
                    for i, j, k in triples
                ),
            )
        )
    return suspects
