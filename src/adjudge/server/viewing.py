"""The rows behind the viewer: what every judge and people said, and which rows a choice shows.

Everything that a filter or an order needs is a column, made once: a choice of rows is an "and" of
columns of true and false, and an order is sorted once. Texts are read for the rows on screen alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.columns import TEXT_COLUMNS
from adjudge.data.judgments import IS_ERROR, WORDS, Judgments
from adjudge.data.rows import (
    PASS,
    code_column,
)
from adjudge.data.steps.labels import BROUGHT, LABELS_OF
from adjudge.data.tables import as_text
from adjudge.errors import AdjudgeError
from adjudge.policy.result import Policy, PolicyGroup
from adjudge.records import MEASURED, About
from adjudge.selection import calibrate
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The error level of the threshold that is shown if the caller has no policy.
ALPHA = 0.1
#: Which of several metrics a row is about.
METRIC = "__metric"
#: The name of a judge on the page, with the protocol or the file if the name alone is not enough.
SHOWN = "__judge"
_ORDERS = ("p_fwd", "p_rev")
#: A column with more different values than this, or longer ones, is not used as a filter.
_MOST_VALUES = 50
_LONGEST_VALUE = 80
#: Above this share of the labelled rows, a row is called doubtful.
_DOUBTFUL = 0.9
TEXTS = tuple(column.name for column in TEXT_COLUMNS)
#: The chips: key, name, and the kind within which they are alternatives.
CHIPS: Mapping[str, tuple[str, str]] = {
    "wrong": ("against people", "people"),
    "false_pass": ("false pass", "people"),
    "false_fail": ("false fail", "people"),
    "agree": ("with people", "people"),
    "tie": ("people tie", "people"),
    "unlabelled": ("unlabelled", "people"),
    "accepted": ("accepted", "policy"),
    "abstained": ("to people", "policy"),
    "flips": ("order flips", "flips"),
    "doubtful": ("most doubtful tenth", "doubt"),
    "every": ("all judges against", "every"),
}
#: Chips that say who says what, and the one that a reader who decides blind has instead.
TELLING = {"false_pass": "wrong", "false_fail": "wrong", "tie": ""}
#: What "against people" is of single answers, for a reader who is not blind.
FALSE = ("false_pass", "false_fail")
#: Words of `--only` that are not the key of a chip.
ONLY = {"disagreements": "wrong", "disagree": "wrong", "flip": "flips"}
ORDERS = {
    "jury": "all judges against",
    "disagreement": "most against people",
    "doubt": "most doubtful",
    "file": "order of the file",
}


@dataclass(frozen=True)
class Curve:
    """The labelled rows of one judge, surest first: how many are wrong among the first k.

    `ends` are the k after which the doubt changes: rows of one doubt are accepted together.
    """

    scores: FloatArray
    errors: IntArray
    group: PolicyGroup

    @classmethod
    def of(cls, scores: Any, errors: Any, group: PolicyGroup) -> Curve:
        """The curve of these doubts and errors, in any order."""
        values = np.asarray(scores, float)
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.asarray(errors, int)[order], group)

    @cached_property
    def wrong(self) -> IntArray:
        """Errors among the first 1, 2, ... rows."""
        return np.cumsum(self.errors)

    @cached_property
    def ends(self) -> IntArray:
        last = np.flatnonzero(np.append(np.diff(self.scores) > 0, True))
        return last + 1

    @cached_property
    def errors_at(self) -> FloatArray:
        """The places of the errors, as shares of the rows."""
        return (np.flatnonzero(self.errors) + 1) / max(1, len(self))

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeRows:
    """What one judge said of every row, in the order of the rows.

    `against` is the distance of its probability from the label of people. There is a curve for each
    rule of the policy, and `curve_at` has its number for each row, -1 for a row without a rule.
    There is none if its verdicts have no doubt or no labels, and `why` then has the reason.
    """

    name: str
    frame: pl.DataFrame
    marks: dict[str, BoolArray]
    against: FloatArray
    doubt: FloatArray
    place: FloatArray
    has_doubt: bool
    curves: tuple[Curve, ...]
    curve_at: IntArray
    policy: Policy | None = None
    why: str = ""

    @property
    def error_share(self) -> float:
        wrong, right = (int(self.marks[key].sum()) for key in ("wrong", "agree"))
        return wrong / (wrong + right) if wrong + right else 0.0

    def curve_of(self, at: int) -> Curve | None:
        """The curve of the rule for a row."""
        return self.curves[self.curve_at[at]] if self.curve_at[at] >= 0 else None

    @property
    def labels(self) -> pl.Series:
        """The labels of people for what this judge was asked."""
        return self.frame["label"]

    @cached_property
    def n_doubts(self) -> int:
        """How many rows have a doubt."""
        return int(np.isfinite(self.doubt).sum())

    @cached_property
    def judged(self) -> BoolArray:
        """Which rows have a verdict."""
        return self.frame["verdict"].is_not_null().to_numpy()

    @cached_property
    def p(self) -> FloatArray:
        return self.frame["p_a"].cast(pl.Float64).fill_null(np.nan).to_numpy()

    @lru_cache(maxsize=3)  # noqa: B019  # a judge lives as long as its page
    def order(self, name: str) -> IntArray:
        """The rows in one of the `ORDERS`; those without a value come last."""
        if name == "file":
            return np.arange(self.frame.height, dtype=np.int32)
        values = self.against if name == "disagreement" else self.doubt
        return np.argsort(-values, kind="stable").astype(np.int32)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which rows are shown, of which judge, in which order."""

    judge: str = ""
    only: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    find: str = ""
    order: str = ""


class Viewing:
    """Rows with the verdicts of all judges and the labels of people; see `read_viewing`."""

    def __init__(
        self,
        items: pl.DataFrame,
        judges: Sequence[JudgeRows],
        *,
        about: About,
        name: str,
        raters: pl.DataFrame | None = None,
        dropped: Mapping[str, int] | None = None,
    ) -> None:
        self.items = items
        # The best judge first: it is the one that is shown.
        self.judges = {
            rows.name: rows for rows in sorted(judges, key=lambda rows: rows.error_share)
        }
        self.about = about
        self.name = name
        self.raters = raters
        self.dropped = dict(dropped or {})
        if len(judges) > 1 and not self.by_metric:
            every = np.logical_and.reduce([rows.marks["wrong"] for rows in judges])
            for rows in judges:
                rows.marks["every"] = every
        self._find = lru_cache(maxsize=8)(self._search)

    @cached_property
    def texts(self) -> list[str]:
        """The columns that are searched: id and the texts of the rows."""
        return ["id", *(name for name in TEXTS if name in self.items.columns)]

    @cached_property
    def groups(self) -> dict[str, tuple[IntArray, tuple[str, ...]]]:
        """Columns that a reader can filter by: the code of each row, and the name of each code."""
        groups = {}
        for column in self.items.columns:
            values = self.items[column]
            if (
                column in {"id", "label", "human", LABELS_OF, *TEXTS, *BROUGHT}
                or values.dtype.is_nested()
            ):
                continue
            if values.dtype.is_float() or not 1 < values.n_unique() <= _MOST_VALUES:
                continue
            words = as_text(values)
            # Words of which none is there twice explain a row; they do not group rows.
            groups_rows = column == "model" or words.drop_nulls().is_duplicated().any()
            if groups_rows and (words.str.len_chars() <= _LONGEST_VALUE).all():
                groups[column] = code_column(words.fill_null("(none)"))
        return groups

    @property
    def by_metric(self) -> bool:
        """Whether what the judges were asked differs: then they are not compared as one."""
        return any(METRIC in rows.frame.columns for rows in self.judges.values())

    @property
    def labelled(self) -> bool:
        return any(not rows.labels.is_null().all() for rows in self.judges.values())

    @property
    def usual(self) -> Choice:
        """The first view: the best judge, its disagreements first, else its doubt."""
        rows = next(iter(self.judges.values()))
        order = "doubt" if rows.has_doubt else "file"
        if self.labelled:
            order = next(iter(self.orders))
        return Choice(judge=rows.name, order=order)

    @property
    def orders(self) -> dict[str, str]:
        """The orders of these rows, by name."""
        several = len(self.judges) > 1 and not self.by_metric
        return {key: words for key, words in ORDERS.items() if several or key != "jury"}

    @cached_property
    def _by_all(self) -> IntArray:
        """The rows whose label is farthest from the mean probability of all judges first.

        Wrong labels are higher in this order than in that of the best judge alone.
        """
        means = pl.DataFrame([rows.frame["p_a"].alias(name) for name, rows in self.judges.items()])
        distance = (means.mean_horizontal() - _worth(self.items["label"])).abs()
        return np.argsort(-distance.fill_null(np.nan).to_numpy(), kind="stable").astype(np.int32)

    def table(self, judge: str) -> pl.DataFrame:
        """The rows of one judge with their texts, in columns that every verb reads."""
        frame = self.judges[judge].frame
        if self.about == "grades":
            ours = {"judge": "judge_name", "p_a": "p_pass", "label": "human", "verdict": "judge"}
            frame = frame.drop("p_fwd", "p_rev", "human", strict=False).rename(ours)
        taken = {*frame.columns, "label", "human"}
        more = [name for name in self.items.columns if name not in taken]
        frame = frame.with_columns(self.items[name] for name in more)
        return frame.select(name for name in frame.columns if not name.startswith("__"))

    def position(self, name: str) -> int | None:
        """The position of the row with an id."""
        places = (self.items["id"] == name).arg_true()
        return int(places[0]) if len(places) else None

    def chips(self, judge: str, *, blind: bool = False) -> dict[str, tuple[str, str]]:
        """The chips of this judge: those that some row has; name and kind by key."""
        marks = self.judges[judge].marks
        words = {key: CHIPS.get(key, (f"failed: {key}", "people")) for key in marks}
        shown = [*CHIPS, *(key for key in marks if key not in CHIPS)]
        hidden = {"wrong"} if self.about == "grades" else set()
        hidden = {*TELLING} if blind else hidden
        return {
            key: words[key]
            for key in shown
            if key in marks and key not in hidden and marks[key].any()
        }

    def masks(self, choice: Choice) -> dict[str, BoolArray]:
        """What each kind of filter lets through; a kind that filters nothing is absent."""
        masks: dict[str, BoolArray] = {}
        marks = self.judges[choice.judge].marks
        for key in choice.only:
            if key in marks:
                kind = CHIPS.get(key, ("", "people"))[1]
                masks[kind] = marks[key] | masks.get(kind, False)
        for column, value in choice.groups.items():
            codes, names = self.groups.get(column, (None, ()))
            if codes is not None:
                masks[f"by.{column}"] = codes == (names.index(value) if value in names else -1)
        if words := choice.find.strip():
            masks["find"] = self._find(words)
        return masks

    def matching(self, masks: Mapping[str, BoolArray], without: str = "") -> BoolArray:
        """Which rows pass all filters, but those of one kind."""
        mask = np.ones(self.items.height, bool)
        for kind, passes in masks.items():
            if kind != without:
                mask &= passes
        return mask

    def listed(self, choice: Choice, mask: BoolArray) -> IntArray:
        """The positions of the rows that a filter lets through, in the order chosen."""
        by_all = choice.order == "jury"
        order = self._by_all if by_all else self.judges[choice.judge].order(choice.order)
        return order[mask[order]]

    def _search(self, words: str) -> BoolArray:
        columns = [pl.col(name).str for name in self.texts]
        if words.isascii():  # twice as fast
            hits = [text.contains_any([words], ascii_case_insensitive=True) for text in columns]
        else:
            hits = [text.contains("(?i)" + pl.escape_regex(words)) for text in columns]
        hit = pl.any_horizontal(hits).fill_null(False)
        return self.items.select(hit).to_series().to_numpy()


def read_judge(
    judged: Judgments, items: pl.DataFrame, rules: Policy | None, alpha: float
) -> JudgeRows:
    """The columns of one judge for every row; where it said nothing they are empty."""
    frame = judged.frame
    if judged.about == "grades":  # such a column of the file is another
        frame = frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in _ORDERS)
    certain = (
        frame["p_fwd"].is_null().all() and frame["p_a"].drop_nulls().is_in([0.0, 0.5, 1.0]).all()
    )
    has_doubt = not certain and not frame["uncertainty"].is_null().all()
    why = "Verdicts alone have no doubt: there is no threshold to choose."
    if frame["verdict"].is_null().all():
        why = "These rows have no verdict of a judge yet."
    policy = rules
    curves: tuple[Curve, ...] = ()
    if has_doubt:
        policy, curves, why = _calibrated(judged, rules, alpha)
    name = frame[SHOWN][0]
    aligned = frame
    if frame.height != items.height or not frame["id"].equals(items["id"]):
        # Each metric has labels of its own; of one metric, a label is of the row.
        by_metric = frame[METRIC].is_not_null().all() if METRIC in frame.columns else False
        shared = items.select("id") if by_metric else items.select("id", "label")
        own = [name for name in frame.columns if name not in {*items.columns} - {"label"}]
        own = [name for name in own if name not in shared.columns]
        aligned = shared.join(frame.select("id", *own), on="id", how="left", maintain_order="left")
    if "accepted" in aligned.columns:
        accepted = as_text(aligned["accepted"]).str.to_lowercase().is_in(["true", "1"])
        aligned = aligned.with_columns(accepted=accepted.fill_null(False))
    elif curves:
        rule = curves[0].group.rule
        scores = aligned["uncertainty"].fill_null(INFINITE_DOUBT).to_numpy()
        usable = pl.col("verdict").is_in(list(WORDS[judged.about]))
        taken = pl.Series(rule.accept(scores)) if rule.accepts != "batch" else pl.lit(None)
        aligned = aligned.with_columns(accepted=pl.lit(taken) & usable.fill_null(False))
    doubt = aligned["uncertainty"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    against = (aligned["p_a"] - _worth(aligned["label"])).abs().fill_null(np.nan).to_numpy()
    doubts = np.sort(doubt[~np.isnan(doubt)])
    place = _place(doubts, doubt)
    curve_at = _curve_at(items, aligned, policy, curves)
    for number, curve in enumerate(curves):
        place[curve_at == number] = _place(curve.scores, doubt[curve_at == number])
    return JudgeRows(
        name=name,
        frame=aligned,
        marks=_marks(aligned, judged.about, place if has_doubt else None),
        against=against,
        doubt=doubt,
        place=place,
        has_doubt=has_doubt,
        curves=curves,
        curve_at=curve_at,
        policy=policy,
        why=why,
    )


def _place(scores: FloatArray, doubt: FloatArray) -> FloatArray:
    """The share of rows with no more doubt: the one unit of doubt on the page.

    >>> _place(np.array([0.1, 0.1, 0.3, 0.6]), np.array([0.05, 0.1, 0.3, 0.9])).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """
    places = np.searchsorted(scores, doubt, side="right") / max(1, len(scores))
    return np.where(np.isnan(doubt), np.nan, places)


def _curve_at(
    items: pl.DataFrame, rows: pl.DataFrame, policy: Policy | None, curves: Sequence[Curve]
) -> IntArray:
    """The number of the curve for each row, by the policy's column; -1 for a row without a rule."""
    by = None if policy is None else policy.by
    if by is None or not curves:
        return np.full(rows.height, 0 if curves else -1)
    values = as_text((items if by in items.columns else rows)[by])
    numbers = {value: n for n, curve in enumerate(curves) for value in curve.group.covers}
    return (
        values.replace_strict(numbers, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    )


#: Labels as the probability that a judge who agrees gives.
_WORTH = {"A": 1.0, "pass": 1.0, "tie": 0.5, "B": 0.0, "fail": 0.0}


def _worth(labels: pl.Series) -> pl.Series:
    return labels.replace_strict(_WORTH, default=None, return_dtype=pl.Float64)


def _marks(frame: pl.DataFrame, about: About, place: FloatArray | None) -> dict[str, BoolArray]:
    """Columns of true and false, by the key of their chip."""
    label = pl.col("label")
    verdict = pl.col("verdict")
    wrong = verdict.is_not_null() & (label != "tie") & (verdict != label)
    marks = {
        "wrong": wrong,
        "agree": verdict == label,
        "tie": (label == "tie") & (verdict != label),
        "unlabelled": label.is_null(),
        "flips": (pl.col("p_fwd") - 0.5) * (pl.col("p_rev") - 0.5) < 0,
    }
    if about == "grades":
        marks["false_pass"] = wrong & (verdict == PASS)
        marks["false_fail"] = wrong & (verdict != PASS)
    if "accepted" in frame.columns and frame["accepted"].dtype == pl.Boolean:
        judged = pl.col("status").is_in(list(MEASURED))
        marks["accepted"] = pl.col("accepted")
        marks["abstained"] = judged & ~pl.col("accepted")
    failures = frame["status"].drop_nulls().unique().sort()
    for status in failures:
        if status not in MEASURED:
            marks[status] = pl.col("status") == status
    columns = frame.select(mark.fill_null(False).alias(key) for key, mark in marks.items())
    arrays = {key: columns[key].to_numpy() for key in marks}
    if place is not None:
        arrays["doubtful"] = np.nan_to_num(place) > _DOUBTFUL
    return arrays


def _calibrated(
    judged: Judgments, rules: Policy | None, alpha: float
) -> tuple[Policy | None, tuple[Curve, ...], str]:
    """The policy for this judge, the curve of each rule, and why there is none."""
    frame = judged.frame
    if rules is None:
        if frame["label"].is_null().all():
            return None, (), "No row has a label of people: add them with --labels FILE."
        try:
            rules = calibrate(judged, alpha=alpha)
        except AdjudgeError as error:
            return None, (), str(error)
    key = (frame["judge"][0], frame["protocol"][0])
    curves = tuple(
        _curve(frame, group, rules.by)
        for group in rules.groups
        if (group.judge, group.protocol) == key and group.weights is None
    )
    return rules, curves, "" if curves else "The policy has no rule for this judge alone."


def _curve(frame: pl.DataFrame, group: PolicyGroup, by: str | None) -> Curve:
    """The curve of all labelled rows of a rule: a policy keeps 20,000 of them."""
    if len(group.scores) == group.n_calibration:
        return Curve.of(group.scores, group.errors, group)
    if by is not None:
        frame = frame.filter(as_text(frame[by]).is_in(group.covers))
    labelled = frame.filter(
        pl.col("uncertainty").is_not_null()
        & pl.col("label").is_in(list(_WORTH))
        & (pl.col("label") != "tie")
    )
    return Curve.of(labelled["uncertainty"], labelled.select(IS_ERROR).to_series(), group)
