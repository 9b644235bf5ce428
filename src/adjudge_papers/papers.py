"""The four papers in one registry: each runs on the given data, else on its simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.data.tables import TableLike
from adjudge.judges.progress import ProgressCallback
from adjudge.store.interface import DEFAULT_STORE, StorePlace
from adjudge_papers.diagnosis import reproduce_diagnosis
from adjudge_papers.page import PaperRun
from adjudge_papers.reporting import reproduce_reporting
from adjudge_papers.reporting_protocol import SIMULATED_BATTLES
from adjudge_papers.scope import reproduce_scope
from adjudge_papers.simulated_release import simulate_release
from adjudge_papers.soft_elo import reproduce_soft_elo


@dataclass(frozen=True, kw_only=True)
class Given:
    """The data of the papers, by the names of their verbs' options; each can be absent.

    `size` is a share of each paper's splits, repeats and simulated rows.
    """

    data: Mapping[str, TableLike] = field(default_factory=dict)
    grades: TableLike | None = None
    summeval: TableLike | None = None
    tournaments: TableLike | None = None
    scores: TableLike | None = None
    annotations: str | Path | None = None
    judge: str | None = None
    store: StorePlace = DEFAULT_STORE
    watch: ProgressCallback | None = None
    size: float = 1.0
    seed: int = 0

    def scaled(self, number: int, least: int) -> int:
        """That share of a number, but at least what the method needs."""
        return max(round(self.size * number), least)

    def words(self, here: str, option: str) -> str:
        """The data that a paper ran on, as text."""
        size = "" if self.size == 1 else f", at {self.size:g} of the paper's sizes"
        return f"on {here}{size}" if here else f"on simulated data (give {option}){size}"


def run_scope(given: Given) -> PaperRun:
    """SCOPE on judgments or pairs by data set, and on the simulator."""
    result = reproduce_scope(
        given.data,
        judge=given.judge if given.data else None,
        n=given.scaled(2000, 60),
        splits=given.scaled(1000, 5),
        seed=given.seed,
        store=given.store,
        progress=given.watch,
    )
    return PaperRun(
        name="scope",
        title="SCOPE: Selective Conformal Optimized Pairwise LLM Judging",
        given=given.words(", ".join(given.data), "--data NAME=FILE"),
        results={"scope": result},
        items=result.items,
    )


def run_reporting(given: Given) -> PaperRun:
    """The paper's simulation, and its protocol on grades, judgments or battles."""
    result = reproduce_reporting(
        given.grades,
        judge=None if given.grades is None else given.judge,
        repeats=given.scaled(10_000, 50),
        splits=given.scaled(100, 5),
        sample=given.scaled(SIMULATED_BATTLES, 300) if given.grades is None else None,
        seed=given.seed,
        store=given.store,
        progress=given.watch,
    )
    return PaperRun(
        name="reporting",
        title="How to Correctly Report LLM-as-a-Judge Evaluations",
        given="the paper's own simulation; section 8.2 "
        + given.words(result.protocol_source or "", "--grades FILE"),
        results={"reporting": result},
        items=result.items,
    )


def run_diagnosis(given: Given) -> PaperRun:
    """Cycles, rankings and score sets on SummEval, on files of other judges, or simulated."""
    result = reproduce_diagnosis(
        given.summeval,
        tournaments=given.tournaments,
        scores=given.scores,
        judge=None if given.summeval is None else given.judge,
        splits=given.scaled(20, 1),
        seed=given.seed,
        store=given.store,
        progress=given.watch,
    )
    files = {"SummEval": given.summeval, "tournaments": given.tournaments, "scores": given.scores}
    here = ", ".join(name for name, file in files.items() if file is not None)
    return PaperRun(
        name="diagnosis",
        title="Diagnosing LLM Judge Reliability: Conformal Prediction Sets and Transitivity "
        "Violations",
        given=given.words(here, "--summeval, --tournaments or --scores FILE"),
        results={"diagnosis": result},
        items=result.items,
    )


def run_soft_elo(given: Given) -> PaperRun:
    """Soft-Elo on the released annotations, or on a simulated release."""
    source = given.annotations
    result = reproduce_soft_elo(
        source if source is not None else simulate_release(
            models=given.scaled(32, 12), battles=given.scaled(6000, 300), seed=given.seed
        ),
        splits=5,
        replicates=given.scaled(20, 2),
        seed=given.seed,
    )  # fmt: skip
    return PaperRun(
        name="soft-elo",
        title="From Uncertain Judgments to Calibrated Rankings: Conformal Elo Estimation for LLM "
        "Evaluation",
        given=given.words("" if source is None else str(source), "--annotations DIR"),
        results={"soft-elo": result},
        items=result.items,
    )


#: The papers in the order of the page. To add one, write a function above and a line here.
PAPERS: Mapping[str, Callable[[Given], PaperRun]] = {
    "scope": run_scope,
    "reporting": run_reporting,
    "diagnosis": run_diagnosis,
    "soft-elo": run_soft_elo,
}
