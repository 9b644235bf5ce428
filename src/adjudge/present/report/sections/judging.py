"""What was judged, by whom, at what cost, and what came back without a number."""

from __future__ import annotations

from adjudge.present.report.collect import Collected
from adjudge.present.report.document import Block, Number, Numbers, Section, TableBlock, Words
from adjudge.present.tables import counted, number, percent
from adjudge.results.judging import Judging


def judging_section(found: Collected) -> Section | None:
    """One row per run of a judge."""
    runs = found.of(Judging)
    if not runs:
        return None
    rows = sum(run.rows for run in runs)
    measured = sum(run.measured for run in runs)
    lost = rows - measured
    judges = counted(len({run.judge for run in runs}), "judge", "judges")
    finding = f"{judges}, {rows:,} judgments, " + (
        "every one of them measured." if not lost else f"{lost:,} without a number."
    )
    action = (
        "" if not lost else "Rows without a number are counted below and take part in nothing else."
    )
    costs = [run.cost for run in runs]
    known = [cost for cost in costs if cost is not None]
    cost = f"${sum(known):,.2f}" if len(known) == len(costs) else "unknown"
    blocks: list[Block] = [
        Numbers(
            numbers=(
                Number(label="judgments", value=f"{rows:,}"),
                Number(
                    label="measured",
                    value=percent(measured / rows if rows else None, 1),
                    tone="bad" if lost else "plain",
                ),
                Number(
                    label="tokens this run",
                    value=f"{sum(run.prompt_tokens + run.completion_tokens for run in runs):,}",
                ),
                Number(label="cost", value="none" if cost == "$0.00" else cost),
            )
        ),
        TableBlock(
            columns=("judge", "protocol", "rows", "measured", "first answer wins", "is the label"),
            rows=tuple(
                (
                    run.judge,
                    run.protocol,
                    number(run.rows),
                    percent(run.measured / run.rows if run.rows else None, 1),
                    percent(run.first_slot_share, 1),
                    percent(run.agreement, 1),
                )
                for run in runs
            ),
            text_columns=2,
        ),
    ]
    statuses: dict[str, int] = {}
    for run in runs:
        for status, n in run.statuses.items():
            statuses[status] = statuses.get(status, 0) + n
    told = tuple(f"{n:,} rows: {status}" for status, n in statuses.items() if n)
    if lost:
        blocks.append(Words(lines=told, tone="bad"))
    return Section(
        key="judging",
        title="What was judged",
        finding=finding,
        action=action,
        blocks=tuple(blocks),
        tone="bad" if lost else "plain",
    )
