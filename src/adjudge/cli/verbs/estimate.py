"""`adjudge estimate`: the rate that people would give."""

from __future__ import annotations

from typing import Any

from adjudge.cli.output import remark
from adjudge.cli.steps import Typed, save_as
from adjudge.cli.verb import FAIL_BELOW, Option, Values, Verb, below, scale_option


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.estimation import estimate

    result: Any = estimate(**arguments)
    if options["json"]:
        for text in getattr(result, "all_warnings", result.warnings):
            remark(f"warning: {text}")
    return result


def _is_bad(result: Any, options: Values) -> bool:
    if any(rate.low is None for rate in result.intervals()):
        return True
    return below(options, result.intervals(), "fail")


def _is_unknown(result: Any, options: Values) -> bool:
    complete = all(rate.low is not None for rate in result.intervals())
    return complete and below(options, result.intervals(), "inconclusive")


def _next(result: Any, typed: Typed) -> str | None:
    if any("--labels-by-verdict" in (rate.reason or "") for rate in result.intervals()):
        return typed.again("--labels-by-verdict")
    complete = all(rate.low is not None for rate in result.intervals())
    if complete or getattr(result, "n_test", None) == 0:
        return save_as("estimate.json")(result, typed)
    rates = {getattr(result, name, None) for name in ("sensitivity", "specificity")}
    plan = ("plan labels",) if None in rates else ("plan rate", "--width", "0.1")
    return typed.on_same_rows(*plan, "--write-ids", "to_label.csv")


COMMAND = Verb(
    "estimate",
    "adjudge.estimation:estimate",
    "Estimate the rate people would give, from judge and labels.",
    "estimate answers.csv --by model --labels-are-random",
    "Rows with a human label calibrate; rows without one are the test set. Exit 2: no valid "
    "estimate (in some group), or one that is shown to be below --fail-below. Exit 3: an interval "
    "is on both sides of it.",
    main="labels model by method labels_are_random labels_by_verdict column fail_below output "
    "plot json",
    options=[
        Option("table", argument="data", required=True),
        Option("judge", argument="judges"),
        scale_option(
            "Lowest and highest score, such as 1-5, for means of scores. Default: the range of "
            "people's and the judge's scores together."
        ),
        FAIL_BELOW,
    ],
    run=_run,
    bad=_is_bad,
    unknown=_is_unknown,
    step=_next,
    panels={"Rows": "strata", "Output": "fail_below"},
    panel="Numbers",
    place=1,
)
