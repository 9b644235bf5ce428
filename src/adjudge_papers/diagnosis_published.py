"""Published numbers of the diagnosis paper: its tables, its text, its design."""

from __future__ import annotations

import re
from collections.abc import Mapping

from adjudge.statistics.agreement import spearman_p
from adjudge_papers.diagnosis_result import PAPER, RankingRow, SetCell, WidthPair

JUDGES = ("LLaMA-3.1-70B", "Qwen-2.5-72B", "Mistral-Small", "GPT-4o-mini")
CRITERIA = ("coherence", "consistency", "fluency", "relevance")
ALPHAS = (0.05, 0.10, 0.15, 0.20)
#: The level of everything except Table 5 and Figure 6.
MAIN_ALPHA = 0.10
DOCUMENTS, SYSTEMS, REPEATS = 30, 8, 3
#: Section 5.2: Spearman of width and error, over everything and for each criterion.
POOLED_WIDTH, POOLED_ROWS = 0.576, 1918
POOLED_BY_CRITERION = {
    "coherence": 0.16, "consistency": 0.34, "fluency": 0.15, "relevance": -0.01,
}  # fmt: skip
#: Section 5.2: cells of judge and criterion where the error never falls as the width grows.
MONOTONIC, NOT_MONOTONIC = 13, 3
#: Figure 1: answers of the two protocols.
PAIRWISE_CALLS, SCORE_CALLS = 40_320, 3_840

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
#: Table 3: Spearman of width and error at alpha 0.10, judges in the order above; two criteria.
WIDTH_ERROR = {"coherence": (-0.03, 0.14, -0.02, 0.18), "consistency": (0.08, 0.65, 0.17, 0.25)}
#: Table 4: Spearman of two judges' widths. By pair, criteria in the order above.
WIDTH_AGREEMENT = {
    ("GPT-4o-mini", "LLaMA-3.1-70B"): (0.12, 0.22, 0.45, 0.28),
    ("GPT-4o-mini", "Qwen-2.5-72B"): (0.27, 0.38, 0.23, 0.70),
    ("GPT-4o-mini", "Mistral-Small"): (0.31, 0.32, 0.81, 0.29),
    ("LLaMA-3.1-70B", "Qwen-2.5-72B"): (-0.08, 0.17, 0.21, 0.20),
    ("LLaMA-3.1-70B", "Mistral-Small"): (0.08, 0.56, 0.23, 0.25),
    ("Qwen-2.5-72B", "Mistral-Small"): (-0.09, 0.24, 0.33, 0.44),
}
#: The row of means below Table 4.
AGREEMENT_MEANS = dict(zip(CRITERIA, (0.10, 0.32, 0.38, 0.36), strict=True))
#: Section 5.2: pairs of judges and criteria other than coherence with p < 0.05, of 18.
SIGNIFICANT_PAIRS = 15
#: Table 2: Kendall's tau with people on coherence, judges in the order above.
RANKINGS = {
    "win-rate": (0.571, 0.643, 0.071, 0.714),
    "bt": (0.571, 0.643, 0.071, 0.714),
    "schulze": (0.643, 0.643, 0.071, 0.643),
    "copeland": (0.571, 0.643, 0.071, 0.714),
    "mfas": (0.643, 0.643, 0.071, 0.643),
}
NOTES = (
    "the paper's caption of Table 1 has every median at 0; the table itself has 1.8 % twice",
    "the paper treats rows of one document as independent, in its sets and in its p-values; the "
    "tables by its protocol here do the same; intervals leave out one document at a time",
    "section 5.2 says that its three cells that are not monotonic have sets of two widths, 2 and "
    "3; Table 5 has LLaMA's fluency, one of them, at a mean size of 4.93",
)


def published_judge(name: str) -> str | None:
    """The paper's name of a judge, if it has the name of one of its four.

    >>> published_judge("openrouter:qwen/qwen-2.5-72b-instruct"), published_judge("gpt-4o")
    ('Qwen-2.5-72B', None)
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    known = {re.sub(r"[^a-z0-9]", "", judge.lower()): judge for judge in JUDGES}
    return next((judge for key, judge in known.items() if key in plain), None)


def published_cell(
    table: Mapping[str, tuple[tuple[float, float], ...]], judge: str, criterion: str
) -> tuple[float | None, float | None]:
    """Two numbers of a table by judge and criterion; None if the paper has none."""
    named = published_judge(judge)
    if named is None or criterion not in CRITERIA:
        return None, None
    return table[named][CRITERIA.index(criterion)]


def published_sets(judge: str, criterion: str, alpha: float) -> tuple[float | None, float | None]:
    """Coverage and size of Table 5."""
    if alpha not in ALPHAS:
        return None, None
    at = ALPHAS.index(alpha)
    return published_cell(
        {name: tuple(cells[at] for cells in own) for name, own in SETS.items()}, judge, criterion
    )


def published_width_error(judge: str, criterion: str) -> float | None:
    """Spearman of width and error of Table 3."""
    named = published_judge(judge)
    if named is None or criterion not in WIDTH_ERROR:
        return None
    return WIDTH_ERROR[criterion][JUDGES.index(named)]


def published_agreement(one: str, other: str, criterion: str) -> float | None:
    """Spearman of two judges' widths of Table 4."""
    named = published_judge(one), published_judge(other)
    if criterion not in CRITERIA:
        return None
    for pair, values in WIDTH_AGREEMENT.items():
        if {*pair} == {*named}:
            return values[CRITERIA.index(criterion)]
    return None


def published_tau(judge: str, criterion: str, method: str) -> float | None:
    """Kendall's tau of Table 2, which is about coherence."""
    named = published_judge(judge)
    if named is None or criterion != "coherence":
        return None
    return RANKINGS[method][JUDGES.index(named)]


def ranking_rows() -> list[RankingRow]:
    """Table 2 as rows."""
    return [
        RankingRow(
            data=PAPER, judge=judge, criterion="coherence", method=method, systems=SYSTEMS,
            documents=DOCUMENTS, tau=tau,
        )
        for at, judge in enumerate(JUDGES)
        for method, tau in ((method, values[at]) for method, values in RANKINGS.items())
    ]  # fmt: skip


def set_cells() -> list[SetCell]:
    """Tables 3 and 5 as rows."""
    return [
        SetCell(
            data=PAPER, judge=judge, criterion=criterion, alpha=alpha, n=DOCUMENTS * SYSTEMS // 2,
            coverage=coverage, coverage_sd=None, mean_size=size,
            spearman=published_width_error(judge, criterion) if alpha == MAIN_ALPHA else None,
            p_value=None, monotonic=None,
        )
        for judge, by_criterion in SETS.items()
        for criterion, cells in zip(CRITERIA, by_criterion, strict=True)
        for alpha, (coverage, size) in zip(ALPHAS, cells, strict=True)
    ]  # fmt: skip


def width_pairs() -> list[WidthPair]:
    """Table 4 as rows; the p-values follow from the test half's 120 rows."""
    n = DOCUMENTS * SYSTEMS // 2
    return [
        WidthPair(
            data=PAPER, judge_a=pair[0], judge_b=pair[1], criterion=criterion, n=n, spearman=value,
            p_value=spearman_p(value, n),
        )
        for pair, values in WIDTH_AGREEMENT.items()
        for criterion, value in zip(CRITERIA, values, strict=True)
    ]  # fmt: skip
