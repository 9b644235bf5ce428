"""Write docs/api.md and docs/api/: the public Python names, a page for each room."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import adjudge

#: Headings of the page and the rooms whose names are under each.
SECTIONS = {
    "Ask": ("adjudge.judges", "adjudge.store", "adjudge.demo.check", "adjudge.demo.run"),
    "Read and write": ("adjudge.data", "adjudge.records"),
    "Evaluate": ("adjudge.evaluation",),
    "Trust": ("adjudge.selection", "adjudge.policy", "adjudge.statistics.entropy"),
    "Report": ("adjudge.estimation", "adjudge.report", "adjudge.present.result"),
    "Diagnose": ("adjudge.diagnosis",),
    "Rank": ("adjudge.ranking",),
    "Align": ("adjudge.alignment",),
    "Monitor": ("adjudge.monitoring", "adjudge.auditing"),
    "Gate": ("adjudge.gating",),
    "Label and read": ("adjudge.server.label_summary", "adjudge.server.viewer"),
    "Errors": ("adjudge.errors",),
}
#: Public names that are imported from their room.
IN_ROOMS = {
    "adjudge.data": (
        "LogRows LogSummary Reading Source join_labels open_pairs "
        "prepare_battles prepare_grades prepare_judgments prepare_scores read_battles "
        "read_grades read_items read_judgments read_labels read_pairs read_public "
        "read_scores read_table read_tournaments write_rows"
    ),
    "adjudge.demo.check": "JudgeCheck",
    "adjudge.demo.run": "Demo",
    "adjudge.diagnosis": (
        "Agreement BiasReport FamilyScores PromptSensitivity ScoreDiagnosis ScoreSets Transitivity "
        "agreement count_cycles family_scores score_set_rows"
    ),
    "adjudge.alignment": "Alignment AlignmentPlan AlignmentRun plan_alignment",
    "adjudge.estimation": (
        "ABTest ClassEstimate Comparison ComparisonPlan Counts Estimate EstimateResult Experiment "
        "GroupedEstimate LabelShift MeanEstimate MeanPlan RatePlan ReadingAnswers RunsEstimate "
        "ReadingSystems VerdictCounts allocate corrected_interval corrected_rate "
        "corrected_variance plan_rate profile_interval proposition_51 proposition_61 "
        "rows_interval rows_to_label"
    ),
    "adjudge.evaluation": (
        "JudgeEvaluation ScoreAgreement SliceErrors VerdictAgreement disagreements find_slices "
        "measure_scores measure_verdicts prepare_evaluation"
    ),
    "adjudge.gating": (
        "CardCheck CardDiff GateResult JudgeCard LabelsOnCard ReadingCard ReadingRun decide "
        "diff_cards read_card verify_card"
    ),
    "adjudge.judges": (
        "Judging JudgingCascade JudgingPanel JudgingPlan JudgingPlans JudgingRun ModelList Replies"
    ),
    "adjudge.monitoring": (
        "AuditDraw AuditRun JudgeMonitor estimate_change log_evidence log_retest running_interval"
    ),
    "adjudge.policy": "Monitor Policy",
    "adjudge.ranking": (
        "Anchors AnchorsCheck BattlePlan Leaderboard LeastReversals RankAgreement ReadingBattles "
        "ReadingJudged ReadingVotes Temperature bradley_terry check_anchors count_wins "
        "fit_temperature least_reversals make_anchors place fit_pooled"
    ),
    "adjudge.records": "Grade Item Judgment Label Pair Score",
    "adjudge.selection": (
        "BatchSelection Cascade CascadePlan Choices Evaluation Jury LabelPlan Learned "
        "PlannedCascade PolicyCheck ReadingJudgments Selection SelectionPlan SelectionRun "
        "Threshold evaluate_doubt fdr_select judge_cascade pac_threshold pac_thresholds "
        "register_guarantee scope_threshold"
    ),
    "adjudge.server.label_summary": "LabellingSummary",
    "adjudge.statistics.entropy": "confidence preference_entropy",
    "adjudge.store": "StoreCheck StoreCopy check_store copy_store",
}
HOMES = {name: room for room, names in IN_ROOMS.items() for name in names.split()} | adjudge._HOME


def render() -> dict[str, str]:
    """Every file by its path: a page that lists the names, and a page for each room.

    A room's page has a table and a directive of mkdocstrings for each name. The table is for those
    who read it without the site, where directives stay as they are.
    """
    index = [
        "# Python",
        "The verbs, their options, `Result` and the errors are imported from `adjudge` itself:\n"
        "`from adjudge import estimate`. Everything else is imported from its room. Each room has\n"
        "a page; on the site (`make site`) it has signatures and docstrings, as has\n"
        "`help(adjudge.estimate)`.",
    ]
    pages = {}
    for heading, rooms in SECTIONS.items():
        names = sorted((name, room) for name, room in HOMES.items() if room in rooms)
        path = f"api/{rooms[0].split('.')[1]}.md"
        index.append(f"## [{heading}]({path})\n\n" + ", ".join(f"`{name}`" for name, _ in names))
        table = [
            f"| `{name}` | `{place(name)}` | {summary(getattr(import_module(room), name))} |"
            for name, room in names
        ]
        head = ["| name | from | what it is |", "|---|---|---|"]
        parts = [f"# {heading}", "\n".join([*head, *table])]
        parts += [f"::: {room}.{name}" for name, room in names]
        pages[path] = "\n\n".join(parts) + "\n"
    return {"api.md": "\n\n".join(index) + "\n", **pages}


def place(name: str) -> str:
    """The module that a name is imported from."""
    return "adjudge" if name in adjudge._HOME else HOMES[name]


def summary(named: object) -> str:
    """The first sentence of a docstring, as a cell of a table."""
    first = (inspect.getdoc(named) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


if __name__ == "__main__":
    for file, content in render().items():
        target = Path(__file__).parent / file
        target.parent.mkdir(exist_ok=True)
        target.write_text(content, encoding="utf-8")
