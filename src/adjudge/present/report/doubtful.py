"""The pairs a judge doubts most, side by side: where people should decide."""

from __future__ import annotations

from typing import Any

import polars as pl

from adjudge._text import count, group_name, number
from adjudge.present.blocks import Block, Heading, Part, Sides
from adjudge.present.report.folder import Folder
from adjudge.results.selection import Policy

_MOST = 10
_COLUMNS = ("id", "judge", "protocol", "uncertainty", "p_a", "verdict", "label")


def doubtful_part(folder: Folder) -> list[Part]:
    """The most doubtful pairs, where the folder holds both their texts and their judgments."""
    if folder.pairs is None or not folder.judgments:
        return []
    rows = (
        _judgments(folder)
        .drop_nulls("uncertainty")
        .join(folder.pairs, on="id", how="inner")
        .sort("uncertainty", descending=True, maintain_order=True)
        .unique("id", keep="first", maintain_order=True)
        .head(_MOST)
    )
    if not rows.height:
        return []
    blocks: list[Block] = [
        Heading(f"The {count(rows.height, 'most doubtful pair')}, most doubtful first")
    ]
    blocks += [
        Sides(
            id=row["id"],
            prompt=row["prompt"],
            left_title="Answer A",
            left=row["response_a"],
            right_title="Answer B",
            right=row["response_b"],
            note=_describe(row),
        )
        for row in rows.to_dicts()
    ]
    return [Part(name="For people to decide", blocks=blocks)]


def _judgments(folder: Folder) -> pl.DataFrame:
    """All judgments; where there are policies, those of the judges and protocols they hold."""
    rows = pl.concat(
        [frame.select([c for c in _COLUMNS if c in frame.columns]) for frame in folder.judgments],
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
    text = (
        f"{who}{f' ({asked})' if asked else ''} says {row['verdict'] or 'neither'}: "
        f"p(A) = {number(row['p_a'])}, doubt {row['uncertainty']:.3f}"
    )
    label = row.get("label")
    return text if label is None else f"{text}; people say {label}"
