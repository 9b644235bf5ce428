"""Every kind of result: its section of a report, its class, and reading it from a file.

A new kind is a line here. A package adds its kinds by the entry point group `adjudge.results`; a
report shows them last.

What `to_dict` wrote becomes the same frozen dataclass again. A field that is missing, has another
type or is unknown, and a schema newer than this adjudge, are refused: a result that was read only
in part would be used as if complete.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from adjudge.errors import DataError, NotAResultError
from adjudge.plugins import Builtin, Registry
from adjudge.present.result import (
    COMMAND,
    DIGEST,
    Result,
    ResultWithDigest,
    check_digest,
    problem_in_parts,
    problem_in_tree,
)
from adjudge.present.text import clip

if TYPE_CHECKING:
    from pydantic import TypeAdapter


#: The sections of a report in order, by key and title: their kinds, most important first.
SECTIONS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("reading", "What the logs hold"): {
        "log": "adjudge.data.conversion:LogSummary",
        "guide": "adjudge.cli.start:Guide",
    },
    ("judging", "What was judged"): {
        "judging": "adjudge.judges.summary:Judging",
        "judging_panel": "adjudge.judges.summary:JudgingPanel",
        "judging_cascade": "adjudge.judges.summary:JudgingCascade",
        "plan_judging": "adjudge.judges.summary:JudgingPlan",
        "plan_judging_panel": "adjudge.judges.summary:JudgingPlans",
        "models": "adjudge.judges.weights:ModelList",
    },
    ("replies", "What the judge wrote"): {
        "replies": "adjudge.judges.transcript:Replies",
    },
    ("evaluation", "How good is the judge"): {
        "judge_evaluation": "adjudge.evaluation.evaluate:JudgeEvaluation",
    },
    ("gating", "Pass or fail"): {
        "gate": "adjudge.gating.gate:GateResult",
        "judge_card": "adjudge.gating.card:JudgeCard",
        "card_check": "adjudge.gating.card_check:CardCheck",
        "card_diff": "adjudge.gating.card_check:CardDiff",
    },
    ("selection", "Which verdicts can be trusted"): {
        "policy": "adjudge.policy.result:Policy",
        "policy_check": "adjudge.selection.verifying:PolicyCheck",
        "selection": "adjudge.selection.selecting:Selection",
        "evaluation": "adjudge.selection.evaluating:Evaluation",
        "plan_selection": "adjudge.selection.planning:SelectionPlan",
        "plan_labels": "adjudge.selection.planning:LabelPlan",
        "plan_cascade": "adjudge.selection.cascade_plan:CascadePlan",
    },
    ("estimation", "The rate to report"): {
        "estimate": "adjudge.estimation.rate:Estimate",
        "grouped_estimate": "adjudge.estimation.groups:GroupedEstimate",
        "class_estimate": "adjudge.estimation.classes:ClassEstimate",
        "mean_estimate": "adjudge.estimation.means:MeanEstimate",
        "runs": "adjudge.estimation.runs:RunsEstimate",
        "comparison": "adjudge.estimation.comparison:Comparison",
        "abtest": "adjudge.estimation.abtest:ABTest",
        "plan_compare": "adjudge.estimation.difference_plan:ComparisonPlan",
        "plan_rate": "adjudge.estimation.plan:RatePlan",
        "plan_mean": "adjudge.estimation.mean_plan:MeanPlan",
    },
    ("diagnosis", "Where the judge breaks"): {
        "bias_report": "adjudge.diagnosis.bias:BiasReport",
        "transitivity": "adjudge.diagnosis.transitivity:Transitivity",
        "score_diagnosis": "adjudge.diagnosis.scores.result:ScoreDiagnosis",
        "prompt_sensitivity": "adjudge.diagnosis.prompts:PromptSensitivity",
    },
    ("ranking", "How the models rank"): {
        "leaderboard": "adjudge.ranking.leaderboard:Leaderboard",
        "anchors": "adjudge.ranking.anchors:Anchors",
        "anchors_check": "adjudge.ranking.stale:AnchorsCheck",
        "plan_battles": "adjudge.ranking.plan:BattlePlan",
    },
    ("alignment", "A better prompt"): {
        "alignment": "adjudge.alignment.result:Alignment",
        "plan_alignment": "adjudge.alignment.result:AlignmentPlan",
    },
    ("monitoring", "Is the promise still kept"): {
        "monitor": "adjudge.policy.audits:Monitor",
        "judge_monitor": "adjudge.monitoring.judge_monitor:JudgeMonitor",
        "audit_draw": "adjudge.monitoring.drawing:AuditDraw",
    },
    ("labelling", "Human labels"): {
        "labelling": "adjudge.server.label_summary:LabellingSummary",
    },
    ("store", "What the store holds"): {
        "store_check": "adjudge.store.checking:StoreCheck",
        "store_copy": "adjudge.store.copying:StoreCopy",
    },
    ("demo", "The demo"): {
        "judge_check": "adjudge.demo.check:JudgeCheck",
        "demo": "adjudge.demo.run:Demo",
    },
}
KINDS = Registry[type[Result]](
    "kind",
    "adjudge.results",
    {kind: Builtin(at) for kinds in SECTIONS.values() for kind, at in kinds.items()},
)


R = TypeVar("R", bound=Result)

_WRITTEN = "give a file that adjudge wrote with -o"
_AGAIN = "write it again: do not edit files of results"
_NEWER = "update adjudge, or write it again with this one"


def from_dict(loaded: object, base: type[R], *, source: str | Path) -> R:
    """The result that `to_dict` wrote; its `kind` must be that of `base` or of a subclass.

    `Result` itself accepts every kind. `source` names the file in errors.
    """
    kind = loaded.get("kind") if isinstance(loaded, Mapping) else None
    if not isinstance(loaded, Mapping) or not isinstance(kind, str):
        raise NotAResultError(source, "has no kind", remedy=_WRITTEN)
    if kind not in KINDS:
        raise NotAResultError(source, f"kind {clip(kind)!r} is not known", remedy=_NEWER)
    cls = KINDS.load(kind)
    if not issubclass(cls, base):
        raise DataError(source, f"is of kind {kind!r}", remedy=f"give a file of kind {base.kind!r}")
    newest = getattr(cls, "schema_version", None)  # the field's default: what this adjudge writes
    schema = loaded.get("schema_version")
    if newest is not None and isinstance(schema, int) and schema > newest:
        raise DataError(source, f"schema_version {schema} is newer than {newest}", remedy=_NEWER)
    if (problem := problem_in_tree(loaded)) is not None:
        raise DataError(source, problem, remedy=_AGAIN)
    fields = {name: value for name, value in loaded.items() if name not in ("kind", COMMAND)}
    if not isinstance(loaded.get(COMMAND), str | None):
        raise DataError(source, f"field {COMMAND} is not text", remedy=_AGAIN)
    needs_digest = issubclass(cls, ResultWithDigest)
    has_digest = DIGEST in loaded and DIGEST not in cls.__dataclass_fields__
    if has_digest:
        del fields[DIGEST]
    result = _validate(cls, fields, source)
    if (problem := problem_in_parts(result)) is not None:
        raise DataError(source, f"kind {cls.kind!r}, {problem}", remedy=_AGAIN)
    if needs_digest or has_digest:
        # Last, so that a problem in a field is reported with the name of the field.
        check_digest(loaded, source)
    return result


def _validate(cls: type[R], fields: Mapping[str, Any], source: str | Path) -> R:
    from pydantic import ValidationError

    # Read as JSON: a list can be a tuple, but a text is never a number.
    text = json.dumps(fields, allow_nan=False)
    try:
        checked: R = _adapter(cls.kind).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = clip(".".join(str(part) for part in first["loc"]), 80)
        problem = f"field {place} of kind {cls.kind!r}: {first['msg']}"
        remedy = _AGAIN
        if first["type"] == "unexpected_keyword_argument":
            problem = f"field {place} is not known in kind {cls.kind!r}"
            remedy = _NEWER
        raise DataError(source, problem, remedy=remedy) from None
    return checked


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(KINDS.load(kind))
