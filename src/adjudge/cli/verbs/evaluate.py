"""`adjudge evaluate`: how good is the judge, and where is it wrong?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjudge.cli.output import remark, save_rows
from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import FAIL_BELOW, Option, Values, Verb, below, prepare_rows, written
from adjudge.cli.verbs.calibrate import DOUBT_OPTIONS, make_doubt


def _is_bad(result: Any, options: Values) -> bool:
    if result.unlabelled:
        return True
    return below(options, result.judges, "fail")


def _is_unknown(result: Any, options: Values) -> bool:
    return not result.unlabelled and below(options, result.judges, "inconclusive")


#: Below this area under the curve the doubt tells little: people read where the judge is wrong.
_WEAK = 0.6
#: With fewer labels and no error, more labels come next.
_MANY_LABELS = 20


def _next(result: Any, typed: Typed) -> str | None:
    if result.unlabelled or _has_few_labels(result):
        # A random draw of rows is about all judges: it needs the name of one.
        one = {**typed.values, "judge": (typed["judge"] or [None])[0]}
        same = replace(typed, values=one)
        return same.on_same_rows("plan labels", "--write-ids", "to_label.csv")
    wrong = any(judge.errors for judge in result.judges) or bool(result.scores)
    if wrong and typed["errors"] is None:
        return typed.again("--errors", "disagreements.csv")
    if not _separates(result):
        return _view_of(result, typed["errors"])
    doubt = result.doubt
    alpha = 0.1 if 0.1 in doubt.alphas else doubt.alphas[0]
    return typed.on_same_rows("calibrate", "--alpha", f"{alpha:g}", "-o", "policy.json")


def _separates(result: Any) -> bool:
    """Whether the doubt of a judge tells right from wrong verdicts."""
    if (doubt := result.doubt) is None:
        return False
    ranked = [doubt.main_signal(judge).auroc for judge in doubt.judges]
    return any(auroc is None or auroc >= _WEAK for auroc in ranked)


def _view_of(result: Any, errors: Any) -> str | None:
    """The command that opens the disagreements, however the rows were read."""
    wrong = any(judge.errors for judge in result.judges)
    return command("view", errors) if wrong and _can_be_viewed(result) else None


def _has_few_labels(result: Any) -> bool:
    """Whether no judge has an error yet, on so few labels that this says little."""
    return bool(result.judges) and all(
        judge.errors == 0 and judge.n < min(_MANY_LABELS, judge.n_rows) for judge in result.judges
    )


def _can_be_viewed(result: Any) -> bool:
    """Whether the verdicts are pass and fail, or sides of pairs: no others can be viewed."""
    from adjudge.data.judgments import WORDS

    words = {name for judge in result.judges for name in judge.names}
    return bool(words) and any(words <= {*ends, "tie"} for ends in WORDS.values())


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.evaluation import disagreements, evaluate

    doubt = make_doubt(arguments, options)
    shared = {name: arguments[name] for name in ("ties", "cluster") if name in arguments}
    prepared = prepare_rows("adjudge.evaluation:prepare_evaluation", {**arguments, "doubt": doubt})
    rest = {
        name: value for name, value in arguments.items() if name in _MEASURING or name in shared
    }
    if (path := options["errors"]) is not None:
        save_rows(disagreements(prepared), path, "disagreement")
    result = evaluate(prepared, doubt=doubt, **rest)
    if path is not None and _separates(result) and (view := _view_of(result, path)) is not None:
        remark(f"to read them: adjudge {view}")
    return result


#: What is not an option of reading.
_MEASURING = (
    *("slices", "labels_by_verdict", "labels_are_random", "alphas", "delta", "splits"),
    *("choose_on", "model_labels", "confidence_level", "seed"),
)

COMMAND = Verb(
    "evaluate",
    "adjudge.evaluation:evaluate",
    "How good is the judge, and where is it wrong?",
    "evaluate answers.csv --errors disagreements.csv",
    "Grades, probabilities, classes, scores or judgments of pairs, of one judge or several, with "
    "human labels on some. Exit 2: no labels, or agreement is shown to be below --fail-below.",
    main="labels judge slices errors labels_by_verdict cluster column fail_below output plot json",
    options=[
        Option("judge", argument="judges"),
        written("errors", "Write the disagreements to this file, with all columns."),
        replace(FAIL_BELOW, help="Exit 2 if agreement is shown to be below this, 3 if unknown."),
        Option(
            "figure",
            "The picture to save: matrix, judges, scores, risk, coverage, reliability or "
            "risk-coverage. Default: the first.",
        ),
        *DOUBT_OPTIONS,
    ],
    run=_run,
    bad=_is_bad,
    unknown=_is_unknown,
    step=_next,
    panels={"Rows": "choose_on slices", "Output": "errors fail_below"},
    panel="Is the judge good",
    place=1,
)
