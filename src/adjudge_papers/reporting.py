"""The reporting paper: its simulation (Figures 2 to 6 and 9 to 16) and its protocol (Table 2).

Rows of section 8.2 are one per answer and model, with judge and people: from grades, from judgments
or battles of pairs (each counts once for each model), from pairs or items that a judge is asked
about first, or simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.data import (
    FORMATS,
    kinds_of,
    open_table,
    prepare_grades,
    read_items,
    read_pairs,
    read_public,
    sniff,
)
from adjudge.data.columns import UNNAMED
from adjudge.data.outcomes import OUTCOMES
from adjudge.data.rows import Rows, add_absent, tidy
from adjudge.data.steps.judges import check_judges
from adjudge.data.steps.labels import BROUGHT
from adjudge.data.tables import Table, TableLike, read_table, source_name
from adjudge.data.verdicts import prepare_verdicts
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.estimators.misclassification import corrected_interval, corrected_rate
from adjudge.judges import judge_pairs
from adjudge.present.blocks import Headline
from adjudge.present.figure import ACCENT, INK, WARM, new_figure
from adjudge.present.result import frozen
from adjudge.present.text import clip, percent, span
from adjudge.present.text import count as count_of
from adjudge.present.text import level as level_text
from adjudge.simulate.battles import simulate_battles
from adjudge.validation import count, open_unit
from adjudge_papers import reporting_simulation as simulation
from adjudge_papers.paper import (
    REHEARSAL,
    Reproduction,
    build_items,
    costs_calls,
    measured_tables,
    source_of,
    values_of,
)
from adjudge_papers.printed import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


#: Battles without data; the length of intervals is then near Table 2's.
SIMULATED_BATTLES = 4500


@frozen
class ReportingReproduction(Reproduction):
    """The reporting paper's simulation, its Chatbot Arena protocol, and all its items."""

    kind: ClassVar[str] = "reproduction_reporting"
    paper: ClassVar[str] = "reporting"
    drawings = simulation.PICTURES
    main_table: ClassVar[str] = "protocol"

    def _parts(self) -> Sequence[Row]:
        return self.rows("figures" if self.is_simulated("protocol") else "protocol")

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return self.settings.get("confidence_level", 0.95)

    def headline(self) -> Headline:
        """What intervals cover and how long they are, and what section 8.2 shows on these rows."""
        table = self.table("protocol")
        settings = self.rows("settings")
        arena = ""
        if table is not None and table.rows:
            described = describe_protocol(table.rows).replace("\n", "; ")
            arena = f"Section 8.2 on {table.data}: {described}."
        if not settings:
            return Headline(arena or "Nothing could be measured")
        shares = values_of(settings, "coverage")
        shorter = sum(row["length_adaptive"] < row["length_equal"] for row in settings)
        covered = span(percent(min(shares)), percent(max(shares)))
        text = (
            f"Corrected {level_text(self.level)} intervals cover {covered} at "
            f"{count_of(len(settings), 'rate')}; Algorithm 1 makes {shorter} of them shorter than "
            "an equal split of the labels does (paper: all)"
        )
        return Headline(text, arena)


def reproduce_reporting(
    data: TableLike | None = None,
    *,
    judge: str | None = None,
    judge_column: str | None = None,
    human_column: str | None = None,
    by: str = "model",
    repeats: int = 10_000,
    splits: int = 100,
    calibration: float = 0.1,
    sample: int | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    **asking: Any,
) -> ReportingReproduction:
    """The tables and figures of the reporting paper.

    The paper's simulation runs unchanged: 21 rates, 8 settings, label shift. The protocol of
    section 8.2, splits of labelled rows, runs on your own data: a battle counts once for each of
    its models, ties are left out and counted.

    Args:
        data: Your own rows for section 8.2, all labelled: grades, judgments or battles; with
            `judge`, pairs or items; without it, simulated battles.
        judge: The judge to ask about the pairs or items.
        judge_column: Column of the judge's verdicts, or of its probability that the answer is right
            or that A wins. Default: p_a, p_pass or judge.
        human_column: Column of the human labels. Default: human, label, winner or human_pref.
        by: Column of the model (not for battles).
        repeats: Samples per rate and setting.
        splits: Random splits of section 8.2.
        calibration: Share of rows whose labels are used in a split.
        sample: Rows to ask about, drawn at random; without data, battles to simulate. Default: all;
            4500.
        confidence_level: Confidence level of the intervals.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store.

    >>> result = reproduce_reporting(repeats=50, splits=5, sample=400)
    >>> [row["figure"] for row in result.rows("figures")]
    ['9', '10', '11', '12', '13', '14', '15', '16']
    """
    count(repeats, "repeats", least=10)
    level = open_unit(confidence_level, "confidence_level")
    share = open_unit(calibration, "calibration")
    count(splits, "splits", least=1)
    if data is None:
        if judge is not None:
            raise ArgumentError("judge", judge, "give the pairs or items to ask it about")
        arena = simulate_arena(battles=sample or SIMULATED_BATTLES, seed=seed)
        source = "simulated battles"
    else:
        source = source_name(data)
        ask = partial(ask_judge, data, sample=sample, seed=seed)
        gather = partial(gather_rows, judge_column=judge_column, human_column=human_column, by=by)
        if costs_calls(judge):
            rehearsed = gather(ask(REHEARSAL, asking={"store": None}))
            if not rehearsed.rows.frame.height:
                problem = "has no row with a label and a model: nothing can be measured"
                raise DataError(source, problem)
        arena = gather(data if judge is None else ask(judge, asking=asking))
    rows = arena.rows
    asked = judge or arena.judge
    named = asked or ("simulated" if data is None else "not named")
    models = measure_models(
        rows.frame, splits=splits, share=share, level=level, seed=seed, named=named
    )
    small = rows.frame["model"].n_unique() - len(models)
    few = f"{small} models with fewer than {FEWEST} rows are left out"
    rng = np.random.default_rng(seed)
    settings = [
        row
        for figure, m, q0, q1 in simulation.SETTINGS
        for row in simulation.simulate_setting(figure, m, q0, q1, repeats, level, rng)
    ]
    shift = simulation.simulate_shift(repeats, rng)
    lengths = [row for p in simulation.CURVES for row in simulation.length_curve(p, level)]
    run = simulation.one_run(200, 0.7, 0.9, level, rng)
    figures = simulation.summarise_settings(settings)
    formulas = [simulation.formula_numbers()]
    intervals = f"{level_text(level)} intervals, {count_of(repeats, 'repeat')}"
    # The paper's simulation, run again, counts as reproduced.
    tables = measured_tables(
        {
            "figures": (figures, intervals, "again"),
            "protocol": (models, source, source_of([named])),
            "settings": (settings, "", "again"),
            "run": (run, "", "again"),
            "shift": (shift, "", "again"),
            "lengths": (lengths, "", "formula"),
            "formulas": (formulas, "", "formula"),
        }
    )
    return ReportingReproduction(
        seed=seed,
        tables=tables,
        items=build_items("reporting", tables, picks={"crossing": simulation.crossing}),
        settings={"repeats": repeats, "splits": splits, "confidence_level": level},
        warnings=(*arena.warnings, few) if small else arena.warnings,
        dropped=rows.dropped,
    )


# --- section 8.2, on labelled rows ------------------------------------------------------------

_NO_MODEL = "no model named"
#: Columns of the judge's verdict and of the human label, in the order of search.
_JUDGE = ("p_a", "p_pass", "judge")
_HUMAN = ("human", "label", "winner", "human_pref")
_GRADES = {"0": 0.0, "1": 1.0}
_SURENESS = 4.0
#: A model with fewer rows is left out.
FEWEST = 20
#: Figure 7 shows as many models, those with most rows.
_MOST_BARS = 24


def ask_judge(
    data: TableLike, judge: str, *, sample: int | None, seed: int, asking: Mapping[str, Any]
) -> pl.DataFrame:
    """The judge's answers about labelled pairs, or about labelled single answers.

    Pairs are asked in both orders (protocol preference), items by protocol grade. `sample` first
    draws this many of them; `asking` are options of `judge_pairs`.
    """
    format = sniff(data)
    columns = set(read_table(data).columns)
    if format is not None and format in FORMATS and "pairs" in kinds_of(format):
        texts = read_public(data, format, kind="pairs", seed=seed).frame
        protocol = "preference"
    elif "response" in columns and "response_a" not in columns:
        texts = read_items(data)
        protocol = "grade"
    else:
        texts = read_pairs(data)
        protocol = "preference"
    if sample is not None and texts.height > count(sample, "sample", least=1):
        pick = np.random.default_rng(seed).permutation(texts.height)[:sample]
        texts = texts[sorted(pick.tolist())]
    asked = judge_pairs(texts, judge=judge, protocol=protocol, **asking).judgments
    joined = (*_HUMAN, *BROUGHT, "model", "model_a", "model_b")
    people = [name for name in joined if name in texts.columns]
    return asked.drop([name for name in people if name in asked.columns]).join(
        texts.select("id", *people), on="id", how="left", maintain_order="left"
    )


@dataclass(frozen=True)
class LabelledAnswers:
    """Rows with model, judge (in [0, 1]) and human (0 or 1); the judge's name if it is known."""

    rows: Rows
    judge: str | None = None
    warnings: tuple[str, ...] = ()


def gather_rows(
    data: TableLike, *, judge_column: str | None, human_column: str | None, by: str
) -> LabelledAnswers:
    """The answers of all models, from grades or from both sides of pairs."""
    table = open_table(data)
    here = table.frame.columns
    judge = judge_column or next((name for name in _JUDGE if name in here), None)
    named = judge_column or human_column
    if named is not None and table.format is not None and table.format in FORMATS:
        remedy = f"leave it out: {FORMATS.load(table.format).title} has columns of its own"
        raise ArgumentError("judge_column, human_column", named, remedy)
    if {"model_a", "model_b"} <= {*here}:
        return _of_pairs(table, judge, human_column)
    return _of_grades(table, judge or "judge", human_column or "human", by)


def simulate_arena(*, battles: int, seed: int) -> LabelledAnswers:
    """Battles of six models, no ties, and a confident judge that favours some models.

    Its probabilities are near 0 and 1, like those of LLM judges; lengths are near Table 2's.
    """
    drawn = simulate_battles(
        models=6, battles=battles, ties=0.0, beta=2.5, spread=0.5, bias=0.5, seed=seed
    ).frame
    edge = drawn["score_a"].to_numpy() - drawn["score_b"].to_numpy()
    people_prefer_a = pl.col("human_pref").replace_strict(OUTCOMES)
    judged = drawn.select(
        "model_a", "model_b", judge=pl.Series(expit(_SURENESS * edge)), human=people_prefer_a
    )
    return LabelledAnswers(_from_both_sides(Rows(judged)))


def _of_grades(table: Table, judge: str, human: str, by: str) -> LabelledAnswers:
    grades = prepare_grades(table, judge_column=judge, human_column=human, by=by)
    verdicts = grades.judge
    labels = grades.human
    if grades.scale == "classes":
        # Words that are neither pass nor fail have no value.
        values = np.array([_GRADES.get(name, np.nan) for name in (*grades.names, "")])
        verdicts = values[grades.verdicts]
        labels = values[grades.labels]
    models = pl.Series(grades.group_names).gather(np.asarray(grades.groups))
    frame = pl.DataFrame({"model": models, "judge": verdicts, "human": labels})
    unlabelled = grades.labels < 0 if grades.scale == "classes" else np.isnan(labels)
    rows = Rows(frame, grades.dropped).without(pl.lit(pl.Series(unlabelled)), "no label")
    usable = pl.col("judge").is_between(0, 1) & pl.col("human").is_in([0.0, 1.0])
    rows = rows.without(~usable.fill_null(False), "verdict or label is not 0 or 1")
    return LabelledAnswers(rows, warnings=(*grades.judges, *grades.makers))


def _of_pairs(table: Table, judge: str | None, human: str | None) -> LabelledAnswers:
    """Pairs of two models, once from the side of each."""
    columns = {}
    if judge is not None and judge != "p_a":
        # Numbers are the probability that A wins, words name the winner.
        is_number = judge in table.frame.columns and table.frame.schema[judge].is_numeric()
        columns["p_a" if is_number else "verdict"] = judge
    if human is not None or "human" in table.frame.columns:
        columns["label"] = human or "human"
    verdicts = prepare_verdicts(table, columns=columns)
    frame = add_absent(verdicts.frame, ["label"])
    check_judges(frame, verdicts.name, measure="rate")
    names = frame["judge"].unique().to_list()
    undecided = pl.col("label").is_null() | (pl.col("label") == "tie") | pl.col("p_a").is_null()
    if not verdicts.graded:
        undecided |= pl.col("p_a") == 0.5
    rows = Rows(frame, verdicts.dropped).without(undecided, "tie, or no winner named")
    models = [tidy(rows.frame[side], verdicts.name, side) for side in ("model_a", "model_b")]
    sides = rows.frame.select(
        *models,
        judge=pl.col("p_a"),
        human=pl.col("label").replace_strict(OUTCOMES),
    )
    known = names[0] if verdicts.graded and len(names) == 1 and names[0] != UNNAMED else None
    return LabelledAnswers(_from_both_sides(Rows(sides, rows.dropped)), known, verdicts.makers)


def _from_both_sides(pairs: Rows) -> Rows:
    """Each pair as an answer of each of its two models."""
    used = pairs.without(pl.any_horizontal(pl.col("model_a", "model_b").is_null()), _NO_MODEL)
    first = used.frame.select(pl.col("model_a").alias("model"), "judge", "human")
    second = used.frame.select(
        pl.col("model_b").alias("model"), judge=1 - pl.col("judge"), human=1 - pl.col("human")
    )
    return Rows(pl.concat([first, second]), used.dropped)


# --- bias, coverage and length ---------------------------------------------------------------


def measure_models(
    rows: pl.DataFrame, *, splits: int, share: float, level: float, seed: int, named: str
) -> list[Row]:
    """Every model with enough rows over random splits, those with most rows first.

    The truth of a split is the human rate on its test rows; `share` of the rows are labelled. With
    probabilities, as in the paper, their means replace the shares in Eq. 5 to 8. The interval
    treats them as shares of 0/1 verdicts, whose spread is never smaller.
    """
    rng = np.random.default_rng(seed)
    models = []
    for (name,), table in rows.group_by(["model"], maintain_order=True):
        judge = table["judge"].to_numpy()
        human = table["human"].to_numpy()
        size = table.height
        if size < FEWEST:
            continue
        m = max(round(share * size), 2)
        order = np.argsort(rng.random((splits, size)), axis=1)
        z = human[order[:, :m]]
        x = judge[order[:, :m]]
        test = judge[order[:, m:]]
        m1 = z.sum(axis=1)
        m0 = m - m1
        p = test.mean(axis=1)
        truth = human[order[:, m:]].mean(axis=1)
        n0 = np.maximum(m0, 1)
        n1 = np.maximum(m1, 1)
        specificity = ((1 - z) * (1 - x)).sum(axis=1) / n0
        sensitivity = (z * x).sum(axis=1) / n1
        shares = (p, specificity, sensitivity)
        bounds = corrected_interval(*shares, size - m, n0, n1, confidence_level=level)
        usable = (m1 > 0) & (m0 > 0) & bounds.informative
        rate = corrected_rate(*shares, clipped=False).estimate
        bias = p - truth
        row = {
            "model": str(name),
            "judge": named,
            "rows": size,
            "rate": float(human.mean()),
            "bias_naive": float(bias.mean()),
            "refused": int((~usable).sum()),
        }
        measured = {
            "bias": np.clip(rate, 0, 1) - truth,
            "coverage": bounds.covers(truth),
            "length": bounds.length,
        }
        for field, values in measured.items():
            row[field] = float(values[usable].mean()) if usable.any() else None
        models.append(row)
    return sorted(models, key=lambda row: -row["rows"])


# --- Table 2 and Figure 7 --------------------------------------------------------------------


def describe_protocol(rows: Sequence[Row]) -> str:
    """For how many models the corrected rate is closer to people's than the judge's own."""
    estimated = [row for row in rows if row["bias"] is not None]
    closer = sum(abs(row["bias"]) < abs(row["bias_naive"]) for row in estimated)
    text = f"Correction brings {closer} of {len(estimated)} models closer to the human rate"
    without = len(rows) - len(estimated)
    return f"{text}\n{without} more without an estimate" if without else text


@simulation.PICTURES.add("figure7")
def figure_7(result: ReportingReproduction) -> Drawing:
    estimated = [row for row in result.rows("protocol") if row["bias"] is not None]
    rows = estimated[:_MOST_BARS]
    splits = int(result.settings.get("splits", 0))
    at = np.arange(len(rows))[::-1]
    figure = new_figure(7.6, 1.6 + 0.36 * len(rows))
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=1)
    axes.barh(at + 0.18, values_of(rows, "bias_naive"), 0.34, color=WARM, label="judge alone")
    axes.barh(at - 0.18, values_of(rows, "bias"), 0.34, color=ACCENT, label="corrected")
    # A mean over the few splits that gave an estimate is not one over all of them.
    some = [f" ({splits - row['refused']} splits)" if row["refused"] else "" for row in rows]
    axes.set_yticks(at, [clip(row["model"]) + text for row, text in zip(rows, some, strict=True)])
    axes.grid(visible=False, axis="y")
    refused = ", or as many as gave an estimate" if any(some) else ""
    few = f"\nthe {len(rows)} models with most rows" if len(rows) < len(estimated) else ""
    if rows:
        figure.legend(loc="outside lower right", ncols=2, fontsize=8.5)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel(f"mean bias of the rate over {splits} splits{refused}{few}")
    axes.set_title(describe_protocol(result.rows("protocol")))
    return figure
