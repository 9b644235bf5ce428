"""From score differences to win probabilities: one temperature, fitted to people's votes.

    P(A preferred) = sigma(beta s)                                            (Eq. 5)
    beta = argmax sum log sigma(beta t),  t = s if people chose A else -s      (Eq. 6)

over battles where people had a preference. One parameter, no intercept: swapping A and B must turn
p into 1 - p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import chdtrc, expit

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.present import text
from adjudge.present.blocks import Block, Columns, Figure, table_of
from adjudge.present.figure import draw_reliability, panel
from adjudge.present.result import Correlation, Count, NotNegative, Proportion
from adjudge.records import Interval
from adjudge.statistics.numbers import (
    binomial_interval,
    cluster_codes,
    normal_quantile,
    reliability_bins,
)
from adjudge.validation import FloatArray, IntArray, optional_numbers, same_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MAX_STEPS = 200
#: Steps of a logit regression, and the typical logit from which a coefficient is infinite.
_LOGIT_STEPS = 50
_DIVERGED = 20.0
_AGREEMENT_BINS = 6
_LEVEL = 0.95
#: Steps of four: 4^20 is about 1e12.
_DOUBLINGS = 20
#: Smaller score differences count as 0; larger ones than its inverse are not scores.
_SMALLEST = 1e-100
#: If the mean of beta |s| is below this, the calibrated target of a typical battle is under 0.575,
#: and the leaderboard is compressed. The judges of appendix D.2 that lost their ranking are near
#: 0.2, those that kept it near 0.5 and above.
LOW_SIGNAL = 0.3
_FEWEST_VOTES_OWN_BETA = 500


@dataclass(frozen=True, kw_only=True)
class AgreementBin:
    """Battles whose |s| lies in (low, high]: how often people chose the judge's side."""

    low: float
    high: float
    n: Count
    agreement: float
    agreement_interval: Interval
    predicted: Proportion


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """One bin of the reliability diagram of sigma(beta |s|)."""

    predicted: Proportion
    observed: Proportion
    n: Count


@dataclass(frozen=True, kw_only=True)
class Temperature:
    """beta of sigma(beta s), and the checks of whether it can be trusted.

    `signal` is the mean of beta |s|; `slope` is how the log-odds of agreement grow with |s|;
    `correlation` is Pearson's between |s| and agreement. `reason` explains a missing or unusable
    beta.
    """

    beta: float | None
    beta_se: NotNegative | None
    n_battles: Count
    signal: float | None = None
    correlation: Correlation | None = None
    slope: float | None = None
    slope_se: NotNegative | None = None
    ece: Proportion | None = None
    agreement: tuple[AgreementBin, ...] = ()
    reliability: tuple[ReliabilityBin, ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str | None = None


def fit_temperature(
    score: ArrayLike,
    human: ArrayLike,
    *,
    verdict: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> Temperature:
    """Maximum likelihood for beta, with a standard error and warnings against using it.

    `beta` is None if the likelihood has no maximum: no votes, or scores that never (or always)
    disagree with people. `warnings` has the check of appendix D.2: a beta near zero, or agreement
    with people that does not grow with |s|, means that soft targets compress the leaderboard
    instead of correcting it.

    Args:
        score: Score difference s of each battle, positive if it favours A.
        human: Vote on each battle: 1, 0 or one half. Ties and missing votes (NaN) are left out.
        verdict: The judge's verdict on each battle: 1, 0 or one half. By default the sign of the
            score.
        clusters: Prompt of each battle, for a standard error by prompt. It is the sandwich either
            way.

    >>> fit = fit_temperature([2.0, 1.0, -1.0, 0.5, -2.0, 1.0], [1, 1, 0, 0, 0, 0.5])
    >>> round(fit.beta, 3), fit.n_battles
    (1.872, 5)
    """
    s = _checked_floats(score, "score")
    y = _checked_floats(human, "human")
    same_length(score=s, human=y)
    by_score = np.sign(s) / 2 + 0.5
    v = by_score if verdict is None else _checked_floats(verdict, "verdict")
    same_length(score=s, verdict=v)
    decided = np.isfinite(s) & ((y == 0) | (y == 1))
    t = signed_differences(s[decided], y[decided])
    groups = None
    if clusters is not None:
        same_length(score=s, clusters=np.asarray(clusters))
        groups, _ = cluster_codes(np.asarray(clusters)[decided])
    problem = no_maximum(t)
    beta = np.nan
    if problem is None:
        beta = float(newton_temperature(t, np.ones((1, len(t))))[0])
        if not np.isfinite(beta):
            problem = (
                "the few votes against the scores are on differences near 0: beta is unbounded"
            )
    if problem is not None:
        return Temperature(
            beta=None, beta_se=None, n_battles=len(t), reason=problem, warnings=(problem,)
        )
    se = _standard_error(t, beta, groups)

    # The judge's side: its own verdict if it gave one, otherwise the sign of its scores.
    side = np.where(np.isfinite(v), v, by_score)[decided]
    chose = side != 0.5
    strength = np.abs(t[chose])
    agree = (side[chose] == y[decided][chose]).astype(np.int64)
    correlation = _correlation(strength, agree)
    slope, slope_se = _agreement_slope(strength, agree)
    reliability, ece = measure_reliability(beta, strength, agree) if beta > 0 else ((), None)
    signal = beta * float(np.mean(np.abs(t)))
    warnings = _temperature_warnings(beta, se, signal, slope, slope_se, len(agree))
    against = "people mostly prefer the side with the judge's lower score"
    return Temperature(
        beta=beta,
        beta_se=se,
        n_battles=len(t),
        signal=signal,
        correlation=correlation,
        slope=slope,
        slope_se=slope_se,
        ece=ece,
        agreement=_agreement_table(strength, agree, beta),
        reliability=reliability,
        warnings=warnings,
        reason=None if beta > 0 else against,
    )


def _checked_floats(values: ArrayLike, name: str) -> FloatArray:
    floats = optional_numbers(values, name)
    if np.any(np.abs(floats[~np.isnan(floats)]) > 1 / _SMALLEST):
        raise ArgumentError(name, "above 1e100", "give finite numbers; NaN if one is missing")
    return floats


def signed_differences(score: FloatArray, vote: FloatArray) -> FloatArray:
    """s if people chose A, -s if B; at most a billionth of the largest |s| counts as 0."""
    t = score * (2 * vote - 1)
    if not len(t):
        return t
    return np.where(np.abs(t) < 1e-9 * np.abs(t).max(), 0.0, t)


def no_maximum(t: FloatArray) -> str | None:
    """Why Eq. 6 has no finite maximum, or None."""
    if not len(t):
        return "no battle has both a score and a vote that is not a tie"
    if float(np.abs(t).max()) < _SMALLEST:
        return "every score difference is 0: the judge's scores have no information"
    if not np.any(t < 0):
        return "the judge's scores agree with every vote: beta is unbounded, use hard-elo"
    if not np.any(t > 0):
        return "the judge's scores disagree with every vote: check which side is A"
    return None


def measure_reliability(
    beta: float, strength: FloatArray, agree: IntArray
) -> tuple[tuple[ReliabilityBin, ...], float | None]:
    """Bins of sigma(beta |s|) of equal count, and the calibration error; none without votes."""
    if not len(agree):
        return (), None
    bins = reliability_bins(np.asarray(expit(beta * strength)), agree, equal_mass=True)
    columns = (bins.confidence.tolist(), bins.accuracy.tolist(), bins.count.tolist())
    rows = (ReliabilityBin(predicted=p, observed=o, n=n) for p, o, n in zip(*columns, strict=True))
    return tuple(rows), bins.calibration_error


def _standard_error(t: FloatArray, beta: float, groups: IntArray | None) -> float:
    p = expit(beta * t)
    q = expit(-beta * t)
    gradient = t * q
    information = float((t**2 * p * q).sum())
    if groups is not None:
        gradient = np.asarray(np.bincount(groups, weights=gradient), dtype=np.float64)
    n = len(gradient)
    meat = float(gradient @ gradient) * (n / (n - 1) if n > 1 else 1.0)
    return float(np.sqrt(meat) / information)


def _correlation(strength: FloatArray, agree: IntArray) -> float | None:
    if len(agree) < 3 or np.ptp(strength) == 0 or np.ptp(agree) == 0:
        return None
    return float(np.corrcoef(strength, agree)[0, 1])


def _agreement_slope(strength: FloatArray, agree: IntArray) -> tuple[float | None, float | None]:
    """Slope of P(agree) = sigma(c + d |s|) and its standard error; None if it has none."""
    if _correlation(strength, agree) is None:
        return None, None
    centred = strength - strength.mean()
    scale = float(centred.std())
    x = np.column_stack([np.ones(len(centred)), centred / scale])
    fit = fit_logit(x, agree.astype(np.float64), np.zeros(2))
    if fit is None:
        return None, None
    p = expit(x @ fit)
    information = (x * (p * (1 - p))[:, None]).T @ x
    se = float(np.sqrt(np.linalg.inv(information)[1, 1]))
    return float(fit[1]) / scale, se / scale


def fit_logit(x: FloatArray, y: FloatArray, start: FloatArray) -> FloatArray | None:
    """Coefficients of a logit regression without a constant; None if they are infinite."""
    coefficients = start.copy()
    scale = np.sqrt((x**2).mean(axis=0)) if len(x) else np.zeros(x.shape[1])
    if not (scale > 0).all():
        return None
    for _ in range(_LOGIT_STEPS):
        p = expit(x @ coefficients)
        information = (x * (p * (1 - p))[:, None]).T @ x
        try:
            step = np.linalg.solve(information, x.T @ (y - p))
        except np.linalg.LinAlgError:
            return None
        # A step of more than two typical logits is cut: it would leave the curve's middle.
        size = float(np.abs(step * scale).max())
        coefficients = coefficients + step * min(1.0, 2.0 / size if size else 1.0)
        if not np.isfinite(coefficients).all() or np.abs(coefficients * scale).max() > _DIVERGED:
            return None
        if size < 1e-6:
            return coefficients
    return None


def _agreement_table(
    strength: FloatArray, agree: IntArray, beta: float
) -> tuple[AgreementBin, ...]:
    if not len(agree):
        return ()
    bins = reliability_bins(strength, agree, bins=_AGREEMENT_BINS, equal_mass=True)
    table = []
    for k, n in enumerate(bins.count.tolist()):
        inside = bins.which == k
        interval = Interval(*binomial_interval(int(agree[inside].sum()), n, _LEVEL), _LEVEL)
        predicted = expit(beta * strength[inside])
        row = AgreementBin(
            low=float(bins.low[k]),
            high=float(bins.high[k]),
            n=n,
            agreement=float(bins.accuracy[k]),
            agreement_interval=interval,
            predicted=float(predicted.mean()),
        )
        table.append(row)
    return tuple(table)


def _temperature_warnings(
    beta: float, se: float, signal: float, slope: float | None, slope_se: float | None, n: int
) -> tuple[str, ...]:
    messages = []
    if beta <= 0:
        messages.append(
            f"beta = {beta:.3f}: people mostly prefer the side with the judge's lower score; first "
            "check which side is A"
        )
    elif beta - normal_quantile(0.95) * se <= 0:
        messages.append(f"beta = {beta:.3f} is not clearly above 0 (standard error {se:.3f})")
    if 0 < signal < LOW_SIGNAL:
        messages.append(
            f"low beta: a typical battle's target is only {expit(signal):.2f}; the scores predict "
            "people's preference only weakly, and soft targets compress the leaderboard"
        )
    flat = slope is None or slope_se is None or slope < normal_quantile(0.9) * slope_se
    if n and flat and beta > 0:
        messages.append(
            "agreement with people does not clearly grow with the score difference: soft targets "
            "have no signal to use; compare with hard-elo and smoothed by --evaluate"
        )
    return tuple(messages)


def newton_temperature(t: FloatArray, counts: FloatArray, start: float = 0.0) -> FloatArray:
    """One beta per row of `counts`, the weights of the signed differences `t`; NaN if unbounded.

    Newton's method within a bracket: the gradient decreases in beta, so its sign shows on which
    side of the root beta is. A step that leaves the bracket is replaced by bisection. Rows must
    have weight on both signs. Above 1e12 / max|t| the root counts as unbounded.
    """
    reach = float(np.abs(t).max())
    x = t / reach
    weighted = counts * x
    squared = counts * x**2

    def slope(beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(beta[:, None] * x)
        q = expit(-beta[:, None] * x)
        return (weighted * q).sum(axis=1), (squared * p * q).sum(axis=1)

    side = np.sign(slope(np.zeros(len(counts)))[0])
    near = np.zeros(len(counts))
    far = side.copy()
    for _ in range(_DOUBLINGS):
        short = side * slope(far)[0] > 0
        if not short.any():
            break
        near = np.where(short, far, near)
        far = np.where(short, 4 * far, far)
    bracketed = side * slope(far)[0] <= 0
    low = np.minimum(near, far)
    high = np.maximum(near, far)
    beta = np.clip(np.full(len(counts), start * reach), low, high)
    for _ in range(_MAX_STEPS):
        gradient, information = slope(beta)
        low = np.where(gradient >= 0, beta, low)
        high = np.where(gradient <= 0, beta, high)
        step = np.divide(
            gradient, information, out=np.full(len(beta), np.inf), where=information > 0
        )
        moved = beta + step
        inside = (moved >= low) & (moved <= high)
        moved = np.where(inside, moved, (low + high) / 2)
        done = np.abs(moved - beta) <= 1e-10 * (1 + np.abs(beta))
        beta = moved
        if done[bracketed].all():
            break
    return np.where(bracketed, beta / reach, np.nan)


def fold_temperatures(
    score: FloatArray, human: FloatArray, a: IntArray, b: IntArray, n: int
) -> FloatArray:
    """beta without each model's battles in turn (Algorithm 1, line 5); NaN if none exists.

    Equal signed differences are counted once, so that rubric scores, which have few values, cost
    almost nothing.
    """
    decided = np.isfinite(score) & ((human == 0) | (human == 1)) & (score != 0)
    signed = signed_differences(score[decided], human[decided])
    t, level = np.unique(signed, return_inverse=True)
    betas = np.full(n, np.nan)
    if no_maximum(t) is not None:
        return betas
    total = np.bincount(level, minlength=len(t)).astype(np.float64)
    start = float(np.nan_to_num(newton_temperature(t, total[None, :])[0]))
    model = np.concatenate([a[decided], b[decided]])
    fought = csr_array(
        (np.ones(len(model)), (model, np.concatenate([level, level]))), shape=(n, len(t))
    )
    chunk = max(1, (1 << 21) // len(t))
    for first in range(0, n, chunk):
        folds = np.arange(first, min(n, first + chunk))
        counts = total - fought[folds].toarray()
        # Fold sizes differ; a fold whose votes all agree, or all disagree, has no maximum.
        agreeing = counts[:, t > 0].sum(axis=1)
        opposed = counts[:, t < 0].sum(axis=1)
        usable = (agreeing > 0) & (opposed > 0)
        if usable.any():
            betas[folds[usable]] = newton_temperature(t, counts[usable], start)
    return betas


def temperature_with_ties(score: FloatArray, human: FloatArray) -> float | None:
    """beta if people's ties count as one half (appendix C); None if there is no maximum.

    A tie is half a vote for either side: it moves beta towards 0, more for a larger |s|.

    >>> s, y = np.array([2.0, 1.0, -1.0, 0.5, -2.0]), np.array([1, 1, 0, 0, 0.5])
    >>> round(temperature_with_ties(s, y), 3)
    0.795
    """
    decided = np.isfinite(score) & ((human == 0) | (human == 1))
    tied = score[np.isfinite(score) & (human == 0.5)]
    t = np.concatenate([signed_differences(score[decided], human[decided]), tied, -tied])
    if no_maximum(t) is not None:
        return None
    weights = np.concatenate([np.ones(int(decided.sum())), np.full(2 * len(tied), 0.5)])
    beta = float(newton_temperature(t, weights[None])[0])
    return beta if np.isfinite(beta) else None


# --- by group ---


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """A group's own temperature."""

    group: str
    n_votes: Count
    beta: float | None
    beta_se: NotNegative | None


def group_temperatures(battles: Battles) -> tuple[tuple[GroupRow, ...], str | None]:
    """Each group's own beta, and whether one pooled beta is enough.

    Cochran's test of equal betas, sum (beta_g - mean)^2 / se_g^2 against chi-square, with standard
    errors by prompt if there are prompts. Small groups overfit (appendix E): a separate beta is
    advised only with 500 votes or more.
    """
    if battles.groups is None:
        return (), None
    if battles.score is None or battles.human is None:
        return (), "no beta by group: it needs judge scores and votes"
    rows = []
    for k, name in enumerate(battles.groups):
        inside = battles.group_codes == k
        fit = fit_temperature(
            battles.score[inside],
            battles.human[inside],
            clusters=None if battles.prompts is None else battles.prompts[inside],
        )
        rows.append(GroupRow(group=name, n_votes=fit.n_battles, beta=fit.beta, beta_se=fit.beta_se))
    fitted = [(row.beta, row.beta_se) for row in rows if row.beta is not None and row.beta_se]
    if len(fitted) < 2:
        return tuple(rows), "one pooled beta: fewer than two groups have their own beta"
    beta, se = np.array(fitted, dtype=np.float64).T
    mean = np.average(beta, weights=se**-2)
    p = float(chdtrc(len(fitted) - 1, (((beta - mean) / se) ** 2).sum()))
    if p >= 0.05:
        return tuple(rows), f"one pooled beta is enough: groups do not clearly differ (p = {p:.2f})"
    large = [row.group for row in rows if row.n_votes >= _FEWEST_VOTES_OWN_BETA]
    if not large:
        return tuple(rows), (
            f"groups differ (p = {p:.3f}), but none has {_FEWEST_VOTES_OWN_BETA} votes: keep the "
            "pooled beta, because a separate beta would overfit"
        )
    return tuple(rows), (
        f"groups differ (p = {p:.3f}): consider a separate beta for {', '.join(large[:6])}; keep "
        "the pooled one for smaller groups"
    )


# --- what it shows ---


def temperature_blocks(fit: Temperature, caption: str) -> list[Block]:
    """Agreement with people by score difference, as a table and a picture."""
    if fit.beta is None:
        return []
    columns: Columns[AgreementBin] = {
        "|s|": lambda row: f"{text.number(row.low, 2)} to {text.number(row.high, 2)}",
        "votes": lambda row: text.number(row.n),
        "people agree with the judge": lambda row: text.percent(row.agreement, 0),
        "95 % interval": lambda row: " to ".join(
            text.percent(end, 0) for end in row.agreement_interval
        ),
        "sigma(beta |s|)": lambda row: text.percent(row.predicted, 0),
    }
    blocks: list[Block] = [table_of(fit.agreement, columns, caption=caption)]
    if fit.reliability:
        how_often = (
            "How often people agree with the judge, against the prediction sigma(beta |s|); both "
            "are equal on the dashed line."
        )
        draw = partial(panel, draw_calibration, (5.0, 4.6), fit)
        blocks.append(Figure("reliability", draw, how_often))
    return blocks


def draw_calibration(axes: Axes, temperature: Temperature) -> None:
    """How often people take the judge's side, against sigma(beta |s|)."""
    bins = [(row.predicted, row.observed, row.n) for row in temperature.reliability]
    predicted, observed, n = zip(*bins, strict=True)
    draw_reliability(axes, predicted, observed, n=n)
    axes.set_xlabel("predicted: σ(β|s|) (dashed: equal)")
    axes.set_ylabel("share of votes for the judge's side, ± SE")
    ece = "" if temperature.ece is None else f" (error {temperature.ece:.3f})"
    axes.set_title(f"Calibration of σ(β|s|){ece}")
