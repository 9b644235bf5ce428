"""Results of reading a log of another tool, or a published data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import Check, Count, Result, at_most, frozen


@dataclass(frozen=True, kw_only=True)
class MetricRows:
    """The rows of one metric and judge: how many, with a usable score, with a label.

    `from_judge` of the labels started from the judge's answer and are not used.
    """

    metric: str | None
    judge: str | None
    rows: Count
    measured: Count
    labels: Count
    from_judge: Count = 0

    checks: ClassVar[tuple[Check, ...]] = (
        at_most("measured", "rows"),
        at_most("labels", "rows"),
        at_most("from_judge", "labels"),
    )


@frozen
class LogSummary(Result):
    """The rows in a file of another tool; the rows are returned with it.

    `statuses` counts rows by status, `prompts` their prompts if the log identifies them, `dropped`
    entries that are not a row, by reason.
    """

    kind: ClassVar[str] = "log"
    rows_in: ClassVar[str] = "metrics"

    source: str
    format: str
    title: str
    rows_kind: str
    rows: Count
    prompts: Count | None = None
    statuses: Mapping[str, Count] = field(default_factory=dict)
    metrics: tuple[MetricRows, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def view(self) -> list[Block]:
        from adjudge.present.views.reading import view_log

        return view_log(self)
