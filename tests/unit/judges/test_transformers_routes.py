"""How the transformers backend puts questions together: a route, part of the fingerprint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: transformers untested")
pytest.importorskip("transformers", reason="transformers is not installed")

from tiny_judge import write_judge  # noqa: E402
from torch.nn.attention import flex_attention  # noqa: E402

from adjudge.errors import JudgeRefusedError  # noqa: E402
from adjudge.judges import judge_pairs, plan_judging  # noqa: E402
from adjudge.judges.backends._causal import TreeModel  # noqa: E402
from adjudge.judges.backends.transformers import TransformersBackend  # noqa: E402
from adjudge.judges.interface import (  # noqa: E402
    Choice,
    Data,
    Likelihood,
    Message,
    Question,
    Reasoned,
    Text,
)
from adjudge.records import Pair, Reply  # noqa: E402

PADDED, TREES = "padded batches", "prefix trees"
QUESTION = Question((Message("user", ("the",)),), Choice(("A", "B")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_judge(tmp_path_factory.mktemp("tiny"))


def make_questions() -> list[Question]:
    """All pairs of answers to two questions, likelihoods, another protocol's, one too long."""
    answers = [Data("better " * n) for n in (1, 4, 9)]
    asked = [
        Question((Message("user", ("Q: ", Data(prompt), " A: ", one, " B: ", two)),), Choice(want))
        for prompt in ("is it", "or not")
        for one, two in permutations(answers, 2)
        for want in (("A", "B"), ("1", "2"))
    ]
    message = (Message("user", ("the answer",)),)
    asked += [Question(message, Likelihood(answer)) for answer in answers]
    return [*asked, Question((Message("user", (Data("7" * 300),)),), Choice(("A", "B")))]


async def ask_all(backend: TransformersBackend, questions: Sequence[Question]) -> list[Reply]:
    return list(await asyncio.gather(*(backend.ask(question) for question in questions)))


def test_replies_by_trees_are_those_of_padded_batches(folder, monkeypatch):
    """On CPU, where trees are never the route, by the same model with FlexAttention uncompiled."""
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    questions = make_questions()

    async def both_ways() -> tuple[list[Reply], list[Reply], list[int]]:
        backend = TransformersBackend(str(folder), token_budget=256)
        await backend.start()
        padded = await ask_all(backend, questions)
        backend._trees = TreeModel(backend._model, lengths=(128, 256))
        rows: list[int] = []
        for name in ("options", "continuations"):
            real = getattr(backend._trees, name)

            def count(prompts, ids, real=real):
                rows.append(len(prompts))
                return real(prompts, ids)

            monkeypatch.setattr(backend._trees, name, count)
        trees = await ask_all(backend, questions)
        await backend.close()
        return padded, trees, rows

    padded, trees, rows = asyncio.run(both_ways())
    for one, other in zip(padded, trees, strict=True):
        assert one.status == other.status == "ok"
        assert one.mean_logprob == pytest.approx(other.mean_logprob, abs=1e-4)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert sum(rows) == len(questions) - 1  # the one that is longer than a row goes alone
    assert max(rows) >= 4


def test_on_cpu_there_is_one_route_and_it_is_said(folder):
    backend = TransformersBackend(str(folder))
    assert backend.routes(frozenset({Choice})) == (PADDED,)
    assert backend.routes(frozenset({Likelihood})) == (PADDED,)
    assert backend.routes(frozenset({Text, Reasoned})) == ()
    assert backend.remarks() == ()

    async def find() -> str | None:
        await backend.start()
        await backend.start()  # the run starts it again once its route is known
        route = await backend.find_route(QUESTION)
        await backend.close()
        return route

    assert asyncio.run(find()) == PADDED
    assert backend.remarks() == ("padded batches: prefix trees need CUDA",)


def test_on_cuda_trees_are_the_usual_route(folder):
    backend = TransformersBackend(str(folder), device="cuda")
    assert backend.routes(frozenset({Choice})) == (TREES, PADDED)
    backend.take_route(TREES)
    assert backend.remarks() == ()
    backend.take_route(PADDED)
    assert backend.remarks() == ("padded batches: as the replies in the store were asked",)


def test_a_store_of_replies_by_trees_is_not_mixed_with_padded_ones(folder):
    backend = TransformersBackend(str(folder))
    backend.take_route(TREES)
    with pytest.raises(JudgeRefusedError, match=r"by prefix trees.*need CUDA.*another --store"):
        asyncio.run(backend.start())
    asyncio.run(backend.close())


def test_a_run_keeps_its_route_and_a_plan_knows_it(folder, tmp_path):
    pairs = [Pair(id="1", prompt="the", response_a="answer", response_b="other")]
    given = {"judge": f"transformers:{folder}", "store": tmp_path / "store.db"}
    plan = plan_judging(pairs, **given)
    run = judge_pairs(pairs, **given).summary
    assert run.fingerprint_parts["route"] == PADDED
    assert (plan.judge_fingerprint, plan.unknown_parts) == (run.judge_fingerprint, ())
    assert run.notes == ("padded batches: prefix trees need CUDA",)
    again = judge_pairs(pairs, **given).summary
    assert (again.reused, again.judge_fingerprint) == (2, run.judge_fingerprint)
