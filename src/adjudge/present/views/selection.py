"""Which verdicts can be trusted: the views of what selection returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.results.base import Result

TITLE = "Which verdicts can be trusted"
VIEWS: Mapping[type[Result], View] = {}
