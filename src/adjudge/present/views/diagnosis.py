"""Where the judge breaks: the views of what diagnosis returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.results.base import Result

TITLE = "Where the judge breaks"
VIEWS: Mapping[type[Result], View] = {}
