"""Results of `reproduce scope`: the paper's protocol on data sets, with the published numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    Proportion,
    Repeats,
    Result,
    frozen,
    not_empty,
    plain,
)
from adjudge.selection.evaluating import Evaluation, JudgeKey, MethodRisk, SignalQuality
from adjudge_papers.items import SECTION, PaperItem


@dataclass(frozen=True, kw_only=True)
class PublishedRisk:
    """Coverage and error share in the paper; None if its text does not give the number."""

    dataset: str
    judge: str
    method: str
    alpha: Level
    coverage: Proportion | None
    risk: Proportion | None

    def is_of(self, dataset: str, judge: str) -> bool:
        """Whether these names contain its data set, and its judge's model and size."""
        return contains(dataset, self.dataset) and contains(judge, self.judge)


@dataclass(frozen=True, kw_only=True)
class PublishedQuality:
    """The quality of a signal in the paper; without a data set if the text does not name it."""

    dataset: str | None
    judge: str
    signal: str
    ece: Proportion | None
    auroc: Proportion | None
    auprc: Proportion | None

    def is_of(self, dataset: str, judge: str) -> bool:
        """As for a risk; without a data set, any data set matches."""
        named = self.dataset is None or contains(dataset, self.dataset)
        return named and contains(judge, self.judge)


@dataclass(frozen=True, kw_only=True)
class ReproducedSet:
    """The paper's protocol on one data set: its rows, the sample, the results.

    `coin_votes` are swap and vote with a random verdict if the two votes disagree, for use if every
    pair needs a verdict.
    """

    dataset: str
    n_available: Count
    n_sampled: Count
    evaluation: Evaluation
    coin_votes: tuple[SignalQuality, ...] = ()

    @property
    def keys(self) -> list[JudgeKey]:
        """Every judge once, by size, asked for preference, or by its first protocol."""
        best: dict[str, JudgeKey] = {}
        for key in self.evaluation.judges:
            entropy = self.evaluation.main_signal(key).signal == "preference_entropy"
            if entropy or key[0] not in best:
                best[key[0]] = key
        return sorted(best.values(), key=lambda key: (size_of(key[0]) or 0, key[0]))

    @property
    def qualities(self) -> list[SignalQuality]:
        """Every signal of every judge and protocol, with swap and vote by random verdicts."""
        return [*self.evaluation.signals, *self.coin_votes]

    def rows_of(self, method: str, key: JudgeKey) -> list[MethodRisk]:
        """One method at every alpha, on the signal that the paper uses for it."""
        return [row for row in self.evaluation.paper_rows(key) if row.method == method]


@frozen
class ScopeReproduction(Result):
    """The SCOPE paper's protocol on the given data, with its published figures.

    `simulated`: no data was given, and the truth of these rows is known.
    """

    kind: ClassVar[str] = "reproduction_scope"
    section: ClassVar[tuple[str, str]] = SECTION
    checks: ClassVar[tuple[Check, ...]] = (not_empty("datasets"),)

    n_wanted: Count
    splits: Repeats
    seed: Count
    datasets: tuple[ReproducedSet, ...]
    published: tuple[PublishedRisk, ...]
    published_qualities: tuple[PublishedQuality, ...] = ()
    simulated: bool = False
    items: tuple[PaperItem, ...] = ()
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def _parts(self) -> Sequence[Mapping[str, Any]]:
        return [
            {"dataset": one.dataset, **plain(row)}
            for one in self.datasets
            for row in one.evaluation.methods
        ]

    def view(self) -> list[Block]:
        from adjudge_papers.scope_view import view_reproduction_scope

        return view_reproduction_scope(self)


def size_of(judge: str) -> float | None:
    """The billions of parameters that a judge's name states, if it does.

    >>> size_of("vllm:Qwen2.5-7B-Instruct"), size_of("gpt-4.1-mini")
    (7.0, None)
    """
    stated = re.findall(r"(\d+(?:\.\d+)?)\s?b(?![a-z0-9])", judge.lower())
    return float(stated[-1]) if stated else None


def contains(name: str, part: str) -> bool:
    """Whether a name contains another, compared by letters and digits only."""
    return _squeeze(part) in _squeeze(name)


def _squeeze(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
