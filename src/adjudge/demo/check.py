"""Compare a judge with known answers: the demo's first chapter, with its table and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Columns, Headline, table_of
from adjudge.present.figure import ACCENT, GOOD, INK, MUTED, WARM, new_figure, themed
from adjudge.present.result import Check, Count, Level, Proportion, Result, frozen, not_empty
from adjudge.present.text import level, percent
from adjudge.records import MEASURED, Interval
from adjudge.statistics.numbers import binomial_interval
from adjudge.validation import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class Share:
    """A count out of a total, with the exact (Clopper-Pearson) interval of the share."""

    name: str
    right: Count
    pairs: Count
    share: Proportion | None
    interval: Interval

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, which are always known."""
        low, high = self.interval
        return low or 0.0, 1.0 if high is None else high


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way of asking: accuracy, how often the first answer won, accuracy by doubt.

    `bands` go from the least doubt to the most, equal in size up to one pair. A pair without a
    verdict (p_a exactly one half) counts as wrong; `unmeasured` pairs are not counted.
    """

    protocol: str
    right: Share
    unmeasured: Count
    first_won: Count | None
    orders: Count | None
    bands: tuple[Share, ...]
    groups: tuple[Share, ...]


@frozen
class JudgeCheck(Result):
    """A judge compared with known answers, asked in one or more ways."""

    kind: ClassVar[str] = "judge_check"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("ways"),)

    judge: str
    confidence_level: Level
    ways: tuple[Way, ...]

    def _parts(self) -> Sequence[Any]:
        return [{"protocol": way.protocol, **vars(way.right)} for way in self.ways]

    def view(self) -> list[Block]:
        """A row for each way of asking."""
        most = max(self.ways, key=lambda way: way.right.pairs)
        share = describe_share(most.right)
        columns: Columns[Way] = {
            "asked by": lambda way: way.protocol,
            "pairs": lambda way: str(way.right.pairs),
            "right": lambda way: percent(way.right.share, 0),
            f"{level(self.confidence_level)} interval": lambda way: "{:.0f} to {:.0f} %".format(
                *(100 * end for end in way.right.ends)
            ),
            "first answer won": lambda way: (
                "no order" if way.first_won is None else f"{way.first_won} of {way.orders}"
            ),
        }
        return [
            Headline(f"{self.judge} asked by {most.protocol} is right on {share}"),
            table_of(self.ways, columns),
        ]


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
    first_won = orders = None
    if "p_fwd" in measured.columns and measured["p_fwd"].null_count() < measured.height:
        both = measured.select("p_fwd", "p_rev").drop_nulls()
        first_won = int((both["p_fwd"] > 0.5).sum()) + int((both["p_rev"] < 0.5).sum())
        orders = 2 * both.height
    groups: tuple[Share, ...] = ()
    if by is not None and by in measured.columns:
        of_groups = measured.with_columns(right=right).group_by(by)
        counted = of_groups.agg(pl.col("right").sum(), pl.len()).sort(by)
        groups = tuple(_share(str(name), won, n) for name, won, n in counted.rows())
    shares = [
        _share(f"band {number} of {bands}", int(band.sum()), len(band))
        for number, band in enumerate(split, 1)
        if len(band)
    ]
    return Way(
        protocol=protocol,
        right=_share(protocol, int(right.sum()), measured.height),
        unmeasured=rows.height - measured.height,
        first_won=first_won,
        orders=orders,
        bands=tuple(shares),
        groups=groups,
    )


def _share(name: str, right: int, pairs: int) -> Share:
    interval = Interval(*binomial_interval(right, pairs, _LEVEL), level=_LEVEL)
    share = right / pairs if pairs else None
    return Share(name=name, right=right, pairs=pairs, share=share, interval=interval)


def halves(bands: Sequence[Share]) -> list[Share]:
    """The share right in the surer half of the bands (with the middle) and in the other."""
    cut = (len(bands) + 1) // 2
    return [_joined("surer", bands[:cut]), _joined("other", bands[cut:])]


def _joined(name: str, bands: Sequence[Share]) -> Share:
    return _share(name, sum(band.right for band in bands), sum(band.pairs for band in bands))


def describe_share(share: Share) -> str:
    """A share as text.

    >>> interval = Interval(0.194, 0.994, level=0.95)
    >>> describe_share(Share(name="", right=3, pairs=4, share=0.75, interval=interval))
    '3 of 4, 75 % [19, 99]'
    """
    if share.share is None:
        return "none scored"
    ends = ", ".join(f"{100 * end:.0f}" for end in share.ends)
    return f"{share.right} of {share.pairs}, {100 * share.share:.0f} % [{ends}]"


def judge_check_figure(
    check: JudgeCheck, judgments: Mapping[str, pl.DataFrame], *, doubt_of: str
) -> Drawing:
    """Three panels: does the order decide, is it right, is it wrong more often at higher doubt."""
    with themed():
        figure = new_figure(11.4, 4.2)
        axes = figure.subplots(1, 3, width_ratios=(1, 0.95, 1.15), gridspec_kw={"wspace": 0.08})
        axis_label = f"share right, {level(check.confidence_level)} interval"
        ordered = next((way for way in check.ways if way.first_won is not None), None)
        if ordered is not None:
            _position(axes[0], judgments[ordered.protocol], ordered)
        else:
            axes[0].set_axis_off()
        _ways(axes[1], check.ways)
        axes[1].set_xlabel(axis_label)
        _doubt(axes[2], next(way for way in check.ways if way.protocol == doubt_of))
        axes[2].set_ylabel(axis_label)
    return figure


def _position(ax: Axes, rows: pl.DataFrame, way: Way) -> None:
    """Both numbers are about response_a: a judge without position bias is on the diagonal."""
    seen = rows.drop_nulls(["p_fwd", "p_rev"])
    forward = seen["p_fwd"].to_numpy()
    reverse = seen["p_rev"].to_numpy()
    ax.fill_between([0.5, 1], 0, 0.5, color=WARM, alpha=0.10, linewidth=0)
    ax.fill_between([0, 0.5], 0.5, 1, color=WARM, alpha=0.10, linewidth=0)
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1)
    along: dict[str, Any] = {"rotation": 45, "rotation_mode": "anchor"}
    along |= {"ha": "center", "va": "center"}
    ax.text(0.20, 0.30, "order makes\nno difference", color=MUTED, fontsize=8, **along)
    dots: dict[str, Any] = {"s": 26, "edgecolor": "white", "linewidth": 0.6, "zorder": 3}
    for label, colour, marker in (("A", ACCENT, "o"), ("B", GOOD, "s")):
        mine = (seen["label"] == label).to_numpy()
        name = f"{label} is the right answer"
        spots = forward[mine], reverse[mine]
        ax.scatter(*spots, color=colour, marker=marker, label=name, **dots)
    # Next to the shaded squares, so that it hides no dots in them.
    ax.text(1.02, 0, "the answer shown first wins", color=WARM, fontsize=8, rotation=90)
    ax.text(0, 1.02, "the answer shown second wins", color=WARM, fontsize=8)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="P(A better), A shown first")
    ax.set_ylabel("P(A better), A shown second")
    ax.set_aspect("equal")
    below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17), "ncols": 2}
    ax.legend(fontsize=8, handletextpad=0.2, columnspacing=1.0, **below)
    ax.set_title(f"First answer wins {way.first_won} of {way.orders}", pad=18)


def _ways(ax: Axes, ways: Sequence[Way]) -> None:
    """Share right with its interval: each way of asking, then the kinds of the last one."""
    entries: list[tuple[str, Share, str]] = [
        (way.protocol, way.right, ACCENT if way is ways[-1] else WARM) for way in ways
    ]
    entries += [(group.name, group, MUTED) for group in ways[-1].groups]
    write = partial(ax.text, va="center", transform=ax.get_yaxis_transform())
    for place, (name, share, colour) in enumerate(entries):
        y = -place - (0.45 if place >= len(ways) else 0)
        if share.share is not None:
            ax.plot(share.ends, [y, y], color=colour, linewidth=2.4, alpha=0.55)
            ax.plot(share.share, y, "o", color=colour, markersize=7)
        write(1.02, y, f"{share.right}/{share.pairs}", fontsize=8, color=INK)
        name_colour = INK if place < len(ways) else MUTED
        write(-0.02, y, name, ha="right", fontsize=9, color=name_colour)
    if ways[-1].groups:
        title = f"{ways[-1].protocol} on"
        y = 0.15 - len(ways)
        write(-0.02, y, title, ha="right", fontsize=8, style="italic", color=MUTED)
    ax.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
    ax.text(0.5, 0.6, " coin", color=MUTED, fontsize=8, va="top")
    ax.set(xlim=(0.0, 1.02), ylim=(-len(entries) + 0.1, 0.7))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False, axis="y")
    ax.xaxis.set_major_formatter(lambda value, _: percent(value, 0))
    last = ways[-1]
    ax.set_title(f"By {last.protocol}: {percent(last.right.share, 0)} right")


def _doubt(ax: Axes, way: Way) -> None:
    """Bands from the least doubt to the most."""
    places = np.arange(len(way.bands))
    shares = np.array([band.share or 0.0 for band in way.bands])
    ends = np.array([band.ends for band in way.bands])
    ax.bar(places, shares, width=0.72, color=ACCENT, alpha=0.85)
    reach = [shares - ends[:, 0], ends[:, 1] - shares]
    ax.errorbar(places, shares, reach, fmt="none", ecolor=INK, elinewidth=1.1, capsize=3)
    for place, band in zip(places, way.bands, strict=True):
        counts = f"{band.right}/{band.pairs}"
        ax.text(float(place), 0.03, counts, ha="center", fontsize=8, color="white")
    ax.axhline(0.5, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
    names = {0: "least doubt", len(way.bands) - 1: "most doubt"}
    ax.set_xticks(places, [names.get(int(place), "") for place in places])
    ax.set_ylim(0, 1.04)
    ax.set_xlabel("pairs by the judge's doubt, bands of equal size")
    ax.yaxis.set_major_formatter(lambda value, _: percent(value, 0))
    ax.grid(visible=False, axis="x")
    surer, other = halves(way.bands)
    if surer.pairs and other.pairs:
        less = percent(surer.share, 0)
        more = percent(other.share, 0)
        ax.set_title(f"Less doubt: {less} right, more doubt: {more}")
