"""`adjudge abtest`: ask people until it is known whether B is better."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from adjudge.cli.output import command_line, remark, save_rows
from adjudge.cli.page import PAGE, open_page, require_server
from adjudge.cli.steps import Typed, command, save_as
from adjudge.cli.verb import (
    Option,
    Values,
    Verb,
    scale_option,
    store_option,
    written,
)


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.estimation import abtest

    path = options["write_ids"]
    if path is not None:
        result = abtest(**arguments, ask=partial(_write_next, path))
        if result.finished:
            remark(f"no more labels are needed: {path} not written")
        return result
    by_file = options["json"] or "labels" in arguments
    if by_file or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return abtest(**arguments)
    return abtest(**arguments, ask=partial(_open_page, options))


def _write_next(path: Path, experiment: Any) -> None:
    save_rows(experiment.rows_to_label(), path)


def _open_page(options: Values, experiment: Any) -> None:
    texts = experiment.texts()
    if texts is None:
        remark("no page: the rows have no id, or no texts to label (prompt, response)")
        return
    require_server()
    from adjudge.server.asking import ask_people

    def show(round_: Any) -> None:
        open_page(round_, experiment.store, options)

    ask_people(experiment, texts, show, remark)
    options["next_step"] = partial(_after_the_page, options["next_step"])


def _after_the_page(step: Callable[[Any], str | None], result: Any) -> str | None:
    """The same command continues, until it is known."""
    return step(result) if result.finished else (command_line() or "").removeprefix("adjudge ")


def _next(result: Any, typed: Typed) -> str | None:
    if result.finished:
        return save_as("abtest.json")(result, typed)
    if (ids := typed["write_ids"]) is None:
        return typed.again("--write-ids", "to_label.csv")
    from adjudge.data.tables import first_row

    # Grades alone cannot be shown to people: another file has the answers.
    rows = ids if {"response", "response_a"} & {*(first_row(ids) or ())} else "ROWS"
    # The page writes the labels of the store alone: those of the file would be lost.
    words = ("-o", "new_labels.csv") if typed["labels"] is not None else ()
    return command(
        "label", rows, "--plan", ids, *typed.options("label", ["store", "scale"]), *words
    )


_FAIL = (
    Option("fail_unless_better", "Exit 2 unless B is shown to be better, 3 if unknown.", bool),
    Option("fail_if_worse", "Exit 2 if B is shown to be worse, 3 if unknown.", bool),
)


def _fails(result: Any, options: Values) -> bool:
    """Whether a --fail option applies, which a remark then says."""
    if options["fail_unless_better"] and not result.better:
        remark("adjudge abtest: not shown to be better")
        return True
    if options["fail_if_worse"] and result.worse:
        remark("adjudge abtest: shown to be worse")
        return True
    return False


def _is_bad(result: Any, options: Values) -> bool:
    return _fails(result, options) or result.decision is None


COMMAND = Verb(
    "abtest",
    "adjudge.estimation:abtest",
    "Ask people until it is known whether B is better than A.",
    "abtest results.csv --a old --b new",
    "A look after every label: the chance of a wrong decision is bounded over all looks, for any "
    "judge. At a terminal it opens the labelling page, unless labels come by files: --labels, "
    "--write-ids, --json. The same command continues. Exit 3: not known yet. Exit 0: decided. Exit "
    "2: it ended without a decision, or a --fail option applies.",
    rows=("data", "other"),
    main="a b by equal_within scale labels store column write_ids fail_unless_better fail_if_worse "
    "output json",
    added="output explain json",
    options=[
        Option("data", metavar="TABLE"),
        scale_option("Lowest and highest score, such as 1-5."),
        store_option("Store of the state and of labels.", "store"),
        written("write_ids", "Write the rows to label next here."),
        *PAGE,
        *_FAIL,
    ],
    run=_run,
    bad=_is_bad,
    unknown=lambda result, _: not result.finished,
    step=_next,
    panels={"Output": "fail_unless_better fail_if_worse"},
    panel="Numbers",
    place=3,
)
