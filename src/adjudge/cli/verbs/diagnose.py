"""`adjudge diagnose`: cycles, score sets, biases, prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from adjudge.cli.output import remark
from adjudge.cli.steps import save_as
from adjudge.cli.verb import (
    Group,
    Intervals,
    Option,
    Values,
    Verb,
    above,
    picked,
    prepare_rows,
    read_by,
    scale_option,
    written,
)
from adjudge.errors import ArgumentError
from adjudge.present.text import group_name
from adjudge.records import Interval

if TYPE_CHECKING:
    from adjudge.diagnosis.bias import JudgeBias

#: What --fail-above can name of a bias: a diagnosis, and one of its measures. If an unbiased judge
#: has one half, the limit is on the distance from one half.
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


_SCORE_FIGURE = read_by(
    "adjudge.validation:one_of",
    choices=("sizes", "coverage", "width", "agreement"),
    name="--figure",
)


def thresholds(default: str, *names: str) -> Option:
    """--fail-above for measures by name. A number without a name is the limit of `default`."""
    measures = (default, *names)
    number = read_by("adjudge.validation:finite_number", name="--fail-above")

    def read(texts: Sequence[str]) -> dict[str, float]:
        limits = {}
        for text in texts:
            name, equals, value = text.rpartition("=")
            name = name.strip() if equals else default
            if name not in measures:
                raise ArgumentError("--fail-above", text, "name one of " + ", ".join(measures))
            limits[name] = number(value)
        return limits

    text = "VALUE or NAME=VALUE. Exit 2 if a group is shown to be above it, 3 if unknown."
    return Option("fail_above", text, str, repeats=True, read=read)


def _run_scores(arguments: Values, options: Values) -> Any:
    from adjudge.data import write_rows
    from adjudge.diagnosis import diagnose_scores, score_set_rows
    from adjudge.diagnosis.scores.diagnose import ALPHAS

    alphas = arguments.pop("alphas", None) or [str(level) for level in ALPHAS]
    prepared = prepare_rows("adjudge.data.scores:prepare_scores", arguments)
    result = diagnose_scores(prepared, alphas=alphas, **arguments)
    if (write_sets := options["write_sets"]) is not None:
        how = picked(arguments, "sets", "scale", "target", "seed")
        rows = score_set_rows(prepared, alpha=alphas[0], **how)
        used = ", ".join(rows["sets"].drop_nulls().unique())
        remark(f"wrote {write_rows(rows, write_sets)}: {rows.height:,} rows, {used} sets")
    return result


def _cycles(result: Any) -> Intervals:
    return {
        group_name(group.judge, group.criterion): {
            "mean_rate": group.mean_interval,
            "share_with_cycle": group.share_interval,
        }
        for group in result.groups
    }


def _changes(result: Any) -> Intervals:
    return {
        group_name(group.judge, group.criterion): {
            "changed": group.interval,
            "excess": group.excess_interval,
            "shift": _distance(group.shift_interval, 0.0),
        }
        for group in result.groups
    }


def _biases(result: Any) -> Intervals:
    return {
        group_name(judge.judge, none="the judge"): dict(_biases_of(judge))
        for judge in result.judges
    }


def _biases_of(judge: JudgeBias) -> Iterator[tuple[str, Interval | None]]:
    for name, (field, at) in BIASES.items():
        if (diagnosis := getattr(judge, field)) is not None:
            measure = diagnosis.measures()[at]
            centred = measure.unbiased == 0.5
            yield name, _distance(measure.interval, 0.5) if centred else measure.interval


def _distance(interval: Interval | None, centre: float) -> Interval | None:
    """The interval of the distance from the centre."""
    if interval is None or interval.low is None or interval.high is None:
        return interval
    low = interval.low - centre
    high = interval.high - centre
    return Interval(max(low, -high, 0.0), max(-low, high), level=interval.level)


_TRANSITIVITY = Verb(
    "diagnose transitivity",
    "adjudge.diagnosis:diagnose_transitivity",
    "Count cycles (A over B over C over A) per document.",
    "diagnose transitivity tournaments.csv",
    "Also prints how many cycles a transitive but noisy judge would show.\n\n"
    "--fail-above takes mean_rate (the default) or share_with_cycle.",
    options=[
        Option("tournaments", argument="source"),
        thresholds("mean_rate", "share_with_cycle"),
    ],
    bad=lambda result, options: (
        above(options, _cycles(result), "fail")
        or all(group.mean_rate is None for group in result.groups)
    ),
    unknown=lambda result, options: above(options, _cycles(result), "inconclusive"),
    step=save_as("transitivity.json"),
)


_SCORES = Verb(
    "diagnose scores",
    "adjudge.diagnosis:diagnose_scores",
    "Make sets that contain the human score at your rate.",
    "diagnose scores scores.jsonl --alpha 0.1",
    main="alpha scale labels sets by column write_sets output plot figure json",
    without="labels_as",
    options=[
        Option("file", argument="source"),
        Option("alpha", argument="alphas", type=str),
        scale_option("Lowest and highest score, such as 1-5."),
        written("write_sets", "Write every row with its set and advice (first alpha) here."),
        Option(
            "figure",
            "For --plot: sizes, coverage, width or agreement.",
            default="sizes",
            read=_SCORE_FIGURE,
        ),
    ],
    run=_run_scores,
    bad=lambda result, _: all(group.whole_scale for group in result.groups),
    step=save_as("scores.json"),
    panels={"Rows": "target", "Output": "write_sets"},
)


_BIAS = Verb(
    "diagnose bias",
    "adjudge.diagnosis:diagnose_bias",
    "Measure position, length and family bias, and agreement.",
    "diagnose bias judgments.jsonl",
    "--fail-above takes position (the default; distance of the first slot's share from one half), "
    "flip_share, length (points that length adds, minus people's if there are labels), verbosity "
    "(near-tied pairs; distance from one half), family, ece, over_confidence, contradictions, "
    "retest.",
    main="pairs labels by floor families column fail_above output plot explain json",
    options=[
        Option("judgments", argument="source"),
        Option("figure", "For --plot: bias, or reliability of one judge."),
        thresholds(*BIASES),
    ],
    bad=lambda result, options: (
        above(options, _biases(result), "fail") or not any(judge.parts() for judge in result.judges)
    ),
    unknown=lambda result, options: above(options, _biases(result), "inconclusive"),
    step=save_as("bias.json"),
)


_PROMPTS = Verb(
    "diagnose prompts",
    "adjudge.diagnosis:diagnose_prompts",
    "Measure how often answers change with the prompt.",
    "diagnose prompts first.jsonl second.jsonl",
    "With repeats in both files (judge --repeats 3), it also measures what the prompt adds "
    "to asking again. --fail-above takes changed (the default), excess, or shift (of "
    "scores, without its sign).",
    rows=("first", "second"),
    options=[thresholds("changed", "excess", "shift")],
    bad=lambda result, options: above(options, _changes(result), "fail"),
    unknown=lambda result, options: above(options, _changes(result), "inconclusive"),
    step=save_as("prompts.json"),
)


COMMAND = Group(
    "diagnose",
    "Find where the judge fails: cycles, scores, biases, prompts.",
    [_TRANSITIVITY, _SCORES, _BIAS, _PROMPTS],
    panel="Is the judge good",
    place=2,
)
