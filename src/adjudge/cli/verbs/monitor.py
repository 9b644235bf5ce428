"""`adjudge monitor`: audits of accepted verdicts, and the judge asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.cli.output import remark, watch_run
from adjudge.cli.steps import Typed, command, save_as
from adjudge.cli.verb import (
    Group,
    Option,
    Values,
    Verb,
    bad_if,
    required_secret,
    store_option,
)
from adjudge.errors import ArgumentError


def _run_draw(arguments: Values, options: Values) -> Any:
    from adjudge.monitoring import draw_audits
    from adjudge.monitoring.drawing import read_served_audits
    from adjudge.selection import read_policy
    from adjudge.store import is_store, store_name

    served = arguments["served"]
    policy = options["policy"]
    if is_store(served):
        if "audit_rate" in arguments or "earlier" in arguments:
            remedy = "serve has already drawn these audits: leave out the rate"
            raise ArgumentError("served", store_name(served), remedy)
        rules = None if policy is None else read_policy(policy).rules_id
        run = read_served_audits(served, rules_id=rules)
    else:
        if "audit_rate" not in arguments:
            raise ArgumentError("audit_rate", None, "give a share, such as --audit-rate 0.05")
        required_secret(arguments.get("secret"))
        run = draw_audits(**arguments)
    if options["output"] is None and options["summary"] is None and not options["json"]:
        remark("nothing was written: give -o FILE to write the rows to label")
    return run


def _after_drawing(_: Any, typed: Typed) -> str | None:
    if (output := typed["output"]) is None:
        return typed.again("-o", "audits.csv")
    return command("label", "ROWS", "--plan", output, "-o", "labels.csv")


_DRAW = Verb(
    "monitor draw",
    "adjudge.monitoring:draw_audits",
    "Draw random audits among accepted verdicts.",
    "monitor draw chosen.csv --audit-rate 0.1 --secret-env KEY -o drawn.csv",
    "A keyed hash of the id decides each draw, so that the rows cannot be chosen.",
    added="output summary json",
    without="alike_ids",
    options=[
        Option("output", "Write the rows to label: .jsonl, .csv, .parquet."),
        Option("audit_rate", required=False),
        Option("earlier", can_be_output=True),
        Option("policy", "With a store: only audits of this policy.", Path),
    ],
    run=_run_draw,
    step=_after_drawing,
    panels={"Rows": "earlier"},
)


def _run_check(arguments: Values, _: Values) -> Any:
    from adjudge.auditing import check_audits

    monitor = check_audits(**arguments)
    if "state" not in arguments:
        remark("no --state: the next check starts again without these counts")
    return monitor


def _after_check(monitor: Any, typed: Typed) -> str | None:
    if monitor.alarm:
        policy = command("calibrate", "NEW", "--alpha", f"{monitor.alpha:g}")
        return f"{policy} -o policy.json"
    return save_as("monitor.json")(monitor, typed)


_CHECK = Verb(
    "monitor check",
    "adjudge.auditing:check_audits",
    "Check the audits; exit 2 on an alarm.",
    "monitor check audits.csv --policy policy.json --labels labels.csv",
    "Audits count in the order of drawing.\n\n"
    "Run it as often as you like: delta bounds false alarms over all checks together.",
    main="labels policy state limit delta by wait horizon column plot json",
    without="now",
    options=[Option("figure", "With --by: the group to plot."), Option("state", type=str)],
    run=_run_check,
    bad=bad_if("alarm"),
    step=_after_check,
)


def _after_recalibration(policy: Any, typed: Typed) -> str | None:
    if not policy.feasible:
        level = ("--alpha", f"{policy.alpha:g}")
        return command("calibrate", "NEW", *level, "-o", "policy.json")
    return _select_by(typed, "policy.json")


def _select_by(typed: Typed, name: str) -> str | None:
    """The use of a new policy; first it is written, to a file of this name."""
    if (output := typed["output"]) is None:
        return typed.again("-o", name)
    return command("select", "NEW", "--policy", output, "-o", "selected.csv")


_RECALIBRATE = Verb(
    "monitor recalibrate",
    "adjudge.auditing:recalibrate",
    "Make a stricter policy of the audits after an alarm.",
    "monitor recalibrate audits.csv --state monitor.json -o policy.json",
    "Continue to draw audits after the alarm until there are enough, whether or not the verdicts "
    "are used. Exit 2: nothing can be accepted.",
    main="state labels alpha guarantee since_change column output plot json",
    options=[Option("state", type=str), Option("output", "Write the policy here (JSON).")],
    bad=bad_if("feasible", False),
    step=_after_recalibration,
)


def _run_judge(arguments: Values, options: Values) -> Any:
    from adjudge.judges.flow import Stop
    from adjudge.monitoring import monitor_judge

    rows = arguments.pop("rows")
    with watch_run("monitor judge") as watch:
        stop = Stop(on_interrupt=lambda: watch.end_with("stopping: replies are kept"))
        return monitor_judge(rows, **arguments, progress=watch.show, stop=stop, handle_signals=True)


def _is_alarm(result: Any, _: Values) -> bool:
    return bool(result.alarm or result.changed == "stream")


def _after_judge(result: Any, typed: Typed) -> str | None:
    if result.alarm and typed["output"] is None:
        return typed.again("-o", "answers.jsonl")
    if result.alarm:
        words = ("--policy", "POLICY", "--state", typed["state"], "-o", "renewed.json")
        return command("monitor renew", typed["output"], *words)
    if result.changed == "stream":
        return command("plan labels", "NEW", "--write-ids", "to_label.csv")
    return None if result.rounds else typed.again()


_JUDGE = Verb(
    "monitor judge",
    "adjudge.monitoring.judge_monitor:monitor_judge",
    "Ask the judge the labelled rows again; exit 2 if it changed.",
    "monitor judge pairs.jsonl --judge openai:M --state judge.json",
    "The first call asks every row twice or more and keeps the answers. Each later call asks once "
    "more and compares: run the same command in cron or CI.",
    main="judge protocol state output store delta passes audits max_cost plot json",
    without="repeats first_repeat retry stop_rule poll_s progress handle_signals",
    added="plot explain json",
    options=[
        Option("judge", "The judge, such as openai:MODEL.", repeats=False, required=True),
        Option("state", required=True),
        Option("audits", type=str),
        Option("protocol", words="preference"),
        Option("output", "Write the rows of the last pass here.", written=True, short="-o"),
        store_option("Store of all replies: a file or postgresql://... A stopped call resumes."),
    ],
    run=_run_judge,
    bad=_is_alarm,
    step=_after_judge,
    panels={"Judge": "batch batch_folder"},
)


def _after_renewal(policy: Any, typed: Typed) -> str | None:
    if not policy.feasible:
        return typed.on_same_rows("plan selection", "--alpha", f"{policy.alpha:g}")
    return _select_by(typed, "renewed.json")


_RENEW = Verb(
    "monitor renew",
    "adjudge.auditing:renew",
    "Calibrate again on the same labels, after the judge changed.",
    "monitor renew new.jsonl --policy old.json --state judge.json",
    "Exit 2: nothing can be accepted. The old policy is kept: write the new one to another file.",
    main="policy state labels audits times output plot json",
    options=[
        Option("audits", type=str),
        Option("output", "Write the policy here (JSON)."),
    ],
    bad=bad_if("feasible", False),
    step=_after_renewal,
)


COMMAND = Group(
    "monitor",
    "Audit accepted verdicts, ask the judge again; raise an alarm.",
    [_DRAW, _CHECK, _JUDGE, _RENEW, _RECALIBRATE],
    panel="Trust and deploy",
    place=4,
)
