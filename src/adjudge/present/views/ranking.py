"""How the models rank: the views of what ranking returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.results.base import Result

TITLE = "How the models rank"
VIEWS: Mapping[type[Result], View] = {}
