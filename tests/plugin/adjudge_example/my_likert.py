"""`--protocol my-likert`: a scale of a package's own, about single responses."""

from __future__ import annotations

from adjudge.judges.protocols.likert import Likert


class MyLikert(Likert):
    """Nothing but another name: what it is asked about is an attribute it inherits."""

    name = "my-likert"
