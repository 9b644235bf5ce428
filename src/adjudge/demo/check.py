"""Compare a judge with known answers: the numbers of the demo's first chapter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError
from adjudge.records import MEASURED
from adjudge.results.demo import JudgeCheck, Share, Way
from adjudge.statistics.numbers import binomial_interval
from adjudge.validation import count

_LEVEL = 0.95


def check_judge(
    judgments: Mapping[str, pl.DataFrame], *, judge: str, by: str | None = None, bands: int = 4
) -> JudgeCheck:
    """How often each protocol is right, and whether its doubt is higher when it is wrong.

    `judgments` maps a protocol to its rows, which must have labels. Intervals are exact for
    independent pairs. Several pairs about one question would make them too short.

    >>> rows = pl.DataFrame({"label": ["A", "B"], "verdict": ["A", "A"], "status": ["ok", "ok"],
    ...                      "uncertainty": [0.1, 0.6], "p_fwd": [0.9, 0.7], "p_rev": [0.8, 0.4]})
    >>> way, = check_judge({"preference": rows}, judge="mine", bands=1).ways
    >>> way.right.right, way.right.pairs, way.first_won, way.orders
    (1, 2, 3, 4)
    """
    count(bands, "bands", least=1)
    return JudgeCheck(
        judge=judge,
        confidence_level=_LEVEL,
        ways=tuple(_ask(name, rows, by, bands) for name, rows in judgments.items()),
    )


def _ask(protocol: str, rows: pl.DataFrame, by: str | None, bands: int) -> Way:
    if "label" not in rows.columns or rows["label"].null_count() > 0:
        raise ArgumentError("judgments", protocol, "every row needs a label to compare with")
    measured = rows.filter(pl.col("status").is_in(sorted(MEASURED))).sort("uncertainty")
    right = (measured["verdict"] == measured["label"]).fill_null(value=False)
    split = np.array_split(right.to_numpy(), bands)
    first_won, orders = _first(measured)
    groups: tuple[Share, ...] = ()
    if by is not None and by in measured.columns:
        counted = (
            measured.with_columns(right=right)
            .group_by(by, maintain_order=True)
            .agg(pl.col("right").sum(), pl.len())
            .sort(by)
        )
        groups = tuple(_share(str(name), int(won), int(n)) for name, won, n in counted.rows())
    return Way(
        protocol=protocol,
        right=_share(protocol, int(right.sum()), measured.height),
        unmeasured=rows.height - measured.height,
        first_won=first_won,
        orders=orders,
        bands=tuple(
            _share(f"band {number} of {bands}", int(part.sum()), len(part))
            for number, part in enumerate(split, 1)
            if len(part)
        ),
        groups=groups,
    )


def _first(rows: pl.DataFrame) -> tuple[int | None, int | None]:
    """How often the answer shown first was preferred, over both orders."""
    if "p_fwd" not in rows.columns or rows["p_fwd"].null_count() == rows.height:
        return None, None
    both = rows.select("p_fwd", "p_rev").drop_nulls()
    won = int((both["p_fwd"] > 0.5).sum()) + int((both["p_rev"] < 0.5).sum())
    return won, 2 * both.height


def _share(name: str, right: int, pairs: int) -> Share:
    low, high = binomial_interval(right, pairs, _LEVEL)
    return Share(
        name=name,
        right=right,
        pairs=pairs,
        share=right / pairs if pairs else None,
        low=low,
        high=high,
    )
