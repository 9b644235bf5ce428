"""`adjudge align`: a better prompt, certified on labels that the search never saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.cli.output import command_line, remark
from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import Option, Values, Verb, parsed, store_option

#: Options that say how a judge is asked, its prompt aside.
_ASKING = (
    *("samples", "max_tokens", "min_answer_mass", "order", "criteria", "base_url", "api_key_env"),
    "extra_body",
)


_SHARES = parsed(
    "shares",
    "write three percentages, such as 20,30,50",
    lambda text: [int(share) for share in text.split(",")],
)


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.alignment import align, plan_alignment
    from adjudge.atomic import check_writable

    folder = options.pop("output")
    if options["dry_run"]:
        return plan_alignment(**arguments)
    if folder is not None:
        check_writable(folder / "result.json")
    run = align(**arguments)
    if folder is not None:
        for path in run.write(folder, command=command_line()):
            remark(f"wrote {path}")
    return run.result


def _is_bad(result: Any, options: Values) -> bool:
    return not options["dry_run"] and not result.shown


def _next(result: Any, typed: Typed) -> str | None:
    if typed["dry_run"]:
        return typed.again(without="--dry-run")
    folder = typed["output"]
    words = list[object]()
    if result.chosen is None and folder is not None and result.suspects:
        return command("view", Path(folder) / "suspects.jsonl", "--blind")
    if result.chosen is None:
        words += ["--prompt", typed["prompt"]] if typed["prompt"] else []
    elif folder is None:
        return typed.again("-o", "aligned")
    else:
        words += ["--prompt", Path(folder) / "prompt.txt"]
        if result.demonstrations:
            words += ["--demonstrations", Path(folder) / "demonstrations.jsonl"]
        if result.reason:
            words.append("--reason")
    asked = ("--protocol", result.protocol, *typed.options("judge", _ASKING), *words)
    return command("judge", "NEW_ROWS", "--judge", typed["judge"], *asked, "-o", "judged.jsonl")


COMMAND = Verb(
    "align",
    "adjudge.alignment:align",
    "Search a better prompt; certify its gain on unseen labels.",
    "align pairs.jsonl --judge openai:M --proposer openai:BIG -o aligned",
    "Exit 0: a gain is shown. Exit 2: no gain is shown, or your own prompt stays.\n\n"
    "The labels are divided once, and the store remembers the parts and the looks.",
    main="judge prompt proposer protocol candidates looks store max_cost dry_run output json",
    without="output reason demonstrations repeats first_repeat retry keep_going engine workers "
    "ray_address batch batch_folder poll_s scale progress handle_signals",
    options=[
        Option("judge", "The judge, such as openai:MODEL.", repeats=False, required=True),
        Option("protocol", "How to ask: preference for pairs, grade for single answers."),
        Option("seed", "Seed of the parts, and of what a protocol draws.", words="0"),
        Option("shares", type=str, repeats=False, words="20,30,50", read=_SHARES),
        Option(
            "output",
            "Write prompt, demonstrations, result, policy, changed rows and suspect labels into "
            "this folder.",
            written=False,
        ),
        store_option("Store of replies, parts and looks: a file or postgresql://..."),
        Option("dry_run", "Print parts, smallest gain, most calls and cost; ask no judge.", bool),
    ],
    run=_run,
    bad=_is_bad,
    step=_next,
    panel="Is the judge good",
    place=3,
)
