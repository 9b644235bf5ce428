"""The pairs and answers a judge doubts most: where people should decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from adjudge._text import count, group_name
from adjudge.present.blocks import Block, Heading, Part, Sides
from adjudge.present.report.folder import Folder
from adjudge.results.selection import Policy

_MOST = 10
_COLUMNS = ("id", "judge", "protocol", "uncertainty", "p_a", "p_pass", "verdict", "label")


def doubtful_part(folder: Folder) -> list[Part]:
    """The most doubtful pairs and answers, where the folder holds their texts and verdicts."""
    blocks: list[Block] = []
    for noun, texts, frames in (
        ("pair", folder.pairs, folder.judgments),
        ("answer", folder.items, folder.grades),
    ):
        rows = _most_doubtful(folder, texts, frames)
        if rows:
            heading = f"The {count(len(rows), f'most doubtful {noun}')}, most doubtful first"
            blocks.append(Heading(heading))
            blocks += [_pair(row) if noun == "pair" else _answer(row) for row in rows]
    return [Part(name="For people to decide", blocks=blocks)] if blocks else []


def _most_doubtful(
    folder: Folder, texts: pl.DataFrame | None, frames: Sequence[pl.DataFrame]
) -> list[dict[str, Any]]:
    if texts is None or not frames:
        return []
    rows = (
        _verdicts(folder, frames)
        .drop_nulls("uncertainty")
        .join(texts, on="id", how="inner")
        .sort("uncertainty", descending=True, maintain_order=True)
        .unique("id", keep="first", maintain_order=True)
        .head(_MOST)
    )
    return rows.to_dicts()


def _pair(row: dict[str, Any]) -> Sides:
    return Sides(
        id=row["id"],
        prompt=row["prompt"],
        left_title="Answer A",
        left=row["response_a"],
        right_title="Answer B",
        right=row["response_b"],
        note=_describe(row),
    )


def _answer(row: dict[str, Any]) -> Sides:
    title = "Reference answer" if row.get("reference") is not None else "Context"
    given = row.get("reference") if row.get("reference") is not None else row.get("context")
    return Sides(
        id=row["id"],
        prompt=row["prompt"],
        left_title="Answer",
        left=row["response"],
        right_title=title,
        right=None if given is None else str(given),
        note=_describe(row),
    )


def _verdicts(folder: Folder, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All verdicts; where there are policies, those of the judges and protocols they hold."""
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


def _describe(row: dict[str, Any]) -> str:
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
