"""The workers of a run and whoever hands out their work, in this process: Ray is left out.

With Ray, nodes and kills they are tested in tests/conformance/test_ray.py.
"""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import ArgumentError, JudgeError, UnusableRepliesError
from adjudge.judges.cluster import team as team_module
from adjudge.judges.cluster.connection import RayCluster
from adjudge.judges.cluster.team import Worker, WorkOrder
from adjudge.judges.flow import Progress, Stop
from adjudge.judges.interface import Backend, Choice, Question
from adjudge.judges.judging import judge_pairs
from adjudge.judges.prices import Price
from adjudge.records import Reply
from adjudge.simulate.pairs import simulate_pairs

PAIRS = simulate_pairs(120, seed=1)
JUDGE = "simulated:accuracy=0.9"


class GoneError(Exception):
    """A worker is gone."""


class Placed:
    """A worker in this process, called as Ray's actors are; it dies when it is told to."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.dead = False
        self.working: asyncio.Task[None] | None = None

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Coroutine[Any, Any, Any]] = getattr(self.worker, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise GoneError("killed")
            # What is said goes from one process to another.
            return pickle.loads(pickle.dumps(await method(*args, **kwargs)))  # noqa: S301  (ours)

        class Remote:
            @staticmethod
            def remote(*args: Any, **kwargs: Any) -> asyncio.Task[Any]:
                task = asyncio.ensure_future(call(*args, **kwargs))
                if name == "work":
                    self.working = task
                return task

        return Remote

    async def die(self) -> None:
        """End like a killed process: nothing more is asked or said, claims are given back."""
        self.dead = True
        assert self.working is not None
        self.working.cancel()
        await asyncio.gather(self.working, return_exceptions=True)


class Here:
    """A cluster in this process."""

    died = GoneError

    def __init__(self, workers: int, dies: Callable[[int, Placed], bool]) -> None:
        self.workers, self.dies = workers, dies
        self.placed: list[Placed] = []
        self._killers: list[asyncio.Task[None]] = []

    async def join(self) -> None: ...

    def check_store(self, place: object) -> None: ...

    def seats(self, *, uses_gpu: bool) -> tuple[int, int]:
        return self.workers, int(uses_gpu)

    def place(self, order: WorkOrder, *, gpus: int) -> Placed:
        placed = Placed(Worker(order))
        self.placed.append(placed)
        self._killers.append(asyncio.create_task(self._kill(len(self.placed), placed)))
        return placed

    async def _kill(self, number: int, placed: Placed) -> None:
        while not self.dies(number, placed):  # noqa: ASYNC110  (the worker rings no bell)
            await asyncio.sleep(0.001)
        await placed.die()

    def dismiss(self, actor: Placed) -> None:
        if actor.working is not None:
            actor.working.cancel()

    def leave(self) -> None:
        for killer in self._killers:
            killer.cancel()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Here]]:
    """Runs with engine ray are made by workers in this process."""

    def use(workers: int, dies: Callable[[int, Placed], bool] = lambda *_: False) -> list[Here]:
        made: list[Here] = []

        def cluster_of(address: str | None, **_: object) -> Here:
            made.append(Here(seats, dies))
            return made[-1]

        seats = workers
        monkeypatch.setattr(team_module, "RayCluster", cluster_of)
        monkeypatch.setattr(team_module, "_POLL_S", 0.005)
        return made

    return use


class Slow(Backend):
    """The same answer after a moment; it counts what it is asked, in all workers together."""

    name, wants, concurrency = "slow:1", frozenset({Choice}), 4
    asked: list[str] = []  # noqa: RUF012  (shared on purpose)

    def __init__(self, status: str = "ok", *, seconds: float = 0.002) -> None:
        self.status, self.seconds = status, seconds
        Slow.asked = []

    def identity(self) -> dict[str, Any]:
        return {"backend": "slow"}

    async def ask(self, question: Question) -> Reply:
        Slow.asked.append(question.messages[-1].text + str(question.order))
        await asyncio.sleep(self.seconds)
        if self.status != "ok":
            return Reply(status="no_logprobs")
        logprobs = dict.fromkeys(("A", "B"), -1.0)
        return Reply(status="ok", logprobs=logprobs, prompt_tokens=100, completion_tokens=1)


def test_the_rows_are_those_of_one_process_whatever_the_number_of_workers(cluster: Any) -> None:
    alone = judge_pairs(PAIRS, judge=JUDGE, store="alone.db", output="alone.jsonl")
    for workers in (1, 3):
        cluster(workers)
        run = judge_pairs(PAIRS, judge=JUDGE, store=f"{workers}.db", output="o.jsonl", engine="ray")
        assert Path("o.jsonl").read_bytes() == Path("alone.jsonl").read_bytes()
        assert run.summary.calls == alone.summary.calls
        assert run.summary.judge_fingerprint == alone.summary.judge_fingerprint
        again = judge_pairs(PAIRS, judge=JUDGE, store=f"{workers}.db", engine="ray")
        assert (again.summary.calls, again.summary.reused) == ({}, 240)


def test_what_a_dead_worker_left_is_asked_by_others_and_counted_once(cluster: Any) -> None:
    made = cluster(2, lambda number, placed: number == 1 and placed.worker._tally.calls_made > 20)
    seen: list[Progress] = []
    run = judge_pairs(PAIRS, judge=Slow(), store="s.db", engine="ray", progress=seen.append)
    assert run.summary.statuses == {"ok": 120}
    assert len(made[0].placed) == 3
    assert len(set(Slow.asked)) == 240
    assert len(Slow.asked) - 240 <= Slow.concurrency
    assert seen[-1].done == 240
    assert run.summary.notes == ("1 worker died; others took over the work",)
    assert run.summary.reused < 40, "what the dead worker asked is not reused"


def test_a_worker_that_dies_again_and_again_stops_the_run(cluster: Any) -> None:
    cluster(1, lambda *_: True)
    with pytest.raises(JudgeError, match="a worker died 4 times: killed"):
        judge_pairs(PAIRS, judge=JUDGE, store="s.db", engine="ray")


def test_ten_unusable_replies_stop_all_workers(cluster: Any) -> None:
    cluster(4)
    with pytest.raises(UnusableRepliesError, match="the first 10 replies"):
        judge_pairs(PAIRS, judge=Slow("no_logprobs"), store="s.db", engine="ray")
    assert len(Slow.asked) <= 10 + Slow.concurrency
    run = judge_pairs(PAIRS, judge=Slow("no_logprobs"), store="s.db", engine="ray", keep_going=True)
    assert run.summary.statuses == {"no_logprobs": 120}


def test_money_is_shared_and_never_overspent(cluster: Any) -> None:
    # 101 tokens at 10 dollars a million are 0.00101 dollars a call.
    prices = {"slow:1": Price(prompt=10.0, completion=10.0, source="test")}
    cluster(3)
    given = {"judge": Slow(), "store": "s.db", "engine": "ray", "prices": prices}
    run = judge_pairs(PAIRS, **given, max_cost=0.1)
    assert run.summary.stopped == "max_cost"
    assert 0.09 < (run.summary.cost_this_run or 0) <= 0.1
    assert (run.summary.cost_this_run or 0) == pytest.approx(0.00101 * len(Slow.asked))
    rest = judge_pairs(PAIRS, **given, max_cost=1.0)
    assert (rest.summary.stopped, rest.summary.statuses) == (None, {"ok": 120})
    assert len(Slow.asked) == len(set(Slow.asked)) == 240


def test_with_a_maximum_cost_a_dead_worker_is_not_replaced(cluster: Any) -> None:
    prices = {"slow:1": Price(prompt=10.0, completion=10.0, source="test")}
    made = cluster(2, lambda number, placed: number == 1 and placed.worker._tally.calls_made > 20)
    given = {"judge": Slow(), "store": "s.db", "engine": "ray", "prices": prices}
    run = judge_pairs(PAIRS, **given, max_cost=1.0)
    assert (run.summary.stopped, run.summary.statuses) == (None, {"ok": 120})
    assert len(made[0].placed) == 2
    # Replies after its last report are in the store, but not in the counts.
    assert 0.23 < (run.summary.cost_this_run or 0) <= 1.0
    assert len(Slow.asked) - 240 <= Slow.concurrency


def test_a_run_that_is_stopped_stops_its_workers(cluster: Any) -> None:
    cluster(2)
    stop = Stop()

    def watch(now: Progress) -> None:
        if now.made > 30:
            stop.interrupt()

    slow = Slow(seconds=0.03)
    run = judge_pairs(PAIRS, judge=slow, store="s.db", engine="ray", stop=stop, progress=watch)
    assert run.summary.stopped == "interrupted"
    assert 0 < run.judgments.height < 120
    assert judge_pairs(PAIRS, judge=Slow(), store="s.db").summary.reused == sum(
        run.summary.calls.values()
    )


def test_several_judges_are_asked_one_after_the_other(cluster: Any) -> None:
    cluster(2)
    given = {"judge": [JUDGE, "simulated:accuracy=0.7"], "store": "s.db", "engine": "ray"}
    run = judge_pairs(PAIRS[:20], **given)
    assert [one.statuses for one in run.summaries] == [{"ok": 20}] * 2
    rule = lambda subjects, _: ["doubt" if s in PAIRS[:5] else "settled" for s in subjects]  # noqa: E731
    staged = judge_pairs(PAIRS[:20], **given, stop_rule=rule)
    assert [one.reused for one in staged.summaries] == [40, 10]


def test_workers_that_are_not_one_judge_are_refused(cluster: Any) -> None:
    class Machine(Backend):
        """A judge whose identity says where it runs."""

        name, wants, made = "machine:1", frozenset({Choice}), 0

        def __init__(self) -> None:
            self.number = 0

        def identity(self) -> dict[str, Any]:
            Machine.made += 1
            return {"engine": f"torch 2.{Machine.made}"}

        async def ask(self, question: Question) -> Reply:
            await asyncio.sleep(0.01)
            return Reply(status="ok", logprobs=dict.fromkeys(("A", "B"), -1.0))

    cluster(2)
    with pytest.raises(JudgeError, match="not the same judge on all machines .*: engine differ"):
        judge_pairs(PAIRS, judge=Machine(), store="s.db", engine="ray")


def test_a_file_is_no_store_for_several_machines() -> None:
    cluster = RayCluster("head:6379", workers=None)

    class Two:
        @staticmethod
        def nodes() -> list[dict[str, Any]]:
            return [{"NodeManagerHostname": name, "Alive": True} for name in ("one", "two")]

        @staticmethod
        def cluster_resources() -> dict[str, float]:
            return {"CPU": 16.0, "GPU": 4.0}

    cluster._ray = Two
    for place in ("adjudge.db", Path("adjudge.db"), "sqlite:///adjudge.db"):
        with pytest.raises(ArgumentError, match="the cluster has 2 machines; give postgresql://"):
            cluster.check_store(place)
    cluster.check_store("postgresql://db.example/judgments")
    with pytest.raises(ArgumentError, match="workers share it"):
        cluster.check_store(None)
    assert cluster.seats(uses_gpu=True) == (4, 1)
    assert cluster.seats(uses_gpu=False) == (16, 0)
    cluster._wanted = 5
    with pytest.raises(ArgumentError, match="the cluster has 4 GPUs; give fewer"):
        cluster.seats(uses_gpu=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"engine": "slurm"}, "engine = 'slurm': choose one of local, ray"),
        ({"workers": 2}, "workers = 2: it needs engine ray: add it"),
        ({"ray_address": "auto"}, "ray_address"),
        ({"engine": "ray", "batch": True}, "a batch needs no workers"),
        ({"engine": "ray", "workers": 0}, "workers"),
        ({"engine": "ray", "ray_address": "ray://head:10001"}, "run adjudge on a machine of the"),
    ],
)
def test_options_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        judge_pairs(PAIRS, judge=JUDGE, store="s.db", **given)
    assert not Path("s.db").exists()


def test_without_ray_one_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['ray'] = None\n"
        "from adjudge.cli import main\n"
        "sys.argv = ['adjudge', 'judge', 'p.csv', '--judge', 'simulated:', '-o', 'o.jsonl',"
        " '--engine', 'ray']\n"
        "main()"
    )
    Path("p.csv").write_text("id,prompt,response_a,response_b\n1,p,a,b\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "run: pip install '.[ray]' in a checkout of adjudge"
    )
    assert "Traceback" not in done.stderr
