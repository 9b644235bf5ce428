"""The content of another tool's log: rows by metric and judge, labels, rows left out."""

from __future__ import annotations

from shlex import quote

from adjudge.io.formats import load_format
from adjudge.present.blocks import Block, Headline, notes_of, table_of
from adjudge.present.text import DASH, count, left_out, number
from adjudge.results.reading import LogSummary

#: What to run on the log, which is read as it is; with several metrics, for each of them.
_NEXT = {
    "grades": "adjudge estimate {file}{by}",
    "judgments": "adjudge calibrate {file}",
    "battles": "adjudge rank {file}",
    "labels": "--labels {file}",
    "pairs": "adjudge judge {file}",
    "items": "adjudge judge {file} --protocol grade",
}


def view_log(log: LogSummary) -> list[Block]:
    """Rows and statuses first, then each metric, then what was left out."""
    metrics = {part.metric for part in log.metrics}
    by = " --by metric" if len(metrics) > 1 else ""
    said = ", ".join(f"{n:,} {status}" for status, n in log.statuses.items())
    about = "" if log.prompts is None else f" about {count(log.prompts, 'prompt')}"
    noun = log.rows_kind.removesuffix("s")
    headline = f"{count(log.rows, noun)}{about} from {log.title}" + (f": {said}" if said else "")
    following = _NEXT.get(log.rows_kind, "").format(file=quote(log.source), by=by)
    unlabelled = log.rows_kind in ("grades", "judgments") and not any(m.labels for m in log.metrics)
    if unlabelled and {"items", "pairs"} & {*load_format(log.format).gives}:
        label = f"adjudge label {quote(log.source)} -o labels.csv"
        following = f"{label}, then {following} --labels labels.csv"
    blocks: list[Block] = [Headline(headline, f"Next: {following}" if following else "")]
    columns = {
        "metric": lambda part: part.metric or DASH,
        "judge": lambda part: part.judge or DASH,
        "rows": lambda part: number(part.rows),
    }
    if log.statuses:
        columns["scored"] = lambda part: number(part.measured)
    columns["labels"] = lambda part: number(part.labels)
    if any(part.from_judge for part in log.metrics):
        columns["started from the judge's answer"] = lambda part: number(part.from_judge)
    blocks.append(table_of(log.metrics, columns, text_columns=2))
    return blocks + notes_of([*(f"note: {note}" for note in log.notes), *left_out(log.dropped)])
