"""The reporting paper: its simulation (Figures 2 to 6 and 9 to 16) and its protocol (Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from adjudge.data.tables import TableLike, source_name
from adjudge.errors import ArgumentError, DataError
from adjudge.present.blocks import Block, Headline, notes_of
from adjudge.present.result import Check, Count, Level, frozen
from adjudge.present.text import count as count_of
from adjudge.present.text import left_out
from adjudge.validation import count, open_unit
from adjudge_papers import reporting_arena as section_82
from adjudge_papers import reporting_simulation as simulation
from adjudge_papers.items import ItemBook
from adjudge_papers.paper import REHEARSAL, costs_calls, read_published, source_of
from adjudge_papers.reproduction import Pictures, Reproduction

#: Battles without data; the length of intervals is then near Table 2's.
SIMULATED_BATTLES = 4500


def _run_over_the_rates(result: ReportingReproduction) -> str | None:
    if result.single_run is None or not result.settings:
        return None
    entries = len(result.single_run.naive)
    rates = {len(setting.rates) for setting in result.settings}
    return None if rates == {entries} else f"single_run has {entries} entries, not one per rate"


@frozen
class ReportingReproduction(Reproduction):
    """The reporting paper's simulation, its Chatbot Arena protocol, and all its items."""

    kind: ClassVar[str] = "reproduction_reporting"
    checks: ClassVar[tuple[Check, ...]] = (_run_over_the_rates,)
    drawings: ClassVar[Pictures] = {
        **simulation.PICTURES,
        **section_82.PICTURES,
        **simulation.SETTING_PICTURES,
    }
    listed = "Tables, figures and propositions of the paper"

    repeats: Count
    confidence_level: Level
    settings: tuple[simulation.Simulation, ...]
    shift: simulation.ShiftBias | None
    lengths: tuple[simulation.LengthCurve, ...] = ()
    single_run: simulation.SingleRun | None = None
    claims: tuple[simulation.Claim, ...]
    protocol: tuple[section_82.ProtocolRow, ...] = ()
    #: The source of the rows; None if they are simulated.
    protocol_source: str | None = None
    protocol_judge: str | None = None
    probabilities: bool = False
    splits: Count | None = None
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def main(self) -> simulation.Simulation | None:
        """The setting of the paper's Figures 2 and 6."""
        return next(
            (setting for setting in self.settings if setting.figure == simulation.MAIN), None
        )

    def _parts(self) -> Sequence[Any]:
        own = self.protocol_source is not None or not self.claims
        return self.protocol if own else self.claims

    def headline(self) -> Headline:
        """How many statements of the paper agree, and what section 8.2 shows on these rows."""
        arena = (
            section_82.describe_protocol(self.protocol).replace("\n", "; ") if self.protocol else ""
        )
        if not self.claims:
            return Headline(arena)
        differing = [claim.where for claim in self.claims if not claim.agrees]
        agreeing = len(self.claims) - len(differing)
        statements = count_of(len(self.claims), "statement")
        text = f"{agreeing} of {statements} of the paper agree with ours"
        if differing:
            text += f"; these differ: {'; '.join(differing)}"
        return Headline(text, f"Section 8.2 on {self.rows_of()}: {arena}." if arena else "")

    def rows_of(self) -> str:
        """Whose rows section 8.2 ran on."""
        if self.protocol_source is None:
            return "simulated battles"
        asked = f", judged by {self.protocol_judge}" if self.protocol_judge else ""
        return f"{self.protocol_source}{asked}"

    def tables(self) -> list[Block]:
        """The statements, the settings, the protocol, with notes about them."""
        shown: list[Block] = []
        if self.claims:
            shown.append(simulation.claim_table(self.claims, self.repeats))
        if self.settings:
            shown.append(simulation.setting_table(self.settings, self.confidence_level))
        if self.protocol:
            shown += [section_82.protocol_table(self), section_82.published_table()]
        notes = [*(f"note: {text}" for text in self.notes), *left_out(self.dropped)]
        return shown + notes_of(notes)

    def remarks(self) -> list[Block]:
        """None: its notes are about its tables, and follow them."""
        return []

    @property
    def simulated(self) -> bool:
        """Whether section 8.2 ran on simulated battles or asked a simulated judge."""
        asked = [self.protocol_judge] if self.protocol_judge else []
        return self.protocol_source is None or source_of(asked) == "simulated"

    def stamp(self, name: str) -> str | None:
        """Figures 3 and 4 are formulas; the others but Figure 7 are the paper's own simulation."""
        if name == "figure7":
            return "simulated" if self.simulated else None
        return None if name in ("figure3", "figure4") else "simulated, as in the paper"

    def can_draw(self, name: str) -> bool:
        """A picture of the simulation if it ran, that of the protocol if it has an estimate."""
        run = self.main is not None and self.single_run is not None
        possible = {
            "figure2": run,
            "figure3": bool(self.lengths),
            "figure4": bool(self.settings),
            "figure5": self.shift is not None,
            "figure6": run,
            "figure7": any(row.bias_corrected is not None for row in self.protocol),
        }
        return possible.get(name, name in {f"figure{setting.figure}" for setting in self.settings})


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
    >>> [setting.figure for setting in result.settings]
    ['9', '10', '11', '12', '13', '14', '15', '16']
    """
    count(repeats, "repeats", least=10)
    level = open_unit(confidence_level, "confidence_level")
    share = open_unit(calibration, "calibration")
    count(splits, "splits", least=1)
    if data is None:
        if judge is not None:
            raise ArgumentError("judge", judge, "give the pairs or items to ask it about")
        arena, source = (
            section_82.simulate_arena(battles=sample or SIMULATED_BATTLES, seed=seed),
            None,
        )
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
    models = section_82.measure_models(
        arena.frame, splits=splits, share=share, level=level, seed=seed, named=asked
    )
    small = arena.frame["model"].n_unique() - len(models)
    few = f"{small} models with fewer than {section_82.FEWEST} rows are left out"
    rng = np.random.default_rng(seed)
    settings = tuple(
        simulation.simulate_setting(figure, m, q0, q1, repeats, level, rng)
        for figure, m, q0, q1 in simulation.SETTINGS
    )
    shift = simulation.simulate_shift(repeats, rng)
    lengths = tuple(simulation.length_curve(p, level) for p in simulation.CURVES)
    result = ReportingReproduction(
        repeats=repeats,
        confidence_level=level,
        seed=seed,
        settings=settings,
        shift=shift,
        lengths=lengths,
        single_run=simulation.one_run(200, 0.7, 0.9, level, rng),
        claims=simulation.compare_claims(settings, shift, lengths[0], level, repeats),
        protocol=models,
        protocol_source=source,
        protocol_judge=asked,
        probabilities=section_82.has_probabilities(arena.frame),
        splits=splits,
        notes=(*read_published("reporting")["notes"], *([few] if small else [])),
        dropped=arena.dropped,
    )
    # The paper's simulation, run again, counts as reproduced.
    book = ItemBook("reporting", read_published("reporting")["items"])
    simulation.add_simulation(book, settings, shift, lengths)
    section_82.add_arena(book, result)
    simulation.add_propositions(book)
    return replace(result, items=book.items())
