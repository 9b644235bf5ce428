"""Several judges in one run, the same question again, one order alone. Real store, real loop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.cli import run as run_command
from adjudge.data import read_judgments
from adjudge.data.judgments import prepare_judgments
from adjudge.diagnosis import diagnose_bias, diagnose_transitivity
from adjudge.errors import ArgumentError, JudgeError, JudgeRefusedError
from adjudge.judges import judge_pairs, plan_judging
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.flow import Progress
from adjudge.judges.interface import Backend, Question, Text
from adjudge.judges.prices import Price
from adjudge.records import Item, Reply
from adjudge.selection.labelled import read_labelled
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import SQLiteStore

PAIRS = simulate_pairs(40, seed=3)
GOOD, NOISY = "simulated:accuracy=0.9,seed=1", "simulated:accuracy=0.8,noise=3,seed=2"
EACH = Price(10.0, 0.0, "a test")


class Priced(SimulatedBackend):
    """A simulated judge that costs something, and counts what it is asked."""

    free = False
    concurrency = 1

    def __init__(self, name: str, *, seed: int) -> None:
        super().__init__(seed=seed)
        self.name, self.asked = name, 0

    async def ask_about(self, subject: Any, question: Question) -> Reply:
        self.asked += 1
        return await super().ask_about(subject, question)


class Broken(Backend):
    """A judge that cannot be started."""

    name = "broken:1"
    wants = SimulatedBackend.wants
    free = True

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "broken"}

    async def start(self) -> None:
        raise JudgeRefusedError("broken:1: no such model")

    async def ask(self, question: Question) -> Reply:
        raise AssertionError


# --- several judges ----------------------------------------------------------------------------


def test_every_judge_is_asked_about_every_row_and_has_a_summary(tmp_path: Path) -> None:
    seen: list[Progress] = []
    store = tmp_path / "s.db"
    run = judge_pairs(PAIRS, judge=[GOOD, NOISY], store=store, progress=seen.append)
    names = [summary.judge for summary in run.summaries]
    assert [summary.measured for summary in run.summaries] == [40, 40]
    assert run.judgments["judge"].to_list() == [names[0]] * 40 + [names[1]] * 40
    assert run.judgments["id"].to_list() == [pair.id for pair in PAIRS] * 2
    assert list(dict.fromkeys(moment.judge for moment in seen)) == names
    with pytest.raises(ArgumentError, match="there is one summary for each"):
        run.summary.judge  # noqa: B018
    for name, summary in zip((GOOD, NOISY), run.summaries, strict=True):
        alone = judge_pairs(PAIRS, judge=name, store=store)
        assert (alone.summary.reused, alone.summary.calls_made) == (80, 0)
        own = run.judgments.filter(pl.col("judge") == summary.judge)
        assert own.equals(alone.judgments)
    assert len(read_labelled(run.judgments).frame) == 80


def test_where_one_judge_fails_the_replies_of_the_others_are_kept(tmp_path: Path) -> None:
    store, output = tmp_path / "s.db", tmp_path / "out.jsonl"
    with pytest.raises(JudgeRefusedError, match="no such model"):
        judge_pairs(PAIRS, judge=[GOOD, Broken()], store=store, output=output)
    assert not output.exists()
    again = judge_pairs(PAIRS, judge=[GOOD, NOISY], store=store, output=output)
    assert [(one.reused, one.calls_made) for one in again.summaries] == [(80, 0), (0, 80)]
    assert read_judgments(output).height == 80


def test_what_is_to_be_spent_is_shared(tmp_path: Path) -> None:
    one, two = Priced("p:1", seed=1), Priced("p:2", seed=2)
    prices = {"p:1": EACH, "p:2": EACH}
    whole = judge_pairs(PAIRS, judge=Priced("p:1", seed=1), prices=prices, store=None)
    budget = 1.5 * (whole.summary.cost or 0)
    assert budget > 0
    store = tmp_path / "s.db"
    options: dict[str, Any] = {"prices": prices, "store": store}
    run = judge_pairs(PAIRS, judge=[one, two], max_cost=budget, **options)
    assert one.asked == 80
    assert 20 < two.asked < 60
    assert sum(summary.cost_this_run or 0 for summary in run.summaries) <= budget
    assert run.summaries[0].not_asked == 0
    assert run.summaries[1].not_asked == 40 - run.summaries[1].rows > 0
    rest = judge_pairs(PAIRS, judge=[one, two], **options)
    assert [summary.rows for summary in rest.summaries] == [40, 40]
    assert one.asked + two.asked == 160


def test_judges_are_checked_before_any_is_asked(tmp_path: Path) -> None:
    asked = Priced("p:1", seed=1)
    with pytest.raises(ArgumentError, match="name each judge once"):
        judge_pairs(PAIRS, judge=[asked, asked], store=None)
    with pytest.raises(ArgumentError, match="no-such"):
        judge_pairs(PAIRS, judge=[asked, "no-such:x"], store=None)
    with pytest.raises(ArgumentError, match="judge"):
        judge_pairs(PAIRS, judge=[], store=None)
    with pytest.raises(ArgumentError, match="give one judge at a time here"):
        plan_judging(PAIRS, judge=[GOOD, NOISY])  # type: ignore[arg-type]
    assert asked.asked == 0


def write_pairs() -> str:
    rows = [
        {
            "id": p.id,
            "prompt": p.prompt,
            "response_a": p.response_a,
            "response_b": p.response_b,
            "label": p.label,
        }
        for p in PAIRS
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "pairs.jsonl"


async def refuse_to_start(_: Backend) -> None:
    raise JudgeError("it does not start")


def test_on_the_command_line_none_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, both = write_pairs(), ["--judge", GOOD, "--judge", NOISY]
    assert run_command(["judge", pairs, *both, "--dry-run"]) == 0
    assert "2 judges asked by preference, 40 subjects: 160 calls" in capsys.readouterr().out
    assert run_command(["judge", pairs, *both, "-o", "out.jsonl", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["kind"], [one["rows"] for one in said["judges"]]) == ("judging_panel", [40, 40])
    assert read_judgments("out.jsonl").height == 80
    assert run_command(["judge", pairs, "--judge", GOOD, "--limit", "1", "-o", "one.jsonl"]) == 0
    assert "1 pair x 2 questions = 2 calls" in capsys.readouterr().err
    # A missing key is known before the first judge is asked.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lost = ["--judge", "simulated:seed=9", "--judge", "openai:m"]
    assert run_command(["judge", pairs, *lost, "-o", "lost.jsonl"]) == 1
    assert capsys.readouterr().err.startswith("adjudge: OPENAI_API_KEY is not set")
    # The first judge was complete when the second could not start: its replies are counted.
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    monkeypatch.setattr(OpenAIBackend, "start", refuse_to_start)
    assert run_command(["judge", pairs, *lost, "-o", "lost.jsonl"]) == 1
    calls, kept, problem = capsys.readouterr().err.splitlines()
    assert calls == "40 pairs x 2 questions x 2 judges = 160 calls"
    assert kept.startswith("80 replies of this run are kept in adjudge.db")
    assert "it does not start" in problem
    assert not Path("lost.jsonl").exists()


# --- repeats -----------------------------------------------------------------------------------


def test_rows_are_numbered_and_more_repeats_ask_only_what_is_new(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    once = judge_pairs(PAIRS, judge=NOISY, store=store)
    run = judge_pairs(PAIRS, judge=NOISY, store=store, repeats=3)
    assert (run.summary.reused, run.summary.calls_made) == (80, 160)
    assert run.summary.judge_fingerprint == once.summary.judge_fingerprint
    rows = run.judgments
    assert rows["repeat"].to_list() == [0, 1, 2] * 40
    assert rows.filter(pl.col("repeat") == 0).drop("repeat").equals(once.judgments)
    assert rows.group_by("id").agg(pl.col("p_a").n_unique())["p_a"].to_list() == [3] * 40
    with closing(SQLiteStore(store)) as kept:
        assert kept.latest_call_id() == 240
    plan = plan_judging(PAIRS, judge=NOISY, store=store, repeats=4)
    assert (plan.calls, plan.to_ask) == (320, 80)


def test_samples_within_a_repeat_are_never_shared() -> None:
    run = judge_pairs(PAIRS[:5], judge=NOISY, store=None, samples=4, repeats=2)
    assert run.summary.calls_made == 5 * 2 * 4 * 2
    drawn = [
        sum(times or 0 for times in sides["ab"].values())
        for sides in run.judgments["samples"].to_list()
    ]
    assert drawn == [4] * 10


def test_analyses_use_the_first_repeat_and_count_the_others(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    judge_pairs(PAIRS, judge=NOISY, store=None, repeats=3, output=output)
    rows = prepare_judgments(output)
    assert (rows.frame.height, rows.dropped) == (40, {"repeat of another row": 80})
    report = diagnose_bias(output)
    assert report.retest is not None
    assert report.retest.n == 40
    assert report.retest.flip_share > 0
    calm = judge_pairs(PAIRS, judge=GOOD, store=None, repeats=3).judgments
    steady = diagnose_bias(calm).retest
    assert steady is not None
    assert steady.flip_share == 0.0


def test_a_column_of_the_input_called_repeat_is_kept_under_another_name() -> None:
    pairs = [replace(pair, extra={"repeat": "mine"}) for pair in PAIRS[:2]]
    rows = judge_pairs(pairs, judge=GOOD, store=None, repeats=2).judgments
    assert rows["repeat"].to_list() == [0, 1, 0, 1]
    assert rows["input_repeat"].to_list() == ["mine"] * 4
    assert judge_pairs(pairs, judge=GOOD, store=None).judgments["repeat"].to_list() == ["mine"] * 2


def test_repeats_need_their_number() -> None:
    rows = {"id": [1, 1], "p_a": [0.2, 0.3]}
    with pytest.raises(Exception, match="or number them in repeat|keep one row per id"):
        read_judgments(rows)
    assert read_judgments({**rows, "repeat": [0, 1]}).height == 2
    with pytest.raises(Exception, match="number them in repeat"):
        read_judgments({**rows, "repeat": [1, 1]})
    with pytest.raises(ArgumentError, match="repeats"):
        judge_pairs(PAIRS, judge=GOOD, store=None, repeats=0)


# --- one order ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "shown"), [("ab", {"ab"}), ("ba", {"ba"})])
def test_one_order_alone_gives_p_a_and_says_which(order: str, shown: set[str]) -> None:
    biased = "simulated:accuracy=0.7,position_bias=0.4,seed=4"
    run = judge_pairs(PAIRS, judge=biased, store=None, order=order)
    rows, both = run.judgments, judge_pairs(PAIRS, judge=biased, store=None).judgments
    assert run.summary.calls_made == 40
    assert set(rows["order"]) == shown
    assert rows["p_fwd"].null_count() == rows["p_rev"].null_count() == 40
    assert rows["p_a"].equals(both["p_fwd" if order == "ab" else "p_rev"].rename("p_a"))
    assert read_judgments(rows).height == 40
    assert "order" not in both.columns


def test_a_random_order_is_drawn_for_each_pair_by_the_seed() -> None:
    orders = [
        judge_pairs(PAIRS, judge=GOOD, store=None, order="random", seed=seed).judgments["order"]
        for seed in (1, 1, 2)
    ]
    assert orders[0].equals(orders[1])
    assert not orders[0].equals(orders[2])
    assert set(orders[0]) == {"ab", "ba"}


def test_protocols_that_need_both_orders_refuse_one() -> None:
    with pytest.raises(ArgumentError, match="order"):
        judge_pairs(PAIRS, judge=GOOD, store=None, protocol="rubric", order="ab")
    with pytest.raises(ArgumentError, match="order"):
        judge_pairs(PAIRS, judge=GOOD, store=None, protocol="verbalized", order="both")
    with pytest.raises(ArgumentError, match="order"):
        judge_pairs(PAIRS, judge=GOOD, store=None, order="up")


def test_the_diagnosis_papers_protocol_is_one_order_three_times(tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    answers = [
        {"id": f"{doc}/{model}", "doc_id": doc, "model": model, "prompt": doc, "response": model}
        for doc in ("d1", "d2")
        for model in "xyz"
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in answers))
    run = judge_pairs(items, judge=NOISY, protocol="criterion", order="ab", repeats=3, store=None)
    assert run.summary.calls_made == 2 * 3 * 4 * 3
    report = diagnose_transitivity(run.judgments)
    assert report.to_dict()["rows"] == 2 * 3 * 4 * 3
    assert not report.dropped


# --- the rest of the chain ---------------------------------------------------------------------


def test_verbalized_confidence_below_a_guess_goes_through_the_chain(tmp_path: Path) -> None:
    from adjudge.selection import calibrate, evaluate_doubt, select

    class Sure(SimulatedBackend):
        wants = frozenset({Text})

        async def ask_about(self, subject: Any, question: Question) -> Reply:
            letter = subject.label if question.order == "ab" else "BA"["AB".index(subject.label)]
            stated = ("0.30", "0.50", "0.80", "0.95")[int(subject.id.split("-")[-1]) % 4]
            return Reply(status="ok", text=f"Verdict: {letter}\nConfidence: {stated}")

    pairs = [
        replace(pair, id=f"p-{n}")
        for n, pair in enumerate(simulate_pairs(200, seed=1))
        if pair.label in ("A", "B")
    ]
    run = judge_pairs(pairs, judge=Sure(), protocol="verbalized", store=None)
    assert run.summary.statuses == {"ok": len(pairs)}
    assert run.summary.agreement == 1.0
    rows = run.judgments
    assert rows["p_a"].null_count() == sum(int(p.id[2:]) % 4 < 2 for p in pairs)
    quality = evaluate_doubt(rows, splits=20, alphas=[0.2]).signals[0]
    # Always right: the ECE is what its stated confidence lacks.
    stated = rows["confidence"].to_numpy()
    assert quality.ece == pytest.approx(float((1 - stated).mean()))
    assert (quality.accuracy, quality.n_no_verdict) == (1.0, 0)
    decided = select(rows.drop("label"), calibrate(rows, alpha=0.2))
    assert decided.rows["accepted"].all()
    report = diagnose_bias(rows)
    assert report.reliability is not None
    assert report.reliability.mean_confidence == pytest.approx(float(stated.mean()))


def test_the_simulated_judge_states_a_preference_with_its_scores() -> None:
    rows = judge_pairs(PAIRS, judge=GOOD, store=None, protocol="rubric").judgments
    assert rows["preference_ab"].equals(rows["verdict"].rename("preference_ab"))
    report = diagnose_bias(rows)
    assert report.contradictions is not None
    assert (report.contradictions.unit, report.contradictions.share) == ("reply", 0.0)


def test_repeats_of_items_are_numbered_too() -> None:
    items = [Item(id=str(n), prompt="q", response="r", doc_id=str(n), model="m") for n in range(3)]
    rows = judge_pairs(items, judge=NOISY, protocol="likert", store=None, repeats=2).judgments
    assert rows.height == 3 * 4 * 2
    assert rows["repeat"].to_list() == ([0] * 4 + [1] * 4) * 3
