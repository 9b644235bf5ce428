"""Write docs/api.md: the public Python names with their docstrings. A test keeps it current."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import adjudge

#: Headings of the page and the rooms whose names are under each.
SECTIONS = {
    "Ask": ("adjudge.judges", "adjudge.store", "adjudge.demo.check", "adjudge.demo.run"),
    "Read and write": ("adjudge.data", "adjudge.records"),
    "Trust": ("adjudge.selection", "adjudge.policy", "adjudge.statistics.entropy"),
    "Report": ("adjudge.estimation", "adjudge.report", "adjudge.present.result"),
    "Diagnose": ("adjudge.diagnosis",),
    "Rank": ("adjudge.ranking",),
    "Monitor": ("adjudge.monitoring", "adjudge.auditing"),
    "Label": ("adjudge.server.label_summary",),
    "Errors": ("adjudge.errors",),
}
#: Public names that are imported from their room.
IN_ROOMS = {
    "adjudge.data": (
        "LogRows LogSummary Reading Source join_labels open_pairs "
        "prepare_battles prepare_grades prepare_judgments prepare_scores read_battles "
        "read_binary read_grades read_items read_judgments read_labels read_pairs read_public "
        "read_scores read_table read_tournaments write_rows"
    ),
    "adjudge.demo.check": "JudgeCheck",
    "adjudge.demo.run": "Demo",
    "adjudge.diagnosis": (
        "Agreement BiasReport Contradictions CycleCount FamilyBias FamilyScores LengthBias "
        "PositionBias PromptSensitivity Reliability Retest ScoreDiagnosis ScoreSets "
        "Transitivity VerbosityBias agreement contradictions count_cycles family_bias "
        "family_scores length_bias position_bias reliability retest score_set_rows "
        "verbosity_bias"
    ),
    "adjudge.estimation": (
        "ClassEstimate Comparison ComparisonOfMany ComparisonPlan Counts Estimate GroupedEstimate "
        "JudgeComparison LabelShift PanelEstimate RatePlan SequentialComparison VerdictCounts "
        "allocate corrected_interval corrected_rate corrected_variance plan_rate "
        "profile_interval proposition_51 proposition_61 rows_interval rows_to_label"
    ),
    "adjudge.judges": (
        "Judging JudgingCascade JudgingPanel JudgingPlan JudgingPlans JudgingRun ModelList Replies"
    ),
    "adjudge.monitoring": "AuditDraw AuditRun estimate_change log_evidence running_interval",
    "adjudge.policy": "Monitor Policy",
    "adjudge.ranking": (
        "Anchors BattlePlan Leaderboard LeastReversals RankAgreement Temperature bradley_terry "
        "count_wins fit_temperature least_reversals make_anchors place prediction_powered"
    ),
    "adjudge.records": "Grade Item Judgment Label Pair Score",
    "adjudge.selection": (
        "BatchSelection CascadePlan Evaluation LabelPlan PolicyCheck Selection SelectionPlan "
        "SelectionRun Threshold fdr_select judge_cascade pac_threshold pac_thresholds "
        "register_guarantee scope_threshold"
    ),
    "adjudge.server.label_summary": "LabellingSummary",
    "adjudge.statistics.entropy": "confidence mean_preference preference_entropy verdicts",
    "adjudge.store": "StoreCheck StoreCopy check_store copy_store",
}
HOMES = {name: room for room, names in IN_ROOMS.items() for name in names.split()} | adjudge._HOME


def render() -> str:
    """The whole page: a table of the public names, and a directive of mkdocstrings for each.

    The tables are for those who read the page without the site, where directives stay as they are.
    """
    parts = [
        "# Python",
        "The verbs, their options, `Result` and the errors are imported from `adjudge` itself:\n"
        "`from adjudge import estimate`. Everything else is imported from its room. The site\n"
        "(`make site`) adds signatures and docstrings; so does `help(adjudge.estimate)`.",
    ]
    for heading, rooms in SECTIONS.items():
        names = sorted((name, room) for name, room in HOMES.items() if room in rooms)
        table = [
            f"| `{name}` | `{place(name)}` | {summary(getattr(import_module(room), name))} |"
            for name, room in names
        ]
        head = ["| name | from | what it is |", "|---|---|---|"]
        parts += [f"## {heading}", "\n".join([*head, *table])]
        parts += [f"::: {room}.{name}" for name, room in names]
    return "\n\n".join(parts) + "\n"


def place(name: str) -> str:
    """The module that a name is imported from."""
    return "adjudge" if name in adjudge._HOME else HOMES[name]


def summary(named: object) -> str:
    """The first sentence of a docstring, as a cell of a table."""
    first = (inspect.getdoc(named) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(render(), encoding="utf-8")
