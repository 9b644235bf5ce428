"""The effect of a cut on a policy: no rule accepts everything, and the promise names the cut."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.results.rules import Cut, Rule
from adjudge.results.selection import Contradiction, PolicyGroup
from adjudge.selection.groups import Entry
from adjudge.validation import FloatArray


def own_cuts(part: Entry | PolicyGroup, cuts: Sequence[Cut]) -> list[Cut]:
    """The cuts of the score that this rule uses: the uncertainty of its own judge.

    A jury's rule has no cut, because it has its own score.
    """
    return [
        cut for cut in cuts if cut.judge == part.judge and cut.protocol in (None, part.protocol)
    ]


def limit_rule(
    rule: Rule, scores: FloatArray, part: Entry | PolicyGroup, cuts: Sequence[Cut]
) -> Rule:
    """The rule for these scores; if there is a cut, it never accepts everything.

    If everything passes, the rule accepts up to the cut, because no label distinguishes thresholds
    between the last labelled score and the cut. If the rule uses another score than the one that
    was cut (a jury's), it accepts up to the largest labelled score.
    """
    if not cuts or rule.accepts != "all":
        return rule
    own = [cut.at for cut in own_cuts(part, cuts)]
    return Rule(accepts="below", threshold=min(own or [float(scores.max())]))


def names_of(cuts: Sequence[Cut]) -> str:
    """The names of the pairs below every cut."""
    return " and ".join(cut.name for cut in cuts)


def promise_below(promise: str, cuts: Sequence[Cut]) -> str:
    """A guarantee's promise, about the pairs below every cut."""
    return f"among {names_of(cuts)}: {promise}" if cuts else promise


def beyond_cuts(group: PolicyGroup, cuts: Sequence[Cut]) -> Contradiction | None:
    """The field of a group that is above a cut of that score; None if all are below."""
    if cuts and group.accepts == "all":
        return Contradiction(field="accepts", stated="'all'", expected="'below', up to the cut")
    for cut in own_cuts(group, cuts):
        for field, value in (("scores", max(group.scores)), ("threshold", group.threshold)):
            if value is not None and not cut.rule.accept([value])[0]:
                return Contradiction(
                    field=field, stated=repr(value), expected=f"at most the cut, {cut.at!r}"
                )
    return None
