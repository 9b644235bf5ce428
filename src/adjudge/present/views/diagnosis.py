"""Where the judge breaks: biases, cycles, scores that people do not share."""

from __future__ import annotations

from adjudge.present.blocks import Block, Figure, Headline, Note, explain, table_of
from adjudge.present.figures.diagnosis import cycles_figure
from adjudge.present.text import (
    DASH,
    count,
    group_name,
    left_out,
    level,
    number,
    percent,
    percent_interval,
    span,
)
from adjudge.results.diagnosis import (
    CycleCount,
    Transitivity,
    TransitivityGroup,
    WorstDocument,
)

_NO_TRIPLE = "no document has three models with decisive verdicts among them"
#: A rate is more than noise explains if at most this share of the redraws reaches it.
_TAIL = 0.025


# --- cycles ----------------------------------------------------------------------------------


def view_transitivity(result: Transitivity) -> list[Block]:
    """Cycle rates and documents with a cycle, both with what noise alone would show."""
    ends = f"{level(result.confidence_level)} interval"
    lines = [f"{_name(g)}: {describe_cycles(g)}" for g in result.groups]
    blocks: list[Block] = [
        _cycles_headline(result),
        table_of(
            result.groups,
            {
                "judge, criterion": _name,
                "documents": lambda g: number(g.documents),
                "mean": lambda g: percent(g.mean_rate),
                ends: lambda g: percent_interval(g.mean_low, g.mean_high),
                "median": lambda g: percent(g.median_rate),
                "max": lambda g: percent(g.max_rate),
                "over all triples": lambda g: percent(g.eq1_mean),
                "from noise": lambda g: percent(g.expected_rate),
            },
            caption="Cycles among the decisive triples of a document (from noise: expected from a "
            "transitive judge with noise)",
            optional=("over all triples", "median"),
        ),
        table_of(
            result.groups,
            {
                "judge, criterion": _name,
                "share": lambda g: percent(g.share_with_cycle),
                ends: lambda g: percent_interval(g.share_low, g.share_high),
                "from noise": lambda g: percent(g.expected_share),
                "if spread at random": lambda g: percent(g.same_rate_share),
            },
            caption="Documents with a cycle",
        ),
        table_of(
            result.groups,
            {
                "judge, criterion": _name,
                "cycles": lambda g: number(g.cycles),
                "triples": lambda g: number(g.triples),
                "decisive": lambda g: number(g.decisive_edges),
                "tied": lambda g: number(g.tied_edges),
                "missing": lambda g: number(g.missing_edges),
                "repeats agree": lambda g: percent(g.win_rate_confidence),
            },
            caption="Comparisons behind these rates",
        ),
        *_worst(result),
        Note([*lines, *left_out(result.dropped)]),
        *explain(result.assumptions),
    ]
    if any(g.rates for g in result.groups):
        caption = (
            "Each dot is a document; the bar is the mean rate that a transitive judge with noise "
            "shows on the same comparisons."
        )
        blocks.append(Figure("cycles", lambda: cycles_figure(result), caption))
    return blocks


def _worst(result: Transitivity) -> list[Block]:
    def cycle(document: WorstDocument) -> str:
        models = document.examples[0].models if document.examples else ()
        return " > ".join((*models, *models[:1])) or DASH

    table = table_of(
        result.worst,
        {
            "document": lambda d: d.doc_id,
            "judge, criterion": _name,
            "cycle to read first": cycle,
            "rate": lambda d: percent(d.rate),
            "cycles": lambda d: f"{d.cycles:,} of {d.triples:,}",
        },
        caption="Documents to read first",
        text_columns=3,
    )
    return [table] if result.worst else []


def _name(group: TransitivityGroup | WorstDocument) -> str:
    return group_name(group.judge, group.criterion)


def _cycles_headline(result: Transitivity) -> Headline:
    rates = [g.mean_rate for g in result.groups if g.mean_rate is not None]
    shares = [g.share_with_cycle for g in result.groups if g.share_with_cycle is not None]
    if not rates or not shares:
        return Headline(f"No cycle could be counted: {_NO_TRIPLE}", tone="bad")
    more = sum(g.p_value is not None and g.p_value <= _TAIL for g in result.groups)
    text = (
        f"{span(percent(min(rates)), percent(max(rates)))} of a document's triples are cycles, "
        f"{span(percent(min(shares), 0), percent(max(shares), 0))} of documents have one: "
    )
    if len(rates) == 1:
        text += "more than noise explains" if more else "not shown to be more than noise"
    else:
        text += f"more than noise explains in {more} of {len(rates)} groups"
    return Headline(text, tone="bad" if more else "plain")


def describe_cycles(g: TransitivityGroup) -> str:
    """One group's rates, what noise would show, and which of the two is larger."""
    if g.mean_rate is None or g.share_with_cycle is None:
        return f"{_NO_TRIPLE}: nothing to count"
    parts = [
        f"{percent(g.mean_rate)} of a document's triples are cycles and "
        f"{percent(g.share_with_cycle, 0)} of documents have one"
    ]
    if g.expected_rate is not None and g.p_value is not None:
        parts.append(
            "a transitive judge with one ranking and noise would show "
            f"{percent(g.expected_rate)} and {percent(g.expected_share, 0)}"
        )
        if g.p_value <= _TAIL:
            parts.append(f"that noise does not explain as many (p = {number(g.p_value)})")
        elif g.expected_rate_low is not None and g.mean_rate < g.expected_rate_low:
            parts.append(
                "here there are fewer: noise around one ranking does not describe this judge"
            )
        else:
            parts.append("noise around one ranking explains as many")
    if g.mean_rate > 0 and g.same_rate_share is not None and g.same_rate_low is not None:
        parts.append(
            f"as many cycles spread at random would be in {percent(g.same_rate_share, 0)} of "
            "documents"
            + (": here they are in fewer" if g.share_with_cycle < g.same_rate_low else "")
        )
    return "; ".join(parts)


def view_cycle_count(result: CycleCount) -> list[Block]:
    """The cycles of one tournament."""
    models = count(result.models, "model")
    if result.rate is None:
        return [Headline(f"No cycle could be counted: no decisive triple among {models}")]
    text = f"{percent(result.rate)} of the decisive triples of {models} are cycles"
    blocks: list[Block] = [Headline(f"{text} ({result.cycles:,} of {result.triples:,})")]
    if not result.complete:
        blocks.append(Note(["triples with a tie or a missing comparison are not counted"]))
    return blocks
