"""The panels of the viewer: the threshold on the labelled rows, and two judges side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.rows import FAIL, PASS
from adjudge.data.tables import as_text
from adjudge.policy.result import Policy
from adjudge.present.text import count
from adjudge.server.pages import share
from adjudge.server.view_rows import RowPages, thin, where
from adjudge.server.viewing import Choice, Curve, JudgeRows, Viewing
from adjudge.statistics.numbers import binomial_interval
from adjudge.validation import BoolArray, FloatArray, IntArray

#: More points than this are not told apart on a screen.
_MOST_POINTS = 400
_MOST_CHANGES = 100
_EDGE = 3


def threshold_panel(
    pages: RowPages, choice: Choice, cut: int | None, width: int, typed: str
) -> dict[str, Any]:
    """The curve of one judge, its calibrated threshold, and what a threshold at `cut` rows gives.

    A policy with a rule for each group has a curve for each: of the group chosen, or the first.
    `typed` is the file and the options with which the rows are calibrated.
    """
    judge = choice.judge
    rows = pages.viewing.judges[judge]
    by = None if rows.policy is None else rows.policy.by
    chosen = choice.groups.get(by or "")
    covering = (n for n, curve in enumerate(rows.curves) if chosen in curve.group.covers)
    number = next(covering, 0)
    curve = rows.curves[number] if rows.curves else None
    if curve is None or not len(curve):
        return {
            "finding": f"No threshold for {judge}.",
            "sub": rows.why,
            "bad": False,
            "plot": None,
        }
    group, policy = curve.group, rows.policy
    n = len(curve)
    fixed = group.n_accepted if group.feasible and n == group.n_calibration else None
    ends = curve.ends
    wanted = cut if cut is not None else fixed if fixed is not None else int(0.6 * n)
    at = int(np.abs(ends - wanted).argmin())
    k = int(ends[at])
    doubt = float(curve.scores[k - 1])
    findings = _findings(judge, curve, policy, fixed)
    return {
        "n": n,
        "k": k,
        "by_eye": k != fixed,
        "bad": fixed is None,
        "wrong": int(curve.wrong[k - 1]),
        "doubt": doubt,
        "less": int(ends[max(0, at - 1)]),
        "more": int(ends[min(len(ends) - 1, at + 1)]),
        "calibrated": None if fixed is None else fixed / n,
        **findings,
        **_alpha_of(curve, k, typed),
        "plot": _plot(curve, k, fixed, findings["alpha"], width),
        "edge": _edge(rows, number, doubt),
        "by": by,
        "groups": [
            {"value": each.group.covers[0], "name": each.group.group, "chosen": each is curve}
            for each in rows.curves
        ],
    }


def _findings(judge: str, curve: Curve, policy: Policy | None, fixed: int | None) -> dict[str, Any]:
    n, errors = len(curve), int(curve.errors.sum())
    alpha = policy.alpha if policy is not None else None
    judge += where(policy, curve)
    finding = f"Nothing of {judge} can be accepted at alpha {alpha}."
    more = " Label more rows, allow a larger alpha, or use a better judge."
    if fixed is not None:
        finding = (
            f"At alpha {alpha}, {share(fixed / n)} of the verdicts of {judge} can be accepted."
        )
        more = ""
    rows = count(n, "labelled row")
    if policy is not None and policy.cluster is not None:
        rows += f" (one of each {policy.cluster}, at random)"
    sub = f"{rows}, {count(errors, 'verdict')} against people. From left to "
    sub += f"right, verdicts are accepted from the surest to the most doubtful.{more}"
    findings = {"finding": finding, "sub": sub, "alpha": alpha}
    if policy is not None:
        findings["guarantee"] = policy.guarantee
        findings["promise"] = policy.promise.rstrip(".")
        findings["not_promised"] = policy.not_promised.rstrip(".")
    return findings


def _alpha_of(curve: Curve, k: int, typed: str) -> dict[str, Any]:
    """The alpha of a threshold by eye: the least (errors + 1) / accepted from there on.

    `calibrate` accepts up to the last k with (errors + 1) / k at most alpha, to four decimals.
    """
    ends = curve.ends
    spent = curve.wrong[ends - 1] + 1
    beyond = np.flatnonzero(ends >= k)
    best = beyond[np.argmin(spent[beyond] / ends[beyond])]
    # Up to four decimals: the level that calibrate is given, which can reach a little further.
    alpha = Fraction(-(-10_000 * int(spent[best]) // int(ends[best])), 10_000)
    within = spent * 10_000 <= int(alpha * 10_000) * ends
    accepted = int(ends[np.flatnonzero(within)[-1]])
    if alpha >= 1:
        return {"command": "", "advice": ""}
    advice = f"An alpha of {float(alpha):.4f} gives it. To have the promise:"
    if accepted != k:
        advice = f"No alpha gives exactly this. The nearest is {float(alpha):.4f}, which accepts "
        advice += f"{accepted:,} of {len(curve):,}:"
    return {
        "command": f"adjudge calibrate {typed} --alpha {float(alpha):.4f} -o policy.json",
        "advice": advice,
    }


def _plot(
    curve: Curve, k: int, fixed: int | None, alpha: float | None, width: int
) -> dict[str, Any]:
    """The drawing in pixels."""
    n = len(curve)
    height = 260 if width < 520 else 350
    left, right, top, bottom = 44, width - 14, 40, height - 54
    ends = curve.ends[curve.ends >= min(k, 0.08 * n)]
    if len(ends) > _MOST_POINTS:
        ends = np.unique(ends[np.linspace(0, len(ends) - 1, _MOST_POINTS).astype(int)])
    risks = curve.wrong[ends - 1] / ends
    band = [binomial_interval(int(curve.wrong[end - 1]), int(end), 0.95) for end in ends]
    highest = max(float(risks.max()), band[-1][1], 1.5 * (alpha or 0.0))
    ceiling = min(1.0, float(np.ceil(10 * highest + 0.3)) / 10)

    def x(value: float) -> float:
        return round(left + (right - left) * value, 1)

    def y(value: float) -> float:
        return round(top + (bottom - top) * (1 - min(value, ceiling) / ceiling), 1)

    def path(values: Any) -> str:
        points = [f"{x(end / n)} {y(value)}" for end, value in zip(ends, values, strict=True)]
        return "M" + "L".join(points)

    step = 0.1 if ceiling > 0.35 else 0.05
    heights = np.arange(0, ceiling + 1e-9, step)
    upper = path([high for _, high in band])
    lower = [f"{x(end / n)} {y(low)}" for end, (low, _) in zip(ends, band, strict=True)]
    shares = (0, 0.25, 0.5, 0.75, 1)
    return {
        "width": width,
        "height": height,
        "n": n,
        "left": left,
        "right": right,
        "top": top,
        "bottom": bottom,
        "ticks_x": [{"at": x(value), "words": share(value)} for value in shares],
        "ticks_y": [{"at": y(value), "words": share(value)} for value in heights],
        "rug": [x(at) for at in thin(curve.errors_at)],
        "curve": path(risks),
        "band": f"{upper}L{'L'.join(lower[::-1])}Z",
        "alpha": y(alpha or 0.0),
        "x": x(k / n),
        "y": y(float(curve.wrong[k - 1] / k)),
        "calibrated": None if fixed is None else x(fixed / n),
    }


def _edge(rows: JudgeRows, number: int, doubt: float) -> list[tuple[str, list[int]]]:
    """The positions of the rows on both sides of the threshold of one curve."""
    order = rows.order("doubt")[: rows.n_doubts][::-1]
    order = order[rows.curve_at[order] == number]
    middle = int(np.searchsorted(rows.doubt[order], doubt, side="right"))
    last = [int(at) for at in order[max(0, middle - _EDGE) : middle][::-1]]
    first = [int(at) for at in order[middle : middle + _EDGE]]
    return [("Last to be accepted", last), ("First to go to people", first)]


@dataclass(frozen=True)
class _Side:
    """One side of a comparison, row by row: where the row is, and whether it is good or bad."""

    judge: str
    rows: IntArray
    good: BoolArray
    bad: BoolArray
    p: FloatArray
    verdicts: pl.Series


def compare_panel(
    viewing: Viewing, choice: Choice, before: str, after: str, way: str
) -> dict[str, Any]:
    """Which rows of the choice changed, and in which direction: two judges, or two systems.

    Judges are compared on the same rows, by the label of people. Systems are compared on the same
    questions, by the verdict of the judge that is shown.
    """
    judges = list(viewing.judges)
    systems = _systems(viewing)
    names = [*(judges if len(judges) > 1 else ()), *systems]
    if not names:
        return dict(_NOTHING_TO_COMPARE)
    kind = systems if after in systems or (before in systems and after not in judges) else judges
    kind = kind if len(kind) > 1 else systems
    after = after if after in kind else choice.judge if choice.judge in kind else kind[-1]
    before = before if before in kind and before != after else next(n for n in kind if n != after)
    of_judges = kind is judges
    shown = viewing.matching(viewing.masks(choice))
    if of_judges:
        first, second = (_judge_side(viewing, name, shown) for name in (before, after))
    else:
        first, second = _system_sides(viewing, choice.judge, shown, before, after)
    ways = _JUDGES if of_judges else _SYSTEMS
    masks = {
        "broken": first.good & second.bad,
        "fixed": first.bad & second.good,
        "right": first.good & second.good,
        "wrong": first.bad & second.bad,
    }
    if of_judges:
        decided = np.logical_or.reduce([*masks.values()])
        differ = (first.verdicts != second.verdicts).fill_null(False).to_numpy()
        masks["changed"] = differ & ~decided
    counts = {key: int(mask.sum()) for key, mask in masks.items()}
    way = way if way in masks else ""
    chosen = [way] if way else [key for key in _CHANGED if key in masks]
    n = sum(counts[key] for key in chosen)
    both = (first.verdicts.is_not_null() & second.verdicts.is_not_null()).sum()
    page: dict[str, Any] = {"names": names, "before": before, "after": after, "way": way}
    page["of_judges"] = of_judges
    page["finding"] = _finding(before, after, counts, of_judges)
    page["sub"] = _both(int(both), len(first.rows), of_judges, choice.judge)
    page["chance"] = "adjudge compare --judges" if of_judges else "adjudge compare"
    page["ways"] = [
        {"key": key, "name": ways[key][0], "count": counts[key], "on": key in chosen}
        for key in masks
        if key != "changed" or counts[key]
    ]
    page["listed"] = f"{count(n, 'row')}{'' if way else ' that changed'}"
    page["changes"] = [
        (int(first.rows[at]), first.judge, int(second.rows[at]), second.judge, *ways[key])
        for key, at in _largest(first, second, {key: masks[key] for key in chosen})
    ]
    page["more"] = n > _MOST_CHANGES
    return page


_CHANGED = ("broken", "fixed", "changed")
#: The names and colours of the ways of two verdicts.
_JUDGES = {
    "broken": ("right → wrong", "bad"),
    "fixed": ("wrong → right", "good"),
    "right": ("both right", "muted"),
    "wrong": ("both wrong", "muted"),
    "changed": ("changed, no label", ""),
}
_SYSTEMS = {
    "broken": ("pass → fail", "bad"),
    "fixed": ("fail → pass", "good"),
    "right": ("both pass", "muted"),
    "wrong": ("both fail", "muted"),
}
_NOTHING_TO_COMPARE: Mapping[str, Any] = {
    "names": (),
    "changes": (),
    "of_judges": True,
    "chance": "",
    "finding": "This file has one judge and one system.",
    "sub": "Give a second file of the same rows: adjudge view BEFORE AFTER.",
}


def _systems(viewing: Viewing) -> list[str]:
    """The systems whose answers to the same questions are in the rows; none for pairs."""
    if viewing.about == "pairs" or "model" not in viewing.groups or _question(viewing) is None:
        return []
    return sorted(viewing.groups["model"][1])


def _question(viewing: Viewing) -> str | None:
    """The column that rows of one question share."""
    return next((name for name in ("prompt_id", "prompt") if name in viewing.items.columns), None)


def _judge_side(viewing: Viewing, name: str, shown: BoolArray) -> _Side:
    rows = viewing.judges[name]
    at = np.flatnonzero(shown)
    good, bad = rows.marks["agree"][at], rows.marks["wrong"][at]
    return _Side(name, at, good, bad, rows.p[at], rows.frame["verdict"][at])


def _system_sides(
    viewing: Viewing, judge: str, shown: BoolArray, before: str, after: str
) -> list[_Side]:
    """The rows of two systems, in the order of the questions that both answered."""
    rows = viewing.judges[judge]
    codes, names = viewing.groups["model"]
    tables = []
    for name in (before, after):
        at = np.flatnonzero(shown & (codes == names.index(name)))
        questions = as_text(viewing.items[_question(viewing) or ""][at]).alias("question")
        tables.append(
            pl.DataFrame([questions, pl.Series("at", at)]).unique("question", keep="first")
        )
    both = tables[0].join(tables[1], on="question", suffix="_after").sort("at")
    sides = []
    for column in ("at", "at_after"):
        at = both[column].to_numpy()
        verdicts = rows.frame["verdict"][at]
        passed, failed = ((verdicts == word).fill_null(False).to_numpy() for word in (PASS, FAIL))
        sides.append(_Side(judge, at, passed, failed, rows.p[at], verdicts))
    return sides


def _largest(
    first: _Side, second: _Side, masks: Mapping[str, BoolArray]
) -> Iterator[tuple[str, int]]:
    """The rows of each way, the largest change of probability first."""
    size = np.nan_to_num(np.abs(first.p - second.p))
    left = _MOST_CHANGES
    for key, mask in masks.items():
        at = np.flatnonzero(mask)
        for row in at[np.argsort(-size[at], kind="stable")][:left]:
            left -= 1
            yield key, int(row)


def _finding(before: str, after: str, counts: Mapping[str, int], of_judges: bool) -> str:
    gained, lost = counts["fixed"], counts["broken"]
    if of_judges and not sum(counts[key] for key in ("fixed", "broken", "right", "wrong")):
        return f"{count(counts['changed'], 'verdict')} changed from {before} to {after}."
    good, bad = ("right", "wrong") if of_judges else ("passed", "failed")
    net = gained - lost
    finding = f"As many rows {good} with {after} as with {before}"
    if net:
        finding = f"{count(abs(net), 'more row')} {good if net > 0 else bad} with {after}"
        finding += f" than with {before}"
    return f"{finding}: {gained:,} gained, {lost:,} lost."


def _both(both: int, rows: int, of_judges: bool, judge: str) -> str:
    words = f"Of {count(both, 'row')} that both judged"
    if not of_judges:
        words = f"Of {count(both, 'question')} that both answered, by {judge}"
    failed = rows - both
    return f"{words}; {count(failed, 'row')} without a verdict of both." if failed else f"{words}."
