"""Turns of a conversation are wrong together: what verbs say of them without an option.

Each world has conversations of 20 turns that are alike. Without an option, a conversation is taken
as one cluster, and intervals cover. Those of the same rows by themselves (the control) do not.
Figures are in docs/measurements.md; this file prints them if it is run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import binom

from adjudge import (
    calibrate,
    check_audits,
    compare,
    diagnose_bias,
    draw_audits,
    estimate,
    evaluate,
    rank,
    select,
)
from adjudge.policy.result import Policy
from adjudge.selection.planning import plan_labels

RUNS = [pytest.param(12, id="short"), pytest.param(40, id="full", marks=pytest.mark.montecarlo)]
TALKS, TURNS = 40, 20
#: A tail of the binomial band of a test.
TAIL = 1e-4


@dataclass(frozen=True)
class World:
    """Rows of turns; without `clustered` the file does not say which belong together."""

    rng: np.random.Generator
    clustered: bool
    talks: int = TALKS

    def alike(self, share: float) -> np.ndarray:
        """True in this share of turns; nine in ten are as their whole conversation is."""
        whole = np.repeat(self.rng.random(self.talks) < share, TURNS)
        own = self.rng.random(self.talks * TURNS) < share
        return np.where(self.rng.random(len(own)) < 0.9, whole, own)

    def rows(self, **columns: np.ndarray) -> pl.DataFrame:
        talk = [f"c{number}" for number in range(self.talks) for _ in range(TURNS)]
        turn = np.tile(np.arange(1, TURNS + 1), self.talks)
        ids = [f"{name}#{number}" for name, number in zip(talk, turn, strict=True)]
        frame = pl.DataFrame({"id": ids, "conversation_id": talk, "turn": turn, **columns})
        return frame if self.clustered else frame.drop("conversation_id")

    def graded(self, accuracy: float, share: float) -> pl.DataFrame:
        passes, right = self.alike(share), self.alike(accuracy)
        judge = np.where(right, passes, ~passes).astype(int)
        return self.rows(judge=judge, human=passes.astype(float))


def evaluates(world: World) -> bool:
    (judge,) = evaluate(world.graded(0.8, 0.6)).judges
    return judge.interval is not None and 0.8 in judge.interval


def estimates(method: str) -> Callable[[World], bool]:
    def covers(world: World) -> bool:
        rows = world.graded(0.85, 0.6)
        labelled = pl.int_range(pl.len()) < pl.len() // 2
        some = rows.with_columns(human=pl.when(labelled).then("human"))
        interval = estimate(some, method=method).interval
        return interval is None or 0.6 in interval  # with few errors there can be no estimate

    return covers


def compares(world: World) -> bool:
    sides = [world.rows(judge=world.alike(0.6).astype(int), model=np.full(TALKS * TURNS, name))
             for name in ("a", "b")]  # fmt: skip
    (difference,) = compare(pl.concat(sides)).differences
    return difference.judge.interval is not None and 0.0 in difference.judge.interval


def diagnoses(world: World) -> bool:
    quality = world.rng.normal(0, 2, TALKS * TURNS)
    lean = np.repeat(world.rng.choice([-1.0, 1.0], TALKS) * world.rng.uniform(0, 2, TALKS), TURNS)
    rows = world.rows(p_fwd=expit(quality + lean), p_rev=expit(quality - lean))
    position = diagnose_bias(rows).position
    return position is not None and 0.5 in position.interval


def ranks(world: World) -> bool:
    won = np.where(world.alike(0.5), "model_a", "model_b")
    names = {side: np.full(len(won), name) for side, name in (("model_a", "x"), ("model_b", "y"))}
    first = rank(world.rows(**names, winner=won)).models[0]
    return first.interval is not None and 1500.0 in first.interval


COVERS: dict[str, Callable[[World], bool]] = {
    "evaluate": evaluates,
    **{f"estimate, {name}": estimates(name) for name in ("human-only", "difference", "ppi++")},
    "estimate, misclassification": estimates("misclassification"),
    "compare": compares,
    "diagnose bias": diagnoses,
    "rank": ranks,
}


def share_of(covers: Callable[[World], bool], runs: int, *, clustered: bool) -> float:
    rng = np.random.default_rng(5)
    return sum(covers(World(rng, clustered)) for _ in range(runs)) / runs


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("family", COVERS)
def test_intervals_cover_when_turns_are_alike(family: str, runs: int) -> None:
    floor = float(binom.ppf(TAIL, runs, 0.95)) / runs
    covered = share_of(COVERS[family], runs, clustered=True)
    assert covered >= floor
    # The control: rows that are taken for independent do not cover.
    control = share_of(COVERS[family], runs, clustered=False)
    assert control < covered
    assert control < floor or runs < 40


def judged(world: World, error: float) -> pl.DataFrame:
    label = np.where(world.alike(1 - error), "A", "B")
    p_a = world.rng.uniform(0.6, 0.95, len(label))
    return world.rows(p_a=p_a, label=label)


def promise_fails(world: World) -> bool:
    """Whether verdicts that err in 0.4 are accepted, with the promise of an error rate of 0.3."""
    policy = calibrate(judged(world, 0.4), alpha=0.3, guarantee="pac", delta=0.1)
    return policy.accepts != "none"


@pytest.mark.parametrize("runs", RUNS)
def test_a_policy_keeps_its_promise_about_turns(runs: int) -> None:
    rng = np.random.default_rng(6)
    failed = sum(promise_fails(World(rng, clustered=True)) for _ in range(runs))
    assert failed <= binom.ppf(1 - TAIL, runs, 0.1)
    policy = calibrate(judged(World(rng, clustered=True), 0.1), alpha=0.3)
    assert (policy.cluster, policy.n_calibration) == ("conversation_id", TALKS)


def alarms(world: World, policy: Policy) -> bool:
    accepted = select(judged(world, policy_limit(policy)).with_columns(p_a=0.94), policy).rows
    audits = draw_audits(accepted, audit_rate=1, secret="not a secret: a test")
    return check_audits(audits.rows, policy).alarm


def policy_limit(policy: Policy) -> float:
    """The error rate above which a monitor of this policy is to raise an alarm."""
    return 1.5 * float(policy.alpha)


@pytest.mark.parametrize("runs", RUNS)
def test_a_monitor_of_turns_keeps_its_level(runs: int) -> None:
    """Turns that follow each other are wrong together: each is no new evidence."""
    rng = np.random.default_rng(7)
    certain = {"id": range(100), "p_a": [0.94] * 100, "label": ["A"] * 100}
    policy = calibrate(certain, alpha=0.1)
    false = sum(alarms(World(rng, clustered=True), policy) for _ in range(runs))
    assert false <= binom.ppf(1 - TAIL, runs, 0.05)
    control = sum(alarms(World(rng, clustered=False), policy) for _ in range(runs))
    assert control > binom.ppf(1 - TAIL, runs, 0.05)


def test_a_plan_of_labels_has_one_turn_of_a_conversation() -> None:
    world = World(np.random.default_rng(8), clustered=True)
    planned = plan_labels(judged(world, 0.1).drop("label"), seed=0)
    talks = [name.partition("#")[0] for name in planned.ids]
    assert len(talks) == len(set(talks)) == TALKS


if __name__ == "__main__":
    WORLDS = 400
    logging.disable(logging.CRITICAL)
    for family, covers in COVERS.items():
        shares = [share_of(covers, WORLDS, clustered=clustered) for clustered in (True, False)]
        print(f"{family:30} {shares[0]:.3f} {shares[1]:.3f}")
    rng = np.random.default_rng(7)
    certain = calibrate({"id": range(100), "p_a": [0.94] * 100, "label": ["A"] * 100}, alpha=0.1)
    for clustered in (True, False):
        false = np.mean([alarms(World(rng, clustered), certain) for _ in range(WORLDS)])
        print(f"{'monitor check, false alarms':30} {false:.3f}")
    for clustered in (True, False):
        failed = np.mean([promise_fails(World(rng, clustered)) for _ in range(WORLDS)])
        print(f"{'calibrate, pac, failures':30} {failed:.3f}")
