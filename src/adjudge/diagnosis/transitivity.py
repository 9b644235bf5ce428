"""Where a judge contradicts itself: cycles per document (diagnosis paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

import numpy as np

from adjudge._validation import Seed, count, open_unit
from adjudge.diagnosis._intervals import mean_interval, share_interval
from adjudge.diagnosis.cycles import count_cycles, cyclic_triples
from adjudge.diagnosis.expected import ExpectedCycles, expected_cycles
from adjudge.io.tables import TableLike
from adjudge.results.diagnosis import (
    CycleCount,
    Transitivity,
    TransitivityGroup,
    Triple,
    WorstDocument,
    share,
)
from adjudge.rows.tournaments import Combine, Tournaments, prepare_tournaments

_ASSUMPTIONS = (
    "rate = 3-cycles / decisive triples of a document; ties and missing edges are in no triple",
    "expected: a Bradley-Terry judge with one strength per model, redrawn on the same decisive "
    "edges; a random judge would have 0.25",
)


def diagnose_transitivity(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    combine: Combine = "mean",
    replicates: int = 200,
    worst: int = 10,
    confidence_level: float = 0.95,
    rng: Seed = 0,
) -> Transitivity:
    """Cycles per document for each judge and criterion, beside what noise alone would show.

    rho(x) = 3-cycles / decisive triples (Eq. 1 when the tournament is complete). `source` is a
    frame or a path with doc_id, model_a, model_b and verdict or p_a (about model_a, whichever was
    shown first), or both orders side by side as verdict_fwd and verdict_rev; judge, criterion,
    order and repeat if there are. `columns` maps our names to the source's.

    >>> circle = [("x", "y", "A"), ("y", "z", "A"), ("x", "z", "B")]
    >>> names = ("doc_id", "model_a", "model_b", "verdict")
    >>> found = diagnose_transitivity([dict(zip(names, ("d1", *row))) for row in circle])
    >>> found.groups[0].cycles, found.worst[0].doc_id, found.worst[0].rate
    (1, 'd1', 1.0)

    The expected rate treats document-to-document differences in quality as noise. A judge below
    it sees such differences; a judge above it is less consistent than coin flips between the
    fitted strengths. With fewer than about ten documents the fit follows the data too closely for
    that comparison to say much.
    """
    count(replicates, "replicates", least=1)
    count(worst, "worst")
    open_unit(confidence_level, "confidence_level")
    rows = prepare_tournaments(source, columns=columns, combine=combine)
    groups: list[TransitivityGroup] = []
    suspects: list[WorstDocument] = []
    for tournaments in rows.tournaments:
        counts = [
            count_cycles(tournaments.matrix(number)[0])
            for number in range(len(tournaments.documents))
        ]
        expected = expected_cycles(tournaments, replicates=replicates, rng=rng)
        groups.append(_group(tournaments, counts, expected, confidence_level))
        suspects.extend(_suspects(tournaments, counts, worst))
    suspects.sort(key=lambda found: (-found.rate, -found.cycles))
    return Transitivity(
        groups=tuple(groups),
        worst=tuple(suspects[:worst]),
        combine=combine,
        rows=rows.rows,
        dropped=rows.dropped,
        replicates=replicates,
        seed=rng if isinstance(rng, int) else None,
        assumptions=_ASSUMPTIONS,
    )


def _group(
    tournaments: Tournaments,
    counts: list[CycleCount],
    expected: ExpectedCycles | None,
    confidence_level: float,
) -> TransitivityGroup:
    possible = np.array([comb(int(n), 2) for n in tournaments.entrants])
    decisive = np.bincount(
        tournaments.document[tournaments.winner != 0], minlength=len(tournaments.documents)
    )
    rates = np.array([found.rate for found in counts if found.rate is not None])
    own, n = np.arange(len(rates)), len(rates)
    mean = mean_interval(rates, own, n, confidence_level, bounds=(0.0, 1.0)) if n else (None, None)
    cyclic = (rates > 0).astype(np.float64)
    cyclic_range = share_interval(cyclic, own, n, confidence_level) if n else (None, None)
    repeated = tournaments.asked > 1
    sure = np.maximum(tournaments.win_share, 1 - tournaments.win_share)[repeated]
    mean_rate = float(rates.mean()) if n else None
    share_with_cycle = float(cyclic.mean()) if n else None
    return TransitivityGroup(
        judge=tournaments.judge,
        criterion=tournaments.criterion,
        documents=len(tournaments.documents),
        documents_with_triples=n,
        complete=int(((decisive == possible) & (possible >= 3)).sum()),
        cycles=sum(found.cycles for found in counts),
        triples=sum(found.triples for found in counts),
        mean_rate=mean_rate,
        mean_low=mean[0],
        mean_high=mean[1],
        median_rate=float(np.median(rates)) if n else None,
        max_rate=float(rates.max()) if n else None,
        share_with_cycle=share_with_cycle,
        share_low=cyclic_range[0],
        share_high=cyclic_range[1],
        expected_rate=expected.rate if expected else None,
        expected_rate_low=expected.rate_low if expected else None,
        expected_rate_high=expected.rate_high if expected else None,
        expected_share=expected.share if expected else None,
        expected_share_low=expected.share_low if expected else None,
        expected_share_high=expected.share_high if expected else None,
        p_value=expected.p_value if expected else None,
        same_rate_share=expected.same_rate_share if expected else None,
        same_rate_low=expected.same_rate_low if expected else None,
        same_rate_high=expected.same_rate_high if expected else None,
        models=len(tournaments.models),
        decisive_edges=int((tournaments.winner != 0).sum()),
        tied_edges=int((tournaments.winner == 0).sum()),
        missing_edges=int(possible.sum()) - len(tournaments.winner),
        repeated_edges=int(repeated.sum()),
        win_rate_confidence=float(sure.mean()) if len(sure) else None,
        finding=_finding(mean_rate, share_with_cycle, expected),
        rates=tuple(float(rate) for rate in rates),
    )


def _finding(
    mean_rate: float | None, share_with_cycle: float | None, expected: ExpectedCycles | None
) -> str:
    if mean_rate is None or expected is None:
        return "no document has three systems with decisive verdicts among them: nothing to count"
    told = [
        f"{share(mean_rate)} of triples are cycles and {share(share_with_cycle, 0)} of documents "
        f"have one; a transitive judge with one ranking and coin-flip noise would show "
        f"{share(expected.rate)} and {share(expected.share, 0)}"
    ]
    if expected.p_value <= 0.025:
        told.append("more cycles than noise explains: it contradicts itself")
    elif mean_rate < expected.rate_low:
        told.append("fewer than that, so its ranking changes with the document, not by chance")
    else:
        told.append("noise around one ranking explains them")
    crowded, low = expected.same_rate_share, expected.same_rate_low
    if mean_rate > 0 and crowded is not None and low is not None and share_with_cycle is not None:
        told.append(
            f"the same rate strewn by chance would touch {share(crowded, 0)} of documents"
            + (": the cycles crowd in a few" if share_with_cycle < low else "")
        )
    return "; ".join(told)


def _suspects(
    tournaments: Tournaments, counts: list[CycleCount], worst: int
) -> list[WorstDocument]:
    cyclic = [number for number, found in enumerate(counts) if found.cycles]
    cyclic.sort(key=lambda number: (-(counts[number].rate or 0.0), -counts[number].cycles))
    found = []
    for number in cyclic[:worst]:
        beats, sure = tournaments.matrix(number)
        # Sorting by sureness needs every cycle; a huge tournament gets the first few found.
        weigh = sure if counts[number].cycles <= 100_000 else None
        triples = cyclic_triples(beats, weigh, limit=3)
        found.append(
            WorstDocument(
                doc_id=tournaments.documents[number],
                rate=counts[number].rate or 0.0,
                judge=tournaments.judge,
                criterion=tournaments.criterion,
                cycles=counts[number].cycles,
                triples=counts[number].triples,
                examples=tuple(
                    Triple(
                        models=(
                            tournaments.models[i],
                            tournaments.models[j],
                            tournaments.models[k],
                        ),
                        weakest=float(min(sure[i, j], sure[j, k], sure[k, i])),
                    )
                    for i, j, k in triples
                ),
            )
        )
    return found
