"""Learned doubt over frames: one share of the labels is for learning, the rest calibrates.

Before the rest is used, the learned doubt is a fixed function of a row, so every guarantee holds
for it as for any other score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from adjudge.data.derived import FAIL, PASS
from adjudge.data.judgments import ERROR, IS_ERROR, WORDS, doubt_ties
from adjudge.data.rows import text_column
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError
from adjudge.records import About, Grade, Judgment, Pair, Subject
from adjudge.results.cascade import Lengths
from adjudge.results.selection import DoubtReport
from adjudge.selection.jury import order_gap
from adjudge.statistics.numbers import cluster_codes
from adjudge.uncertainty.learned import ORDER_GAP, WORTH_LEARNING, Evidence, LearnedDoubt
from adjudge.uncertainty.ridge import PENALTIES
from adjudge.validation import BoolArray, FloatArray, one_of, open_unit

DOUBTS = ("learned",)
LEARNED_FROM = "label used to learn the doubt"
#: The fewest labels to learn from.
FEWEST_LEARNING = 10


@dataclass(frozen=True)
class LearnedRows:
    """What was learned, and the labelled rows that are left to calibrate.

    In `rows`, the verdict, its error and the uncertainty are the learned ones. `judged` has the
    same rows with the judge's own values.
    """

    doubt: LearnedDoubt
    lengths: Lengths | None
    n_pairs: int
    n_learning: int
    n_overturned: int
    rows: pl.DataFrame
    judged: pl.DataFrame
    dropped: Mapping[str, int]


def refuse_learning(
    *, jury: str | None, doubt: str | None, category: str | None, cascade: bool = False
) -> None:
    """Refuse options that cannot be combined."""
    if doubt is not None:
        one_of(doubt, DOUBTS, "doubt")
        if jury is not None:
            raise ArgumentError("doubt", doubt, "leave it out: --jury learned includes it")
    if category is not None and not cascade and "learned" not in (jury, doubt):
        raise ArgumentError(
            "category", category, "needs --doubt learned, --jury learned or --cascade"
        )


def judge_evidence(frame: pl.DataFrame) -> Evidence:
    """The evidence of one judge; several judges of a pair need a jury."""
    names = frame.select("judge", "protocol").unique()
    if names.height > 1:
        raise ArgumentError(
            "doubt", "learned", f"{names.height} judges or protocols: select one with --judge or "
            "--protocol, or use --jury learned"
        )  # fmt: skip
    p = frame.get_column("p_a").to_numpy().astype(np.float64)
    return Evidence(judges=tuple(names["judge"]), p=p[:, None], order_gap=order_gap(frame))


def with_context(
    evidence: Evidence, frame: pl.DataFrame, *, lengths: Lengths | None, category: str | None
) -> Evidence:
    """The evidence with lengths and categories from the same rows."""
    if lengths is not None:
        a, b = (_length(frame, f"{lengths}_{side}") for side in ("a", "b"))
        evidence = replace(evidence, length_a=a, length_b=b)
    if category is not None:
        names = text_column(frame, category, "category").to_list()
        evidence = replace(evidence, category=names)
    return evidence


def check_context(
    frame: pl.DataFrame, *, lengths: Lengths | None, category: str | None, who: str
) -> None:
    """Refuse rows without a column that was used for learning."""
    needed = {} if lengths is None else dict.fromkeys((f"{lengths}_a", f"{lengths}_b"), "lengths")
    if category is not None:
        needed[category] = "category"
    for column, use in needed.items():
        if column not in frame.columns:
            raise ArgumentError("judgments", column, f"{who} needs this column ({use})")


def lengths_in(frame: pl.DataFrame) -> Lengths | None:
    """The source of lengths: length_a and length_b, else the texts; None if rows have neither."""
    kinds: tuple[Lengths, ...] = ("length", "response")
    for kind in kinds:
        here = [name for name in (f"{kind}_a", f"{kind}_b") if name in frame.columns]
        if len(here) == 2:
            return kind
        if here:
            [missing] = {f"{kind}_a", f"{kind}_b"} - set(here)
            raise ArgumentError("doubt", "learned", f"{here[0]} is there, but {missing} is missing")
    return None


def advise_learning(rows: int) -> list[str]:
    """A warning if there are too few labels to learn from; a cluster counts as one row."""
    if rows >= WORTH_LEARNING:
        return []
    return [
        f"{rows} labelled rows: below about {WORTH_LEARNING}, learning costs more labels than it "
        "saves; use the doubt that is not learned"
    ]


def learn_doubt(
    frame: pl.DataFrame,
    evidence: Evidence,
    *,
    share: float,
    category: str | None,
    cluster: str | None,
    seed: int,
    about: About = "pairs",
) -> LearnedRows:
    """Learn from a random `share` of the labelled pairs (or of the clusters, if there are any).

    The rows decide which columns are used. Human ties are not used for learning.
    """
    lengths = lengths_in(frame)
    evidence = with_context(evidence, frame, lengths=lengths, category=category)
    keys = frame.get_column("id" if cluster is None else cluster).to_list()
    part = _random_part(keys, open_unit(share, "learning_share"), seed)
    label = frame.get_column("label").to_numpy()
    used = part & (label != "tie")
    n = int(used.sum())
    if n < FEWEST_LEARNING or part.all():
        raise ArgumentError(
            "learning_share",
            share,
            f"leaves {n} labels to learn from and {int((~part).sum())} to calibrate; "
            f"{FEWEST_LEARNING} or more are needed to learn",
        )
    own = [key for key, here in zip(keys, used, strict=True) if here]
    first = label[used] == WORDS[about][0]
    doubt = LearnedDoubt.fit(take_rows(evidence, used), first, clusters=own, seed=seed)
    judged = frame.filter(pl.Series(~part))
    rows = with_learned(judged, *doubt.predict(take_rows(evidence, ~part)), about=about)
    return LearnedRows(
        doubt=doubt,
        lengths=lengths,
        n_pairs=cluster_codes(keys)[1],
        n_learning=n,
        n_overturned=count_overturned(judged["verdict"], rows["verdict"]),
        rows=rows.with_columns(IS_ERROR.alias(ERROR)),
        judged=judged,
        dropped={LEARNED_FROM: int(part.sum())},
    )


def doubt_again(
    report: DoubtReport, frame: pl.DataFrame, evidence: Evidence, *, about: About = "pairs"
) -> pl.DataFrame:
    """New rows with the verdict and the uncertainty of a doubt that was learned earlier."""
    check_context(frame, lengths=report.lengths, category=report.category, who="the learned doubt")
    if ORDER_GAP in report.columns and evidence.order_gap is None:
        raise ArgumentError("judgments", "p_fwd, p_rev", "the learned doubt needs both orders")
    evidence = with_context(evidence, frame, lengths=report.lengths, category=report.category)
    return with_learned(frame, *load_doubt(report).predict(evidence), about=about)


def doubt_one(
    report: DoubtReport, judgment: Judgment | Grade, subject: Subject, category: str | None
) -> tuple[str | None, float]:
    """The learned verdict on one scored subject and its doubt, as in `doubt_again`."""
    row: dict[str, object] = {"protocol": judgment.protocol, "verdict": verdict_of(judgment)}
    if isinstance(judgment, Grade):
        row |= {"judge": judgment.judge_name, "p_a": judgment.p_pass, "p_fwd": None, "p_rev": None}
    else:
        row |= {name: getattr(judgment, name) for name in ("judge", "p_a", "p_fwd", "p_rev")}
    if isinstance(subject, Pair):
        row |= {"response_a": subject.response_a, "response_b": subject.response_b}
    if report.category is not None:
        row[report.category] = category
    frame = pl.DataFrame([row])
    about: About = "grades" if isinstance(judgment, Grade) else "pairs"
    doubted = doubt_again(report, frame, judge_evidence(frame), about=about)
    return doubted["verdict"][0], float(doubted["uncertainty"][0])


def verdict_of(judgment: Judgment | Grade) -> str | None:
    """The verdict in the terms of selection: A, B or tie for a pair, pass or fail for a grade."""
    if isinstance(judgment, Judgment):
        return judgment.verdict
    return None if judgment.judge is None else PASS if judgment.judge else FAIL


def load_doubt(report: DoubtReport) -> LearnedDoubt:
    """The doubt of a policy."""
    return LearnedDoubt(
        columns=report.columns,
        categories=report.categories,
        scales=np.asarray(report.scales),
        weights=np.asarray(report.weights),
        penalty=report.penalty,
    )


def with_learned(
    frame: pl.DataFrame, margins: FloatArray, doubts: FloatArray, *, about: About = "pairs"
) -> pl.DataFrame:
    """The rows with the learned verdict and doubt instead of the judge's; ties remain ties."""
    margin = pl.Series("margin", margins)
    tie = pl.when(pl.col("verdict") == "tie").then(pl.lit("tie"))
    first, second = WORDS[about]
    verdict = tie.when(margin > 0).then(pl.lit(first)).when(margin < 0).then(pl.lit(second))
    return doubt_ties(frame.with_columns(verdict=verdict, uncertainty=pl.Series(doubts)))


def count_overturned(
    judged: pl.Series, learned: pl.Series, *, among: BoolArray | None = None
) -> int:
    """How many verdicts of the judge the learned doubt reversed."""
    other = (judged != learned).fill_null(False).to_numpy()
    return int((other if among is None else other & among).sum())


def report_doubt(
    learned: LearnedRows, *, category: str | None, coverage_without: float
) -> DoubtReport:
    """The entry in the policy."""
    doubt = learned.doubt
    return DoubtReport(
        columns=doubt.columns,
        scales=tuple(doubt.scales.tolist()),
        weights=tuple(doubt.weights.tolist()),
        penalty=doubt.penalty,
        stays_home=doubt.penalty == PENALTIES[0],
        lengths=learned.lengths,
        category=category,
        categories=doubt.categories,
        n_learning=learned.n_learning,
        n_verdicts=learned.rows.height,
        n_overturned=learned.n_overturned,
        coverage_without=coverage_without,
    )


def _length(frame: pl.DataFrame, column: str) -> FloatArray:
    values = frame.get_column(column)
    if column.startswith("response"):
        values = as_text(values).str.len_chars()
    numbers = as_text(values).cast(pl.Float64, strict=False)
    bad = (~(numbers.is_finite() & (numbers >= 0))).fill_null(True)
    if bad.any():
        at = int(bad.arg_true()[0])
        raise ArgumentError(
            f"{column} of id {frame['id'][at]!r}", values[at], "the learned doubt needs a length "
            "in every row: fill it, or drop both columns before calibrating"
        )  # fmt: skip
    return numbers.to_numpy()


def take_rows(evidence: Evidence, rows: BoolArray) -> Evidence:
    """The evidence of some of the rows."""

    def some(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else values[rows]

    names = evidence.category
    return replace(
        evidence,
        p=evidence.p[rows],
        order_gap=some(evidence.order_gap),
        length_a=some(evidence.length_a),
        length_b=some(evidence.length_b),
        category=None if names is None else [n for n, r in zip(names, rows, strict=True) if r],
    )


def _random_part(keys: list[object], part: float, seed: int) -> BoolArray:
    """Marks all rows of a random share of the distinct keys."""
    codes, groups = cluster_codes(keys)
    marked = np.zeros(groups, dtype=np.bool_)
    marked[np.random.default_rng(seed).permutation(groups)[: round(part * groups)]] = True
    return np.asarray(marked[codes])
