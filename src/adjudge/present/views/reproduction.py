"""The papers, reproduced: the views of what reproduction returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.present.views._reproduction_scope import view_reproduction_scope
from adjudge.results.base import Result
from adjudge.results.evaluation import ScopeReproduction

TITLE = "The papers, reproduced"
VIEWS: Mapping[type[Result], View] = {
    ScopeReproduction: view_reproduction_scope,
}
