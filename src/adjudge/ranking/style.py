"""Boards at equal style: strengths as if both answers were as long, as bold, as listed.

    logit P(a wins) = theta_a - theta_b + beta' z,      z = x / its root mean square

x is the difference in style (`data.answers`), not centred: sides are not random in every file. The
board describes these battles at one common effect of style. It does not say what a model would win
if it wrote otherwise: effects differ between models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from scipy.special import expit, stdtr

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.present import text
from adjudge.present.blocks import Block, Columns, table_of
from adjudge.present.result import NotNegative, Proportion
from adjudge.ranking.bradley_terry import float_at
from adjudge.ranking.pooled import PooledFit, fit_pooled
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import ELO_PER_UNIT, joint_information
from adjudge.statistics.differences import holm
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray

#: With fewer prompts (battles, without prompts) style and strength cannot be told apart.
FEWEST_PROMPTS = 20
#: Below this many, the interval of a coefficient is rough.
_ROUGH = 100
#: A feature must differ in this share of the battles.
_FEWEST_DIFFERENT = 0.05
#: Battles with |z| below this are at like style; a model with a smaller share is extrapolated.
_LIKE = 0.2
LEAST_LIKE = 0.05
#: The level of the test of a bent effect.
_BENT = 0.01
_TWICE = {
    "length": "twice as long",
    "headers": "twice as many headers",
    "lists": "twice as many list items",
    "bold": "twice as much bold text",
}


@dataclass(frozen=True, kw_only=True)
class StyleRow:
    """What one feature is worth: how often an answer with `difference` of it wins.

    `beta` is the coefficient of x / its root mean square (`scale`). `beta_judge` is that of the
    judge's own board, in which the feature enters too. `rough` is true below 100 prompts. `bent`
    is true if the effect of large differences is not that of small ones, by the p-value `bent_p`.
    """

    feature: str
    difference: str
    wins: Proportion
    interval: Interval | None
    beta: float
    beta_se: NotNegative
    scale: NotNegative
    beta_judge: float | None = None
    rough: bool = False
    bent: bool = False
    bent_p: Proportion | None = None


@dataclass(frozen=True)
class Equal:
    """The fit at equal style and the plain one, of the same battles.

    `like` is the smallest share, over features, of a model's battles at like style; `bend` is by
    how much Elo a bent effect would move it, where the test finds one.
    """

    fit: PooledFit
    plain: PooledFit
    rows: tuple[StyleRow, ...]
    like: FloatArray
    bend: FloatArray | None


def fit_equal(
    battles: Battles,
    target: FloatArray,
    judge: FloatArray | None,
    *,
    l2: float,
    level: float,
) -> Equal:
    """Fit with and without the features of style of these battles.

    With a judge, features enter its board and people's: with only one of them controlled, the
    other's preference for style returns through the residuals.
    """
    style = np.asarray(battles.style)
    voted = np.isfinite(target) if judge is None else np.isfinite(target) & np.isfinite(judge)
    prompts = int(voted.sum())
    if battles.prompts is not None:
        prompts = len(np.unique(battles.prompts[voted]))
    _refuse_little(style[voted], battles.control, prompts, battles.prompts is not None)
    largest = np.abs(style[voted]).max(axis=0)
    # Squares of very large or very small numbers are not numbers.
    scale = largest * np.sqrt(((style[voted] / largest) ** 2).mean(axis=0))
    z = style / scale
    a = battles.a[voted]
    b = battles.b[voted]
    both = np.column_stack([z, z * np.abs(z)])
    determined = _determined(a, b, both[voted], battles.n_models)
    for name in compress(battles.control, determined):
        remedy = (
            "leave it out: strengths and the other features explain all of it (it repeats one of "
            "them, or each model has one value of it)"
        )
        raise ArgumentError("control", name, remedy)
    fit = fit_pooled(battles, target, judge, features=z, names=battles.control, l2=l2)
    plain = fit_pooled(battles, target, judge, l2=l2)
    # Where a feature has one size, its square is the feature again.
    testable = np.flatnonzero(~determined[z.shape[1] :])
    p, bend = _bend(battles, target, judge, both, testable, fit, l2)
    like = _like_style(a, b, z[voted], battles.n_models)
    rows = _describe(battles, fit, scale, p, level, prompts)
    return Equal(fit, plain, rows, like, bend)


def _refuse_little(style: FloatArray, control: Sequence[str], prompts: int, named: bool) -> None:
    if prompts < FEWEST_PROMPTS:
        unit = "prompt" if named else "battle"
        few = text.count(prompts, unit)
        remedy = f"leave it out: {few}, but {FEWEST_PROMPTS} are needed to tell style from strength"
        raise ArgumentError("control", ",".join(control), remedy)
    for name, differ in zip(control, (style != 0).mean(axis=0), strict=True):
        if differ < _FEWEST_DIFFERENT:
            share = text.percent(float(differ))
            remedy = f"leave it out: it differs in {share} of the battles, and 5 % are needed"
            raise ArgumentError("control", name, remedy)


def _determined(a: IntArray, b: IntArray, z: FloatArray, n: int) -> BoolArray:
    """Which features are sums of differences between models and of the features before them."""
    products = joint_information(a, b, np.ones(len(a)), z, n)
    determined = np.zeros(z.shape[1], dtype=bool)
    for k in range(z.shape[1]):
        before = products[: n + k, : n + k]
        shared = products[: n + k, n + k]
        explained = shared @ np.linalg.lstsq(before, shared)[0]
        determined[k] = explained > (1 - 1e-9) * products[n + k, n + k]
    return determined


def _bend(
    battles: Battles,
    target: FloatArray,
    judge: FloatArray | None,
    both: FloatArray,
    usable: IntArray,
    fit: PooledFit,
    l2: float,
) -> tuple[FloatArray, FloatArray | None]:
    """p-values of z|z| for each feature, and the move in Elo with those that the test finds.

    `both` are the columns of z, then those of z|z|, of which those in `usable` can be tested.
    """
    width = len(battles.control)
    p = np.full(width, np.nan)
    if not len(usable):
        return p, None

    def fitted(columns: Sequence[int] | IntArray) -> PooledFit:
        features = both[:, [*range(width), *(width + k for k in columns)]]
        names = (*battles.control, *(f"{battles.control[k]}, bent" for k in columns))
        return fit_pooled(battles, target, judge, features=features, names=names, l2=l2)

    try:
        whole = fitted(usable)
    except ArgumentError:
        # Few battles, whose style and its square separate who wins: bending cannot be tested.
        return p, None
    if whole.beta is None or whole.beta_se is None or whole.freedom <= 0:
        return p, None
    t = np.abs(whole.beta[width:]) / whole.beta_se[width:]
    p[usable] = holm(np.asarray(2 * stdtr(whole.freedom, -t), dtype=np.float64))
    significant = [k for k in usable if p[k] <= _BENT]
    if not significant:
        return p, None
    return p, np.asarray(ELO_PER_UNIT * (fitted(significant).theta - fit.theta))


def _like_style(a: IntArray, b: IntArray, z: FloatArray, n: int) -> FloatArray:
    """The smallest share, over features, of each model's battles with like style."""
    total = np.maximum(np.bincount(a, minlength=n) + np.bincount(b, minlength=n), 1)
    shares = []
    for column in z.T:
        like = (np.abs(column) < _LIKE).astype(np.float64)
        shares.append((np.bincount(a, like, n) + np.bincount(b, like, n)) / total)
    return np.asarray(np.min(shares, axis=0))


def mean_lengths(battles: Battles) -> FloatArray | None:
    """How much longer each model's answers are than those they met: its mean x of length."""
    if battles.length is None:
        return None
    measured = np.isfinite(battles.length)
    a = battles.a[measured]
    b = battles.b[measured]
    x = battles.length[measured]
    n = battles.n_models
    total = np.bincount(a, x, n) - np.bincount(b, x, n)
    met = np.bincount(a, minlength=n) + np.bincount(b, minlength=n)
    return np.asarray(np.divide(total, met, out=np.full(n, np.nan), where=met > 0))


def _describe(
    battles: Battles,
    fit: PooledFit,
    scale: FloatArray,
    bent_p: FloatArray,
    level: float,
    prompts: int,
) -> tuple[StyleRow, ...]:
    beta = np.asarray(fit.beta)
    se = np.asarray(fit.beta_se)
    reach = student_quantile(level, fit.freedom) * se if fit.freedom > 0 else np.inf * se
    rows = []
    for k, (name, kind) in enumerate(zip(battles.control, battles.style_kinds, strict=True)):
        times = kind == "times"
        # Twice as much is x = (2 - 1) / (2 + 1).
        unit = 1 / 3 if times else 10.0 ** round(math.log10(scale[k]))
        low, middle, high = expit((beta[k] + np.array([-1, 0, 1]) * reach[k]) * unit / scale[k])
        size = "one" if unit == 1 else f"{unit:g}"
        more = _TWICE.get(name, f"twice the {name}") if times else f"{size} more {name}"
        ends = Interval(float(low), float(high), level)
        p = float_at(bent_p, k)
        row = StyleRow(
            feature=name,
            difference=more,
            wins=float(middle),
            interval=ends,
            beta=beta[k].item(),
            beta_se=se[k].item(),
            scale=scale[k].item(),
            beta_judge=float_at(fit.beta_judge, k),
            rough=prompts < _ROUGH,
        )
        rows.append(row if p is None else replace(row, bent=p <= _BENT, bent_p=p))
    return tuple(rows)


def _spell_interval(row: StyleRow) -> str:
    return text.percent_interval(row.interval) + " (rough)" * row.rough


def _spell_bent(row: StyleRow) -> str:
    if row.bent_p is None:
        return "not tested"
    return "yes" if row.bent else "no"


def style_blocks(rows: Sequence[StyleRow]) -> list[Block]:
    """What style is worth, a line for each feature."""
    columns: Columns[StyleRow] = {
        "at equal strength": lambda row: row.difference,
        "wins": lambda row: text.percent(row.wins),
        "interval": _spell_interval,
        "beta": lambda row: text.number(row.beta),
    }
    if rows[0].beta_judge is not None:
        columns |= {"judge's beta": lambda row: text.number(row.beta_judge)}
    columns |= {"bent": _spell_bent}
    caption = "What style is worth in these battles"
    if rows[0].rough:
        caption += f"; rough: fewer than {_ROUGH} prompts"
    return [table_of(rows, columns, caption=caption)]


def name_control(rows: Sequence[StyleRow]) -> str:
    """The features in a sentence.

    >>> name_control([])
    ''
    """
    names = [row.feature for row in rows]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
