"""Section 8.2 of the reporting paper: Table 2 and Figure 7 on labelled rows.

Rows are one per answer and model, with judge and people: from grades, from judgments or battles of
pairs (each counts once for each model), from pairs or items that a judge is asked about first, or
simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from adjudge.estimation.estimators.misclassification import (
    Bounds,
    corrected_interval,
    corrected_rate,
)
from adjudge.judges import judge_pairs
from adjudge.present.figure import ACCENT, INK, WARM, new_figure
from adjudge.present.text import clip
from adjudge.simulate.battles import simulate_battles
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import FloatArray, count
from adjudge_papers.paper import Gallery, Row, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.reporting import ReportingReproduction

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
PICTURES = Gallery()


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


def _model_rows(frame: pl.DataFrame, judge: str, human: str, by: str, name: str) -> Rows:
    columns = {"model": _column(frame, name, by, ()), "judge": judge, "human": human}
    rows = pl.DataFrame(
        [tidy(frame[column], name, column).alias(to) for to, column in columns.items()]
    )
    words = {word: str(value) for word, value in GRADE.words.items()}
    answers = pl.col("judge", "human").str.to_lowercase().replace(words)
    rows = rows.with_columns(answers.cast(pl.Float64, strict=False))
    used = Rows(rows).without(
        ~(pl.col("judge").is_between(0, 1) & pl.col("human").is_in([0.0, 1.0])).fill_null(False),
        "verdict or label is not 0 or 1",
    )
    return used.without(pl.col("model").is_null(), _NO_MODEL)


def _battle_rows(frame: pl.DataFrame, judge: str, human: str, name: str) -> Rows:
    """Battles, once from the side of each model."""
    text = pl.DataFrame(
        [
            *(tidy(frame[c], name, c) for c in ("model_a", "model_b")),
            *(
                tidy(frame[c], name, c).str.to_lowercase().alias(a)
                for c, a in ((judge, "judge"), (human, "human"))
            ),
        ]
    )
    share = pl.col("judge").cast(pl.Float64, strict=False)
    between = share.is_between(0, 1, closed="none")
    # A column of 0 and 1 names the winner, as in released battles; other values are P(A wins).
    certain = judge != "p_a" and not text.select(between.any()).item()
    verdict = _winner("judge") if certain else pl.when(share.is_between(0, 1)).then(share)
    decided = text.with_columns(verdict.alias("judge"), _winner("human").alias("human"))
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
    raise DataError(
        name,
        "is missing",
        column=wanted or " or ".join(usual),
        remedy=f"columns here: {frame.columns[:20]}",
    )


# --- bias, coverage and length ---------------------------------------------------------------


def has_probabilities(rows: pl.DataFrame) -> bool:
    """Whether the judge gave probabilities, not 0/1 verdicts."""
    return not rows["judge"].is_in([0.0, 1.0]).all()


def name_judge(data: TableLike) -> str | None:
    """The name of the judge of judgments, if the rows are of one judge."""
    frame = read_table(data)
    if "p_a" not in frame.columns and not {"p_fwd", "p_rev"} <= set(frame.columns):
        return None
    names: list[Any] = frame["judge"].unique().to_list() if "judge" in frame.columns else []
    return str(names[0]) if len(names) == 1 else None


def measure_models(
    rows: pl.DataFrame,
    *,
    splits: int,
    share: float,
    level: float,
    seed: int,
    named: str,
) -> list[Row]:
    """Every model with enough rows over random splits, those with most rows first.

    The truth of a split is the human rate on its test rows; `share` of the rows are labelled. With
    probabilities, as in the paper, their means replace the shares in Eq. 5 to 8. The interval
    treats them as shares of 0/1 verdicts, whose spread is never smaller. `spread_length` is the
    length by the spread of the probabilities.
    """
    rng, probabilities = np.random.default_rng(seed), has_probabilities(rows)
    models = []
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
        if probabilities:
            by_spread = _by_spread(z, x, test, rate, level)
            means |= {"spread_coverage": by_spread.covers(truth), "spread_length": by_spread.length}
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


def _by_spread(
    z: FloatArray, x: FloatArray, test: FloatArray, rate: FloatArray, level: float
) -> Bounds:
    """Intervals around the corrected rates from the spread of the probabilities themselves.

    Eq. 9 with sample variances instead of q (1 - q), as in `estimate` for probabilities.
    """
    means, noises = [], []
    for weights in (1 - z, z):
        size = np.maximum(weights.sum(axis=1), 1)
        mean = (weights * x).sum(axis=1) / size
        squares = (weights * (x - mean[:, None]) ** 2).sum(axis=1)
        means.append(mean)
        noises.append(squares / np.maximum(size - 1, 1) / size)
    edge = means[1] - means[0]
    edge = np.where(edge > 0, edge, 1.0)
    variance = test.var(axis=1, ddof=1) / test.shape[1]
    variance = variance + (1 - rate) ** 2 * noises[0] + rate**2 * noises[1]
    half = normal_quantile(level) * np.sqrt(variance) / edge
    low, high = np.clip(rate - half, 0, 1), np.clip(rate + half, 0, 1)
    return Bounds(low, high, np.ones(len(rate), dtype=np.bool_))


# --- Table 2 and Figure 7 --------------------------------------------------------------------


def describe_protocol(rows: Sequence[Row]) -> str:
    """For how many models the corrected rate is closer to people's than the judge's own."""
    known = [row for row in rows if row["bias"] is not None]
    closer = sum(abs(row["bias"]) < abs(row["bias_naive"]) for row in known)
    without = len(rows) - len(known)
    return f"Correction brings {closer} of {len(known)} models closer to the human rate" + (
        f"\n{without} more without an estimate" if without else ""
    )


@PICTURES.add(
    "figure7", "Figure 7: bias of each model's rate, judge alone and corrected.", "protocol"
)
def figure_7(result: ReportingReproduction) -> Drawing:
    """Bias per model, judge alone and corrected."""
    estimated = [row for row in result.rows("protocol") if row["bias"] is not None]
    if not estimated:
        raise ArgumentError("figure", "figure7", "no model has an estimate")
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
    axes.set_ylim(-0.7, len(rows) - 0.3)
    refused = ", or as many as gave an estimate" if any(some) else ""
    few = f"\nthe {len(rows)} models with most rows" if len(rows) < len(estimated) else ""
    axes.set_xlabel(f"mean bias of the rate over {splits} splits{refused}{few}")
    if rows:
        figure.legend(loc="outside lower right", ncols=2, fontsize=8.5)
    axes.set_title(describe_protocol(result.rows("protocol")))
    return figure
