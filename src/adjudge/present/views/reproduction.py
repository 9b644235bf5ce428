"""The papers, reproduced: the views of what reproduction returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.results.base import Result

TITLE = "The papers, reproduced"
VIEWS: Mapping[type[Result], View] = {}
