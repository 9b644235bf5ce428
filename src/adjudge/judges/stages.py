"""Several judges in stages: each is asked only about the subjects that those before left open.

The runner does not use doubt. It gets a function that looks at the rows so far and returns for each
subject whether it is settled. A cascade provides this function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Literal

from adjudge.data.writing import Row
from adjudge.errors import ArgumentError
from adjudge.judges.interface import Judge
from adjudge.judges.rows import RowBatch
from adjudge.judges.subjects import OpenSubjects, Spool
from adjudge.records import Grade, Judgment, Subject

#: A subject after a stage: settled, or open because of doubt or because the judge failed.
Outcome = Literal["settled", "doubt", "failure"]
#: Returns the outcomes of some subjects from their rows, one per stage so far.
StopRule = Callable[[Sequence[Subject], Sequence[Sequence[Row]]], Sequence[Outcome]]


class Stages:
    """The stages of one run: which subjects continue after each stage, and why."""

    def __init__(self, rule: StopRule) -> None:
        self._rule = rule
        self._history: Spool[list[Row]] | None = None
        self.outcomes: list[Counter[Outcome]] = []

    async def settle(
        self, subjects: OpenSubjects, batches: AsyncIterator[RowBatch]
    ) -> OpenSubjects:
        """Those of a stage's subjects that stay open; `batches` are its rows, one per subject.

        A subject without a row was not asked, because the run was stopped. It is not open.
        """
        earlier = None if self._history is None else iter(self._history)
        history, left = Spool[list[Row]](), set[str]()
        outcomes: Counter[Outcome] = Counter()
        remaining = iter(subjects)
        async for batch in batches:
            ways = [[row] for row in batch.rows]
            if earlier is not None:
                ways = [[*_way_of(row, earlier), row] for row in batch.rows]
            asked = [_subject_of(row, remaining) for row in batch.rows]
            said = self._rule(asked, ways)
            outcomes.update(said)
            for outcome, subject, way in zip(said, asked, ways, strict=True):
                if outcome != "settled":
                    left.add(subject.id)
                    history.append(way)
        self.close()
        self._history = history
        self.outcomes.append(outcomes)
        return subjects.keep(left)

    def close(self) -> None:
        """Remove the temporary file."""
        if self._history is not None:
            self._history.close()
        self._history = None


def _way_of(row: Row, earlier: Iterator[list[Row]]) -> list[Row]:
    """The rows of the stages before; both are in input order."""
    return next(way for way in earlier if way[-1]["id"] == row["id"])


def _subject_of(row: Row, subjects: Iterator[Subject]) -> Subject:
    """The subject of a row; both are in input order."""
    return next(subject for subject in subjects if subject.id == row["id"])


def check_stages(judges: Sequence[Judge]) -> None:
    """Refuse judges that do not give one verdict per subject."""
    for judge in judges:
        if judge.protocol.record not in (Judgment, Grade):
            raise ArgumentError(
                "protocol", judge.protocol.name, "a cascade needs verdicts on pairs, or grades"
            )
        if judge.repeats != 1:
            raise ArgumentError("repeats", judge.repeats, "a cascade asks only once: leave it out")
