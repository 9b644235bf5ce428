"""The reporting paper: its simulation (Figures 2 to 6 and 9 to 16) and its protocol (Table 2).

Rows of section 8.2 are one per answer and model, with judge and people: from grades, from judgments
or battles of pairs (each counts once for each model), from pairs or items that a judge is asked
about first, or simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.data import (
    FORMATS,
    kinds_of,
    read_items,
    read_judgments,
    read_pairs,
    read_public,
    sniff,
)
from adjudge.data.names import GRADE
from adjudge.data.rows import Rows, tidy
from adjudge.data.tables import TableLike, read_table, source_name
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
    Row,
    build_items,
    costs_calls,
    measured_tables,
    source_of,
    values_of,
)

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
        table, settings, arena = self.table("protocol"), self.rows("settings"), ""
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
        if costs_calls(judge) and not gather(ask(REHEARSAL, asking={"store": None})).frame.height:
            raise DataError(source, "has no row with a label and a model: nothing can be measured")
        arena = gather(data if judge is None else ask(judge, asking=asking))
    asked = judge or (None if data is None else name_judge(data))
    named = asked or ("simulated" if data is None else "not named")
    models = measure_models(
        arena.frame, splits=splits, share=share, level=level, seed=seed, named=named
    )
    small = arena.frame["model"].n_unique() - len(models)
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
    simulated = data is None or (asked is not None and source_of([asked]) == "simulated")
    intervals = f"{level_text(level)} intervals, {count_of(repeats, 'repeat')}"

    # The paper's simulation, run again, counts as reproduced.
    tables = measured_tables(
        {
            "figures": (simulation.summarise_settings(settings), intervals, "again"),
            "protocol": (models, source, "simulated" if simulated else "yours"),
            "settings": (settings, "", "again"),
            "run": (run, "", "again"),
            "shift": (shift, "", "again"),
            "lengths": (lengths, "", "formula"),
            "formulas": ([simulation.formula_numbers()], "", "formula"),
        }
    )
    return ReportingReproduction(
        seed=seed,
        tables=tables,
        items=build_items("reporting", tables, picks={"crossing": simulation.crossing}),
        settings={"repeats": repeats, "splits": splits, "confidence_level": level},
        warnings=(few,) if small else (),
        dropped=arena.dropped,
    )


# --- section 8.2, on labelled rows ------------------------------------------------------------

_NO_MODEL = "no model named"
_A_WINS = ("a", "model_a", "0", "0.0")
_B_WINS = ("b", "model_b", "1", "1.0")
#: Columns of the judge's verdict and of the human label, in the order of search.
_JUDGE = ("p_a", "p_pass", "judge")
_HUMAN = ("human", "label", "winner", "human_pref")
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
        texts, protocol = read_public(data, format, kind="pairs", seed=seed).frame, "preference"
    elif "response" in columns and "response_a" not in columns:
        texts, protocol = read_items(data), "grade"
    else:
        texts, protocol = read_pairs(data), "preference"
    if sample is not None and texts.height > count(sample, "sample", least=1):
        pick = np.random.default_rng(seed).permutation(texts.height)[:sample]
        texts = texts[sorted(pick.tolist())]
    asked = judge_pairs(texts, judge=judge, protocol=protocol, **asking).judgments
    people = [name for name in (*_HUMAN, "model", "model_a", "model_b") if name in texts.columns]
    return asked.drop([name for name in people if name in asked.columns]).join(
        texts.select("id", *people), on="id", how="left", maintain_order="left"
    )


def gather_rows(
    data: TableLike, *, judge_column: str | None, human_column: str | None, by: str
) -> Rows:
    """Columns model, judge (in [0, 1]) and human (0 or 1); unusable rows are counted by reason."""
    frame, name = read_table(data), source_name(data)
    if "p_a" not in frame.columns and {"p_fwd", "p_rev"} <= set(frame.columns):
        frame = read_judgments(data)
    judge = _column(frame, name, judge_column, _JUDGE)
    human = _column(frame, name, human_column, _HUMAN)
    if judge == "p_a" and "judge" in frame.columns and frame["judge"].n_unique() > 1:
        judges = ", ".join(str(name) for name in frame["judge"].unique(maintain_order=True)[:5])
        raise DataError(
            name, f"has rows of several judges ({judges})", remedy="keep the rows of one judge"
        )
    if {"model_a", "model_b"} <= set(frame.columns):
        return _battle_rows(frame, judge, human, name)
    return _model_rows(frame, judge, human, by, name)


def simulate_arena(*, battles: int, seed: int) -> Rows:
    """Battles of six models, no ties, and a confident judge that favours some models.

    Its probabilities are near 0 and 1, like those of LLM judges; lengths are near Table 2's.
    """
    drawn = simulate_battles(
        models=6, battles=battles, ties=0.0, beta=2.5, spread=0.5, bias=0.5, seed=seed
    ).frame
    edge = drawn["score_a"].to_numpy() - drawn["score_b"].to_numpy()
    p_a = pl.Series("p_a", expit(_SURENESS * edge))
    frame = drawn.select("model_a", "model_b", "human_pref", p_a)
    return _battle_rows(frame, "p_a", "human_pref", "simulator")


def _texts(frame: pl.DataFrame, name: str, **columns: str) -> pl.DataFrame:
    """These columns of a file as text, by our names; judge and human in small letters."""
    texts = {ours: tidy(frame[theirs], name, theirs) for ours, theirs in columns.items()}
    return pl.DataFrame(texts).with_columns(pl.col("judge", "human").str.to_lowercase())


def _model_rows(frame: pl.DataFrame, judge: str, human: str, by: str, name: str) -> Rows:
    model = _column(frame, name, by, ())
    words = {word: str(value) for word, value in GRADE.words.items()}
    answers = pl.col("judge", "human").replace(words).cast(pl.Float64, strict=False)
    texts = _texts(frame, name, model=model, judge=judge, human=human)
    used = Rows(texts.with_columns(answers)).without(
        ~(pl.col("judge").is_between(0, 1) & pl.col("human").is_in([0.0, 1.0])).fill_null(False),
        "verdict or label is not 0 or 1",
    )
    return used.without(pl.col("model").is_null(), _NO_MODEL)


def _battle_rows(frame: pl.DataFrame, judge: str, human: str, name: str) -> Rows:
    """Battles, once from the side of each model."""
    models = {"model_a": "model_a", "model_b": "model_b"}
    texts = _texts(frame, name, **models, judge=judge, human=human)
    share = pl.col("judge").cast(pl.Float64, strict=False)
    between = share.is_between(0, 1, closed="none")
    # A column of 0 and 1 names the winner, as in released battles; other values are P(A wins).
    certain = judge != "p_a" and not texts.select(between.any()).item()
    verdict = _winner("judge") if certain else pl.when(share.is_between(0, 1)).then(share)
    decided = texts.with_columns(judge=verdict, human=_winner("human"))
    undecided = pl.any_horizontal(pl.col("judge", "human").is_null())
    used = Rows(decided).without(undecided, "tie, or no winner named")
    used = used.without(pl.any_horizontal(pl.col("model_a", "model_b").is_null()), _NO_MODEL)
    first = used.frame.select(pl.col("model_a").alias("model"), "judge", "human")
    second = used.frame.select(
        pl.col("model_b").alias("model"), judge=1 - pl.col("judge"), human=1 - pl.col("human")
    )
    return Rows(pl.concat([first, second]), used.dropped)


def _winner(column: str) -> pl.Expr:
    won, lost = pl.col(column).is_in(_A_WINS), pl.col(column).is_in(_B_WINS)
    return pl.when(won).then(1.0).when(lost).then(0.0)


def _column(frame: pl.DataFrame, name: str, wanted: str | None, usual: tuple[str, ...]) -> str:
    here = [column for column in ((wanted,) if wanted else usual) if column in frame.columns]
    if here:
        return here[0]
    remedy = f"columns here: {frame.columns[:20]}"
    raise DataError(name, "is missing", column=wanted or " or ".join(usual), remedy=remedy)


# --- bias, coverage and length ---------------------------------------------------------------


def name_judge(data: TableLike) -> str | None:
    """The name of the judge of judgments, if the rows are of one judge."""
    frame = read_table(data)
    if "p_a" not in frame.columns and not {"p_fwd", "p_rev"} <= set(frame.columns):
        return None
    names: list[Any] = frame["judge"].unique().to_list() if "judge" in frame.columns else []
    return str(names[0]) if len(names) == 1 else None


def measure_models(
    rows: pl.DataFrame, *, splits: int, share: float, level: float, seed: int, named: str
) -> list[Row]:
    """Every model with enough rows over random splits, those with most rows first.

    The truth of a split is the human rate on its test rows; `share` of the rows are labelled. With
    probabilities, as in the paper, their means replace the shares in Eq. 5 to 8. The interval
    treats them as shares of 0/1 verdicts, whose spread is never smaller.
    """
    rng, models = np.random.default_rng(seed), []
    for (name,), table in rows.group_by(["model"], maintain_order=True):
        judge, human, size = table["judge"].to_numpy(), table["human"].to_numpy(), table.height
        if size < FEWEST:
            continue
        m = max(round(share * size), 2)
        order = np.argsort(rng.random((splits, size)), axis=1)
        z, x, test = human[order[:, :m]], judge[order[:, :m]], judge[order[:, m:]]
        m1 = z.sum(axis=1)
        m0 = m - m1
        p, truth = test.mean(axis=1), human[order[:, m:]].mean(axis=1)
        n0, n1 = np.maximum(m0, 1), np.maximum(m1, 1)
        shares = (p, ((1 - z) * (1 - x)).sum(axis=1) / n0, (z * x).sum(axis=1) / n1)
        bounds = corrected_interval(*shares, size - m, n0, n1, confidence_level=level)
        usable = (m1 > 0) & (m0 > 0) & bounds.informative
        rate = corrected_rate(*shares, clipped=False).estimate
        means = {
            "bias": np.clip(rate, 0, 1) - truth,
            "coverage": bounds.covers(truth),
            "length": bounds.length,
        }
        models.append(
            {
                "model": str(name),
                "judge": named,
                "rows": size,
                "rate": float(human.mean()),
                "bias_naive": float((p - truth).mean()),
                "refused": int((~usable).sum()),
                **{
                    field: float(values[usable].mean()) if usable.any() else None
                    for field, values in means.items()
                },
            }
        )
    return sorted(models, key=lambda row: -row["rows"])


# --- Table 2 and Figure 7 --------------------------------------------------------------------


def describe_protocol(rows: Sequence[Row]) -> str:
    """For how many models the corrected rate is closer to people's than the judge's own."""
    known = [row for row in rows if row["bias"] is not None]
    closer = sum(abs(row["bias"]) < abs(row["bias_naive"]) for row in known)
    without = len(rows) - len(known)
    return f"Correction brings {closer} of {len(known)} models closer to the human rate" + (
        f"\n{without} more without an estimate" if without else ""
    )


@simulation.PICTURES.add("figure7")
def figure_7(result: ReportingReproduction) -> Drawing:
    estimated = [row for row in result.rows("protocol") if row["bias"] is not None]
    rows, splits = estimated[:_MOST_BARS], int(result.settings.get("splits", 0))
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
