"""What a leaderboard shows: who is first, its tables, and the picture of models with intervals."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from adjudge.present import text
from adjudge.present.blocks import Block, Columns, Fact, Headline, table_of
from adjudge.present.figure import ACCENT, INK, MUTED, WARM, name_rows, panel
from adjudge.ranking.shift import spell_mix
from adjudge.ranking.style import LEAST_LIKE, name_control, style_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge.ranking.anchors import Anchors
    from adjudge.ranking.leaderboard import Leaderboard, ModelRow, PlainRow


_SHOWN = 60
#: Known models shown on either side of a new one.
_AROUND = 3
_MOST_ROWS = 70
_COLOUR = {"battles": ACCENT, "anchor": MUTED, "new": WARM}
_NAMED = 3
#: A longer line of the title would make the picture wider than its rows.
_TITLE_WIDTH = 52
_NO_EFFECT = (
    "It describes these battles at a common effect of style; it is not what a model would win if "
    "it wrote otherwise."
)


def board_headline(board: Leaderboard) -> Headline:
    """Who is first, whether others can be, and whether intervals include judge errors."""
    if not board.models:
        return Headline(f"No leaderboard by {board.method}: {board.reason}", tone="bad")
    ranked = _first_group(board)
    few = sum(row.votes_needed is not None for row in board.models)
    style = f" at equal {name_control(board.style)}" if board.style else ""
    if cannot_order(board):
        sentence = f"These {_battles_of(board)} cannot order the models by {board.method}{style}"
    else:
        models = text.count(len(ranked), "ranked model" if few else "model")
        sentence = f"{first_place(board)} of {models} by {board.method}{style}"
    if board.whose is not None:
        sentence += f", from {board.whose}{board.doubt}"
    if len(board.components) > 1:
        sentence += f", in the first of {len(board.components)} groups without battles between them"
    if cannot_order(board):
        sentence += f"; {_why_no_order(board)}"
    elif spell_range(ranked[0]) is not None:
        others = sum(row.rank_low == 1 for row in ranked) - len(leaders(board))
        if others:
            sentence += f"; {text.count(others, 'other')} can be first"
    if extrapolated := _extrapolated(board):
        sentence += f"; {text.count(len(extrapolated), 'model')} extrapolated"
    if few and len(ranked) > 1:
        sentence += f"; {text.count(few, 'model')} with too few {_battles_of(board)} below the line"
    decision = sentence
    if board.interval == "none":
        action = f"No intervals or rank ranges were computed. {_held_out(board)}".strip()
        return Headline(sentence, action, decision=decision)
    if not board.covers_judge_error:
        sentence += "; intervals do not include judge errors"
        decision += "; judge errors not included"
    elif board.outcome != "votes":
        sentence += f"; intervals ({board.interval}) include judge errors"
    action = _NO_EFFECT if board.style else _held_out(board)
    return Headline(sentence, action, decision=decision)


def _extrapolated(board: Leaderboard) -> list[ModelRow]:
    """The models that are not ranked though they have enough votes: too few at like style."""
    return [
        row
        for row in board.models
        if row.rank is None
        and row.votes_needed is None
        and row.like_style is not None
        and row.like_style < LEAST_LIKE
    ]


def _held_out(board: Leaderboard) -> str:
    """How far the judge's Elo is from people's, if that was measured."""
    weighted = f", battles weighted to {spell_mix(board.mix)}" if board.mix else ""
    for row in board.loo:
        if row.method == board.method and row.mae is not None:
            models = text.count(row.n_models, "model")
            return (
                f"With each of {models} left out in turn, its Elo by {row.method} was "
                f"{text.number(row.mae, 1)} from people's on average{weighted}."
            )
    return ""


def first_place(board: Leaderboard) -> str:
    """Who has the best rank; "first" if no other can be, or if rank ranges are not known."""
    best = leaders(board)
    first = [text.clip(row.model, 40) for row in best]
    sure = all((row.rank_low or 1, row.rank_high or 1) == (1, 1) for row in best)
    if len(first) == 1:
        return f"{first[0]} {'is first' if sure else 'has the highest Elo'}"
    named = ", ".join(first[: min(_NAMED, len(first) - 1)])
    more = len(first) - _NAMED
    place = "share first place" if sure else "share the highest Elo"
    return f"{named} and {f'{more} more' if more > 0 else first[-1]} {place}"


def leaders(board: Leaderboard) -> list[ModelRow]:
    """The models of rank 1 in the group that is listed first."""
    return [row for row in _first_group(board) if row.rank == 1]


def _first_group(board: Leaderboard) -> list[ModelRow]:
    """The ranked models of the group that is listed first."""
    ranked = ranked_models(board)
    return [row for row in ranked if row.component == ranked[0].component]


def ranked_models(board: Leaderboard) -> list[ModelRow]:
    return [row for row in board.models if row.rank is not None]


def cannot_order(board: Leaderboard) -> bool:
    """Whether rank ranges are known, and no two models differ."""
    ranked = ranked_models(board)
    if len(ranked) < min(2, len(board.models)):
        return True
    sizes = Counter(row.component for row in ranked)
    return all((row.rank_low, row.rank_high) == (1, sizes[row.component]) for row in ranked)


def _why_no_order(board: Leaderboard) -> str:
    ranked = len(ranked_models(board))
    if ranked >= 2:
        return f"no two of {ranked} ranked models differ"
    enough = "none" if ranked == 0 else "only 1"
    return f"{enough} of {text.count(len(board.models), 'model')} has enough"


def _battles_of(board: Leaderboard) -> str:
    """What the board is made of, in a word."""
    return "votes" if any(row.votes is not None for row in board.models) else "battles"


def rank_range(row: ModelRow | PlainRow) -> str:
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


def board_columns(board: Leaderboard) -> Columns[ModelRow]:
    """What a table of a board can show of each model."""
    has_elo = any(row.elo is not None for row in board.models)
    digits = 0 if has_elo else 3
    columns: Columns[ModelRow] = {
        "model": lambda row: row.model,
        "rank": _rank_of,
        "rank range": rank_range,
        "Elo": _elo_of,
        "win rate" if board.method == "win-rate" else "score": lambda row: text.number(row.score),
        interval_name(board): lambda row: _ends_of(row, digits),
        "if bent": _bend_of,
        "plain Elo": _plain_elo_of,
        "plain range": lambda row: text.DASH if row.plain is None else rank_range(row.plain),
        "moved": _moved_of,
        "se": lambda row: text.number(row.se, digits) if board.interval == "none" else text.DASH,
        "votes": lambda row: text.number(row.votes),
        "battles": _battles_besides_votes,
    }
    if len(board.components) > 1:
        columns["group"] = lambda row: text.number(row.component + 1)
    return columns


def filled(columns: Columns[ModelRow], rows: Sequence[ModelRow]) -> Columns[ModelRow]:
    """The columns that have something in a row."""
    return {
        name: cell for name, cell in columns.items() if any(cell(row) != text.DASH for row in rows)
    }


def board_tables(board: Leaderboard) -> list[Block]:
    ranked = ranked_models(board)
    columns = filled(board_columns(board), ranked)
    caption = f"{text.count(board.n_battles, 'battle')}, {board.outcome}"
    if board.style:
        caption += f"; Elo at equal {name_control(board.style)}"
    if board.interval != "none":
        caption += f"; {board.interval} intervals"
        if board.clusters is not None:
            caption += f" over {text.count(board.clusters, 'prompt')}"
    shown = board.top or _SHOWN
    if len(ranked) > shown:
        caption += f"; the first {shown} of {text.count(len(ranked), 'model')}"
    return [
        *_tables(ranked, columns, caption, shown, ("group", "battles", "votes", "plain range")),
        *_below_the_line(board, "" if ranked else f"{caption}. "),
        *_without_support(board),
        *(style_blocks(board.style) if board.style else ()),
    ]


def _without_support(board: Leaderboard) -> list[Block]:
    """The models that have no rank because nearly all their battles are at unlike style."""
    columns: Columns[ModelRow] = {
        "extrapolated": lambda row: row.model,
        "battles at like style": _like_style_of,
        "Elo": _elo_of,
        interval_name(board): _ends_of,
        "if bent": _bend_of,
        "plain Elo": _plain_elo_of,
    }
    caption = "Fewer than 5 % of their battles are at like style: no rank"
    rows = _extrapolated(board)
    return [table_of(rows, columns, caption=caption)] if rows else []


def _below_the_line(board: Leaderboard, before: str) -> list[Block]:
    """The models that are not ranked, with the votes that they have and need."""
    few = [row for row in board.models if row.rank is None and row not in _extrapolated(board)]
    if not few:
        return []
    battles = _battles_of(board)
    columns: Columns[ModelRow] = {
        "not ranked": lambda row: row.model,
        battles: _votes_of,
        f"{battles} needed": lambda row: text.number(row.votes_needed),
        "Elo": _elo_of,
        interval_name(board): _ends_of,
    }
    caption = f"{before}Too few {battles} for a half-width of {text.number(board.widest, 0)} Elo"
    return _tables(few, columns, caption, _SHOWN, ())


def _tables(
    rows: Sequence[ModelRow],
    columns: Columns[ModelRow],
    caption: str,
    shown: int,
    optional: Sequence[str],
) -> list[Block]:
    """The first models in a table, and the others in one that is folded."""
    blocks: list[Block] = []
    if rows:
        blocks.append(table_of(rows[:shown], columns, caption=caption, optional=optional))
    if rest := rows[shown:]:
        more = text.count(len(rest), "more model")
        blocks.append(table_of(rest, columns, caption=more, detail=True))
    return blocks


def _battles_besides_votes(row: ModelRow) -> str:
    """The number of battles, unless it is that of the votes."""
    return text.number(row.n_battles) if row.votes != row.n_battles else text.DASH


def _plain_elo_of(row: ModelRow) -> str:
    """Without control; of a model that won or lost everything, only the penalty's."""
    return text.number(None if row.plain is None or row.unbounded else row.plain.elo, 0)


def _bend_of(row: ModelRow) -> str:
    return text.signed(row.bend, 0)


def _like_style_of(row: ModelRow) -> str:
    return text.percent(row.like_style)


def _votes_of(row: ModelRow) -> str:
    return text.number(row.n_battles if row.votes is None else row.votes)


def _whole_elo_of(row: ModelRow) -> str:
    return text.number(row.elo, 0)


def _rank_of(row: ModelRow) -> str:
    return text.number(row.rank)


def _moved_of(row: ModelRow) -> str:
    if row.moved is None:
        return text.DASH
    return f"{row.moved:+d}" if row.moved else "0"


def _elo_of(row: ModelRow) -> str:
    """Elo; of a model that won or lost everything, the end that the battles determine."""
    low, high = row.ends
    if row.interval is None or not row.unbounded or low == high:
        return text.number(row.elo, 0)
    return f"at most {text.number(high, 0)}" if low is None else f"at least {text.number(low, 0)}"


def interval_name(board: Leaderboard) -> str:
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


def placed_headline(board: Leaderboard, new: Sequence[ModelRow]) -> Headline:
    first = new[0]
    interval = f"{interval_name(board)} {_ends_of(first)}"
    sentence = (
        f"{first.model}: Elo {text.number(first.elo, 0)} on people's scale, {interval} "
        f"({board.interval}, judge errors included), rank {first.rank} of {len(board.models)}"
    )
    if len(new) > 1:
        sentence = f"{len(new)} new models, the highest {sentence}"
    unbounded = sum(row.unbounded for row in new)
    action = "The interval assumes that judge errors are as large as on the anchors."
    if unbounded:
        action = f"{unbounded} of {text.count(len(new), 'interval')} unbounded."
    return Headline(sentence, action, tone="bad" if unbounded == len(new) else "plain")


def placed_tables(board: Leaderboard, new: Sequence[ModelRow]) -> list[Block]:
    """New models first, then the known ones around them."""
    places = [row.rank or 0 for row in new]
    near = [
        row
        for row in board.models
        if any(abs((row.rank or 0) - place) <= _AROUND for place in places)
    ]
    total = len(board.models)
    placed: Columns[ModelRow] = {
        "new model": lambda row: row.model,
        "Elo": _whole_elo_of,
        interval_name(board): _ends_of,
        "rank": lambda row: f"{row.rank} of {total}",
        "rank range": rank_range,
        "battles": _votes_of,
    }
    among: Columns[ModelRow] = {
        "model": lambda row: row.model + (" (new)" if row.origin == "new" else ""),
        "rank": _rank_of,
        "Elo": _whole_elo_of,
    }
    battles = text.count(board.n_battles, "judged battle")
    scale = "Among people's Elo of the anchors, whose mean is 1500"
    caption = f"On people's scale: {board.method}, {battles}"
    if board.mix:
        caption += f", {spell_mix(board.mix)}"
    return [
        table_of(new, placed, caption=caption),
        table_of(near[:_SHOWN], among, caption=scale),
    ]


# --- figure ---


def leaderboard_figure(board: Leaderboard) -> Drawing:
    """Models from the top down, each with its interval; open ends end in an arrow."""
    rows = _rows_to_draw(board)
    lines = _axis_lines(board, rows)
    title = textwrap.wrap(_board_title(board), _TITLE_WIDTH)
    # Every model has the same height, whatever is written above and below.
    size = (7.6, 0.26 * (len(rows) + 1) + 0.19 * (len(lines) + len(title) - 1) + 0.6)
    draw = partial(_draw_board, rows=rows, lines=lines, title="\n".join(title))
    return panel(draw, size, board)


def _rows_to_draw(board: Leaderboard) -> Sequence[ModelRow]:
    """What fits: the top of a board, or around the new models if there are any."""
    ranked = ranked_models(board)
    new = [row.rank or 0 for row in ranked if row.origin == "new"]
    if not new or len(ranked) <= _MOST_ROWS:
        return ranked[: board.top or _MOST_ROWS]
    nearest = sorted(ranked, key=lambda row: min(abs((row.rank or 0) - rank) for rank in new))
    names = {row.model for row in nearest[:_MOST_ROWS]}
    return [row for row in ranked if row.model in names]


def _board_title(board: Leaderboard) -> str:
    new = [row for row in board.models if row.origin == "new"]
    if len(new) == 1:
        name = text.clip(new[0].model, 40)
        elo = text.number(new[0].elo, 0)
        return f"{name}: {elo} on people's scale {_ends_of(new[0])}"
    if new:
        return f"{len(new)} new models on people's scale"
    if cannot_order(board):
        return f"These {_battles_of(board)} cannot order the models"
    ranks = spell_range(board.models[0])
    by = f"by {board.method}" if ranks is None else f"(rank range {ranks})"
    return f"{first_place(board)}{' at equal style' if board.style else ''} {by}"


def _place_of(row: ModelRow) -> str:
    ranks = rank_range(row)
    return text.number(row.rank) if ranks == text.DASH else ranks


def _draw_board(
    axes: Axes, board: Leaderboard, rows: Sequence[ModelRow], lines: Sequence[str], title: str
) -> None:
    has_elo = any(row.elo is not None for row in rows)
    values = [(row.elo if has_elo else row.score) or 0.0 for row in rows]
    if board.references:
        # Differences are drawn as differences: the reference of its component is at 0.
        elo = {row.model: row.elo or 0.0 for row in board.models}
        values = [elo[row.model] - elo[board.references[row.component]] for row in rows]
    ends = [end for row in rows for end in row.ends if end is not None]
    ends += [row.plain.elo for row in rows if row.plain is not None and not row.unbounded]
    low = min([*values, *ends])
    high = max([*values, *ends])
    margin = 0.04 * (high - low) or 1.0
    axes.set_xlim(low - 2 * margin, high + 2 * margin)
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        colour = _COLOUR[row.origin]
        lower, upper = row.ends
        left = lower if lower is not None else (low - margin if row.unbounded else value)
        right = upper if upper is not None else (high + margin if row.unbounded else value)
        axes.plot([left, right], [at, at], color=colour, lw=2.2, alpha=0.45, solid_capstyle="butt")
        # The penalty alone determines where a model is that won or lost everything.
        determined = row.interval is None or (lower is None) == (upper is None)
        if determined:
            axes.plot(value, at, "o", color=colour, ms=5)
        if row.unbounded:
            for end, where, marker in ((lower, left, "<"), (upper, right, ">")):
                if end is None:
                    axes.plot(where, at, marker, color=colour, ms=5)
        moves = row.plain is not None and abs(row.plain.elo - value) > 0.01 * (high - low)
        if determined and moves and row.plain is not None:
            arrow = {"arrowstyle": "->", "color": WARM, "lw": 1.2, "mutation_scale": 7}
            # Both ends are where the numbers are, also of a short arrow.
            arrow |= {"shrinkA": 0, "shrinkB": 0}
            axes.annotate("", (value, at - 0.2), (row.plain.elo, at - 0.2), arrowprops=arrow)
    name_rows(axes, [f"{text.clip(row.model, 40)}  {_place_of(row)}" for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=8 if len(rows) > 25 else 9)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.origin == "new":
            label.set(color=WARM, fontweight="bold")
    for at in _breaks(rows):
        axes.axhline(at - 0.5, color=INK, lw=0.8, ls=":")
    axes.set_xlabel("\n".join(lines))
    axes.set_title(title)


def _breaks(rows: Sequence[ModelRow]) -> list[int]:
    """Where models begin that are not on the scale of those above."""
    return [k for k in range(1, len(rows)) if rows[k].component != rows[k - 1].component]


def _axis_lines(board: Leaderboard, rows: Sequence[ModelRow]) -> list[str]:
    """What is drawn, and what is not, below the axis."""
    unit = (
        "Elo"
        if any(row.elo is not None for row in rows)
        else {"win-rate": "win rate"}.get(board.method, "score")
    )
    if board.references:
        unit = f"Elo minus that of {', '.join(text.clip(name, 24) for name in board.references)}"
    lines = [unit]
    if board.interval != "none" and board.confidence_level is not None:
        lines = [f"{unit}, {text.level(board.confidence_level)} {board.interval} interval"]
        if not board.covers_judge_error:
            lines.append("intervals do not include judge errors")
    if any(row.origin == "anchor" for row in rows):
        lines.append("grey: people's Elo of the anchors")
    if _breaks(rows):
        lines.append("groups separated by a dotted line are not on one scale")
    ranges = any(row.rank_low is not None for row in rows)
    lines.append(f"after a name: its rank{' range' if ranges else ''}")
    if board.style:
        lines.append(f"arrows: from the plain Elo to that at equal {name_control(board.style)}")
    few = len(board.models) - len(ranked_models(board))
    if apart := len(_extrapolated(board)):
        lines.append(f"{text.count(apart, 'extrapolated model')} not drawn")
    if few > apart:
        models = text.count(few - apart, "model")
        lines.append(f"{models} with too few {_battles_of(board)} not drawn")
    if len(rows) + few < len(board.models):
        lines.append(f"{len(rows)} of {len(board.models) - few} models")
    return lines
