"""The papers, reproduced: the views of what reproduction returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.present.views._reproduction_reporting import view_reporting
from adjudge.results.base import Result
from adjudge.results.reporting import ReportingReproduction

TITLE = "The papers, reproduced"
VIEWS: Mapping[type[Result], View] = {
    ReportingReproduction: view_reporting,
}
