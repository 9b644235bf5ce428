"""The battles of the Soft-Elo paper: one judge on one corpus, released, asked now, or simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from adjudge.data import Source
from adjudge.data.battles import Battles, code_battles
from adjudge.data.rows import has_values
from adjudge.errors import DataError
from adjudge.judges import judge_pairs
from adjudge.judges.prompting import read_prompt
from adjudge.judges.protocols.rubric import Rubric
from adjudge.ranking import fit_temperature, hold_out_each, human_reference, residuals
from adjudge.ranking.evaluation import HeldOut, Residuals
from adjudge.ranking.targets import Rule
from adjudge.ranking.temperature import Temperature
from adjudge.validation import FloatArray, Seed, one_of
from adjudge_papers.paper import REHEARSAL, costs_calls, read_published
from adjudge_papers.simulated_release import SimulatedRun, simulate_release

#: The paper's budget for a reply.
TOKENS = 4096


@dataclass(frozen=True, kw_only=True)
class Run:
    """One judge on one corpus: the rows, and the same rows as battles with votes and scores."""

    corpus: str
    judge: str
    frame: pl.DataFrame
    battles: Battles
    human: FloatArray
    verdict: FloatArray
    score: FloatArray
    l2: float

    def has(self, *columns: str) -> bool:
        """Whether each column has a number in at least one row."""
        return has_values(self.frame, *columns)

    def numbers(self, column: str) -> FloatArray:
        """A column as floats, NaN if it is empty."""
        return self.frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()

    def model_means(self, column: str) -> FloatArray:
        """The mean over a model's answers of `column_a` and `column_b`; NaN if it has none."""
        model = np.concatenate([self.battles.a, self.battles.b])
        values = np.concatenate([self.numbers(f"{column}_{side}") for side in "ab"])
        known, n = np.isfinite(values), self.battles.n_models
        total = np.bincount(model[known], weights=values[known], minlength=n)
        times = np.bincount(model[known], minlength=n)
        return np.where(times > 0, total / np.maximum(times, 1), np.nan)

    @property
    def prompts(self) -> pl.Series:
        """The id of a battle across judges: the prompt, or the row if there is no prompt."""
        name = "prompt_id" if "prompt_id" in self.frame.columns else "id"
        return self.frame[name].cast(pl.String)

    @cached_property
    def people(self) -> HeldOut:
        """People's Elo of each model."""
        return human_reference(self.battles, l2=self.l2)

    @cached_property
    def temperature(self) -> Temperature:
        """beta on all votes of the corpus."""
        return fit_temperature(self.score, self.human, verdict=self.verdict)

    @property
    def beta(self) -> float | None:
        """That beta, if it is positive."""
        beta = self.temperature.beta
        return beta if beta is not None and beta > 0 else None

    def leave_out(self, rule: Rule, *, replicates: int = 0, seed: Seed = 0) -> Residuals:
        """Residuals against people's Elo, each model left out in turn."""
        held = hold_out_each(self.battles, rule, l2=self.l2, replicates=replicates, seed=seed)
        return residuals(held, self.people)


def read_runs(
    source: str | Path | Sequence[SimulatedRun] | None, *, l2: float, seed: int
) -> list[Run]:
    """The runs of a folder or file of the release, or simulated ones."""
    if not isinstance(source, (str, Path)):
        simulated = simulate_release(seed=seed) if source is None else source
        return [_code_run(run.corpus, run.judge, run.frame, l2) for run in simulated]
    judges = read_published("soft-elo")["files"]
    runs = []
    for path in _list_files(Path(source)):
        frame = Source(path).open("battles", votes_required=False).frame
        stem = path.name.split(".csv")[0].removeprefix("annotations_")
        runs.append(_code_run(path.resolve().parent.name, judges.get(stem, stem), frame, l2))
    return runs


def ask_run(
    pairs: str | Path,
    judge: str,
    *,
    prompts: Mapping[str, str | Path],
    l2: float,
    asking: Mapping[str, Any],
) -> list[Run]:
    """A judge asked as in the paper: six criteria, both orders, replies of up to 4,096 tokens."""
    given = {
        one_of(name, ("rubric",), "prompts"): read_prompt(path) for name, path in prompts.items()
    }
    protocol = Rubric(prompt=given.get("rubric"), max_tokens=TOKENS)
    first = [REHEARSAL] if costs_calls(judge) else []
    for spec, options in [*((name, {"store": None}) for name in first), (judge, dict(asking))]:
        rows = judge_pairs(pairs, judge=spec, protocol=protocol, **options).judgments
        frame = Source(rows).open("battles").frame
        run = _code_run(Path(pairs).stem, str(frame["judge"][0]), frame, l2)
    return [run]


def _list_files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise DataError(source, "no such folder", remedy="give the release's data folder")
    paths = sorted(source.rglob("annotations_*.csv*"))
    paths += [path for path in sorted(source.glob("*annotations*.csv*")) if path not in paths]
    if not paths:
        raise DataError(source, "has no annotations_*.csv", remedy="give the release's data folder")
    return paths


def _code_run(corpus: str, judge: str, frame: pl.DataFrame, l2: float) -> Run:
    battles = code_battles(frame)
    human, verdict, score = battles.human, battles.verdict, battles.score
    if human is None or score is None or verdict is None:
        remedy = "give annotations in the format of the release"
        raise DataError(f"{corpus}/{judge}", "has no votes or no scores", remedy=remedy)
    columns: dict[str, Any] = {"human": human, "verdict": verdict, "score": score}
    return Run(corpus=corpus, judge=judge, frame=frame, battles=battles, l2=l2, **columns)


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's correlation; None with fewer than three values or all equal."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(stats.pearsonr(x, y).statistic)
