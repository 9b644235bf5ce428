"""The rate to report: the views of what estimation returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.results.base import Result

TITLE = "The rate to report"
VIEWS: Mapping[type[Result], View] = {}
