"""The content of a store, and its damaged rows."""

from __future__ import annotations

from adjudge.present.blocks import Block, Fact, Facts, Headline, notes_of, table_of
from adjudge.present.text import DASH, count, number
from adjudge.results.store import StoreCheck, StoreCopy

_MOST_SHOWN = 3


def view_store_check(check: StoreCheck) -> list[Block]:
    """What can be read first, then claims, tables and calls by judge and status."""
    schema = "up to date" if check.up_to_date else "older: a run that writes brings it up to date"
    claims = f"{check.claims_dead:,} of processes that have ended, free"
    if check.claims_unknown:
        claims += f"; {check.claims_unknown:,} of other machines"
    blocks: list[Block] = [
        _headline(check),
        Facts(
            [
                Fact("schema", check.schema, schema),
                Fact("labels", number(check.labels), f"of {count(check.raters, 'rater')}"),
                Fact("calls claimed by running processes", number(check.claims_alive), claims),
            ]
        ),
    ]
    damage = [f"SQLite: {problem}" for problem in check.problems[:_MOST_SHOWN]]
    if len(check.problems) > _MOST_SHOWN:
        damage.append(f"and {len(check.problems) - _MOST_SHOWN:,} more of this kind")
    damage += [f"{table.table}, {table.example}" for table in check.tables if table.example]
    blocks += notes_of(damage, tone="bad")
    blocks.append(
        table_of(
            check.tables,
            {
                "table": lambda table: table.table,
                "rows": lambda table: number(table.rows),
                "damaged": lambda table: number(table.damaged),
            },
        )
    )
    if check.calls:
        blocks.append(
            table_of(
                check.calls,
                {
                    "judge": lambda part: part.judge,
                    "protocol": lambda part: part.protocol or DASH,
                    "status": lambda part: part.status,
                    "calls": lambda part: number(part.calls),
                },
                text_columns=3,
            )
        )
    if check.rescued is not None:
        copied = f"{number(check.rescued_rows)} rows copied to {check.rescued}"
        blocks += notes_of([f"{copied}; use it with --store, and keep the damaged file"])
    return blocks


def _headline(check: StoreCheck) -> Headline:
    calls = sum(part.calls for part in check.calls)
    held = f"{count(calls, 'call')} and {count(check.labels, 'label')}"
    if not check.damaged:
        return Headline(f"{check.store}: {held}, no damage detected")
    action = (
        "What is lost is asked again when you run the same command with the rescued store."
        if check.rescued is not None
        else f"Copy what can be read: adjudge store check {check.store} --rescue NEW.db"
    )
    return Headline(f"{check.store} is damaged: {held} can be read", action, tone="bad")


def view_store_copy(copy: StoreCopy) -> list[Block]:
    """How many rows were copied, then table by table."""
    rows = count(copy.added, "row")
    headline = Headline(f"{rows} copied from {copy.source} to {copy.target}")
    if copy.conflicts:
        headline = Headline(
            f"{headline.text}; {count(copy.conflicts, 'conflict')}",
            f"{copy.target} has another row in their place, and keeps it.",
            tone="bad",
        )
    table = table_of(
        copy.tables,
        {
            "table": lambda part: part.table,
            "copied": lambda part: number(part.added),
            "there already": lambda part: number(part.same),
            "conflicts": lambda part: number(part.conflicts),
        },
    )
    return [headline, table]
