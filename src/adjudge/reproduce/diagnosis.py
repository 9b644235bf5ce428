"""The diagnosis paper: its tables on SummEval as published, on your judges, and on the simulator.

The paper's judges' answers are not in SummEval. What SummEval has is people: three experts, whom
the paper calls human, and five crowd workers, whose mean serves here as the one judge that comes
with the data. A file of LLM judges' scores on SummEval can be given too.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import polars as pl

from adjudge._stats import mean_known
from adjudge._validation import count
from adjudge.diagnosis import count_cycles, diagnose_scores, diagnose_transitivity
from adjudge.io import read_public
from adjudge.io.tables import TableLike
from adjudge.results.diagnosis import ScoreDiagnosis, Transitivity
from adjudge.results.diagnosis_reproduction import (
    DiagnosisReproduction,
    DiagnosisRun,
    PublishedSets,
    ReproducedCycles,
    ReproducedSets,
    ReproducedWidth,
    WidthSignal,
)
from adjudge.rows.tournaments import build_tournaments
from adjudge.simulate.scores import simulate_scores
from adjudge.simulate.tournaments import simulate_tournaments

JUDGES = ("LLaMA-3.1-70B", "Qwen-2.5-72B", "Mistral-Small", "GPT-4o-mini")
CRITERIA = ("coherence", "consistency", "fluency", "relevance")
ALPHAS = (0.05, 0.10, 0.15, 0.20)
DOCUMENTS, SYSTEMS, REPEATS = 30, 8, 3
#: Pooled Spearman of width and error (section 5.2).
POOLED_WIDTH = 0.576

#: Table 6: mean rate and share of documents with a cycle, judges by criteria.
CYCLES = {
    "LLaMA-3.1-70B": ((0.008, 0.333), (0.012, 0.367), (0.033, 0.667), (0.011, 0.367)),
    "Qwen-2.5-72B": ((0.022, 0.500), (0.025, 0.567), (0.024, 0.600), (0.023, 0.500)),
    "Mistral-Small": ((0.041, 0.500), (0.036, 0.633), (0.034, 0.533), (0.029, 0.533)),
    "GPT-4o-mini": ((0.014, 0.467), (0.013, 0.433), (0.026, 0.533), (0.020, 0.533)),
}
#: Table 1: largest and median rate, coherence only.
EXTREMES = {
    "LLaMA-3.1-70B": (0.036, 0.0),
    "Qwen-2.5-72B": (0.143, 0.018),
    "Mistral-Small": (0.304, 0.018),
    "GPT-4o-mini": (0.071, 0.0),
}
#: Table 5: coverage and size at alpha 0.05, 0.10, 0.15, 0.20; criteria in the order above.
SETS = {
    "LLaMA-3.1-70B": (
        ((0.993, 4.29), (0.947, 3.04), (0.945, 2.98), (0.945, 2.98)),
        ((0.992, 4.97), (0.992, 4.97), (0.889, 4.26), (0.889, 4.26)),
        ((0.971, 4.95), (0.967, 4.93), (0.967, 4.93), (0.967, 4.93)),
        ((0.964, 2.98), (0.961, 2.82), (0.961, 2.82), (0.961, 2.82)),
    ),
    "Qwen-2.5-72B": (
        ((1.000, 4.55), (0.934, 3.62), (0.905, 2.99), (0.905, 2.99)),
        ((0.963, 4.53), (0.962, 4.48), (0.962, 4.48), (0.962, 4.48)),
        ((0.967, 4.76), (0.967, 4.76), (0.967, 4.76), (0.967, 4.76)),
        ((0.975, 3.63), (0.961, 2.99), (0.961, 2.99), (0.961, 2.99)),
    ),
    "Mistral-Small": (
        ((0.980, 4.83), (0.950, 4.47), (0.950, 4.47), (0.901, 4.10)),
        ((0.996, 4.98), (0.996, 4.98), (0.996, 4.98), (0.970, 4.94)),
        ((1.000, 4.99), (1.000, 4.99), (1.000, 4.99), (1.000, 4.99)),
        ((0.995, 4.15), (0.935, 3.06), (0.931, 2.93), (0.931, 2.93)),
    ),
    "GPT-4o-mini": (
        ((0.979, 4.59), (0.971, 4.51), (0.899, 3.46), (0.876, 2.98)),
        ((0.996, 4.99), (0.942, 4.76), (0.899, 4.54), (0.899, 4.54)),
        ((0.995, 4.99), (0.995, 4.99), (0.995, 4.99), (0.984, 4.97)),
        ((1.000, 4.37), (0.928, 3.17), (0.919, 2.96), (0.919, 2.96)),
    ),
}
#: Table 3: Spearman of width and error at alpha 0.10, each judge; the paper has two criteria.
WIDTH_ERROR = {"coherence": (-0.03, 0.14, -0.02, 0.18), "consistency": (0.08, 0.65, 0.17, 0.25)}
#: Table 4: Spearman of two judges' widths, each pair.
WIDTH_AGREEMENT = {
    "coherence": (0.12, 0.27, 0.31, -0.08, 0.08, -0.09),
    "consistency": (0.22, 0.38, 0.32, 0.17, 0.56, 0.24),
    "fluency": (0.45, 0.23, 0.81, 0.21, 0.23, 0.33),
    "relevance": (0.28, 0.70, 0.29, 0.20, 0.25, 0.44),
}
NOTES = (
    "Table 2 is not reproduced: it takes the paper's own pairwise answers, which are not published",
    "the paper's caption of Table 1 has every median at 0; the table itself has 1.8 % twice",
    "published judges are other models than those tried here: compare patterns, not cells",
    "the paper calibrates row by row; rows of one document are alike, so sets that weigh documents "
    "are shown too",
)
#: Noise of the simulated scores: two criteria that can be judged and two that can hardly be.
_CRITERION_NOISE = {"coherence": 0.9, "consistency": 1.6, "fluency": 1.8, "relevance": 0.6}
_JUDGE_NOISE = {f"simulated {at + 1}": noise for at, noise in enumerate((0.6, 0.7, 0.9, 0.8))}


def reproduce_diagnosis(
    summeval: TableLike | None = None,
    *,
    scores: TableLike | None = None,
    paper_size: bool = True,
    splits: int = 20,
    seed: int = 0,
) -> DiagnosisRun:
    """Tables 1 and 3 to 6 and the width claims, on whatever is given and on the simulator.

    `summeval` is the release's model_annotations.aligned.jsonl; `scores` a scores file of judges
    on it. With `paper_size` SummEval is cut to 30 documents and 8 systems as in the paper.
    """
    count(splits, "splits", least=1)
    diagnose = partial(diagnose_scores, alphas=ALPHAS, sets="residual", splits=splits, seed=seed)
    drawn = simulate_scores(
        documents=DOCUMENTS,
        models=SYSTEMS,
        criteria=_CRITERION_NOISE,
        judges=_JUDGE_NOISE,
        seed=seed,
    ).frame
    sets = {"simulator, rows": diagnose(drawn, weigh="rows"), "simulator": diagnose(drawn)}
    if summeval is not None:
        sets["SummEval, crowd"] = diagnose(crowd_as_judge(summeval, paper_size=paper_size))
    if scores is not None:
        sets["your judges"] = diagnose(scores)
    rows, cycles = _cycles(seed)
    return DiagnosisRun(
        summary=DiagnosisReproduction(
            cycles=rows,
            published_sets=published_sets(),
            sets=tuple(
                ReproducedSets(
                    data=data,
                    judge=group.judge or "",
                    criterion=group.criterion or "",
                    method=group.method,
                    weigh=result.weigh,
                    alpha=group.alpha,
                    coverage=group.coverage,
                    mean_size=group.mean_size,
                    spearman=group.spearman,
                )
                for data, result in sets.items()
                for group in result.groups
            ),
            widths=tuple(
                ReproducedWidth(
                    data=data,
                    method=entry.method,
                    n=entry.n,
                    pooled=entry.pooled,
                    within=entry.within,
                )
                for data, result in sets.items()
                for entry in result.pooled
                if entry.alpha == 0.1 and entry.method != "constant"
            ),
            signals=tuple(
                signal for data, result in sets.items() for signal in width_signals(data, result)
            ),
            published_signals=tuple(
                WidthSignal(
                    data="paper",
                    method="per-criterion",
                    criterion=criterion,
                    error=mean_known(WIDTH_ERROR.get(criterion, ())),
                    agreement=mean_known(WIDTH_AGREEMENT[criterion]),
                )
                for criterion in CRITERIA
            ),
            published_pooled_width=POOLED_WIDTH,
            notes=NOTES,
            seed=seed,
        ),
        cycles=cycles,
        scores=sets,
    )


def published_sets() -> tuple[PublishedSets, ...]:
    """Table 5 as rows."""
    return tuple(
        PublishedSets(
            judge=judge, criterion=criterion, alpha=alpha, coverage=cell[0], mean_size=cell[1]
        )
        for judge, by_criterion in SETS.items()
        for criterion, cells in zip(CRITERIA, by_criterion, strict=True)
        for alpha, cell in zip(ALPHAS, cells, strict=True)
    )


def width_signals(data: str, result: ScoreDiagnosis) -> list[WidthSignal]:
    """Tables 3 and 4 of one diagnosis: means over judges, and over pairs of them."""
    groups = [g for g in result.groups if g.alpha == 0.1 and g.method != "constant"]
    return [
        WidthSignal(
            data=data,
            method=method,
            criterion=criterion or "",
            error=mean_known(
                g.spearman for g in groups if (g.method, g.criterion) == (method, criterion)
            ),
            agreement=mean_known(
                pair.spearman
                for pair in result.agreement
                if (pair.method, pair.criterion, pair.alpha) == (method, criterion, 0.1)
            ),
        )
        for method, criterion in dict.fromkeys((g.method, g.criterion) for g in groups)
    ]


def crowd_as_judge(summeval: TableLike, *, paper_size: bool) -> pl.DataFrame:
    """SummEval's crowd mean as a judge's score, the experts as the people it is held against."""
    rows = read_public(summeval, "summeval", kind="human_scores").frame
    if paper_size:
        documents = rows["doc_id"].unique(maintain_order=True).head(DOCUMENTS)
        systems = rows["model"].unique(maintain_order=True)
        # The paper's systems 0, 2, 4, 6, 9, 11, 13, 15 of the sixteen, in the release's order.
        chosen = [systems[at] for at in (0, 2, 4, 6, 9, 11, 13, 15) if at < len(systems)]
        rows = rows.filter(
            pl.col("doc_id").is_in(documents.implode()), pl.col("model").is_in(chosen)
        )
    return rows.rename({"turker_mean": "judge_score"}).with_columns(
        pl.lit("crowd workers").alias("judge")
    )


def _cycles(seed: int) -> tuple[tuple[ReproducedCycles, ...], Transitivity]:
    rows, frames = [], []
    for judge, by_criterion in CYCLES.items():
        for at, (criterion, (rate, share)) in enumerate(zip(CRITERIA, by_criterion, strict=True)):
            noise, chance_share = _noise_for(rate, seed + at)
            frame = _judge(noise, DOCUMENTS, seed + at, f"simulated, as {judge}", criterion)
            frames.append(frame)
            [group] = diagnose_transitivity(frame, replicates=1, worst=0).groups
            largest, median = EXTREMES[judge] if criterion == "coherence" else (None, None)
            rows.append(
                ReproducedCycles(
                    judge=judge,
                    criterion=criterion,
                    published_rate=rate,
                    published_share=share,
                    published_max=largest,
                    published_median=median,
                    chance_share=chance_share,
                    rate=group.mean_rate or 0.0,
                    share=group.share_with_cycle or 0.0,
                    max=group.max_rate or 0.0,
                    median=group.median_rate or 0.0,
                )
            )
    return tuple(rows), diagnose_transitivity(pl.concat(frames), replicates=50, seed=seed)


@cache
def _noise_for(rate: float, seed: int) -> tuple[float, float]:
    """The noise at which a judge with a ranking per document has this mean rate, and its share."""

    def measured(noise: float) -> tuple[float, float]:
        drawn = _judge(noise, 200, seed, "judge", "criterion", repeats=1)
        [cycles] = build_tournaments(drawn)
        rates = np.array(
            [count_cycles(cycles.matrix(at)[0]).rate or 0.0 for at in range(len(cycles.documents))]
        )
        return float(rates.mean()), float((rates > 0).mean())

    low, high = np.log(0.02), np.log(2.0)
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if measured(np.exp(middle))[0] > rate else (middle, high)
    noise = float(np.exp((low + high) / 2))
    return noise, measured(noise)[1]


def _judge(
    noise: float, documents: int, seed: int, judge: str, criterion: str, repeats: int = REPEATS
) -> pl.DataFrame:
    return simulate_tournaments(
        documents=documents,
        models=SYSTEMS,
        spread=1.0,
        document_spread=1.0,
        noise=noise,
        repeats=repeats,
        judge=judge,
        criterion=criterion,
        seed=seed,
    ).frame
