"""Providers' caches: what is marked, what it costs, what a dry run says of it."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge import plan_judging
from adjudge.judges import judge_pairs
from adjudge.judges.interface import Question
from adjudge.judges.judge import PROTOCOLS, parse_protocol
from adjudge.judges.prices import Price
from adjudge.judges.prompting import make_prompt
from adjudge.records import Item, Pair

LONG = "Be a fair and careful judge of the two answers. " * 120  # 1,440 tokens
PROMPT = make_prompt(
    "long.txt",
    f"--- system ---\n{LONG}\n--- user ---\n"
    "{prompt}\nA: {response_a}\nB: {response_b}\nA or B?",
)
#: Dollars per token, so that costs can be counted by hand.
PRICE = Price(1e6, 0.0, "test", cached=0.1e6, cache_write=1.25e6)
PAIRS = [
    Pair(id=str(n), prompt=f"question {n}", response_a=f"yes {n}", response_b=f"no {n}")
    for n in range(40)
]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for maker in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{maker}_API_KEY", "sk-cache-test-0123456789")


def judged(server: Any, **options: Any) -> Any:
    given = {
        "judge": "anthropic:m",
        "base_url": server.base_url,
        "samples": 1,
        "store": None,
        "prices": {"anthropic:m": PRICE, "openai:m": PRICE},
        "concurrency": 2,
        "prompt": PROMPT,
        **options,
    }
    return judge_pairs(given.pop("pairs", PAIRS), **given)


def bodies(server: Any) -> list[dict[str, Any]]:
    found = []
    for entry in server.log():
        body = entry.get("body", {})
        found += [call["params"] for call in body["requests"]] if "requests" in body else [body]
    return [body for body in found if "messages" in body]


def marks(body: dict[str, Any]) -> tuple[bool, bool]:
    """Whether the system message and the last message are marked."""
    contents = (body["system"], body["messages"][-1]["content"])
    first, last = ("cache_control" in content[-1] for content in contents)
    return first, last


def test_the_fixed_part_is_cached_and_a_cached_token_costs_its_price(judge_server: Any) -> None:
    run = judged(judge_server)
    assert {marks(body) for body in bodies(judge_server)} == {(True, False)}
    fixed = len(LONG.strip("\n")) // 4
    summary = run.summary
    # At most as many calls as start together write what all others read.
    writes = fixed * 80 - summary.cached_tokens
    assert writes in (fixed, 2 * fixed)
    rest = summary.prompt_tokens - 80 * fixed
    assert summary.cost_this_run == pytest.approx(
        rest + 0.1 * summary.cached_tokens + 1.25 * writes
    )
    assert summary.cost == pytest.approx(summary.cost_this_run)
    assert summary.cost < 0.2 * summary.prompt_tokens
    text = str(summary.view())
    assert f"({summary.cached_tokens:,} from the provider's cache)" in text


def test_what_the_cache_had_is_kept_in_the_store(judge_server: Any) -> None:
    first = judged(judge_server, store="s.db")
    again = judged(judge_server, store="s.db")
    assert (again.summary.calls_made, again.summary.cost) == (0, first.summary.cost)


def test_a_mark_changes_nothing_but_the_bill(judge_server: Any) -> None:
    marked = judged(judge_server)
    judge_server.reset()
    plain = judged(judge_server, prices={"anthropic:m": Price(1e6, 0.0, "test")})
    assert {marks(body) for body in bodies(judge_server)} == {(False, False)}
    assert plain.judgments.drop("cost").equals(marked.judgments.drop("cost"))
    assert plain.summary.cost == plain.summary.prompt_tokens


@pytest.mark.parametrize(
    ("samples", "batch", "last"),
    [(2, False, False), (3, False, True), (3, True, False), (4, True, True)],
)
def test_samples_of_one_question_are_marked_where_it_pays(
    judge_server: Any, samples: int, batch: bool, last: bool
) -> None:
    judged(judge_server, samples=samples, pairs=PAIRS[:9], batch=batch, store="s.db", poll_s=0.01)
    assert {marks(body)[1] for body in bodies(judge_server)} == {last}


def test_equal_questions_are_asked_apart_so_that_all_but_one_read_the_cache(
    judge_server: Any,
) -> None:
    run = judged(judge_server, samples=10, concurrency=8)
    asked = [str(body["messages"]) for body in bodies(judge_server)]
    assert len(set(asked[:80])) > 70
    # Without a cache the bill is the number of tokens. docs/judging.md states the share.
    assert run.summary.cost == pytest.approx(0.13 * run.summary.prompt_tokens, rel=0.1)


def test_short_prompts_are_not_marked(judge_server: Any) -> None:
    judged(judge_server, prompt=None, samples=10, pairs=PAIRS[:3])
    assert not any(isinstance(body["system"], list) for body in bodies(judge_server))


def test_openais_cached_tokens_cost_their_price(judge_server: Any) -> None:
    run = judged(judge_server, judge="openai:m", samples=2, pairs=PAIRS[:4], concurrency=1)
    summary = run.summary
    assert summary.cached_tokens == summary.prompt_tokens // 2
    assert summary.cost == pytest.approx(summary.prompt_tokens * (0.5 + 0.05))


def test_a_dry_run_says_what_a_cache_is_worth_at_most() -> None:
    options: dict[str, Any] = {
        "judge": "anthropic:claude-sonnet-4-5", "prompt": PROMPT, "samples": 10, "store": None,
        "prices": {"claude-sonnet-4-5": PRICE},
    }  # fmt: skip
    plan = plan_judging(PAIRS, **options)
    fixed = round(len(LONG.strip("\n")) / 4)
    assert plan.calls == 800
    # Of 80 questions the first sample can share the system message, the nine others everything.
    assert plan.cached_tokens_most == pytest.approx(
        0.9 * plan.prompt_tokens_estimate + 79 * fixed, rel=1e-3
    )
    assert plan.cost_least == pytest.approx(
        plan.prompt_tokens_estimate - 0.9 * plan.cached_tokens_most
    )
    assert "cost, if the provider caches" in str(plan.view())
    batched = plan_judging(PAIRS, **{**options, "batch": True, "store": "s.db"})
    assert plan.cost_least is not None
    assert batched.cost_least == pytest.approx(plan.cost_least / 2)
    short = plan_judging(PAIRS, **{**options, "prompt": None})
    assert (short.cached_tokens_most, short.cost_least) == (0, short.cost_estimate)


def test_a_batch_of_openai_has_no_cached_price() -> None:
    options: dict[str, Any] = {"judge": "openai:gpt-4.1", "prompt": PROMPT, "store": "s.db"}
    assert plan_judging(PAIRS, **options).cached_tokens_most > 0
    assert plan_judging(PAIRS, **options, batch=True).cached_tokens_most == 0


@pytest.mark.parametrize(
    "name", [name for name in PROTOCOLS if name not in ("annotators", "likelihood")]
)
def test_what_is_the_same_for_every_row_comes_first(name: str) -> None:
    """The words of a prompt up to the first judged text are those of every other row."""

    def beginning(question: Question) -> list[str]:
        parts = [part for message in question.messages for part in message.parts]
        judged = next(at for at, part in enumerate(parts) if not isinstance(part, str))
        return [str(part) for part in parts[:judged]]

    protocol = parse_protocol(name)
    subjects: list[Any] = PAIRS[:2]
    if protocol.subjects == "items":
        subjects = [Item(id=p.id, prompt=p.prompt, response=p.response_a) for p in subjects]
    first, second = (protocol.questions(subject) for subject in subjects)
    assert list(map(beginning, first)) == list(map(beginning, second))
    for question in first:
        texts = [part for m in question.messages for part in m.parts if isinstance(part, str)]
        assert len("".join(beginning(question))) > 0.5 * len("".join(texts))
