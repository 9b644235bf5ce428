"""Every doubt: the one that options ask for, and the one that a policy saves.

A new doubt is a file in this folder, and a line in the table.
"""

from __future__ import annotations

from adjudge.policy.result import Policy
from adjudge.selection.doubts.base import Doubt, DoubtOptions, DoubtRequest
from adjudge.selection.doubts.cascade import CascadeDoubt, CascadeRequest
from adjudge.selection.doubts.jury import JuryDoubt, JuryRequest
from adjudge.selection.doubts.learned import LearnedDoubt, LearnedRequest
from adjudge.selection.doubts.own import OwnDoubt, OwnRequest
from adjudge.validation import one_of

#: Every doubt and how it is asked for; the first that options ask for, or a policy saves, is used.
DOUBTS: tuple[tuple[type[DoubtRequest], type[Doubt]], ...] = (
    (CascadeRequest, CascadeDoubt),
    (LearnedRequest, LearnedDoubt),
    (JuryRequest, JuryDoubt),
    (OwnRequest, OwnDoubt),
)


def ask_doubt(options: DoubtOptions) -> DoubtRequest:
    """The doubt that the options ask for; ArgumentError for options that cannot be combined."""
    if options.doubt is not None:
        words = [request.word for request, _ in DOUBTS if request.word is not None]
        one_of(options.doubt, words, "doubt")
    asked = next(ask for request, _ in DOUBTS if (ask := request.ask(options)) is not None)
    asked.check(options)
    return asked


def load_doubt(policy: Policy) -> Doubt:
    """The doubt of a policy."""
    return next(saved for _, doubt in DOUBTS if (saved := doubt.load(policy)) is not None)
