"""Whether anchors still hold: judge, scale of the scores, and what new votes say.

New models are placed with the anchors' temperature beta, P(A preferred) = sigma(beta s), and with
their strengths. New votes on judged battles have their beta, too, and new battles between anchors
place each of them again, by the judge and by the votes. Beta and both strengths are compared by
two-sided tests at 1 % each, Holm's for the strengths. Among anchors that still hold, about
three checks in a hundred say otherwise by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Unpack

import numpy as np
from scipy.special import expit, ndtr, stdtr

from adjudge.data.battles import Battles, prepare_battles
from adjudge.data.drift import drift_from_quantiles
from adjudge.data.rows import Identity, merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.judge import match_judge
from adjudge.present import text
from adjudge.present.blocks import Block, Fact, Facts, Headline, notes_of, warnings_of
from adjudge.present.result import Count, NotNegative, Proportion, Result, frozen
from adjudge.ranking.anchors import (
    Anchors,
    AnchorSet,
    on_anchors_scale,
    positions_among,
    read_anchors,
    read_as,
    spell_lengths,
    targets_as,
)
from adjudge.ranking.differences import few_groups
from adjudge.ranking.rank import ReadingJudged
from adjudge.ranking.temperature import fit_temperature
from adjudge.statistics.bradley_terry import ELO_PER_UNIT, fit_against_anchors, to_elo
from adjudge.statistics.differences import holm
from adjudge.validation import FloatArray, IntArray

#: With as many votes on new battles, the anchors' temperature is tested against them.
_FEWEST_VOTES = 100
_LEVEL = 0.01
#: With as many battles against other anchors here, an anchor's strength is tested.
_FEWEST_BATTLES = 30


@dataclass(frozen=True, kw_only=True)
class VotesTest:
    """The temperature that `n_votes` new votes follow, and the p-value of the anchors' one.

    All are None if they cannot be tested: `reason` explains it.
    """

    n_votes: Count = 0
    beta: float | None = None
    beta_se: NotNegative | None = None
    p_value: Proportion | None = None
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """What is different about new battles: why anchors should be made again, and notes."""

    votes: VotesTest
    changed: Sequence[str]
    notes: Sequence[str]


@frozen
class AnchorsCheck(Result, VotesTest):
    """What new votes say about anchors; `changed` is why they should be made again."""

    kind: ClassVar[str] = "anchors_check"

    method: str
    judge: str | None
    made: str
    n_battles: Count
    beta_was: float | None
    beta_was_se: NotNegative | None
    changed: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    def view(self) -> list[Block]:
        votes = text.count(self.n_votes, "vote")
        if self.changed:
            headline = Headline(
                "The anchors do not hold here", "Make them again with new votes.", tone="bad",
                decision="make the anchors again",
            )  # fmt: skip
        elif self.p_value is None:
            headline = Headline(f"Not known whether the anchors still hold: {self.reason}")
        else:
            test = f"two-sided test at {text.percent(_LEVEL)}"
            held = f"{votes} follow the anchors' temperature ({test})"
            headline = Headline(held, "Nothing shows that the anchors are stale.", tone="good")
        facts = [
            Fact("beta of the anchors", text.number(self.beta_was), _error(self.beta_was_se)),
            Fact("beta of these votes", text.number(self.beta), _error(self.beta_se)),
            Fact("p-value", text.number(self.p_value)),
            Fact("judge", self.judge or "not named"),
            Fact("made on", self.made or "unknown"),
        ]
        notes = notes_of(text.left_out(self.dropped, "battle"))
        return [headline, Facts(facts), *warnings_of((*self.changed, *self.warnings)), *notes]


def _error(se: float | None) -> str:
    return "" if se is None else f"standard error {text.number(se)}"


def check_anchors(
    battles: TableLike | Battles,
    anchors: str | Path | Anchors,
    *,
    human: str | None = None,
    **reading: Unpack[ReadingJudged],
) -> AnchorsCheck:
    """Test whether anchors still predict new votes. See the module.

    Battles of another judge, or with scores of another kind, are refused.

    Args:
        battles: New battles with judge scores and votes, of any models.
        anchors: File that `anchors make` wrote, or the result of `make_anchors`.
        human: Column of people's votes.
        **reading: How battles are read: see `ReadingJudged`. Clusters are the anchors'.
    """
    saved = read_anchors(anchors)
    ready = prepare_battles(battles, human=human, **reading, **read_as(saved, battles))
    if ready.human is None or ready.score is None:
        lacking = "no human votes" if ready.human is None else "no judge scores"
        raise ArgumentError("battles", lacking, "give judged battles that people voted on")
    comparison = compare_with(ready, saved)
    judged = np.isfinite(ready.score)
    return AnchorsCheck(
        method=saved.method,
        judge=saved.judge,
        made=saved.made,
        n_battles=int(judged.sum()),
        beta_was=saved.beta,
        beta_was_se=saved.beta_se,
        changed=tuple(comparison.changed),
        control=saved.control,
        warnings=(*comparison.notes, *ready.warnings),
        **vars(comparison.votes),
        dropped=merge_dropped(ready.dropped, ready.count_lost(~judged, "no judge score")),
    )


# --- how new battles differ ---


def compare_with(battles: Battles, anchors: AnchorSet) -> Comparison:
    """What has changed since the anchors were made. Scores of another kind are refused."""
    notes = _same_judge(battles, anchors)
    if anchors.cluster is not None and battles.prompts is None:
        notes.append(f"errors of the anchors are by {anchors.cluster}, which does not repeat here")
    if battles.source != anchors.score_source:
        raise PolicyMismatchError(
            f"scores here are {battles.source or 'missing'}, but the anchors were made from "
            f"{anchors.score_source}; give the same columns",
            differs=("score_source",),
        )
    votes = _test_votes(battles, anchors)
    return Comparison(votes, _what_changed(battles, anchors, votes), notes)


def _same_judge(battles: Battles, anchors: AnchorSet) -> list[str]:
    """Refuse another judge; note if only names, or nothing, could be compared."""
    judge = [Identity(judge=anchors.judge, fingerprint=anchors.judge_fingerprint)]
    matches = [
        match_judge(judge, identity, made="the anchors file", remedy="make anchors for this judge")
        for identity in battles.identities
    ]
    return list(dict.fromkeys(match.remark for match in matches if match.remark is not None))


def _what_changed(battles: Battles, anchors: AnchorSet, votes: VotesTest) -> list[str]:
    """Why the anchors should be made again: other scores, or votes that do not follow them."""
    changed = []
    if (median := _moved_median(battles, anchors)) is not None:
        was = anchors.score_quantiles[len(anchors.score_quantiles) // 2]
        changed.append(
            f"score differences here differ from the anchors' (median |s| {median:.2f}, was "
            f"{was:.2f}): check judge and prompts{_again(anchors)}"
        )
    if votes.p_value is not None and votes.p_value < _LEVEL:
        changed.append(
            f"{votes.n_votes:,} votes here do not follow the anchors' temperature "
            f"(beta {votes.beta:.2f}, was {anchors.beta:.2f}){_again(anchors)}"
        )
    return changed + _moved_anchors(battles, anchors)


def _moved_median(battles: Battles, anchors: AnchorSet) -> float | None:
    """The median of |s| here, if the scores are on another scale than the anchors'."""
    if battles.score is None or not anchors.score_quantiles:
        return None
    here = np.abs(battles.score[np.isfinite(battles.score)])
    if not drift_from_quantiles(anchors.score_quantiles, here).flagged:
        return None
    return float(np.median(here))


def _moved_anchors(battles: Battles, anchors: AnchorSet) -> list[str]:
    """A line about the anchors that battles against the others place elsewhere than before."""
    theta = np.array([row.theta for row in anchors.models])
    by_judge = _Anchored(theta, np.array([row.se for row in anchors.models], dtype=np.float64))
    lines = by_judge.moved(battles, anchors, targets_as(battles, anchors), "by the judge")
    if battles.human is None:
        return lines
    elo = np.array([row.human_elo for row in anchors.models], dtype=np.float64)
    se = np.array([row.human_se for row in anchors.models], dtype=np.float64)
    people = _Anchored((elo - 1500) / ELO_PER_UNIT, se)
    return lines + people.moved(battles, anchors, battles.human, "by the votes")


@dataclass(frozen=True)
class _Anchored:
    """Strengths of the anchors, by the judge or by people, and their standard errors in Elo."""

    theta: FloatArray
    se: FloatArray

    def moved(self, battles: Battles, anchors: AnchorSet, target: FloatArray, by: str) -> list[str]:
        """A line about the anchors that these targets place elsewhere: Holm's rule on t tests."""
        code = positions_among(battles, anchors)
        a = code[battles.a]
        b = code[battles.b]
        known = np.isfinite(self.theta)
        usable = (a >= 0) & (b >= 0) & known[a] & known[b] & np.isfinite(target)
        here = np.full(len(known), np.nan)
        p_value = np.ones(len(known))
        for k in np.flatnonzero(self.se > 0):
            met = usable & ((a == k) | (b == k))
            if met.sum() < _FEWEST_BATTLES:
                continue
            opponent = np.where(a == k, b, a)[met]
            won = np.where(a == k, target, 1 - target)[met]
            prompts = np.arange(len(won)) if battles.prompts is None else battles.prompts[met]
            theta = np.where(known, self.theta, 0.0)
            here[k], se, freedom = _place_again(opponent, won, theta, prompts, anchors.l2)
            shares = np.bincount(opponent, minlength=len(theta)) / len(opponent)
            rivals = float(np.nansum((shares * self.se) ** 2))
            error = math.sqrt(se**2 + self.se[k] ** 2 + rivals)
            apart = abs(here[k] - theta[k]) * ELO_PER_UNIT / error
            p_value[k] = 2 * stdtr(freedom, -apart)
        moved = np.flatnonzero(holm(p_value) < _LEVEL)
        if not len(moved):
            return []
        places = [
            f"{anchors.models[k].model} ({to_elo(here[k]):.0f}, was {to_elo(self.theta[k]):.0f})"
            for k in moved[np.argsort(p_value[moved], kind="stable")]
        ]
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        return [
            f"battles between anchors place {', '.join(places[:3])}{more} elsewhere {by}"
            f"{_again(anchors)}"
        ]


def _place_again(
    opponent: IntArray, won: FloatArray, theta: FloatArray, prompts: IntArray, l2: float
) -> tuple[float, float, int]:
    """Strength of a model against fixed ones, its standard error in Elo, degrees of freedom."""
    met = np.bincount(opponent, minlength=len(theta)).astype(np.float64)
    strength = float(fit_against_anchors(met, np.asarray(won.sum()), theta, l2=l2))
    p = expit(strength - theta[opponent])
    sums = np.bincount(np.unique(prompts, return_inverse=True)[1], won - p)
    information = float((p * (1 - p)).sum()) + 2 * l2
    variance = few_groups(len(sums)) ** 2 * float(sums @ sums)
    return strength, ELO_PER_UNIT * math.sqrt(variance) / information, len(sums) - 1


def _test_votes(battles: Battles, anchors: AnchorSet) -> VotesTest:
    """The temperature of votes in the new file against the anchors'."""
    if battles.human is None:
        return VotesTest()
    moved = on_anchors_scale(battles, anchors)
    fit = fit_temperature(np.asarray(moved.score), battles.human, clusters=moved.prompts)
    n = fit.n_battles
    if anchors.beta is None or anchors.beta_se is None:
        return VotesTest(n_votes=n, reason=f"{anchors.method} keeps no temperature")
    if n < _FEWEST_VOTES:
        few = f"{text.count(n, 'vote')} without ties, and {_FEWEST_VOTES} are needed"
        return VotesTest(n_votes=n, reason=few)
    if fit.beta is None or fit.beta_se is None:
        return VotesTest(n_votes=n, reason="these votes have no temperature")
    apart = abs(fit.beta - anchors.beta) / math.hypot(fit.beta_se, anchors.beta_se)
    p_value = float(2 * ndtr(-apart))
    return VotesTest(n_votes=n, beta=fit.beta, beta_se=fit.beta_se, p_value=p_value)


def _again(anchors: AnchorSet) -> str:
    made = f"; they were made on {anchors.made}" if anchors.made else ""
    return f"{made}: make the anchors again with new votes"


def length_remarks(
    name: str, lengths: FloatArray | None, model: int, anchors: AnchorSet
) -> list[str]:
    """A warning about a model that writes more, or less, than every anchor."""
    if lengths is None or anchors.lengths is None or np.isnan(lengths[model]):
        return []
    low, high = anchors.lengths
    length = float(lengths[model])
    if low <= length <= high:
        return []
    side = "longer" if length > high else "shorter"
    factor = spell_lengths(length, length).partition(" to ")[0]
    remedy = "can miss; anchors make --control length"
    if "length" in anchors.control:
        remedy = "assumes that length counts there as it does among the anchors"
    return [
        f"{name} writes {side} answers than every anchor ({factor} times as long as its rivals, "
        f"anchors {spell_lengths(low, high)}): its interval {remedy}"
    ]
