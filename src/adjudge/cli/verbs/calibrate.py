"""`adjudge calibrate`: which verdicts to accept at an error level."""

from __future__ import annotations

from typing import Any

from adjudge.cli.output import remark
from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import Option, Values, Verb, picked
from adjudge.errors import ArgumentError


def _is_bad(policy: Any, _: Values) -> bool:
    from adjudge.data.rows import ANSWERED_AGAIN

    if not policy.feasible:
        remark(f"nothing can be accepted at alpha {policy.alpha:g} under {policy.guarantee}")
    elif policy.judge_fingerprints and ANSWERED_AGAIN not in policy.dropped:
        again = command("monitor judge", "ROWS", "--judge", "JUDGE", "--state", "judge.json")
        remark(
            "the judge answered these rows once: to notice later that it changed, ask them again "
            f"now: adjudge {again}"
        )
    return not policy.feasible


def _next(policy: Any, typed: Typed) -> str | None:
    if not policy.feasible:
        return typed.on_same_rows("plan selection", "--alpha", f"{policy.alpha:g}")
    if (output := typed["output"]) is None:
        return typed.again("-o", "policy.json")
    unlabelled = any("no label" in reason for reason in policy.dropped)
    rows = typed.rows if unlabelled and typed.rows else "NEW"
    names = [("--judge", typed["judge"]), ("--protocol", typed["protocol"])]
    chosen = [word for flag, name in names if isinstance(name, str) for word in (flag, name)]
    return command("select", rows, "--policy", output, *chosen, "-o", "selected.csv")


_JURY = "adjudge.selection.doubts.jury"
_CASCADE = "adjudge.selection.cascade"
#: The flags of a doubt that is learned over the rows of each judge, of a jury, or of choices.
DOUBT_OPTIONS = (
    Option(
        "jury",
        "All judges of the file as one: mean (of log odds), or learned from a share of the labels.",
        str,
    ),
    Option("learning_share", field=f"{_JURY}:Learned.share"),
    Option("category", field=f"{_JURY}:Learned.category"),
    Option(
        "best",
        "Choose the best of all responses to a prompt, from comparisons of two responses "
        "(prompt_id, model_a, model_b).",
        bool,
    ),
)
#: The flags of a cascade.
CASCADE_OPTIONS = (
    Option("cascade", field=f"{_CASCADE}:Cascade.judges"),
    Option("costs", field=f"{_CASCADE}:Cascade.costs"),
)
#: What to ask for with a flag that is of no use alone.
_USED_BY = {"costs": "--cascade", "category": "--doubt learned, --jury learned or --cascade"}
PLAN_OPTION = Option("plan", field=f"{_CASCADE}:PlannedCascade.plan", required=False)


def make_doubt(arguments: Values, options: Values) -> Any:
    """The doubt that the flags describe; a flag that it does not use is refused.

    `--doubt`, an argument of the function, is taken out.
    """
    from adjudge.selection import Cascade, Choices, Jury, Learned, PlannedCascade, find_doubt
    from adjudge.validation import one_of

    flags = {"doubt": arguments.pop("doubt", None)}
    flags |= picked(options, "jury", "cascade", "plan", "costs", "category", "best")
    unused = {flag: value for flag, value in flags.items() if value}
    share = options["learning_share"]
    learned = "learned" in (unused.get("jury"), unused.get("doubt"))
    doubt: Any
    if plan := unused.pop("plan", None):
        doubt = PlannedCascade(plan)
    elif judges := unused.pop("cascade", None):
        category = unused.pop("category", None)
        doubt = Cascade(judges, unused.pop("costs", None), category, share)
    elif unused.pop("best", False):
        jury = unused.pop("jury", None)
        doubt = Choices(None if jury is None else Jury(jury))
    elif learned:
        jury = Jury() if unused.pop("jury", None) else None
        if unused.get("doubt") == "learned":
            del unused["doubt"]
        doubt = Learned(share, unused.pop("category", None), jury)
    elif method := unused.pop("jury", None):
        doubt = Jury(one_of(method, ("mean", "learned"), "jury"))
    else:
        doubt = find_doubt(unused.pop("doubt", None))
    for flag, value in unused.items():
        remedy = "leave it out: the doubt that this command asks for does not use it"
        if flag in _USED_BY:
            remedy = f"{remedy}; {_USED_BY[flag]} does"
        raise ArgumentError(flag, value, remedy)
    return doubt


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.selection import calibrate

    return calibrate(doubt=make_doubt(arguments, options), **arguments)


COMMAND = Verb(
    "calibrate",
    "adjudge.selection:calibrate",
    "Choose which verdicts to accept at your error level.",
    "calibrate judgments.jsonl --alpha 0.1 -o policy.json",
    "Writes a policy for `select` and `serve`.",
    main="alpha labels guarantee by cluster jury doubt cascade column output plot json",
    options=[
        Option("output", "Write the policy here (JSON)."),
        *DOUBT_OPTIONS,
        *CASCADE_OPTIONS,
        PLAN_OPTION,
    ],
    run=_run,
    bad=_is_bad,
    step=_next,
    panels={"Rows": "weights leave_out"},
    panel="Trust and deploy",
    place=1,
)
