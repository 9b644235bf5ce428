"""A leaderboard: its rows with intervals, ranks and rank ranges, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from adjudge.present import text
from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Headline,
    Note,
    Table,
    Tone,
    explain,
    remarks_of,
    table_of,
)
from adjudge.present.figure import ACCENT, INK, MUTED, WARM, name_rows, panel
from adjudge.present.result import (
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
)
from adjudge.ranking.evaluation_view import (
    beta_columns,
    evaluation_blocks,
    group_blocks,
    interval_notes,
)
from adjudge.ranking.orders import RankAgreement, agreement_facts
from adjudge.ranking.shift import spell_mix
from adjudge.ranking.targets import JurorRow
from adjudge.ranking.temperature import GroupRow, Temperature, temperature_blocks
from adjudge.records import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge.ranking.anchors import Anchors


_SHOWN = 60
#: Known models shown on either side of a new one.
_AROUND = 3
_MOST_ROWS = 70
_COLOUR = {"battles": ACCENT, "anchor": MUTED, "new": WARM}
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One model. `elo` is None for methods that give only an order; `score` is their own number.

    `interval` is of the Elo or score, `difference` of the Elo minus that of the component's
    reference, if the board has references. An end that is None is open (then `unbounded` is True).
    If a method has no interval, both are None and `unbounded` is False. Ranks count within the
    model's component. `origin` is "battles" for models ranked by these battles, "anchor" for known
    ones and "new" for placed ones.
    """

    model: str
    elo: float | None
    interval: Interval | None
    se: NotNegative | None
    n_battles: Count
    rank: Count
    rank_low: Count | None = None
    rank_high: Count | None = None
    score: float | None = None
    component: Count = 0
    unbounded: bool = False
    origin: str = "battles"
    difference: Interval | None = None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The ends of the interval, or of the difference; None if open or if there is none."""
        shown = self.interval or self.difference
        return (None, None) if shown is None else (shown.low, shown.high)


@dataclass(frozen=True, kw_only=True)
class LooRow:
    """The distance of a method's held-out Elo from people's, over models left out in turn.

    `mean_beta` is the mean refitted temperature (soft-elo), `mean_smoothing` the mean constant.
    """

    method: str
    n_models: Count
    mae: NotNegative | None
    spearman: Correlation | None
    kendall: Correlation | None
    mean_beta: float | None = None
    mean_smoothing: float | None = None
    mae_interval: Interval | None = None
    residual_by_quarter: tuple[float, ...] = ()
    left_out: dict[str, Count] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BudgetRow:
    """Held-out error when only `battles` judged battles (`per_model` x models) are used.

    `betas` are the mean temperatures over the folds of each draw (soft-elo).
    """

    method: str
    battles: Count
    per_model: NotNegative
    mae: NotNegative
    mae_sd: NotNegative | None
    draws: Count
    betas: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HeldOutRow:
    """One model left out: people's Elo, the judge's, and its conformal interval.

    The interval's quantile comes from all the other models.
    """

    method: str
    model: str
    human_elo: float
    elo: float
    residual: float
    se: NotNegative | None
    interval: Interval
    unbounded: bool
    covered: bool | None

    @property
    def width(self) -> float | None:
        """The width of the interval; None if it is unbounded."""
        low, high = self.interval
        return None if low is None or high is None else high - low


@dataclass(frozen=True, kw_only=True)
class ConformalRow:
    """Split conformal intervals over random halves of the models; means over the splits.

    Half-width = quantile x standard error: `quantile` and `median_se` are its two factors. Without
    enough calibration models the interval is unbounded; `models_needed` is the required number.
    """

    method: str
    alpha: Level
    coverage: Proportion | None
    median_width: NotNegative | None
    quantile: float | None
    median_se: NotNegative | None = None
    width_low: float | None = None
    width_high: float | None = None
    coverage_low: float | None = None
    coverage_high: float | None = None
    splits: Count = 0
    n_calibration: Count = 0
    n_test: Count = 0
    unbounded: bool = False
    models_needed: Count | None = None


@dataclass(frozen=True, kw_only=True)
class GroupQuantile:
    """Conformal intervals from the models of one family, or from the battles of one group alone.

    Each model's interval is made from the others of the group; `coverage` is how many contain
    people's Elo. With too few models there is no quantile, and `reason` explains it.
    """

    method: str
    by: str
    group: str
    n_models: Count
    quantile: NotNegative | None = None
    median_width: NotNegative | None = None
    coverage: Proportion | None = None
    reason: str | None = None


@frozen
class Leaderboard(Result):
    """Models in order, with the uncertainty of that order.

    `covers_judge_error` is true if intervals are about people's preferences: on votes, on votes
    combined with a judge, and for placed models. Otherwise they cover only the noise of these
    battles. `reason` explains why there are no models. `references` names a model for each
    component if some model, or group of models, won or lost everything: intervals are then of
    differences to it. `whose` names the votes or verdicts, `advice` is how to include judge errors.
    """

    kind: ClassVar[str] = "leaderboard"
    rows_in: ClassVar[str] = "models"

    method: str
    beta: float | None
    beta_se: NotNegative | None
    l2: NotNegative | None
    models: tuple[ModelRow, ...]
    components: tuple[tuple[str, ...], ...]
    warnings: tuple[str, ...]
    dropped: Mapping[str, Count]
    n_battles: Count
    outcome: str
    interval: str
    confidence_level: Level | None
    covers_judge_error: bool = False
    reason: str | None = None
    replicates: Count | None = None
    clusters: Count | None = None
    seed: Count | None = None
    smoothing: float | None = None
    temperature: Temperature | None = None
    kappa: float | None = None
    agreement: RankAgreement | None = None
    loo: tuple[LooRow, ...] = ()
    conformal: tuple[ConformalRow, ...] = ()
    held_out: tuple[HeldOutRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    quantiles: tuple[GroupQuantile, ...] = ()
    jury: tuple[JurorRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    pooling: str | None = None
    proven: bool | None = None
    gap: float | None = None
    assumptions: tuple[str, ...] = ()
    judge_fingerprint: str | None = None
    references: tuple[str, ...] = ()
    whose: str | None = None
    advice: str = ""
    mix: Mapping[str, float] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether there is a leaderboard."""
        return bool(self.models)

    def view(self) -> list[Block]:
        new = [row for row in self.models if row.origin == "new"]
        blocks: list[Block] = [_placed_headline(self, new) if new else _board_headline(self)]
        if self.models:
            blocks += _placed_tables(self, new) if new else _board_tables(self)
            caption = "Each model with its interval; the number after a name is its rank."
            blocks.append(Figure("leaderboard", partial(leaderboard_figure, self), caption))
        facts = [] if self.agreement is None else agreement_facts(self.agreement)
        if self.proven is not None:
            proof = f"not proven, gap {text.percent(self.gap, 2)} of all wins"
            facts.append(Fact("fewest wins against the order", "proven" if self.proven else proof))
        if facts:
            blocks.append(Facts(facts))
        fitted = [] if self.temperature is not None else fitted_facts(self)
        if self.kappa is not None:
            kappa = text.number(self.kappa)
            fitted.append(Fact("kappa of verdicts and votes", kappa, "battle by battle"))
        lines = [
            f"{fact.label} {fact.value}" + f" ({fact.note})" * bool(fact.note) for fact in fitted
        ]
        details: list[Block] = [Note(lines, title="What was fitted")] if lines else []
        if (fit := self.temperature) is not None:
            caption = f"beta {text.number(fit.beta)} (se {text.number(fit.beta_se)}, "
            caption += f"{text.count(fit.n_battles, 'vote')})"
            if fit.ece is not None:
                caption += f", calibration error {text.number(fit.ece)}"
            details += temperature_blocks(fit, caption)
        if self.jury:
            caption = "The jury: the temperature of each judge"
            details.append(table_of(self.jury, beta_columns("judge"), caption=caption))
        details += evaluation_blocks(self) + group_blocks(self)
        blocks += [
            replace(block, detail=True) if isinstance(block, Table | Note) else block
            for block in details
        ]
        remarks = [f"warning: {warning}" for warning in self.warnings]
        remarks += text.left_out(self.dropped, "battle")
        advice = [] if self.loo or self.interval == "none" or not self.advice else [self.advice]
        folded = explain(self.assumptions, others=advice, brief=not remarks)
        tone: Tone = "bad" if self.warnings else "plain"
        return blocks + interval_notes(self) + folded + remarks_of(remarks, tone=tone)


# --- what it shows ---


def _board_headline(board: Leaderboard) -> Headline:
    """Who is first, whether others can be, and whether intervals include judge errors."""
    if not board.models:
        return Headline(f"No leaderboard by {board.method}: {board.reason}", tone="bad")
    first = board.models[0]
    group = [row for row in board.models if row.component == first.component]
    sentence = f"{first_place(board)} of {text.count(len(group), 'model')} by {board.method}"
    if board.whose is not None:
        sentence += f", from {board.whose}"
    if len(board.components) > 1:
        sentence += f", in the first of {len(board.components)} groups without battles between them"
    if spell_range(first) is not None and board.confidence_level is not None:
        others = sum(row.rank_low == 1 for row in group) - len(leaders(board))
        if others:
            sentence += f"; {text.count(others, 'other')} can be first"
    decision = sentence
    if board.interval == "none":
        action = f"No intervals or rank ranges were computed. {_held_out(board)}".strip()
        return Headline(sentence, action, decision=decision)
    if not board.covers_judge_error:
        sentence += "; intervals do not include judge errors"
        decision += "; judge errors not included"
    elif board.outcome != "votes":
        sentence += f"; intervals ({board.interval}) include judge errors"
    return Headline(sentence, _held_out(board), decision=decision)


def _held_out(board: Leaderboard) -> str:
    """How far the judge's Elo is from people's, if that was measured."""
    for row in board.loo:
        if row.method == board.method and row.mae is not None:
            return (
                f"With each of {text.count(row.n_models, 'model')} left out in turn, its Elo by "
                f"{row.method} was {text.number(row.mae, 1)} from people's on average"
                f"{f', battles weighted to {spell_mix(board.mix)}' if board.mix else ''}."
            )
    return ""


def first_place(board: Leaderboard) -> str:
    """Who is first: one model, or those that share the place."""
    first = [text.clip(row.model, 40) for row in leaders(board)]
    if len(first) == 1:
        return f"{first[0]} is first"
    named = ", ".join(first[: min(_NAMED, len(first) - 1)])
    more = len(first) - _NAMED
    return f"{named} and {f'{more} more' if more > 0 else first[-1]} share first place"


def leaders(board: Leaderboard) -> list[ModelRow]:
    """The models of rank 1 in the group that is listed first."""
    first = board.models[0]
    return [row for row in board.models if row.component == first.component and row.rank == 1]


def rank_range(row: ModelRow) -> str:
    """The ranks that a model can have; a dash if they are not known."""
    if row.rank_low is None or row.rank_high is None:
        return text.DASH
    return text.span(str(row.rank_low), str(row.rank_high))


def spell_range(row: ModelRow) -> str | None:
    """The ranks that a model can have, in a sentence."""
    ranks = rank_range(row)
    if ranks == text.DASH:
        return None
    return f"{ranks} only" if row.rank_low == row.rank_high else ranks


def _board_tables(board: Leaderboard) -> list[Block]:
    has_elo = any(row.elo is not None for row in board.models)
    digits = 0 if has_elo else 3
    cells: dict[str, Callable[[ModelRow], str]] = {
        "model": lambda row: row.model,
        "rank": lambda row: text.number(row.rank),
        "rank range": rank_range,
        "Elo": lambda row: text.number(row.elo, 0),
        "win rate" if board.method == "win-rate" else "score": lambda row: text.number(row.score),
        _interval_name(board): lambda row: _ends_of(row, digits),
        "se": lambda row: text.number(row.se, digits) if board.interval == "none" else text.DASH,
        "battles": lambda row: text.number(row.n_battles),
        "group": lambda row: (
            text.number(row.component + 1) if len(board.components) > 1 else text.DASH
        ),
    }
    columns = {
        name: cell
        for name, cell in cells.items()
        if any(cell(row) != text.DASH for row in board.models)
    }
    caption = f"{text.count(board.n_battles, 'battle')}, {board.outcome}"
    if board.interval != "none":
        caption += f"; {board.interval} intervals"
        if board.clusters is not None:
            caption += f" over {text.count(board.clusters, 'prompt')}"
    if len(board.models) > _SHOWN:
        caption += f"; the first {_SHOWN} of {text.count(len(board.models), 'model')}"
    blocks: list[Block] = [table_of(board.models[:_SHOWN], columns, caption=caption)]
    if rest := board.models[_SHOWN:]:
        more = text.count(len(rest), "more model")
        blocks.append(table_of(rest, columns, caption=more, detail=True))
    return blocks


def _interval_name(board: Leaderboard) -> str:
    """What the ends are of: a model's number, or its difference to a model that was not swept."""
    level = board.confidence_level
    name = "interval" if level is None else f"{text.level(level)} interval"
    if not board.references:
        return name
    reference = text.clip(board.references[0], 24) if len(board.references) == 1 else "reference"
    return f"{name} of Elo minus {reference}"


def _ends_of(row: ModelRow, digits: int = 0) -> str:
    return text.interval(*row.ends, digits, unbounded=row.unbounded)


def fitted_facts(result: Leaderboard | Anchors) -> list[Fact]:
    """What was fitted, or given, to make targets of scores or verdicts."""
    facts = []
    if result.beta is not None:
        se = "" if result.beta_se is None else f"standard error {text.number(result.beta_se)}"
        facts.append(Fact("beta", text.number(result.beta), se))
    if result.smoothing is not None:
        facts.append(Fact("smoothing constant", text.number(result.smoothing)))
    return facts


def _placed_headline(board: Leaderboard, new: Sequence[ModelRow]) -> Headline:
    sentence = (
        f"{new[0].model}: Elo {text.number(new[0].elo, 0)} on people's scale, "
        f"{_interval_name(board)} {_ends_of(new[0])} ({board.interval}, judge errors included), "
        f"rank {new[0].rank} of {len(board.models)}"
    )
    if len(new) > 1:
        sentence = f"{len(new)} new models, the highest {sentence}"
    unbounded = sum(row.unbounded for row in new)
    action = "The interval assumes that judge errors are as large as on the anchors."
    if unbounded:
        action = f"{unbounded} of {text.count(len(new), 'interval')} unbounded."
    return Headline(sentence, action, tone="bad" if unbounded == len(new) else "plain")


def _placed_tables(board: Leaderboard, new: Sequence[ModelRow]) -> list[Block]:
    """New models first, then the known ones around them."""
    near = [
        row for row in board.models if any(abs(row.rank - other.rank) <= _AROUND for other in new)
    ]
    total = len(board.models)
    return [
        table_of(
            new,
            {
                "new model": lambda row: row.model,
                "Elo": lambda row: text.number(row.elo, 0),
                _interval_name(board): _ends_of,
                "rank": lambda row: f"{row.rank} of {total}",
                "rank range": rank_range,
                "battles": lambda row: text.number(row.n_battles),
            },
            caption=f"On people's scale: {board.method}, "
            f"{text.count(board.n_battles, 'judged battle')}",
        ),
        table_of(
            near[:_SHOWN],
            {
                "model": lambda row: row.model + (" (new)" if row.origin == "new" else ""),
                "rank": lambda row: text.number(row.rank),
                "Elo": lambda row: text.number(row.elo, 0),
            },
            caption="Among people's Elo of the anchors, whose mean is 1500",
        ),
    ]


# --- figure ---


def leaderboard_figure(board: Leaderboard) -> Drawing:
    """Models from the top down, each with its interval; open ends end in an arrow."""
    rows = _rows_to_draw(board)
    size = (7.6, max(2.6, 0.24 * len(rows) + 1.5))
    return panel(partial(_draw_board, rows=rows), size, board)


def _rows_to_draw(board: Leaderboard) -> Sequence[ModelRow]:
    """What fits: the top of a board, or around the new models if there are any."""
    new = [row.rank for row in board.models if row.origin == "new"]
    if not new or len(board.models) <= _MOST_ROWS:
        return board.models[:_MOST_ROWS]
    nearest = sorted(board.models, key=lambda row: min(abs(row.rank - rank) for rank in new))
    names = {row.model for row in nearest[:_MOST_ROWS]}
    return [row for row in board.models if row.model in names]


def _board_title(board: Leaderboard) -> str:
    new = [row for row in board.models if row.origin == "new"]
    if len(new) == 1:
        name, elo = text.clip(new[0].model, 40), text.number(new[0].elo, 0)
        return f"{name}: {elo} on people's scale {_ends_of(new[0])}"
    if new:
        return f"{len(new)} new models on people's scale"
    ranks = spell_range(board.models[0])
    by = f"by {board.method}" if ranks is None else f"(rank range {ranks})"
    return f"{first_place(board)} {by}"


def _draw_board(axes: Axes, board: Leaderboard, rows: Sequence[ModelRow]) -> None:
    has_elo = any(row.elo is not None for row in rows)
    values = [(row.elo if has_elo else row.score) or 0.0 for row in rows]
    if board.references:
        # Differences are drawn as differences: the reference of its component is at 0.
        elo = {row.model: row.elo or 0.0 for row in board.models}
        values = [elo[row.model] - elo[board.references[row.component]] for row in rows]
    ends = [end for row in rows for end in row.ends if end is not None]
    low, high = min([*values, *ends]), max([*values, *ends])
    margin = 0.04 * (high - low) or 1.0
    axes.set_xlim(low - 2 * margin, high + 2 * margin)
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        colour = _COLOUR[row.origin]
        lower, upper = row.ends
        left = lower if lower is not None else (low - margin if row.unbounded else value)
        right = upper if upper is not None else (high + margin if row.unbounded else value)
        axes.plot([left, right], [at, at], color=colour, lw=2.2, alpha=0.45, solid_capstyle="butt")
        axes.plot(value, at, "o", color=colour, ms=5)
        if row.unbounded:
            for end, where, marker in ((lower, left, "<"), (upper, right, ">")):
                if end is None:
                    axes.plot(where, at, marker, color=colour, ms=5)
    name_rows(axes, [f"{text.clip(row.model, 40)}  {row.rank}" for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=8 if len(rows) > 25 else 9)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.origin == "new":
            label.set(color=WARM, fontweight="bold")
    breaks = [k for k in range(1, len(rows)) if rows[k].component != rows[k - 1].component]
    for at in breaks:
        axes.axhline(at - 0.5, color=INK, lw=0.8, ls=":")
    unit = "Elo" if has_elo else {"win-rate": "win rate"}.get(board.method, "score")
    if board.references:
        unit = f"Elo minus that of {', '.join(text.clip(name, 24) for name in board.references)}"
    lines = [unit]
    if board.interval != "none" and board.confidence_level is not None:
        lines = [f"{unit}, {text.level(board.confidence_level)} {board.interval} interval"]
        if not board.covers_judge_error:
            lines.append("intervals do not include judge errors")
    if any(row.origin == "anchor" for row in rows):
        lines.append("grey: people's Elo of the anchors")
    if breaks:
        lines.append("groups separated by a dotted line are not on one scale")
    lines.append("the number after a name is its rank")
    if len(rows) < len(board.models):
        lines.append(f"{len(rows)} of {len(board.models)} models")
    axes.set_xlabel("\n".join(lines))
    axes.set_title(_board_title(board))
