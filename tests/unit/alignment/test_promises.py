"""What an alignment promises about money, servers, repeated prompts, files and two processes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prompted_judge import PromptedJudge, Proposer, labelled_items, labelled_pairs

from adjudge.alignment import align, plan_alignment
from adjudge.alignment.align import AlignmentOptions, _Search
from adjudge.alignment.asking import Asking
from adjudge.alignment.candidates import Candidate, Mistake
from adjudge.errors import AdjudgeError, ArgumentError, DataError, JudgeError
from adjudge.judges.interface import Choice, Question, Reasoned
from adjudge.judges.judging import judge_pairs
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prices import Price
from adjudge.judges.prompting import builtin_prompt, read_prompt
from adjudge.judges.protocols.grade import GradeProtocol
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Item, Pair, Reply
from adjudge.store import use_store

PRICES = {
    "test:prompted": Price(10.0, 0.0, "test"),
    "test:proposer": Price(0.0, 1000.0, "test"),
}


class PricedJudge(PromptedJudge):
    free = False


class PricedProposer(Proposer):
    free = False


def priced() -> dict[str, Any]:
    judge, proposer = PricedJudge(0.6, {"MAGIC": 0.25}), PricedProposer(["MAGIC", "x"])
    return {"judge": judge, "proposer": proposer, "prices": PRICES}


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return str(request.getfixturevalue("postgres_server").url())


def test_cost_is_of_judge_and_proposer_and_the_same_when_repeated(tmp_path: Path) -> None:
    how = priced()
    first = align(labelled_pairs(120), **how, store=tmp_path / "a.db").result
    # 100 tokens of $10 a million for each question, 50 of $1,000 for each rewrite.
    spent = 0.001 * len(how["judge"].asked) + 0.05 * how["proposer"].asked
    assert first.cost == pytest.approx(spent)
    assert first.calls == len(how["judge"].asked) + how["proposer"].asked
    assert first.own_cost_per_row == pytest.approx(0.002)
    assert align(labelled_pairs(120), **how, store=tmp_path / "a.db").result == first
    plan = plan_alignment(labelled_pairs(120), **how, store=tmp_path / "b.db")
    assert plan.most_cost is not None
    assert plan.most_cost > 12 * 0.05


def test_max_cost_is_for_judge_and_proposer_together(tmp_path: Path) -> None:
    how = {**priced(), "store": tmp_path / "a.db", "max_cost": 0.2, "concurrency": 1}
    stops = 0
    for _ in range(20):
        before = 0.001 * len(how["judge"].asked) + 0.05 * how["proposer"].asked
        try:
            align(labelled_pairs(120), **how)
        except JudgeError as error:
            stops += "stopped (max_cost)" in str(error)
        after = 0.001 * len(how["judge"].asked) + 0.05 * how["proposer"].asked
        assert after - before <= 0.2 + 1e-9
        if after == before:
            break
    assert stops >= 2
    with pytest.raises(ArgumentError, match="no price for test:proposer"):
        align(labelled_pairs(120), **{**how, "prices": {"test:prompted": PRICES["test:prompted"]}})


@pytest.mark.parametrize(
    "wrong",
    [
        {"guarantee": "none"},
        {"alpha": 2.0},
        {"candidates": 0},
        {"shares": (5, 45, 50)},
        {"protocol": "likelihood"},
        {"repeats": 2},
        {"reason": True},
    ],
)
def test_wrong_options_are_refused_before_the_first_call(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    judge = PromptedJudge(0.6, {})
    with pytest.raises(AdjudgeError):
        align(labelled_pairs(120), judge=judge, store=tmp_path / "a.db", **wrong)
    assert judge.asked == []


def test_without_a_store_nothing_is_asked_twice() -> None:
    judge = PromptedJudge(0.6, {"demonstrations": 0.2})
    run = align(labelled_pairs(120), judge=judge, store=None)
    assert run.result.calls == len(judge.asked)


def test_the_written_files_make_the_judge_of_the_policy(tmp_path: Path) -> None:
    """Demonstrations with all their columns: a reference is part of the question."""
    items = [
        replace(item, extra={**item.extra, "reference": f"ref {item.id}"})
        for item in labelled_items(200)
    ]
    judge = PromptedJudge(0.6, {"demonstrations": 0.3})
    run = align(items, judge=judge, protocol="grade", store=tmp_path / "a.db")
    assert run.result.demonstrations > 0
    run.write(tmp_path / "out")
    new = [
        Item(id=run.demonstrations[0].id, prompt="q", response="good 900", extra={"reference": "r"})
    ]
    judged = judge_pairs(
        new,
        judge=judge,
        protocol="grade",
        prompt=tmp_path / "out" / "prompt.txt",
        demonstrations=tmp_path / "out" / "demonstrations.jsonl",
        store=None,
    )
    assert run.policy is not None
    assert judged.summary.judge_fingerprint in run.policy.judge_fingerprints


def test_a_prompt_with_its_own_form_of_answer_has_no_demonstrations(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    text = builtin_prompt("preference").text
    mine.write_text(f"{text}\n--- answer ---\nformat: [[A]]\n")
    judge = PromptedJudge(0.6, {})
    judge.wants = frozenset({Choice, Reasoned})
    asking = Asking(JudgingOptions(judge=judge))
    own = Candidate("own", read_prompt(mine))
    shown = replace(own, demonstrations=tuple(labelled_pairs(2)))
    assert asking.refusal_of(own) is None
    assert "leave out --reason" in (asking.refusal_of(shown) or "")
    options = AlignmentOptions(judge=judge, prompt=mine, store=tmp_path / "a.db")
    search = _Search(labelled_pairs(120), options)
    search.mistakes = [Mistake(row, "A") for row in search.labelled]
    assert search._propose(search.own, 1) == []


def test_renamed_rows_are_the_same_look(place: str) -> None:
    judge, proposer = PromptedJudge(0.6, {"MAGIC": 0.25}), Proposer(["MAGIC", "x"])
    pairs = labelled_pairs(120)
    first = align(pairs, judge=judge, proposer=proposer, store=place).result
    asked = len(judge.asked)
    renamed = [replace(pair, id=f"other {pair.id}") for pair in pairs]
    again = align(renamed, judge=judge, proposer=proposer, store=place).result
    assert (again.gain, again.look, len(again.ledger)) == (first.gain, 1, 1)
    assert first.gain is not None
    assert len(judge.asked) - asked < asked / 2


def test_another_judge_of_the_same_name_is_another_look(tmp_path: Path) -> None:
    store, proposer = tmp_path / "a.db", Proposer(["MAGIC", "x"])
    align(
        labelled_pairs(120),
        judge=PromptedJudge(0.6, {"MAGIC": 0.25}),
        proposer=proposer,
        store=store,
    )
    other = PromptedJudge(0.55, {"MAGIC": 0.3})
    with pytest.raises(ArgumentError, match="all declared looks"):
        align(labelled_pairs(120), judge=other, proposer=proposer, store=store)
    assert other.asked == []


def test_files_that_were_divided_apart_are_not_joined(tmp_path: Path) -> None:
    judge, store = PromptedJudge(0.6, {}), tmp_path / "a.db"
    first, second = labelled_pairs(120, seed=1), labelled_pairs(120, seed=2)
    for pairs in (first, second):
        align(pairs, judge=judge, store=store)
    both = [*first, *(replace(pair, id=f"second {pair.id}") for pair in second)]
    with pytest.raises(ArgumentError, match="divided apart 2 times"):
        align(both, judge=judge, store=store)


@pytest.mark.parametrize("state", ["{", "[]", '{"shares": 5}', '{"shares": [], "ledger": [7]}'])
def test_parts_that_cannot_be_read_are_one_line(tmp_path: Path, state: str) -> None:
    judge = PromptedJudge(0.6, {})
    with use_store(tmp_path / "a.db") as store:
        store.keep_monitor("alignment: x", state)
    with pytest.raises(ArgumentError, match="alignment: x.*cannot be read: use a new store"):
        align(labelled_pairs(120), judge=judge, store=tmp_path / "a.db")
    assert judge.asked == []


def test_few_prompts_are_refused_and_no_prompts_are_not(tmp_path: Path) -> None:
    judge = PromptedJudge(0.65, {"demonstrations": 0.3})
    items = labelled_items(200)
    for prompts in (1, 3):
        few = [replace(item, prompt=f"q{at % prompts}") for at, item in enumerate(items)]
        with pytest.raises(ArgumentError, match=f"{prompts} different questions"):
            align(few, judge=judge, protocol="grade", store=tmp_path / "a.db")
    assert judge.asked == []
    none = [replace(item, prompt="") for item in items]
    run = align(none, judge=judge, protocol="grade", store=tmp_path / "b.db")
    assert run.result.n_certify >= 95


def test_with_repeated_prompts_all_numbers_are_over_prompts(tmp_path: Path) -> None:
    """A prompt with many rows does not weigh more, in the gain, the accuracies or the policy."""
    sizes = [1 + 5 * (at % 4 == 0) for at in range(90)]
    prompts = [f"prompt {at}" for at, size in enumerate(sizes) for _ in range(size)]
    pairs = [
        replace(pair, prompt=prompt)
        for pair, prompt in zip(labelled_pairs(len(prompts)), prompts, strict=True)
    ]
    judge, proposer = PromptedJudge(0.55, {"MAGIC": 0.35}), Proposer(["MAGIC", "x"])
    run = align(pairs, judge=judge, proposer=proposer, store=tmp_path / "a.db")
    result = run.result
    assert result.gain == pytest.approx(result.aligned_accuracy - result.own_accuracy)
    changes = Counter(row.change for row in result.changed)
    assert result.gain != pytest.approx((changes["fixed"] - changes["broken"]) / result.n_certify)
    assert run.policy is not None
    assert run.policy.n_calibration < result.n_certify


class Dying(PromptedJudge):
    """Fails on prompts with the word LATER, and with `demonstrations_too` on those."""

    demonstrations_too = False

    async def ask(self, question: Question) -> Reply:
        shown = self.demonstrations_too and len(question.messages) > 2
        if shown or any("LATER" in message.text for message in question.messages):
            return Reply(status="error", error="no connection")
        return await super().ask(question)


def test_a_server_that_dies_stops_the_run_and_takes_no_look(tmp_path: Path) -> None:
    how = {"proposer": Proposer(["LATER", "LATER on", "not LATER"]), "candidates": 5, "rounds": 1}
    judge, store = Dying(0.6, {}), tmp_path / "a.db"
    judge.demonstrations_too = True
    with pytest.raises(JudgeError, match="all prompts failed .*are errors.*resume"):
        align(labelled_pairs(120), judge=judge, store=store, **how)


def test_some_errors_are_a_warning(tmp_path: Path) -> None:
    judge = Dying(0.6, {"MAGIC": 0.25})
    proposer = Proposer(["LATER", "MAGIC"])
    run = align(labelled_pairs(120), judge=judge, proposer=proposer, store=tmp_path / "a.db")
    [warning] = run.result.warnings
    assert "dropped because of errors: run again to ask again" in warning


class Down(Proposer):
    async def ask(self, question: Question) -> Reply:
        return Reply(status="error", error="no connection")


def test_a_proposer_that_fails_stops_the_run(tmp_path: Path) -> None:
    judge = PromptedJudge(0.6, {})
    with pytest.raises(JudgeError, match="test:proposer failed on all requests .no connection"):
        align(labelled_pairs(120), judge=judge, proposer=Down([]), store=tmp_path / "a.db")


@pytest.mark.parametrize("label", [None, "tie"])
def test_demonstrations_without_a_label_are_refused(label: Any) -> None:
    pair = Pair(id="d", prompt="q", response_a="a", response_b="b", label=label)
    with pytest.raises(DataError, match="no label that can be shown"):
        Preference(demonstrations=[pair])
    item = Item(id="d", prompt="q", response="a", extra={"human": 0.5 if label else None})
    with pytest.raises(DataError, match="no label that can be shown"):
        GradeProtocol(demonstrations=[item])
    with pytest.raises(ArgumentError, match="give Item rows"):
        GradeProtocol(demonstrations=[pair])  # type: ignore[list-item]


def test_two_processes_on_one_store_share_one_look(place: str) -> None:
    """Each has its own connection; the second look is the first one, or it is refused."""
    outcomes: list[Any] = []

    def run(seed: int) -> None:
        judge, proposer = PromptedJudge(0.6, {"MAGIC": 0.25}), Proposer(["MAGIC", "x"])
        try:
            how = {"judge": judge, "proposer": proposer, "store": place, "seed": seed}
            outcomes.append(align(labelled_pairs(120), **how).result)
        except AdjudgeError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (0, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results = [outcome for outcome in outcomes if not isinstance(outcome, str)]
    assert results
    assert {len(result.ledger) for result in results} == {1}
    assert len({result.ledger for result in results}) == 1
    for outcome in outcomes:
        if isinstance(outcome, str):
            assert "another process aligns" in outcome or "all declared looks" in outcome


RACE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {support!r})
from prompted_judge import PromptedJudge, labelled_pairs
from adjudge.alignment import align

class Waiting(PromptedJudge):
    async def ask(self, question):
        Path({folder!r}, "ready {start}").touch()
        while not Path({folder!r}, "go").exists():
            await asyncio.sleep(0.01)
        return await super().ask(question)

align(labelled_pairs(240)[{start} : {start} + 160], judge=Waiting(0.6, {{}}), store={store!r})
"""


def test_two_processes_with_overlapping_files_divide_them_once(place: str, tmp_path: Path) -> None:
    """Both have found no parts before either writes its own."""
    support = str(Path(__file__).parents[2] / "support")
    how = {"support": support, "folder": str(tmp_path), "store": place}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RACE.format(start=start, **how)], stderr=subprocess.PIPE
        )
        for start in (0, 80)
    ]
    while not all((tmp_path / f"ready {start}").exists() for start in (0, 80)):
        assert all(process.poll() is None for process in processes)
        time.sleep(0.05)
    (tmp_path / "go").touch()
    messages = [process.communicate(timeout=120)[1].decode() for process in processes]
    assert sorted(process.returncode for process in processes) == [0, 1]
    assert sum("another process aligns with these labels" in text for text in messages) == 1
    with use_store(place) as store:
        [state] = store.monitors().values()
    assert len(json.loads(state)["parts"]) == 160
