"""`adjudge plan`: how many labels, which rows to label, which battles to judge."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from adjudge.cli.output import remark, save_rows
from adjudge.cli.steps import Typed, command, save_as
from adjudge.cli.verb import (
    SPELLED,
    Group,
    Option,
    Values,
    Verb,
    bad_if,
    numbers,
    picked,
    prepare_rows,
    read_by,
    written,
)
from adjudge.errors import ArgumentError
from adjudge.present.text import number


def _run_rate(arguments: Values, options: Values) -> Any:
    from adjudge.data import Source, open_table
    from adjudge.estimation import RatePlan, plan_rate, rows_to_label

    if (labels := str(arguments.get("labels", ""))).isdigit():
        remedy = f"is a file of human labels; a number of labels is --budget {labels}"
        raise ArgumentError("--labels", labels, remedy)
    reading = ("columns", "labels_as", "human_metrics", "raters")
    names = {name: arguments.pop(name, None) for name in reading}
    if "data" in arguments:
        with Source(arguments["data"], labels=arguments.get("labels"), **names) as source:
            arguments["data"] = open_table(source.rows)
            if source.labels is not None:
                arguments["labels"] = open_table(source.labels)
    plan = plan_rate(**arguments)
    if options["plot"] is not None and getattr(plan, "rate", None) is None:
        why = "of a mean" if plan.kind == "plan_mean" else "this judge cannot be corrected"
        remark(f"adjudge plan rate: no picture, {why}")
        options["plot"] = None
    if (write_ids := options["write_ids"]) is not None and not plan.can_draw(options["draw"]):
        remark("adjudge plan rate: no rows written, the plan cannot be carried out")
    elif write_ids is not None:
        columns = picked(arguments, "labels", "judge_column", "human_column", "positive")
        drawn = rows_to_label(
            arguments.get("data"), plan, **columns, draw=options["draw"], seed=options["seed"]
        )
        if drawn.height:
            save_rows(drawn, write_ids, "row")
            if options["draw"] == "verdict" and isinstance(plan, RatePlan):
                remark(
                    f"{plan.verdict_m1:,} labels of verdict 1, {plan.verdict_m0:,} of verdict 0 "
                    f"({plan.labelled:,} exist): width {number(plan.verdict_width)}"
                )
        else:
            remark(f"the table has enough labels for this plan: {write_ids} not written")
    return plan


def _read_draw(typed: str) -> str:
    from adjudge.estimation.label_draw import DRAWS
    from adjudge.validation import one_of

    return one_of(typed, DRAWS, "draw")


def _after_rate_plan(plan: Any, typed: Typed) -> str | None:
    needed = plan.needed(typed["draw"])
    if needed is None and plan.kind == "plan_mean":
        return None
    if needed is not None and needed <= plan.labelled:
        return typed.on_same_rows("estimate")
    return _after_label_plan(plan, typed)


_RATE = Verb(
    "plan rate",
    "adjudge.estimation:plan_rate",
    "Plan the labels for a rate or a mean; compare with people alone.",
    "plan rate answers.csv --budget 100",
    "Exit 2: infeasible.",
    main="width budget labels judge_rate sensitivity specificity n_test column write_ids "
    "output plot json",
    options=[
        Option("table", argument="data"),
        Option("width", read=read_by("adjudge.validation:positive", name="width")),
        written("write_ids", "Write the rows to label next (.csv, .jsonl, .parquet)."),
        Option(
            "draw",
            "How --write-ids draws. random: all rows alike. verdict: the plan by "
            "verdict, for method conditional.",
            default="random",
            read=_read_draw,
        ),
        replace(SPELLED["seed"], help="Seed of everything random.", type=int, default=0),
    ],
    run=_run_rate,
    bad=bad_if("feasible", False),
    step=_after_rate_plan,
)


_COMPARE = Verb(
    "plan compare",
    "adjudge.estimation:plan_compare",
    "Plan the questions and labels that show a difference.",
    "plan compare results.csv --difference 0.03",
    "Uses a pilot of both systems. Exit 2: these questions cannot show it.",
    rows=("data", "other"),
    main="difference a b by labels cluster column output json",
    added="output explain json",
    options=[Option("data", metavar="TABLE")],
    bad=bad_if("feasible", False),
    step=save_as("comparison_plan.json"),
)


def _run_selection(arguments: Values, options: Values) -> Any:
    from adjudge.selection import plan_labels, plan_selection

    prepared = prepare_rows("adjudge.data.judgments:prepare_judgments", arguments)
    plan = plan_selection(prepared, **arguments)
    if (write_ids := options["write_ids"]) is not None:
        wanted = (plan.recommended or plan.points[-1].n) - plan.n_labelled
        if wanted <= 0:
            remark(f"no more labels are needed, {plan.n_labelled} exist: {write_ids} not written")
        else:
            drawn = plan_labels(prepared, n=wanted, **picked(arguments, "cluster", "seed"))
            save_rows(drawn.to_frame(), write_ids, "id")
    return plan


def _bad_selection_plan(plan: Any, _: Values) -> bool:
    bad = plan.points[-1].coverage < plan.gain
    if bad:
        share = plan.gain
        alpha = plan.alpha
        remark(f"no planned number of labels accepts {share:g} of the verdicts at alpha {alpha:g}")
    return bool(bad)


def _after_selection_plan(plan: Any, typed: Typed) -> str | None:
    wanted = (plan.recommended or plan.points[-1].n) - plan.n_labelled
    if wanted > 0:
        unlabelled = sum(n for reason, n in plan.dropped.items() if "no label" in reason)
        return _after_label_plan(plan, typed) if unlabelled >= wanted else None
    if plan.recommended is None:
        return None
    levels = ("--alpha", f"{plan.alpha:g}", "--guarantee", plan.guarantee)
    return typed.on_same_rows("calibrate", *levels, "-o", "policy.json")


_SELECTION = Verb(
    "plan selection",
    "adjudge.selection:plan_selection",
    "Plan the labels for a policy: expected coverage by number.",
    "plan selection judgments.jsonl --alpha 0.1",
    "Uses the labels you have, or the accuracies you expect.",
    main="alpha labels guarantee accuracies cluster gain column write_ids output plot json",
    options=[
        written(
            "write_ids",
            "Draw the missing labels at random from the unlabelled rows; write their ids.",
        ),
        Option("accuracies", type=str, repeats=False, read=numbers("accuracies", "0.97,0.9,0.7")),
    ],
    run=_run_selection,
    bad=_bad_selection_plan,
    step=_after_selection_plan,
)


def _run_battles(arguments: Values, options: Values) -> Any:
    from adjudge.data import Source, open_table
    from adjudge.ranking import plan_battles

    names = {name: arguments.pop(name, None) for name in ("columns", "labels_as")}
    others = {"judged": arguments.pop("judged", None)}
    with Source(arguments.pop("pool"), others=others, **names) as source:
        pool = open_table(source.rows)
        plan = plan_battles(pool, judged=source.other("judged"), **arguments)
    if (target := options["write_rows"]) is not None:
        save_rows(pool.frame[list(plan.rows)], target)
    return plan


_BATTLES = Verb(
    "plan battles",
    "adjudge.ranking:plan_battles",
    "Choose the battles to judge next, within a budget.",
    "plan battles pool.csv --budget 500",
    without="verdict",
    added="output json",
    options=[written("write_rows", "Write the chosen rows of the pool to this file.")],
    run=_run_battles,
    step=save_as("battles_plan.json"),
    panels={"Output": "write_rows"},
)


def _run_labels(arguments: Values, options: Values) -> Any:
    from adjudge.selection import plan_labels

    plan = plan_labels(**arguments)
    if (write_ids := options["write_ids"]) is not None:
        save_rows(plan.to_frame(), write_ids, "id")
    elif options["output"] is None and not options["json"]:
        remark("nothing was written: give --write-ids FILE to write the ids")
    return plan


def _with_texts(rows: str | None) -> str:
    """The file of rows if people can be shown its texts; verdicts alone need another file."""
    from adjudge.data.names import recognise

    if rows is None or not Path(rows).is_file():
        return "ROWS"
    # The first line has the names of the columns: the file was parsed before.
    with Path(rows).open("rb") as file:
        first = file.readline(65_536).decode("utf-8", "replace")
    names = re.findall(r'"(\w+)"\s*:', first) or re.findall(r"[A-Za-z_]\w*", first)
    texts = recognise(names, "items", ["prompt", "response"])
    texts |= recognise(names, "pairs", ["prompt", "response_a", "response_b"])
    return rows if len(texts) > 1 else "ROWS"


def _after_label_plan(plan: Any, typed: Typed) -> str | None:
    if not getattr(plan, "feasible", True):
        return typed.on_same_rows("plan labels", "--write-ids", "to_label.csv")
    if (ids := typed["write_ids"]) is not None:
        return command("label", _with_texts(typed.rows), "--plan", ids, "-o", "labels.csv")
    return None if typed.rows is None else typed.again("--write-ids", "to_label.csv")


_LABELS = Verb(
    "plan labels",
    "adjudge.selection:plan_labels",
    "Draw the rows to label, at random.",
    "plan labels judgments.jsonl --write-ids rows.csv",
    main="n surest labels cluster judge protocol column write_ids seed output json",
    added="output json",
    options=[
        written(
            "write_ids", "Write the ids and how they were drawn here, for `adjudge label --plan`."
        )
    ],
    run=_run_labels,
    step=_after_label_plan,
)


def _bad_cascade_plan(plan: Any, _: Values) -> bool:
    if not plan.feasible and plan.candidate == "jury":
        remark(f"the jury accepts nothing at alpha {plan.alpha:g}")
    elif not plan.feasible:
        remark(f"no tau passes at alpha {plan.alpha:g}: every row would go to the last judge")
    return not plan.feasible


def _after_cascade_plan(_: Any, typed: Typed) -> str | None:
    if (output := typed["output"]) is None:
        return typed.again("-o", "plan.json")
    return typed.on_same_rows("calibrate", "--plan", output, "-o", "policy.json")


_CASCADE_FIELDS = "adjudge.selection.cascade:Cascade"


def _run_cascade(arguments: Values, options: Values) -> Any:
    from adjudge.selection import Cascade, plan_cascade

    cascade = Cascade(
        options["cascade"], options["costs"], options["category"], options["learning_share"]
    )
    return plan_cascade(cascade=cascade, **arguments)


_CASCADE = Verb(
    "plan cascade",
    "adjudge.selection:plan_cascade",
    "Plan a cascade of judges: its cost and its coverage.",
    "plan cascade judgments.jsonl --cascade cheap,strong -o plan.json",
    "Uses a share of the labels. The plan is for `calibrate --plan`.\n\n"
    "Drops judges that do not pay off. The labels outside that share are left for calibration.",
    main="cascade alpha costs tau candidate labels pairs learning_share output plot json",
    without="cascade",
    options=[
        Option("cascade", field=f"{_CASCADE_FIELDS}.judges", required=True),
        Option("costs", field=f"{_CASCADE_FIELDS}.costs"),
        Option("category", field=f"{_CASCADE_FIELDS}.category"),
        Option("learning_share", field=f"{_CASCADE_FIELDS}.share"),
    ],
    run=_run_cascade,
    bad=_bad_cascade_plan,
    step=_after_cascade_plan,
)


COMMAND = Group(
    "plan",
    "Plan labels, rows to label, battles to judge, cascades.",
    [_RATE, _COMPARE, _SELECTION, _BATTLES, _LABELS, _CASCADE],
    panel="Numbers",
    place=4,
)
