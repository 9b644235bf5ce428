"""The command that comes next: one line at the end of a verb, with the files that were typed.

A step looks at the result and at what was typed. It returns the next command without "adjudge", or
None if there is none. A word in capitals stands for a file that the command cannot know.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adjudge.cli.output import command_line

if TYPE_CHECKING:
    from adjudge.cli.verb import Option

#: Options that say how rows are read: the next command on the same rows needs them too.
_READING = (
    *("labels", "column", "labels_column", "labels_as", "format", "judge", "protocol", "cluster"),
    *("pairs", "model_labels", "judge_column", "human_column", "positive", "raters", "scale"),
)
#: Options that say how a judge is asked, its prompt aside.
_ASKING = (
    *("samples", "max_tokens", "min_answer_mass", "order", "criteria", "base_url", "api_key_env"),
    "extra_body",
)


@dataclass(frozen=True)
class Typed:
    """The command that ran: the names of its positional arguments, and all values as typed."""

    positional: Sequence[str]
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name)

    @property
    def rows(self) -> str | None:
        """The file it read; None if that was standard input or no file."""
        file = self[self.positional[0]] if self.positional else None
        return None if file is None or str(file) == "-" else str(file)

    def again(self, *more: str, without: str = "--explain") -> str | None:
        """The same command with more options, and without one."""
        if (line := command_line()) is None:
            return None
        line = line.removeprefix("adjudge ").replace(" --explain", "").replace(f" {without}", "")
        return " ".join([line, *more])

    def on_same_rows(self, verb: str, *words: object) -> str | None:
        """A verb on the file that this one read, read in the same way."""
        if self.rows is None:
            return None
        return command(verb, self.rows, *words, *self.options(verb, _READING))

    def options(self, verb: str, names: Sequence[str]) -> list[object]:
        """Those of these options that were typed and that another verb also takes."""
        from adjudge.cli.app import all_verbs

        options = all_verbs()[verb].parameters
        typed = [name for name in names if name in options and self[name] is not None]
        return [word for name in typed for word in _words(options[name], self[name])]


def _words(option: Option, value: Any) -> Iterator[object]:
    for each in value if option.repeats and isinstance(value, (list, tuple)) else [value]:
        yield option.flag
        if option.type is not bool:
            yield from each if isinstance(each, (list, tuple)) else [each]


def command(verb: str, *words: object) -> str:
    """The verb and its words, quoted for a shell.

    >>> command("rank", "my battles.csv", "--evaluate")
    "rank 'my battles.csv' --evaluate"
    """
    return " ".join([verb, *(shlex.quote(str(word)) for word in words)])


#: Returns the command that comes after a result.
Step = Callable[..., str | None]


def no_step(_: Any, typed: Typed) -> str | None:
    return None


def save_as(name: str) -> Step:
    """First write the result to a file of this name, then make a report of its folder."""

    def step(_: Any, typed: Typed) -> str | None:
        output = typed["output"]
        if output is None:
            return typed.again("-o", name)
        # A report reads results from files of this ending alone.
        return command("report", Path(output).parent) if Path(output).suffix == ".json" else None

    return step


def after_label_plan(plan: Any, typed: Typed) -> str | None:
    if not getattr(plan, "feasible", True):
        return typed.on_same_rows("plan labels", "--write-ids", "to_label.csv")
    if (ids := typed["write_ids"]) is not None:
        return command("label", "ROWS", "--plan", ids, "-o", "labels.csv")
    return None if typed.rows is None else typed.again("--write-ids", "to_label.csv")


def after_rate_plan(plan: Any, typed: Typed) -> str | None:
    needed = plan.needed(typed["draw"])
    if needed is not None and needed <= plan.labelled:
        return typed.on_same_rows("estimate")
    return after_label_plan(plan, typed)


def after_selection_plan(plan: Any, typed: Typed) -> str | None:
    if plan.recommended is None or plan.recommended > plan.n_labelled:
        return after_label_plan(plan, typed)
    levels = ("--alpha", f"{plan.alpha:g}", "--guarantee", plan.guarantee)
    return typed.on_same_rows("calibrate", *levels, "-o", "policy.json")


def after_judging(result: Any, typed: Typed) -> str | None:
    from adjudge.judges.judge import PROTOCOLS
    from adjudge.records import Score

    if typed["dry_run"]:
        words = () if typed["output"] else ("-o", "judgments.jsonl")
        return typed.again(*words, without="--dry-run")
    output, summaries = typed["output"], getattr(result, "judges", (result,))
    if output is None:
        return None
    if any(judging.statuses.get("error") or judging.not_asked for judging in summaries):
        return typed.again()
    protocol = PROTOCOLS.load(summaries[0].protocol)
    if issubclass(protocol.record, Score):
        return command("diagnose scores", output)
    if any(judging.agreement_rows for judging in summaries):
        return command("calibrate", output, "--alpha", "0.1", "-o", "policy.json")
    plan = command("plan labels", output, "--write-ids", "to_label.csv")
    rows = typed.rows or "ROWS"
    label = command("label", rows, "--plan", "to_label.csv", "-o", "labels.csv")
    return f"{plan} && adjudge {label}"


def after_conversion(result: Any, typed: Typed) -> str | None:
    from adjudge.data.formats import kinds_of

    rows, kind = typed["output"] or typed.rows, result.rows_kind
    if rows is None:
        return None
    if kind in ("judgments", "grades") and not any(metric.labels for metric in result.metrics):
        if typed.rows is not None and {"items", "pairs"} & kinds_of(result.format):
            return command("label", typed.rows, "-o", "labels.csv")
        return command("plan labels", rows, "--write-ids", "to_label.csv")
    verbs = {"judgments": "calibrate", "grades": "estimate", "battles": "rank"}
    many = len({metric.metric for metric in result.metrics}) > 1
    groups = ("--by", "metric") if kind == "grades" and many else ()
    return command(verbs[kind], rows, *groups) if kind in verbs else None


def after_calibration(policy: Any, typed: Typed) -> str | None:
    if not policy.feasible:
        return typed.on_same_rows("plan selection", "--alpha", f"{policy.alpha:g}")
    if (output := typed["output"]) is None:
        return typed.again("-o", "policy.json")
    unlabelled = any("no label" in reason for reason in policy.dropped)
    rows = typed.rows if unlabelled and typed.rows else "NEW_JUDGMENTS"
    names = [("--judge", typed["judge"]), ("--protocol", typed["protocol"])]
    chosen = [word for flag, name in names if isinstance(name, str) for word in (flag, name)]
    return command("select", rows, "--policy", output, *chosen, "-o", "selected.csv")


def after_selection(summary: Any, typed: Typed) -> str | None:
    if summary.n_accepted == 0 or summary.drift.flagged:
        return typed.on_same_rows("plan labels", "--write-ids", "to_label.csv")
    judges = {group.judge for group in summary.groups if group.n}
    if len(judges) > 1 and typed["judge"] is None:
        return typed.again("--judge", "NAME")
    if (output := typed["output"]) is None:
        return typed.again("-o", "selected.csv")
    if summary.n_accepted == summary.n:
        return command("report", Path(output).parent)
    rows = typed["pairs"] or "ROWS"
    return command("label", rows, "--abstentions", output, "-o", "labels.csv")


def after_evaluation(evaluation: Any, typed: Typed) -> str | None:
    alpha = 0.1 if 0.1 in evaluation.alphas else evaluation.alphas[0]
    return typed.on_same_rows("calibrate", "--alpha", f"{alpha:g}", "-o", "policy.json")


def after_estimate(result: Any, typed: Typed) -> str | None:
    complete = all(rate.low is not None for rate in result.intervals())
    if complete or getattr(result, "n_test", None) == 0:
        return save_as("estimate.json")(result, typed)
    rates = {getattr(result, name, None) for name in ("sensitivity", "specificity")}
    plan = ("plan labels",) if None in rates else ("plan rate", "--width", "0.1")
    return typed.on_same_rows(*plan, "--write-ids", "to_label.csv")


def after_comparison(result: Any, typed: Typed) -> str | None:
    if getattr(result, "next", ()):
        from adjudge.data.tables import first_row

        if (ids := typed["write_ids"]) is None:
            return typed.again("--write-ids", "to_label.csv")
        # Grades alone cannot be shown to people: another file has the answers.
        rows = ids if {"response", "response_a"} & {*(first_row(ids) or ())} else "ROWS"
        words = ("-o", typed["labels"]) if typed["labels"] is not None else ()
        options = [(f"--{name}", typed[name]) for name in ("store", "scale")]
        flags = [word for option in options if option[1] is not None for word in option]
        return command("label", rows, "--plan", ids, *flags, *words)
    pairs: Sequence[Any] = () if getattr(result, "of_many", True) else result.differences
    if len(pairs) == 1 and pairs[0].people is None and typed["other"] is None:
        [pair] = pairs
        sides = (("--a", typed["a"], pair.a), ("--b", typed["b"], pair.b))
        names = [word for flag, given, name in sides if given is None for word in (flag, name)]
        return typed.again(*map(shlex.quote, names), "--until-sure", "--write-ids", "to_label.csv")
    return save_as("comparison.json")(result, typed)


def after_ranking(board: Any, typed: Typed) -> str | None:
    """The command of the advice, which ends it, unless the board was written."""
    _, colon, advised = getattr(board, "advice", "").partition(": adjudge ")
    if colon and typed["output"] is None and typed.rows is not None and not board.loo:
        return str(advised)
    return save_as("leaderboard.json")(board, typed)


def after_cascade_plan(_: Any, typed: Typed) -> str | None:
    if (output := typed["output"]) is None:
        return typed.again("-o", "plan.json")
    return typed.on_same_rows("calibrate", "--plan", output, "-o", "policy.json")


def after_drawing(_: Any, typed: Typed) -> str | None:
    if (output := typed["output"]) is None:
        return typed.again("-o", "audits.csv")
    return command("label", "ROWS", "--plan", output, "-o", "labels.csv")


def after_check(monitor: Any, typed: Typed) -> str | None:
    if monitor.alarm:
        policy = command("calibrate", "NEW_JUDGMENTS", "--alpha", f"{monitor.alpha:g}")
        return f"{policy} -o policy.json"
    return save_as("monitor.json")(monitor, typed)


def after_alignment(result: Any, typed: Typed) -> str | None:
    if typed["dry_run"]:
        return typed.again(without="--dry-run")
    folder, words = typed["output"], list[object]()
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


def after_labelling(summary: Any, typed: Typed) -> str | None:
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
