"""Appendix E: each language separately, on the prompts that all judges of a corpus scored."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.battles import Battles
from adjudge.ranking import fit_temperature, rank_correlations, soft_targets
from adjudge.ranking.bradley_terry import target_battles, wins_table
from adjudge.ranking.targets import agreement_share
from adjudge.statistics.bradley_terry import fit_strengths, to_elo
from adjudge.statistics.numbers import mean_known
from adjudge.validation import FloatArray, IntArray
from adjudge_papers import soft_elo_published as published
from adjudge_papers.soft_elo_measures import Run
from adjudge_papers.soft_elo_result import LanguageRow

#: Languages with fewer shared prompts than this are left out of Table 6.
FEWEST_PROMPTS = 50


def count_languages(runs: list[Run]) -> dict[str, int]:
    """Distinct prompts of each language over all judges of a corpus, most first (Figure 5)."""
    spoken: dict[str, str] = {}
    for run in runs:
        if run.has("language"):
            pairs = zip(run.prompts.cast(pl.String), run.frame["language"], strict=True)
            spoken |= {prompt: language for prompt, language in pairs if language is not None}
    return dict(Counter(spoken.values()).most_common())


def language_rows(runs: list[Run], *, l2: float, compare: bool) -> tuple[LanguageRow, ...]:
    """Table 6 and Figure 10 for one corpus: means over its judges, the largest language first.

    With `compare`, rows of the paper's corpus have its numbers.
    """
    runs = [run for run in runs if run.has("language")]
    if not runs:
        return ()
    everyone = reduce(set.__and__, ({*run.prompts.cast(pl.String)} for run in runs))
    rows: dict[str, list[dict[str, float | None]]] = {}
    prompts: Counter[str] = Counter()
    for run in runs:
        fit = fit_temperature(run.score, run.human, verdict=run.verdict)
        if fit.beta is None or fit.beta <= 0:
            continue
        mask = run.prompts.cast(pl.String).is_in(list(everyone)).fill_null(False)
        reference = _elo(run.battles, run.human, l2)
        spoken = run.frame["language"].cast(pl.String)
        keys = run.prompts.filter(mask)
        counts = keys.to_frame("p").with_columns(l=spoken.filter(mask)).unique("p")
        prompts = Counter(counts["l"].drop_nulls().to_list())
        for language, n in prompts.items():
            if n >= FEWEST_PROMPTS:
                inside = (mask & (spoken == language).fill_null(False)).to_numpy()
                part = _one_language(run, np.flatnonzero(inside), fit.beta, reference, l2)
                rows.setdefault(language, []).append(part)
    paper = published.LANGUAGES if compare and runs[0].corpus == published.CORPORA[0] else {}
    made = [
        LanguageRow(
            corpus=runs[0].corpus,
            language=name,
            prompts=prompts[name],
            judges=len(parts),
            **_averages(parts),
            **_published(paper.get(name)),
        )
        for name, parts in rows.items()
        if all(part["hard_mae"] is not None for part in parts)
    ]
    return tuple(sorted(made, key=lambda row: (-row.prompts, row.language)))


def _one_language(
    run: Run, rows: IntArray, beta: float, reference: FloatArray, l2: float
) -> dict[str, float | None]:
    """One judge on one language: error and rank fidelity, its own beta, |s| and agreement."""
    part = run.battles.take(rows)
    score, human, verdict = run.score[rows], run.human[rows], run.verdict[rows]
    hard = _against(part, verdict, reference, l2)
    soft = _against(part, soft_targets(score, beta), reference, l2)
    own = fit_temperature(score, human).beta
    own_mae = None
    if own is not None and own > 0:
        own_mae = _against(part, soft_targets(score, own), reference, l2)[0]
    sizes = np.abs(score[np.isfinite(score)])
    return {
        "hard_mae": hard[0],
        "soft_mae": soft[0],
        "hard_spearman": hard[1],
        "soft_spearman": soft[1],
        "own_beta": own,
        "own_beta_mae": own_mae,
        "mean_score": float(sizes.mean()) if len(sizes) else None,
        "agreement": agreement_share(verdict, human)[0],
    }


def _against(
    battles: Battles, target: FloatArray, reference: FloatArray, l2: float
) -> tuple[float | None, float | None]:
    """Mean error and Spearman's rho of one fit compared with people's global Elo."""
    elo = _elo(battles, target, l2)
    both = np.isfinite(elo) & np.isfinite(reference)
    if not both.any():
        return None, None
    error = float(np.abs(elo - reference)[both].mean())
    return error, rank_correlations(elo[both], reference[both])[1]


def _elo(battles: Battles, target: FloatArray, l2: float) -> FloatArray:
    """Elo of every model by one fit; NaN for models without a battle."""
    used, y = target_battles(battles, target)
    wins = wins_table(used.a, used.b, y, used.n_models)
    seen = (wins.sum(axis=0) + wins.sum(axis=1)) > 0
    return np.where(seen, to_elo(fit_strengths(wins, l2=l2)), np.nan)


def _averages(parts: list[dict[str, float | None]]) -> dict[str, Any]:
    """Means over judges, with standard deviations if the paper shows them."""
    means = {name: mean_known(part[name] for part in parts) for name in parts[0]}
    spreads = {
        f"{name}_sd": _spread([part[name] for part in parts])
        for name in ("own_beta", "mean_score", "agreement")
    }
    return {**means, **spreads}


def _published(numbers: tuple[float, ...] | None) -> dict[str, Any]:
    if numbers is None:
        return {}
    names = (f"published_{name}" for name in published.LANGUAGE_FIELDS)
    return dict(zip(names, numbers, strict=True))


def _spread(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None
