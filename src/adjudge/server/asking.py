"""Asking people until an experiment is decided: the labelling page, with a look after every label.

The experiment's rows were read before. After each label it looks at the labels alone, and what it
draws next joins the queue of the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

import polars as pl

from adjudge.errors import AdjudgeError
from adjudge.estimation.abtest import ABTest, Experiment
from adjudge.server.labelling import Draw, LabellingRound
from adjudge.server.rounds import open_round

#: Seconds until the page closes: it asks for the next answer first, and hears that there is none.
_UNTIL_CLOSED = 2.0


def ask_people(
    experiment: Experiment,
    rows: pl.DataFrame,
    open_page: Callable[[LabellingRound], None],
    announce: Callable[[str], None],
) -> None:
    """Open the labelling page on what the experiment draws, until it is decided or stopped.

    `rows` have the texts of all answers. Each answer is asked of one person.
    """
    first = experiment.look()
    announce(first.reach)
    scale = experiment.rules.scale
    with open_round(
        rows,
        store=experiment.store,
        plan=first.rows_to_label(),
        scale=None if scale is None else "{}-{}".format(*scale),
        share_out=True,
        announce=announce,
    ) as round_:
        looks = _Looks(experiment, round_)
        round_.on_label = looks.take
        open_page(round_)
    if looks.error is not None:
        raise looks.error


class _Looks:
    """The looks of an experiment at its round, one at a time: several raters can label."""

    def __init__(self, experiment: Experiment, round_: LabellingRound) -> None:
        self._experiment = experiment
        self._round = round_
        self._one_at_a_time = Lock()
        #: Why a look was not possible. It ends the round; the label that led to it is stored.
        self.error: AdjudgeError | None = None

    def take(self) -> None:
        """Look, then ask what comes next, or nothing more."""
        with self._one_at_a_time:
            try:
                result = self._experiment.look()
            except AdjudgeError as error:
                self.error = error
                self._end()
                return
            self._ask(result)
            if result.finished:
                self._end()

    def _ask(self, result: ABTest) -> None:
        drawn = [Draw(name, "random") for name in result.rows_to_label()["id"]]
        self._round.queue = tuple(dict.fromkeys([*self._round.queue, *drawn]))

    def _end(self) -> None:
        """Take back the questions without a label, and close the page."""
        labelled = {answer.subject_id for answer in self._round.book.answers() if answer.label}
        self._round.queue = tuple(draw for draw in self._round.queue if draw.id in labelled)
        self._round.closes_at = min(self._round.closes_at, time.monotonic() + _UNTIL_CLOSED)
