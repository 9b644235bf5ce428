"""A cascade as a service: asks stage by stage, and rules as `select` does on the same rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from adjudge.errors import ArgumentError, InputError, PolicyMismatchError
from adjudge.judges import judge_pairs
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Judge, Question
from adjudge.judges.judge import make_judge, parse_protocol
from adjudge.policy.result import Policy
from adjudge.records import Item, Pair, Reply, Subject
from adjudge.selection import Cascade, calibrate, select
from adjudge.selection.cascade_judging import judge_cascade
from adjudge.server.service import Case, JudgeService, Ruling
from adjudge.simulate.pairs import simulate_pairs

OLD, NEW = simulate_pairs(300, seed=1), simulate_pairs(60, seed=2)
LOST = frozenset(pair.id for pair in NEW[:6])
COSTS = (1, 30)


class Counted(SimulatedBackend):
    """A simulated judge that counts, and fails on some rows."""

    def __init__(self, accuracy: float, *, seed: int, fails: frozenset[str] = frozenset()) -> None:
        super().__init__(accuracy=accuracy, seed=seed, noise=0.2)
        self.fails, self.asked = fails, 0

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        self.asked += 1
        if subject.id in self.fails:
            return Reply(status="error", error="gone")
        return await super().ask_about(subject, question)


def backends(fails: frozenset[str] = frozenset()) -> list[Counted]:
    return [Counted(0.75, seed=1, fails=fails), Counted(0.95, seed=2, fails=frozenset(
        sorted(fails)[:2]))]  # fmt: skip


def in_protocol(asked: Sequence[Counted], protocol: str = "preference") -> list[Judge]:
    return [make_judge(one, parse_protocol(protocol)) for one in asked]


@pytest.fixture(scope="module")
def policy() -> Policy:
    rows = judge_pairs(OLD, judge=backends(), store=None).judgments
    names = rows["judge"].unique(maintain_order=True).to_list()
    return calibrate(rows, doubt=Cascade(names, costs=COSTS), alpha=0.1)


def rule_all(
    service: JudgeService, subjects: Sequence[Any], categories: Sequence[str] | None = None
) -> list[Ruling]:
    async def run() -> list[Ruling]:
        await service.start()
        of = categories or [None] * len(subjects)
        cases = [Case(subject=s, category=c) for s, c in zip(subjects, of, strict=True)]
        rulings = await service.rule_many(cases)
        await service.close()
        return rulings

    return asyncio.run(run())


def test_rulings_are_those_of_select_and_the_strong_judge_rests(policy: Policy) -> None:
    served, asked = backends(LOST), backends(LOST)
    rulings = rule_all(JudgeService(in_protocol(served), policy), NEW)
    run = judge_cascade(NEW, policy, judge=asked, store=None)
    left = pl.DataFrame(
        [{"id": p.id, "prompt": p.prompt, "left": p.response_a, "right": p.response_b,
          "better": {"A": "l", "B": "r"}.get(p.label or "")} for p in NEW]
    )  # fmt: skip
    named = {"response_a": "left", "response_b": "right", "label": "better"}
    words = {"l": "A", "r": "B"}
    same = judge_cascade(
        left, policy, judge=backends(LOST), store=None, columns=named, labels_as=words
    )
    assert same.judgments.equals(run.judgments)
    rows = {row["id"]: row for row in select(run.judgments, policy).rows.to_dicts()}
    assert [one.asked for one in served] == [one.asked for one in asked]
    assert 0 < served[1].asked < served[0].asked == 120
    for ruling in rulings:
        row = rows[ruling.judgment.id]
        assert (ruling.accepted, ruling.reason) == (row["accepted"], row["reason"])
        assert (ruling.verdict, ruling.judge_verdict, ruling.learned_doubt) == (
            row["verdict"], row["judge_verdict"], row["learned_doubt"],
        )  # fmt: skip
        assert ruling.stage == row["stage"]
        assert ruling.asked == (1 if ruling.stage == served[0].name else 2)
    failed = [ruling for ruling in rulings if ruling.judgment.status == "error"]
    assert [one.reason for one in failed] == ["status error"] * 2
    assert {one.judgment.id for one in rulings if one.asked == 2} >= LOST


def test_other_judges_and_batches_are_refused(policy: Policy) -> None:
    with pytest.raises(PolicyMismatchError, match="2 judges"):
        JudgeService(in_protocol(backends()[:1]), policy)
    other = [Counted(0.8, seed=9), backends()[1]]
    with pytest.raises(PolicyMismatchError, match="this stage of the cascade"):
        JudgeService(in_protocol(other), policy)
    rows = judge_pairs(OLD, judge=backends(), store=None).judgments
    batch = calibrate(rows, doubt=Cascade(list(policy.judges), costs=COSTS), guarantee="fdr")
    with pytest.raises(InputError, match="batch decided together"):
        JudgeService(in_protocol(backends()), batch)


def test_grades_lengths_and_categories() -> None:
    """Single answers, and a policy that learned from a column: it is asked for by name."""
    items = [
        Item(id=str(at), prompt=f"q{at}", response="r",
             extra={"human": at % 2, "kind": "code" if at % 3 else "chat"})
        for at in range(300)
    ]  # fmt: skip
    rows = judge_pairs(items, judge=backends(), protocol="grade", store=None).judgments
    names = rows["judge_name"].unique(maintain_order=True).to_list()
    made = calibrate(rows, doubt=Cascade(names, costs=COSTS, category="kind"), alpha=0.1)
    assert (made.about, made.cascade is not None) == ("grades", True)
    asked = backends()
    again = judge_cascade(items[:40], made, judge=asked, store=None)
    chosen = {row["id"]: row for row in select(again.judgments, made).rows.to_dicts()}
    assert 0 < asked[1].asked < 40
    service = JudgeService(in_protocol(backends(), "grade"), made)
    with pytest.raises(ArgumentError, match="learned from kind"):
        rule_all(service, items[:1])
    kinds = [str(item.extra["kind"]) for item in items[:40]]
    rulings = rule_all(
        JudgeService(in_protocol(backends(), "grade"), made), items[:40], categories=kinds
    )
    for ruling in rulings:
        row = chosen[ruling.judgment.id]
        assert (ruling.accepted, ruling.verdict, ruling.learned_doubt) == (
            row["accepted"], row["verdict"], row["learned_doubt"],
        )  # fmt: skip


def test_texts_give_the_lengths_in_a_run_and_a_service() -> None:
    pairs = [
        Pair(id=one.id, prompt=one.prompt, label=one.label, response_a="a" * (1 + at % 90),
             response_b="b" * (1 + at % 37))
        for at, one in enumerate(OLD)
    ]  # fmt: skip
    rows = judge_pairs(pairs, judge=backends(), store=None).judgments
    names = rows["judge"].unique(maintain_order=True).to_list()
    table = pl.DataFrame([{"id": one.id, "prompt": one.prompt, "response_a": one.response_a,
                           "response_b": one.response_b} for one in pairs])  # fmt: skip
    made = calibrate(rows, pairs=table, doubt=Cascade(names, costs=COSTS), alpha=0.1)
    assert made.cascade is not None
    assert made.cascade.rule.lengths == "response"
    run = judge_cascade(pairs[:30], made, judge=backends(), store=None)
    chosen = {row["id"]: row for row in select(run.judgments, made, pairs=table).rows.to_dicts()}
    rulings = rule_all(JudgeService(in_protocol(backends()), made), pairs[:30])
    assert [one.learned_doubt for one in rulings] == [
        chosen[one.judgment.id]["learned_doubt"] for one in rulings
    ]
