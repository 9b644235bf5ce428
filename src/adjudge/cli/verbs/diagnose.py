"""`adjudge diagnose`: cycles, score sets, biases, prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjudge.cli.output import remark
from adjudge.cli.steps import save_as
from adjudge.cli.verb import (
    Group,
    Option,
    Values,
    Verb,
    parsed,
    picked,
    prepare_rows,
    read_by,
    scale_option,
    written,
)
from adjudge.errors import ArgumentError
from adjudge.present.text import group_name

if TYPE_CHECKING:
    from adjudge.diagnosis.bias import JudgeBias

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


_SCORE_FIGURE = read_by(
    "adjudge.validation:one_of",
    choices=("sizes", "coverage", "width", "agreement"),
    name="--figure",
)


def thresholds(default: str, *names: str) -> Option:
    """--fail-above for measures by name. A number without a name is the threshold of `default`."""
    measures = (default, *names)
    number = parsed("--fail-above", "give a number, like 0.05", float)

    def read(texts: Sequence[str]) -> dict[str, float]:
        limits = {}
        for text in texts:
            name, equals, value = text.rpartition("=")
            name = name.strip() if equals else default
            if name not in measures:
                raise ArgumentError("--fail-above", text, "name one of " + ", ".join(measures))
            limits[name] = number(value)
        return limits

    text = "VALUE or NAME=VALUE. Exit with code 2 if a group is above it."
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
    options["first_alpha"] = float(alphas[0])
    return result


def _bad_transitivity(result: Any, options: Values) -> bool:
    amounts = [
        (group_name(group.judge, group.criterion), {name: getattr(group, name) for name in CYCLES})
        for group in result.groups
    ]
    return _any_above(options, amounts) or all(group.mean_rate is None for group in result.groups)


def _bad_scores(result: Any, options: Values) -> bool:
    amounts = []
    for group in result.groups:
        if (group.method, group.alpha) == (result.main_method, options["first_alpha"]):
            values = dict(zip(SCORE_SETS, (group.mean_size, 1 - group.coverage), strict=True))
            amounts.append((group_name(group.judge, group.criterion), values))
    return _any_above(options, amounts) or all(group.whole_scale for group in result.groups)


def _bad_prompts(result: Any, options: Values) -> bool:
    amounts = []
    for group in result.groups:
        shift = None if group.shift is None else abs(group.shift)
        values = {"changed": group.changed, "excess": group.excess, "shift": shift}
        amounts.append((group_name(group.judge, group.criterion), values))
    return _any_above(options, amounts)


def _bad_bias(result: Any, options: Values) -> bool:
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


def _any_above(options: Values, groups: Sequence[tuple[str, Mapping[str, float | None]]]) -> bool:
    """Print each group above a threshold of --fail-above. True if there is one."""
    limits = options["fail_above"] or {}
    above = False
    for who, amounts in groups:
        for name, limit in limits.items():
            value = amounts[name]
            if value is not None and value > limit:
                remark(f"{who}: {name} {value:.4g} is above {limit:g}")
                above = True
    return above


_TRANSITIVITY = Verb(
    "diagnose transitivity",
    "adjudge.diagnosis:diagnose_transitivity",
    "Count cycles (A over B over C over A) per document.",
    "diagnose transitivity tournaments.csv",
    "Also prints how many cycles a transitive but noisy judge would show.\n\n"
    "--fail-above takes mean_rate (the default), median_rate, max_rate or share_with_cycle.",
    options=[Option("tournaments", argument="source"), thresholds(*CYCLES)],
    bad=_bad_transitivity,
    step=save_as("transitivity.json"),
)


_SCORES = Verb(
    "diagnose scores",
    "adjudge.diagnosis:diagnose_scores",
    "Make sets that contain the human score at your rate.",
    "diagnose scores scores.jsonl --alpha 0.1",
    "--fail-above takes mean_size (the default) or miss_rate, of these sets at the first alpha.",
    main="alpha scale labels sets by column fail_above write_sets output plot figure json",
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
        thresholds(*SCORE_SETS),
    ],
    run=_run_scores,
    bad=_bad_scores,
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
    "retest. A measure counts if the rows exclude an unbiased judge and it is not below --floor.",
    main="pairs labels by floor families column fail_above output plot explain json",
    options=[
        Option("judgments", argument="source"),
        Option("figure", "For --plot: bias, or reliability of one judge."),
        thresholds(*BIASES),
    ],
    bad=_bad_bias,
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
    options=[thresholds(*PROMPTS)],
    bad=_bad_prompts,
    step=save_as("prompts.json"),
)


COMMAND = Group(
    "diagnose",
    "Find where the judge fails: cycles, scores, biases, prompts.",
    [_TRANSITIVITY, _SCORES, _BIAS, _PROMPTS],
    panel="Is the judge good",
    place=2,
)
