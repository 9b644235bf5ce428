"""`adjudge reproduce`: the papers' protocols from the command line.

The entry point `reproduce` of the group `adjudge.verbs` is REPRODUCE, a group of verbs.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from adjudge.cli.output import echo, remark, show, watch_run
from adjudge.cli.verb import (
    SPELLED,
    Group,
    Option,
    Values,
    Verb,
    files_by_name,
    store_option,
)
from adjudge.present.text import safe_json
from adjudge.validation import one_of

_PRINTED = "output plot figures json"
_COLUMNS = SPELLED["columns"]
_LABELS_AS = SPELLED["labels_as"]
_REPLIES: tuple[tuple[str, Any, str], ...] = (
    ("reason", bool, "Let the judge write reasons before its verdict (preference, grade)."),
    ("samples", int, "Written answers per question, for judges without logprobs."),
    ("keep_going", bool, "Continue even if the first ten replies have no score."),
)
_STORE = "Store of all replies: a file or postgresql://... Stored replies are not asked again."


def _figure(text: str, first: str) -> Option:
    return Option("figure", text, str, words=first)


def _prompts(protocols: str) -> Option:
    text = f"PROTOCOL=FILE, repeatable: your prompt, for the paper's own wording: {protocols}."
    return Option(
        "prompt", text, str, argument="prompts", repeats=True, read=files_by_name("--prompt")
    )


def _at_least(**least: int) -> list[Option]:
    return [Option(name, least=number) for name, number in least.items()]


def _open_files(arguments: Values, options: Values, *names: str) -> None:
    """The files of these arguments, with the columns that the options name.

    FILE:OURS=YOURS names a column of one file: of an option, or of a data set of --data.
    """
    from adjudge.data.source import ColumnNames

    shared: dict[str, str] = {}
    of_file: dict[str, dict[str, str]] = {}
    for ours, theirs in (options.get("column") or {}).items():
        file, colon, column = ours.rpartition(":")
        (of_file.setdefault(file, {}) if colon else shared)[column] = theirs
    tables = {name: arguments.get(name) for name in names if arguments.get(name) is not None}
    data = tables.get("data")
    sets = list(data) if isinstance(data, dict) else []
    nameable = (*(name for name in tables if name != "data"), *sets)
    for file in of_file:
        one_of(file, nameable, "--column")

    with ColumnNames(shared, options.get("labels_as")) as named:

        def opened(name: str, path: Any) -> Any:
            with ColumnNames(of_file.get(name)) as named_here:
                return named_here(named(path))

        for name, files in tables.items():
            if isinstance(files, dict):
                arguments[name] = {key: opened(key, path) for key, path in files.items()}
            else:
                arguments[name] = opened(name, files)


def _run(paper: str, arguments: Values, options: Values) -> Any:
    """One paper: the figure and the files are checked first, then it runs."""
    module = paper.replace("-", "_")
    if options.get("figure") is not None:
        from adjudge_papers.printed import read_published

        items = read_published(paper)["items"].values()
        one_of(options["figure"], tuple({i["figure"]: 0 for i in items if "figure" in i}), "figure")
    _open_files(arguments, options, "data", "tournaments", "scores")
    if options.get("whole"):
        arguments |= {"documents": None, "systems": None}
    if paper == "diagnosis" and "judge" in arguments:
        arguments["announce"] = remark
    call = getattr(import_module(f"adjudge_papers.{module}"), f"reproduce_{module}")
    with watch_run("asked") as watch:
        return call(**arguments, progress=watch.show)


def run_all(arguments: Values, options: Values) -> bool:
    from adjudge.present.blocks import Headline
    from adjudge_papers.everything import PAGE, SUMMARY, reproduce_all
    from adjudge_papers.items import count_items, describe_items

    _open_files(arguments, options, "data", "grades", "tournaments", "scores")
    with watch_run("asked") as watch:
        items = reproduce_all(**arguments, progress=remark, watch=watch.show)
    remark(f"wrote {arguments['out'] / PAGE} and {SUMMARY}")
    if options["json"]:
        echo(safe_json(items.to_json()))
    else:
        show(Headline(describe_items(items.items)), count_items(items.items))
    return bool(items.failures)


def _data(text: str) -> Option:
    return Option("data", text, str, repeats=True, read=files_by_name("--data"))


REPRODUCE = Group(
    "reproduce",
    "Run the papers' protocols; compare with their figures.",
    [
        Verb(
            "reproduce scope",
            "adjudge_papers.scope:reproduce_scope",
            "The tables and figures of the SCOPE paper.",
            "reproduce scope --data mine=judgments.jsonl",
            "Ties dropped, 2,000 items, 1,000 halves, alphas 0.05 to 0.25. Without data, it runs "
            "on simulated judgments of the same shape.",
            rows=(),
            added=_PRINTED,
            options=[
                _data(
                    "NAME=FILE, repeatable: labelled judgments, or pairs to be judged. Names with "
                    "published figures: mt-bench, rewardbench, chatbot-arena."
                ),
                *_at_least(splits=1),
                _prompts("preference, verbalized, annotators"),
                store_option("Store of that judge's replies.", "store"),
                _COLUMNS,
                _LABELS_AS,
                _figure("What --plot draws: figure-02 or figure-03.", "figure-02"),
            ],
            run=partial(_run, "scope"),
            panels={"Rows": "sample"},
        ),
        Verb(
            "reproduce reporting",
            "adjudge_papers.reporting:reproduce_reporting",
            "The tables and figures of the reporting paper.",
            "reproduce reporting",
            "Coverage, bias and length of the corrected rate: 21 rates, 8 settings, label shift. "
            "Section 8.2, splits of labelled rows, runs on your own data.",
            main="judge store sample reason repeats splits column output plot figures json",
            added=_PRINTED,
            options=[
                Option("table", argument="data"),
                *_at_least(sample=1, repeats=10, splits=1),
                store_option(_STORE, "store"),
                *(Option(name, text, kind, argument=name) for name, kind, text in _REPLIES),
                _COLUMNS,
                _LABELS_AS,
                _figure("What --plot draws: figure2 to figure7, figure9 to figure16.", "figure2"),
            ],
            run=partial(_run, "reporting"),
            panels={"Rows": "sample"},
        ),
        Verb(
            "reproduce diagnosis",
            "adjudge_papers.diagnosis:reproduce_diagnosis",
            "The tables and figures of the diagnosis paper.",
            "reproduce diagnosis",
            "Cycles, rankings, score sets and the meaning of their width: on your files, on judges "
            "asked about SummEval, on its crowd workers, or simulated if no data is given.",
            rows=(),
            main="summeval tournaments scores judge store whole splits column output plot figures "
            "json",
            added=_PRINTED,
            options=[
                Option("judge", repeats=True),
                *_at_least(documents=2, systems=2, repeats=1, splits=1),
                store_option(_STORE, "store"),
                Option(
                    "min_answer_mass",
                    "Minimum probability of the answer letters; below it a row is off_answer.",
                    float,
                    argument="min_answer_mass",
                    words="0.1",
                ),
                Option("whole", "All of SummEval, not the paper's 30 by 8.", bool),
                _prompts("criterion, likert"),
                _COLUMNS,
                _figure("What --plot draws: figure-02 to figure-06.", "figure-02"),
            ],
            run=partial(_run, "diagnosis"),
            panels={"Rows": "scores"},
        ),
        Verb(
            "reproduce soft-elo",
            "adjudge_papers.soft_elo:reproduce_soft_elo",
            "The tables and figures of the Soft-Elo paper.",
            "reproduce soft-elo --figures pictures",
            "Leave-one-model-out Elo, conformal intervals, smoothing, temperature, languages, "
            "biases.",
            added=_PRINTED,
            options=[
                *_at_least(splits=1, replicates=2, draws=2),
                _prompts("rubric"),
                store_option(_STORE, "store"),
                _figure("What --plot draws: figure-01 to figure-17.", "figure-01"),
            ],
            run=partial(_run, "soft-elo"),
        ),
        Verb(
            "reproduce all",
            "adjudge_papers.everything:reproduce_all",
            "All four papers on one page, with the data you have.",
            "reproduce all --out papers",
            "Each item is reproduced, of other judges or data, simulated, or has the reason why it "
            "is not possible. Writes OUT/index.html, which works without network, OUT/papers.md, "
            "every result as JSON and every picture.",
            rows=(),
            main="out data grades summeval tournaments scores annotations judge prompt store paper "
            "size json",
            added="json",
            options=[
                _data("scope: NAME=FILE, repeatable: labelled judgments, or pairs to be judged."),
                store_option(_STORE),
                _prompts(
                    "preference, verbalized, annotators (scope), criterion, likert (diagnosis)"
                ),
                Option("paper", argument="papers"),
                _COLUMNS,
                _LABELS_AS,
            ],
            without="progress watch",
            run=run_all,
            panels={"Rows": "scores"},
        ),
    ],
    panel="Housekeeping",
)
