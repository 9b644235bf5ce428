"""`adjudge label`: ask people, on a page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.cli.output import remark, save_rows
from adjudge.cli.page import PAGE, open_page, require_server
from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import Option, Values, Verb, store_option
from adjudge.errors import ArgumentError
from adjudge.present.text import count


def _run(arguments: Values, options: Values) -> Any:
    page = not options["export_only"] and options["label_studio"] is None
    if page:
        require_server()
    from adjudge.server.label_summary import labels_frame, summarise
    from adjudge.server.rounds import open_round
    from adjudge.store import check_not_store

    limit = options["limit"]
    plan = arguments.get("plan")
    if limit is not None and options["label_studio"] is None:
        remedy = "use it with --label-studio: the page runs until Ctrl-C"
        raise ArgumentError("limit", limit, remedy)
    for written in (options["output"], options["label_studio"]):
        if written is not None:
            check_not_store(arguments["store"], written)
    # An export alone leaves the store as it is.
    readonly = not page and "import_labels" not in arguments
    with open_round(**arguments, readonly=readonly) as round_:
        if options["label_studio"] is not None:
            _write_tasks(round_, options["label_studio"], limit, arguments)
        if page:
            open_page(round_, arguments["store"], options)
        if options["output"] is not None:
            save_rows(labels_frame(round_.book, plan=plan, kind=round_.kind), options["output"])
        return summarise(round_.book, list(round_.subjects.values()), round_.kind)


def _write_tasks(round_: Any, path: Any, limit: int | None, arguments: Values) -> None:
    from adjudge.integrations.label_studio import write_tasks
    from adjudge.server.label_summary import plan_columns

    if round_.instructions is not None:
        remedy = "paste them into the instructions of the Label Studio project"
        raise ArgumentError("instructions", "a file", remedy)
    plan = arguments.get("plan")
    columns = None if plan is None else plan_columns(plan)
    tasks, config = write_tasks(round_, path, limit=limit, plan=columns)
    remark(f"wrote {count(tasks, 'task')} to {path} and their labelling config to {config}")
    after = command("label", arguments["rows"], "--import", "EXPORT", "-o", "labels.csv")
    remark(f"export the labels as JSON, then: adjudge {after}")


def _next(summary: Any, typed: Typed) -> str | None:
    if (output := typed["output"]) is None:
        return None
    if not summary.n_labels:
        return typed.again(without="--export-only")
    if summary.about == "scores":
        return command("diagnose scores", "SCORES", "--labels", output)
    if summary.about == "pairs":
        policy = ("--alpha", "0.1", "-o", "policy.json")
        return command("calibrate", "JUDGMENTS", "--labels", output, *policy)
    return command("estimate", "GRADES", "--labels", output)


COMMAND = Verb(
    "label",
    "adjudge.server.rounds:open_round",
    "Label pairs or single answers in the browser.",
    "label pairs.jsonl -o labels.csv",
    "Every label is stored immediately: a reload or kill loses nothing.",
    main="output store scale instructions plan abstentions import export_only column host port",
    added="output summary json",
    without="readonly",
    options=[
        Option("output", "Write the labels here when the page is closed."),
        store_option("Store of all labels: a file or postgresql://..."),
        Option("import", argument="import_labels", can_be_output=True),
        Option("export_only", "Write the labels and the summary without opening a page.", bool),
        Option(
            "label_studio",
            "Write the queue as tasks for Label Studio here (.json), and their labelling config "
            "next to them (.xml). Opens no page.",
            Path,
        ),
        Option("limit", "With --label-studio: only the first N rows of the queue.", int),
        *PAGE,
    ],
    run=_run,
    step=_next,
    panels={"Rows": "import abstentions", "Output": "export_only label_studio"},
    panel="Ask",
    place=2,
)
