"""The pairs and answers a judge doubts most, and the rows that have no number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from adjudge.errors import StoreError
from adjudge.judges.transcript import JudgeReply, read_replies
from adjudge.policy.result import Policy
from adjudge.present.blocks import Block, Heading, Note, Part, Sides, table_of
from adjudge.present.report.folder import Folder
from adjudge.present.text import clip, count, group_name
from adjudge.records import MEASURED

_MOST = 10
_LONGEST = 600
_COLUMNS = (
    *("id", "judge", "protocol", "status", "uncertainty", "p_a", "p_pass", "verdict", "label"),
    "detail",
)
#: What was written about a row, by its id, judge and protocol.
Written = Mapping[tuple[str, str, str], Sequence[JudgeReply]]


def doubtful_part(folder: Folder) -> list[Part]:
    """The most doubtful pairs and answers, if the folder has their texts and verdicts; then
    rows without a number. Both with what the judge wrote, if its store is given."""
    blocks: list[Block] = []
    for noun, texts, frames in (
        ("pair", folder.pairs, folder.judgments),
        ("answer", folder.items, folder.grades),
    ):
        if frames:
            blocks += _doubtful(folder, _verdicts(folder, frames), texts, noun)
    return [Part(name="For people to decide", blocks=blocks)] if blocks else []


def _doubtful(
    folder: Folder, rows: pl.DataFrame, texts: pl.DataFrame | None, noun: str
) -> list[Block]:
    doubtful = [] if texts is None else _most_doubtful(rows, texts)
    unmeasured = rows.filter(~pl.col("status").is_in(list(MEASURED)))
    failed = unmeasured.head(_MOST).to_dicts()
    written, trouble = _read_written(folder, [*doubtful, *failed])
    blocks: list[Block] = []
    if doubtful:
        many = count(len(doubtful), f"most doubtful {noun}")
        blocks.append(Heading(f"The {many}, most doubtful first"))
    blocks += [_sides(row, written) for row in doubtful]
    if failed:
        many = count(unmeasured.height, "row")
        blocks.append(Heading(f"{many} without a number, the first {len(failed)}"))
        columns = {
            "row": lambda row: row["id"],
            "judge": lambda row: group_name(row["judge"], none=""),
            "status": lambda row: row["status"],
            "why": lambda row: row.get("detail") or "",
            "the judge wrote": lambda row: "; ".join(_words(row, written)),
        }
        blocks.append(table_of(failed, columns, text_columns=len(columns)))
    if trouble is not None and blocks:
        blocks.append(Note([f"what the judge wrote is not shown: {trouble}"]))
    return blocks


def _most_doubtful(rows: pl.DataFrame, texts: pl.DataFrame) -> list[dict[str, Any]]:
    return (
        rows.drop_nulls("uncertainty")
        .join(texts, on="id", how="inner")
        .sort("uncertainty", descending=True, maintain_order=True)
        .unique("id", keep="first", maintain_order=True)
        .head(_MOST)
        .to_dicts()
    )


def _read_written(folder: Folder, rows: Sequence[Mapping[str, Any]]) -> tuple[Written, str | None]:
    """The replies about these rows; none, with the reason, if the store cannot be read."""
    if folder.store is None or not rows:
        return {}, None
    written: dict[tuple[str, str, str], list[JudgeReply]] = defaultdict(list)
    try:
        kept = read_replies({row["id"] for row in rows}, store=folder.store, limit=None)
    except StoreError as error:
        return {}, str(error)
    for reply in kept.replies:
        written[reply.id, reply.judge, reply.protocol].append(reply)
    return written, None


def _words(row: Mapping[str, Any], written: Written) -> list[str]:
    """What the judge wrote about a row, a text for each order; samples of one order once."""
    protocol, _, criterion = row["protocol"].partition(":")
    texts: dict[str, str] = {}
    for reply in written.get((row["id"], row["judge"], protocol), ()):
        if reply.text and reply.slot in ("", criterion):
            where = f"order {reply.order}: " if reply.order else ""
            texts.setdefault(where, f"{where}{clip(reply.text, _LONGEST)!r}")
    return list(texts.values())


def _verdicts(folder: Folder, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All verdicts; with policies, those of the judges and protocols they hold."""
    rows = pl.concat(
        [frame.select([c for c in _COLUMNS if c in frame.columns]) for frame in frames],
        how="diagonal_relaxed",
    )
    policies = [file.result for file in folder.files if isinstance(file.result, Policy)]
    held = pl.DataFrame(
        [(group.judge, group.protocol) for policy in policies for group in policy.groups],
        schema={"judge": pl.String, "protocol": pl.String},
        orient="row",
    )
    # Doubt asked in another way is on another scale. A jury has rows of its members alone.
    own = rows.join(held, on=["judge", "protocol"], how="semi", maintain_order="left")
    return own if own.height else rows


def _sides(row: Mapping[str, Any], written: Written) -> Sides:
    """Two answers side by side; one answer next to its reference or context."""
    title, left, right_title = "Answer A", row.get("response_a"), "Answer B"
    right = row.get("response_b")
    if "response" in row:
        name = "reference" if row.get("reference") is not None else "context"
        title, left, right = "Answer", row["response"], row.get(name)
        right_title = {"reference": "Reference answer", "context": "Context"}[name]
    words = _words(row, written)
    note = _describe(row)
    return Sides(
        id=row["id"],
        prompt=row["prompt"],
        left_title=title,
        left=str(left),
        right_title=right_title,
        right=None if right is None else str(right),
        note=f"{note}. It wrote: {'; '.join(words)}" if words else note,
    )


def _describe(row: Mapping[str, Any]) -> str:
    who = group_name(row["judge"], none="the judge")
    asked = group_name(row["protocol"], none="")
    name, p = ("p(pass)", row["p_pass"]) if "p_pass" in row else ("p(A)", row["p_a"])
    sure = "" if p is None else f"{name} = {p:.3f}, "
    text = (
        f"{who}{f' ({asked})' if asked else ''} says {row['verdict'] or 'neither'}: "
        f"{sure}doubt {row['uncertainty']:.3f}"
    )
    label = row.get("label")
    return text if label is None else f"{text}; people say {label}"
