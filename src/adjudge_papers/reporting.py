"""The reporting paper: its simulation (Figures 2 to 6 and 9 to 16) and its protocol (Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from adjudge.data.tables import TableLike, source_name
from adjudge.errors import ArgumentError, DataError
from adjudge.present.blocks import Headline
from adjudge.present.result import frozen
from adjudge.present.text import count as count_of
from adjudge.present.text import level as level_text
from adjudge.validation import count, open_unit
from adjudge_papers import reporting_arena as section_82
from adjudge_papers import reporting_simulation as simulation
from adjudge_papers.paper import (
    REHEARSAL,
    Gallery,
    MeasuredTable,
    Reproduction,
    Row,
    Source,
    build_items,
    costs_calls,
    source_of,
)

#: Battles without data; the length of intervals is then near Table 2's.
SIMULATED_BATTLES = 4500


@frozen
class ReportingReproduction(Reproduction):
    """The reporting paper's simulation, its Chatbot Arena protocol, and all its items."""

    kind: ClassVar[str] = "reproduction_reporting"
    paper: ClassVar[str] = "reporting"
    drawings = Gallery({**simulation.PICTURES, **section_82.PICTURES})
    main_table: ClassVar[str] = "protocol"

    def _parts(self) -> Sequence[Row]:
        return self.rows("claims" if self.is_simulated("protocol") else "protocol")

    def headline(self) -> Headline:
        """How many statements of the paper agree, and what section 8.2 shows on these rows."""
        table, claims = self.table("protocol"), self.rows("claims")
        arena = ""
        if table is not None and table.rows:
            described = section_82.describe_protocol(table.rows).replace("\n", "; ")
            arena = f"Section 8.2 on {table.data}: {described}."
        if not claims:
            return Headline(arena or "Nothing could be measured")
        differing = [claim["where"] for claim in claims if claim["agrees"] == "no"]
        statements = count_of(len(claims), "statement")
        text = f"{len(claims) - len(differing)} of {statements} of the paper agree with ours"
        if differing:
            text += f"; these differ: {'; '.join(differing)}"
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
        arena = section_82.simulate_arena(battles=sample or SIMULATED_BATTLES, seed=seed)
        source = "simulated battles"
    else:
        source = source_name(data)
        ask = partial(section_82.ask_judge, data, sample=sample, seed=seed)
        gather = partial(
            section_82.gather_rows, judge_column=judge_column, human_column=human_column, by=by
        )
        if costs_calls(judge) and not gather(ask(REHEARSAL, asking={"store": None})).frame.height:
            raise DataError(source, "has no row with a label and a model: nothing can be measured")
        arena = gather(data if judge is None else ask(judge, asking=asking))
    asked = judge or (None if data is None else section_82.name_judge(data))
    named = asked or ("simulated" if data is None else "not named")
    models = section_82.measure_models(
        arena.frame, splits=splits, share=share, level=level, seed=seed, named=named
    )
    small = arena.frame["model"].n_unique() - len(models)
    few = f"{small} models with fewer than {section_82.FEWEST} rows are left out"
    rng = np.random.default_rng(seed)
    settings = [
        row
        for figure, m, q0, q1 in simulation.SETTINGS
        for row in simulation.simulate_setting(figure, m, q0, q1, repeats, level, rng)
    ]
    shift = simulation.simulate_shift(repeats, rng)
    lengths = [row for p in simulation.CURVES for row in simulation.length_curve(p, level)]
    claims = simulation.compare_claims(settings, shift, lengths, level, repeats)
    run = simulation.one_run(200, 0.7, 0.9, level, rng)
    simulated = data is None or (asked is not None and source_of([asked]) == "simulated")
    repeated = count_of(repeats, "repeat")
    intervals = f"{level_text(level)} intervals, {repeated}"

    def table(name: str, rows: Sequence[Row], source: Source, data: str = "") -> MeasuredTable:
        return MeasuredTable(name=name, rows=tuple(rows), data=data, source=source)

    # The paper's simulation, run again, counts as reproduced.
    tables = (
        table("claims", claims, "again", repeated),
        table("figures", simulation.summarise_settings(settings), "again", intervals),
        table("protocol", models, "simulated" if simulated else "yours", source),
        table("settings", settings, "again"),
        table("run", run, "again"),
        table("shift", shift, "again"),
        table("lengths", lengths, "formula"),
        table("formulas", [simulation.formula_numbers()], "formula"),
    )
    return ReportingReproduction(
        seed=seed,
        tables=tables,
        items=build_items("reporting", tables, picks={"crossing": simulation.crossing}),
        settings={"repeats": repeats, "splits": splits, "confidence_level": level},
        warnings=(few,) if small else (),
        dropped=arena.dropped,
    )
