"""Where output goes, how verbs deliver their results, which findings are bad, and exit codes.

Results go to standard output, progress and messages to standard error. Exit 0: done. Exit 2: done,
and the finding is bad. Exit 1: could not run; one line on standard error names the remedy. If the
reader of the output closes the pipe (`| head -1`), the exit code is the same and the rest is not
printed.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from adjudge.errors import ArgumentError
from adjudge.present.text import count, group_name, percent, safe, safe_json, without_passwords

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID

    from adjudge.diagnosis.bias import JudgeBias
    from adjudge.judges.flow import Progress as Snapshot
    from adjudge.judges.summary import Judging
    from adjudge.present.blocks import Block
    from adjudge.present.result import Result
    from adjudge.ranking.leaderboard import Leaderboard


DONE, FAILED, BAD_FINDING = 0, 1, 2


def remark(message: object) -> None:
    """Print one line to standard error. Markup and line ends in `message` are printed as text."""
    if sys.stderr is None:  # a caller can have closed it
        return
    text = safe(without_passwords(str(message))).replace("\n", r"\n")
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        read_no_further(sys.stderr)


def show(*parts: RenderableType | Block, explain: bool = False) -> None:
    """Print for a person, to standard output. Plain strings are not read as markup."""
    from rich.text import Text

    from adjudge.present.blocks import Block
    from adjudge.present.render.terminal import render_terminal

    console = screen(stderr=False)
    console.soft_wrap = not console.is_terminal  # a terminal would break lines inside words
    for part in parts:
        if isinstance(part, str):
            console.print(Text(safe(part)))
        elif isinstance(part, Block):
            for renderable in render_terminal([part], explain=explain):
                console.print(renderable)
        else:
            console.print(part)


def screen(*, stderr: bool) -> Console:
    """A console, made per call so that redirection works. A closed pipe is not an error."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            read_no_further(sys.stderr if self.stderr else sys.stdout)

    return Screen(stderr=stderr, highlight=False, soft_wrap=stderr)


def echo(text: str, *, end: str = "\n") -> None:
    """Print to standard output unchanged, for programs that read it."""
    try:
        click.echo(text + end, nl=False)
    except BrokenPipeError:
        read_no_further(sys.stdout)


def read_no_further(stream: TextIO) -> None:
    """Discard further output: the reader of this stream has closed it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        # The stream is not a file here (a notebook, a test), so nothing can be redirected.
        return


def write(result: Result, path: Path) -> None:
    """Write a result with the command that made it."""
    from adjudge.data import write_result

    write_result(result, path, command=command_line())


def save_rows(rows: pl.DataFrame, path: Path, noun: str | None = None) -> None:
    """Write rows and name their file; with a noun, also their number."""
    from adjudge.data import write_rows

    write_rows(rows, path)
    remark(f"wrote {path}" if noun is None else f"wrote {count(rows.height, noun)} to {path}")


def deliver(result: Any, options: Mapping[str, Any]) -> None:
    """Write a result and its pictures to the given files, then print it: as JSON, or for a person.

    Files are written first, so that a closed pipe loses nothing. The options are output, summary,
    plot, figure, figures, explain and json, of which a verb can have fewer; `next_step` returns the
    command to print at the end. Of rows with a `summary`, output has the rows and summary the
    result.
    """
    from adjudge.present.figure import save_figure
    from adjudge.present.result import Result

    output = options.get("output")
    if not isinstance(result, Result):
        if output is not None:
            save_rows(result.rows, output)
        result = result.summary
    if (output := options.get("summary", output)) is not None:
        write(result, output)
        remark(f"wrote {output}")
    if (plot := options.get("plot")) is not None:
        result.plot(plot, figure=options.get("figure"))
        remark(f"wrote {plot}")
    if (folder := options.get("figures")) is not None:
        for name, figure in result.figures().items():
            remark(f"wrote {save_figure(figure.draw(), folder / f'{name}.png')}")
    if options.get("json"):
        for piece in result.json_pieces():
            echo(safe_json(piece), end="")
        echo("")
        return
    blocks, explain = result.view(), options.get("explain")
    if explain is False:
        blocks = _with_hint(blocks)
    show(*blocks, explain=bool(explain))
    if (command := options["next_step"](result)) is not None:
        show(f"next: adjudge {command}")


def _with_hint(blocks: Sequence[Block]) -> list[Block]:
    """Remarks in a line each, and a hint at --explain in the last plain note if more is folded."""
    from adjudge.present.blocks import Note, is_folded

    hinted = list(blocks)
    for at, block in enumerate(blocks):
        if isinstance(block, Note) and block.brief and not block.detail:
            hinted[at] = Note([block.brief], block.tone)
    notes = {at: note for at, note in enumerate(hinted) if isinstance(note, Note)}
    if hinted != list(blocks) or not any(map(is_folded, blocks)):
        return hinted
    printed = [at for at, note in notes.items() if note.brief or not note.detail]
    if not printed:
        return [*hinted, Note(["--explain prints more"])]
    at = max(printed, key=lambda at: (notes[at].tone == "plain", at))
    *before, last = [notes[at].brief] if notes[at].brief else notes[at].lines
    hinted[at] = Note([*before, f"{last} (--explain: more)"], notes[at].tone)
    return hinted


class Watch:
    """Shows the progress of a run. `made` holds the number of calls made by each judge."""

    def __init__(self, title: str, bar: Progress | None) -> None:
        self.made: dict[str, int] = {}
        self._title = title
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}
        self._line_at = time.monotonic()

    def show(self, now: Snapshot) -> None:
        """Show one snapshot: in the bar, or as a line from time to time."""
        from adjudge.judges.flow import LINE_EVERY_S, describe_progress

        self.made[now.judge] = now.made
        title = f"{now.judge}, {self._title}" if now.judge else self._title
        if self._bar is not None:
            if now.judge not in self._tasks:
                self._tasks[now.judge] = self._bar.add_task(safe(title), total=now.total, text="")
            task, text = self._tasks[now.judge], safe(describe_progress(now))
            self._bar.update(task, completed=now.done, total=now.total, text=text)
        elif time.monotonic() - self._line_at >= LINE_EVERY_S:
            self._line_at = time.monotonic()
            remark(f"{title}: {describe_progress(now)}")

    def end_with(self, message: str) -> None:
        """Remove the bar from the screen, then print a line."""
        if self._bar is not None:
            self._bar.stop()
        remark(message)


@contextmanager
def watch_run(title: str) -> Iterator[Watch]:
    """A watch for the duration of a run: with a bar if standard error is a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = screen(stderr=True)
    if not console.is_terminal:
        yield Watch(title, None)
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        transient=True,
        refresh_per_second=5,
    )
    with bar:
        yield Watch(title, bar)


@contextmanager
def reader_remarks(take: Callable[[str], object]) -> Iterator[None]:
    """Inside, `take` gets each message of the readers once. A file can be read twice."""
    seen = set[str]()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if (text := record.getMessage()) not in seen:
                seen.add(text)
                take(text)

    log = logging.getLogger("adjudge.data")
    before = log.handlers, log.propagate
    log.handlers, log.propagate = [Handler()], False
    try:
        yield
    finally:
        log.handlers, log.propagate = before


_RUNNING: ContextVar[Sequence[str]] = ContextVar("arguments", default=())
#: A request body can hold a key under any name. A name that is not set can be a key.
_HIDDEN, _VARIABLES = "--extra-body", ("--api-key-env", "--secret-env")
#: A longer command, such as one that names thousands of files, could not be read back.
_LONGEST = 20_000


@contextmanager
def running(arguments: Sequence[str]) -> Iterator[None]:
    """While these arguments run, `command_line` returns their command."""
    before = _RUNNING.set(arguments)
    try:
        yield
    finally:
        _RUNNING.reset(before)


def command_line() -> str | None:
    """The command that is running, as it can be typed again. None if no command is running.

    It is written into the files of results. Paths stay as typed. URLs lose users, passwords and
    options. Keys and the values of secret environment variables are redacted. The value of
    --extra-body is not shown, nor that of --api-key-env if no variable has this name.

    >>> with running(["judge", "my pairs.csv", "--store=postgresql://me:pw@db/x"]):
    ...     command_line()
    "adjudge judge 'my pairs.csv' --store=postgresql://db/x"
    """
    from adjudge.judges.redact import Redactor, environment_secrets
    from adjudge.store.interface import SCHEME, without_secrets

    arguments = _RUNNING.get()
    if not arguments:
        return None
    strike = Redactor(environment_secrets())
    words = []
    for before, argument in zip(("", *arguments), arguments, strict=False):
        option, value = before, argument
        if argument.startswith("--") and "=" in argument:
            option, _, value = argument.partition("=")
        start = argument.removesuffix(value)
        if option == _HIDDEN or (option in _VARIABLES and value not in os.environ):
            value = "..."
        elif option == "--store":
            value = without_secrets(value)
        elif (url := SCHEME.search(value)) is not None:
            value = value[: url.start()] + without_secrets(value[url.start() :])
        words.append(strike(without_passwords(start + value)))
    line = safe(shlex.join(["adjudge", *words]))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


Options = Mapping[str, Any]
#: What --fail-above can name, with the default first. For biases: a diagnosis, and one of its
#: measures; if an unbiased judge has one half, the threshold is on the distance from one half.
CYCLES = ("mean_rate", "median_rate", "max_rate", "share_with_cycle")
SCORE_SETS = ("mean_size", "miss_rate")
PROMPTS = ("changed", "excess", "shift")
BIASES = {
    "position": ("position", 0),
    "flip_share": ("position", -1),
    "length": ("length", 0),
    "verbosity": ("verbosity", 0),
    "family": ("family", 0),
    "ece": ("reliability", -1),
    "over_confidence": ("reliability", 0),
    "contradictions": ("contradictions", 0),
    "retest": ("retest", 0),
}


def bad_if(field: str, state: bool = True) -> Callable[[Any, Options], bool]:
    """The finding is bad if this field of the result is in this state."""
    return lambda result, _: bool(getattr(result, field)) is state


def bad_policy(policy: Any, _: Options) -> bool:
    if not policy.feasible:
        remark(f"nothing can be accepted at alpha {policy.alpha:g} under {policy.guarantee}")
    return not policy.feasible


def bad_selection(run: Any, _: Options) -> bool:
    from adjudge.records import LABELLED

    drifted = bool(run.summary.drift.flagged)
    if drifted:
        remark(
            "the new scores do not look like the calibration scores: the guarantee might not hold; "
            f"label some of the new {LABELLED[run.summary.about]} and calibrate again"
        )
    if run.summary.n_accepted == 0:
        remark("nothing was accepted")
    return drifted or run.summary.n_accepted == 0


def bad_evaluation(evaluation: Any, options: Options) -> bool:
    if (limit := options["fail_above"]) is None:
        return False
    main = map(evaluation.main_signal, evaluation.judges)
    bad = [quality for quality in main if quality.ece is None or quality.ece > limit]
    for quality in bad:
        ece = None if quality.ece is None else f"ECE {quality.ece:.3f} is above {limit:g}"
        remark(f"{quality.judge}: {ece or 'no verdict, so no ECE'}")
    return bool(bad)


def bad_estimate(result: Any, options: Options) -> bool:
    lows = [rate.low for rate in result.intervals()]
    if None in lows:
        return True
    limit = options["fail_below"]
    below = limit is not None and any(low < limit for low in lows)
    if below:
        remark(f"adjudge estimate: an interval reaches below {limit:g}")
    return below


def bad_comparison(result: Any, options: Options) -> bool:
    for option, bad in (("fail_unless_better", "better"), ("fail_if_worse", "worse")):
        if options[option] and getattr(result, "of_many", False):
            raise ArgumentError(option, True, "is for two systems: name them, --a and --b")
        if options[option] and getattr(result, bad) is (bad == "worse"):
            shown = "not shown to be better" if bad == "better" else "shown to be worse"
            remark(f"adjudge compare: {shown}")
            return True
    # An undecided --until-sure asks for more labels: that is not a bad finding.
    pairs = getattr(result, "differences", ())
    return bool(pairs) and all(pair.reported.estimate is None for pair in pairs)


def bad_selection_plan(plan: Any, _: Options) -> bool:
    bad = plan.points[-1].coverage < plan.gain
    if bad:
        share, alpha = plan.gain, plan.alpha
        remark(f"no planned number of labels accepts {share:g} of the verdicts at alpha {alpha:g}")
    return bool(bad)


def bad_cascade_plan(plan: Any, _: Options) -> bool:
    if not plan.feasible and plan.candidate == "jury":
        remark(f"the jury accepts nothing at alpha {plan.alpha:g}")
    elif not plan.feasible:
        remark(f"no tau passes at alpha {plan.alpha:g}: every row would go to the last judge")
    return not plan.feasible


def bad_transitivity(result: Any, options: Options) -> bool:
    amounts = [
        (group_name(group.judge, group.criterion), {name: getattr(group, name) for name in CYCLES})
        for group in result.groups
    ]
    return _any_above(options, amounts) or all(group.mean_rate is None for group in result.groups)


def bad_scores(result: Any, options: Options) -> bool:
    amounts = []
    for group in result.groups:
        if (group.method, group.alpha) == (result.main_method, options["first_alpha"]):
            values = dict(zip(SCORE_SETS, (group.mean_size, 1 - group.coverage), strict=True))
            amounts.append((group_name(group.judge, group.criterion), values))
    return _any_above(options, amounts) or all(group.whole_scale for group in result.groups)


def bad_prompts(result: Any, options: Options) -> bool:
    amounts = []
    for group in result.groups:
        shift = None if group.shift is None else abs(group.shift)
        values = {"changed": group.changed, "excess": group.excess, "shift": shift}
        amounts.append((group_name(group.judge, group.criterion), values))
    return _any_above(options, amounts)


def bad_bias(result: Any, options: Options) -> bool:
    limits = options["fail_above"] or {}
    amounts = [_bias_amounts(judge, limits) for judge in result.judges]
    return _any_above(options, amounts) or not any(judge.parts() for judge in result.judges)


def _bias_amounts(
    judge: JudgeBias, limits: Mapping[str, float]
) -> tuple[str, dict[str, float | None]]:
    """How large each measure is; None if it does not count as a bias."""
    from adjudge.diagnosis.measures import BiasTest

    who = group_name(judge.judge, none="the judge")
    amounts: dict[str, float | None] = dict.fromkeys(BIASES)
    for name, (field, at) in BIASES.items():
        diagnosis = getattr(judge, field)
        measure = None if diagnosis is None else diagnosis.measures()[at]
        if measure is None or measure.value is None:
            continue
        value = abs(measure.value - 0.5) if measure.unbiased == 0.5 else measure.value
        if measure.departs:
            amounts[name] = value
        elif name in limits and value > limits[name]:
            small = isinstance(diagnosis, BiasTest) and diagnosis.floor > abs(value)
            but = "below --floor" if small else "these rows do not exclude an unbiased judge"
            remark(f"{who}: {name} {value:.4g} is above {limits[name]:g}, but {but}: not counted")
    return who, amounts


def _any_above(options: Options, groups: Sequence[tuple[str, Mapping[str, float | None]]]) -> bool:
    """Print each group above a threshold of --fail-above. True if there is one."""
    above = [
        f"{who}: {name} {value:.4g} is above {limit:g}"
        for who, amounts in groups
        for name, limit in (options["fail_above"] or {}).items()
        if (value := amounts[name]) is not None and value > limit
    ]
    for sentence in above:
        remark(sentence)
    return bool(above)


def bad_board(board: Leaderboard, options: Options) -> bool:
    placed = [row for row in board.models if row.origin == "new"]
    if not board.feasible or (placed and all(row.unbounded for row in placed)):
        return True
    if (limit := options["fail_above"]) is None:
        return False
    row = next((row for row in board.loo if row.method == board.method), None)
    if row is None:
        remark(f"--fail-above: {board.method} is not among the evaluated methods")
        return True
    if row.mae is None or row.mae > limit:
        error = "unknown" if row.mae is None else f"{row.mae:.1f} Elo, above {limit:g}"
        remark(f"{row.method}: mean held-out error {error}")
        return True
    return False


def bad_alignment(result: Any, options: Options) -> bool:
    return not options["dry_run"] and not result.shown


def bad_judging(result: Any, options: Options) -> bool:
    if options["dry_run"]:
        return False
    judges: Sequence[Judging] = getattr(result, "judges", (result,))
    if judges[0].stopped == "interrupted":
        remark("stopped; run the same command again to resume")
        raise click.exceptions.Exit(FAILED)
    bad = judges[0].stopped == "max_cost"
    if bad:
        missing = sum(judging.not_asked or 0 for judging in judges)
        remark(
            f"stopped at --max-cost with {missing:,} subjects not asked; "
            "run the same command with a higher one to resume"
        )
    for judging in judges:
        who = f"{judging.judge}: " if len(judges) > 1 else ""
        bad |= _lacks_rows(judging, who=who, limit=options["fail_above"])
    return bad


def _lacks_rows(judging: Judging, *, who: str, limit: float | None) -> bool:
    """Print what one judge's rows lack. True if that is a bad finding."""
    failed = judging.statuses.get("error", 0)
    if failed:
        remark(f"{who}{failed:,} rows are errors; run the same command again to ask only those")
    if judging.measured == 0:
        remark(f"{who}no row has a usable score")
        return True
    missing = judging.rows - judging.measured
    if limit is not None and missing > limit * judging.rows:
        share = percent(missing / judging.rows)
        remark(
            f"{who}{missing:,} of {judging.rows:,} rows ({share}) have no usable "
            f"score, more than --fail-above {limit:g}"
        )
        return True
    return False
