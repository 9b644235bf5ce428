"""The papers, reproduced: the views of what reproduction returns."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.present.views import View
from adjudge.present.views._items import view_items
from adjudge.present.views._reproduction_diagnosis import view_diagnosis_reproduction
from adjudge.present.views._reproduction_reporting import view_reporting
from adjudge.present.views._reproduction_scope import view_reproduction_scope
from adjudge.present.views._reproduction_soft_elo import view_soft_elo
from adjudge.results.base import Result
from adjudge.results.diagnosis_reproduction import DiagnosisReproduction
from adjudge.results.items import ReproductionItems
from adjudge.results.ranking_reproduction import SoftEloReproduction
from adjudge.results.reporting import ReportingReproduction
from adjudge.results.scope_reproduction import ScopeReproduction

TITLE = "The papers, reproduced"
VIEWS: Mapping[type[Result], View] = {
    ReproductionItems: view_items,
    DiagnosisReproduction: view_diagnosis_reproduction,
    ReportingReproduction: view_reporting,
    ScopeReproduction: view_reproduction_scope,
    SoftEloReproduction: view_soft_elo,
}
