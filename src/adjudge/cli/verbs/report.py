"""`adjudge report`: a folder of results as one page."""

from __future__ import annotations

from typing import Any

from adjudge.cli.output import echo, remark
from adjudge.cli.steps import command
from adjudge.cli.verb import Option, Values, Verb
from adjudge.present.text import safe, safe_json


def _run(arguments: Values, options: Values) -> bool:
    from adjudge.report import FORMATS, format_named_by, read_folder, render_report, write_report
    from adjudge.validation import one_of

    how: dict[str, Any] = {"title": arguments.get("title"), "announce": remark}
    output = options["output"]
    named = "html" if output is None else format_named_by(output)
    chosen = "json" if options["json"] else arguments.get("format") or named
    one_of(chosen, FORMATS, "format")
    folder = read_folder(arguments["folder"], store=options["store"])
    for state, files in (("", folder.skipped), ("damaged, ", folder.damaged)):
        for name, reason in files.items():
            remark(f"{state}not in the report: {name} ({reason})")
    for file in folder.files:
        for name in file.copies:
            remark(f"{name} has the same result as {file.path.name}: shown once")
    if output is None and chosen == "html":
        output = arguments["folder"] / "report.html"
    if output is None:
        text = render_report(folder, format=chosen, **how)
        echo(safe_json(text) if chosen == "json" else safe(text), end="")
    else:
        remark(f"wrote {write_report(folder, output, format=chosen, **how)}")
        if folder.judgments or folder.grades:
            remark(f"next: adjudge {command('view', arguments['folder'])}")
    return bool(folder.damaged)


COMMAND = Verb(
    "report",
    "adjudge.report:write_report",
    "Write one HTML report of all results in a folder.",
    "report .",
    "The report names damaged files and shows the others. Exit 2 if a file is damaged.",
    without="path",
    added="output json",
    options=[
        Option(
            "store",
            "Store of the judge's replies, shown for doubtful and failed rows.",
            words="adjudge.db in the folder",
        ),
        Option("json", "The same as --format json."),
    ],
    run=_run,
    panels={"Output": "format title"},
    panel="Trust and deploy",
    place=6,
)
