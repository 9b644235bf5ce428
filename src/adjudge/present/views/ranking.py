"""How the models rank: leaderboards with their evaluation, anchors, exact orders, plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil

from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figures.ranking import (
    first_place,
    leaderboard_figure,
    leaders,
    rank_range,
    spell_range,
)
from adjudge.present.text import DASH, count, interval, left_out, level, number, percent, signed
from adjudge.present.views._ranking_evaluation import (
    agreement_facts,
    evaluation_blocks,
    group_blocks,
    temperature_blocks,
)
from adjudge.results.ranking import (
    Anchors,
    BattlePlan,
    Leaderboard,
    LeastReversals,
    ModelRow,
    Temperature,
)

_SHOWN = 60
#: Known models shown on either side of a new one.
_AROUND = 3
#: Models shown from either end of a plan.
_ENDS = 6


def view_leaderboard(board: Leaderboard) -> list[Block]:
    """The board, then its evaluation, then warnings and assumptions."""
    new = [row for row in board.models if row.origin == "new"]
    blocks: list[Block] = [_placed_headline(board, new) if new else _headline(board)]
    if board.models:
        blocks += _placed_tables(board, new) if new else _board_tables(board)
        caption = "Each model with its interval; the number after a name is its rank."
        blocks.append(Figure("leaderboard", partial(leaderboard_figure, board), caption))
    facts = _facts(board)
    if facts:
        blocks.append(Facts(facts))
    if board.temperature is not None:
        blocks += temperature_blocks(board.temperature, _describe_beta(board.temperature))
    if board.jury:
        blocks.append(_jury_table(board))
    blocks += evaluation_blocks(board) + group_blocks(board)
    blocks += explain(board.assumptions)
    return blocks + _remarks(board)


def _remarks(result: Leaderboard | Anchors | BattlePlan) -> list[Block]:
    """Warnings, and what was left out."""
    return warnings_of(result.warnings) + notes_of(left_out(result.dropped, "battle"))


def _headline(board: Leaderboard) -> Headline:
    """Who is first, whether others can be, and whether intervals include judge errors."""
    if not board.models:
        return Headline(f"No leaderboard by {board.method}: {board.reason}", tone="bad")
    first = board.models[0]
    group = [row for row in board.models if row.component == first.component]
    text = f"{first_place(board)} of {count(len(group), 'model')} by {board.method}"
    if len(board.components) > 1:
        text += f", in the first of {len(board.components)} groups without battles between them"
    ranks = spell_range(first)
    if ranks is not None and board.confidence_level is not None:
        text += f"; {level(board.confidence_level)} rank range {ranks}"
        others = sum(row.rank_low == 1 for row in group) - len(leaders(board))
        if others:
            text += f"; {count(others, 'other model')} can also be first"
    if board.interval == "none":
        return Headline(
            text, f"No intervals or rank ranges were computed. {_held_out(board)}".strip()
        )
    return Headline(f"{text}; {_coverage(board)}", _held_out(board))


def _coverage(board: Leaderboard) -> str:
    """What the intervals include: noise of battles alone, or judge errors too."""
    if not board.covers_judge_error:
        return f"{_interval_name(board)}s do not include judge errors"
    if board.outcome == "votes":
        return f"{_interval_name(board)}s of people's votes, no judge"
    return f"{_interval_name(board)}s ({board.interval}) include judge errors"


def _held_out(board: Leaderboard) -> str:
    """How far the judge's Elo is from people's, or how to measure it."""
    for row in board.loo:
        if row.method == board.method and row.mae is not None:
            return (
                f"With each of {count(row.n_models, 'model')} left out in turn, its Elo by "
                f"{row.method} was {number(row.mae, 1)} from people's on average."
            )
    if board.covers_judge_error or board.loo or board.interval == "none":
        return ""
    return "adjudge rank --evaluate measures judge errors if there are votes."


def _board_tables(board: Leaderboard) -> list[Block]:
    has_elo = any(row.elo is not None for row in board.models)
    digits = 0 if has_elo else 3
    cells: dict[str, Callable[[ModelRow], str]] = {
        "model": lambda row: row.model,
        "rank": lambda row: number(row.rank),
        "rank range": rank_range,
        "Elo": lambda row: number(row.elo, 0),
        "win rate" if board.method == "win-rate" else "score": lambda row: number(row.score),
        _interval_name(board): lambda row: _interval(row, digits),
        "se": lambda row: number(row.se, digits) if board.interval == "none" else DASH,
        "battles": lambda row: number(row.n_battles),
        "group": lambda row: number(row.component + 1) if len(board.components) > 1 else DASH,
    }
    table = table_of(board.models, cells)
    known = [at for at, cells in enumerate(zip(*table.rows, strict=True)) if {*cells} != {DASH}]
    columns = [table.columns[at] for at in known]
    rows = [[row[at] for at in known] for row in table.rows]
    caption = f"{board.method}: {count(board.n_battles, 'battle')}, {board.outcome}"
    if board.interval != "none":
        caption += f"; {board.interval} intervals"
        if board.clusters is not None:
            caption += f" over {count(board.clusters, 'prompt')}"
    blocks: list[Block] = [Table(columns, rows[:_SHOWN], caption)]
    if rows[_SHOWN:]:
        more = count(len(rows) - _SHOWN, "more model")
        blocks.append(Table(columns, rows[_SHOWN:], more, detail=True))
        blocks.append(Note([f"{more} in the result: -o FILE.json keeps all"]))
    return blocks


def _interval_name(board: Leaderboard) -> str:
    named = board.confidence_level is not None
    return f"{level(board.confidence_level or 0)} interval" if named else "interval"


def _interval(row: ModelRow, digits: int = 0) -> str:
    return interval(row.low, row.high, digits, unbounded=row.unbounded)


def _facts(board: Leaderboard) -> list[Fact]:
    facts = [] if board.temperature is not None else _fitted(board)
    if board.proven is not None:
        proof = "proven" if board.proven else f"not proven, gap {percent(board.gap, 2)} of all wins"
        facts.append(Fact("fewest wins against the order", proof))
    if board.kappa is not None:
        facts.append(Fact("kappa of verdicts and votes", number(board.kappa), "battle by battle"))
    if board.agreement is not None:
        facts += agreement_facts(board.agreement)
    return facts


def _fitted(result: Leaderboard | Anchors) -> list[Fact]:
    """What was fitted, or given, to make targets of scores or verdicts."""
    facts = []
    if result.beta is not None:
        se = "" if result.beta_se is None else f"standard error {number(result.beta_se)}"
        facts.append(Fact("beta", number(result.beta), se))
    if result.smoothing is not None:
        facts.append(Fact("smoothing constant", number(result.smoothing)))
    return facts


def _jury_table(board: Leaderboard) -> Table:
    return table_of(
        board.jury,
        {
            "judge": lambda row: row.judge,
            "votes": lambda row: number(row.n_votes),
            "beta": lambda row: number(row.beta),
            "se": lambda row: number(row.beta_se),
        },
        caption="The jury: the temperature of each judge",
    )


def _describe_beta(fit: Temperature) -> str:
    text = f"beta {number(fit.beta)} (se {number(fit.beta_se)}, {count(fit.n_battles, 'vote')})"
    return text if fit.ece is None else f"{text}, calibration error {number(fit.ece)}"


# --- placed models and their anchors ---------------------------------------------------------


def _placed_headline(board: Leaderboard, new: Sequence[ModelRow]) -> Headline:
    text = (
        f"{new[0].model}: Elo {number(new[0].elo, 0)} on people's scale, {_interval_name(board)} "
        f"{_interval(new[0])} ({board.interval}, judge errors included), rank "
        f"{new[0].rank} of {len(board.models)}"
    )
    if len(new) > 1:
        text = f"{len(new)} new models, the highest {text}"
    unbounded = sum(row.unbounded for row in new)
    if not unbounded:
        return Headline(
            text, "The interval assumes that judge errors are as large as on the anchors."
        )
    action = f"{unbounded} of {count(len(new), 'interval')} unbounded."
    return Headline(text, action, tone="bad" if unbounded == len(new) else "plain")


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
                "Elo": lambda row: number(row.elo, 0),
                _interval_name(board): _interval,
                "rank": lambda row: f"{row.rank} of {total}",
                "rank range": rank_range,
                "battles": lambda row: number(row.n_battles),
            },
            caption=f"On people's scale: {board.method}, {count(board.n_battles, 'judged battle')}",
        ),
        table_of(
            near[:_SHOWN],
            {
                "model": lambda row: row.model + (" (new)" if row.origin == "new" else ""),
                "rank": lambda row: number(row.rank),
                "Elo": lambda row: number(row.elo, 0),
            },
            caption="Among people's Elo of the anchors, whose mean is 1500",
        ),
    ]


def view_anchors(anchors: Anchors) -> list[Block]:
    """How many anchors give a residual, and each of them."""
    scales = [row.se for row in anchors.models if row.residual is not None and row.se is not None]
    # The quantile is the ceil((1 - alpha)(n + 1))-th score, and one without a scale is infinite.
    least = ceil(1000 * (scales.count(0.0) + 1) / (len(scales) + 1)) / 1000
    blocks: list[Block] = [
        Headline(
            f"{anchors.method}: {count(len(anchors.models), 'anchor')}, {len(scales)} of them with "
            "a left-out residual",
            f"Intervals of new models are finite for alpha from {least:g}."
            if any(scales)
            else "New models get no interval.",
            tone="plain" if any(scales) else "bad",
        )
    ]
    facts = [
        *_fitted(anchors),
        Fact("judge", anchors.judge or "not named", anchors.judge_fingerprint or ""),
        Fact("battles", number(anchors.n_battles), anchors.score_source),
    ]
    if anchors.cluster is not None:
        facts.append(Fact("errors resampled by", anchors.cluster))
    table = table_of(
        sorted(anchors.models, key=lambda row: -row.theta),
        {
            "anchor": lambda row: row.model,
            "strength": lambda row: number(row.theta),
            "people's Elo": lambda row: number(row.human_elo, 0),
            "residual, Elo": lambda row: signed(row.residual, 1),
            "se": lambda row: number(row.se, 1),
            "battles": lambda row: number(row.n_battles),
        },
    )
    blocks += [Facts(facts), table]
    return blocks + _remarks(anchors)


# --- exact orders and plans ------------------------------------------------------------------


def view_reversals(best: LeastReversals) -> list[Block]:
    """The order, and whether a better one is ruled out."""
    proof = "no order contradicts fewer (proven)"
    if not best.proven:
        proof = (
            f"not proven the fewest: no order contradicts fewer than {best.bound:g}, "
            f"gap {percent(best.gap, 2)} of all wins"
        )
    rows = ", ".join(str(row) for row in best.order)
    return [
        Headline(f"The order contradicts {best.cost:g} wins; {proof}"),
        Note([f"rows of the table of wins, best first: {rows}"]),
    ]


def view_plan(plan: BattlePlan) -> list[Block]:
    """What was chosen, and how evenly models will be covered."""
    models = sorted(plan.appearances.items(), key=lambda item: (item[1], item[0]))
    rows = [(name, number(n)) for name, n in models]
    columns = ("model", "battles after")
    blocks: list[Block] = [
        Headline(
            f"{count(plan.chosen, 'battle')} chosen by {plan.rule}; models will have "
            f"{plan.least:,} to {plan.most:,} battles each"
        )
    ]
    if len(rows) <= 2 * _ENDS:
        blocks.append(Table(columns, rows))
    else:
        ends = [*rows[:_ENDS], ("…", ""), *rows[-_ENDS:]]
        blocks += [Table(columns, ends), Table(columns, rows, "All models", detail=True)]
    return blocks + _remarks(plan)
