"""A server that misbehaves, over real HTTP: each misdeed ends in its own status, never in a number.

The server is a process of its own (tests/support/judge_server.py).
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hostile_texts import HOSTILE_TEXTS
from judge_runs import wait_for

from adjudge.errors import ArgumentError, JudgeError, JudgeRefusedError
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.interface import Choice, Data, Message, Question, Text
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Judgment, Pair, Reply

KEY = "sk-test-THIS-IS-A-SECRET-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def backend(server: Any, **options: Any) -> OpenAIBackend:
    settings: dict[str, Any] = {"timeout": 5.0, "max_attempts": 3, "first_pause_s": 0.01}
    return OpenAIBackend("judge-1", base_url=server.base_url, **{**settings, **options})


def ask(judge: OpenAIBackend, questions: Sequence[Question]) -> list[Reply]:
    async def run() -> list[Reply]:
        await judge.start()
        try:
            return await asyncio.gather(*(judge.ask(question) for question in questions))
        finally:
            await judge.close()

    return asyncio.run(run())


def ask_in_turn(judge: OpenAIBackend, questions: Sequence[Question]) -> list[Reply]:
    async def run() -> list[Reply]:
        await judge.start()
        try:
            return [await judge.ask(question) for question in questions]
        finally:
            await judge.close()

    return asyncio.run(run())


def letter(text: str = "pair 1") -> Question:
    return Question((Message("user", ("Which? ", Data(text))),), Choice(("A", "B")))


def written(text: str = "pair 1", **want: Any) -> Question:
    return Question((Message("user", (text,)),), Text(50, **want))


def judged(server: Any, pair: Pair, **options: Any) -> Judgment:
    protocol = Preference()
    return protocol.judge(pair, ask(backend(server, **options), protocol.questions(pair)))[0]


PAIR = Pair(id="1", prompt="2+2?", response_a="four", response_b="five")


def test_a_good_server_gives_a_number_and_everything_to_keep(judge_server: Any) -> None:
    (reply,) = ask(backend(judge_server), [letter()])
    assert reply.status == "ok"
    assert reply.logprobs is not None
    # Three spellings of each letter are added up: together the letters have 90 % of the mass.
    assert sum(math.exp(value) for value in reply.logprobs.values()) == pytest.approx(0.9)
    assert reply.prompt_tokens == 3
    assert reply.completion_tokens == 1
    assert reply.latency_s is not None
    assert reply.latency_s > 0
    assert reply.raw is not None
    assert json.loads(reply.raw)["object"] == "chat.completion"
    sent = judge_server.log()[0]
    assert sent["has_key"]
    assert sent["body"] == {
        "model": "judge-1",
        "messages": [{"role": "user", "content": "Which? pair 1"}],
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 20,
    }


MISDEEDS = [
    # step, status, what the row must say
    ("429", "error", "HTTP 429: Rate limit reached (3 of 3 attempts)"),
    ("500", "error", "HTTP 500: Internal error (3 of 3 attempts)"),
    ("502", "error", "HTTP 502: Bad gateway (3 of 3 attempts)"),
    ("503", "error", "HTTP 503: Overloaded, try later (3 of 3 attempts)"),
    ("hang", "error", "no answer within 0.2 s (3 of 3 attempts)"),
    ("reset", "error", "the connection broke"),
    ("html:502", "error", "HTTP 502: <html>502 Bad Gateway</html>"),
    ("gzip_bomb", "error", "an answer of more than 1.002 MiB; --max-reply SIZE allows more"),
    ("no_choices", "error", "the answer has no message"),
    ("list", "error", "the answer has no message"),
    ("no_logprobs", "no_logprobs", "the server returned no log probabilities; use --samples K"),
    ("no_top", "no_logprobs", "the server returned no log probabilities; use --samples K"),
    ("post_sampling", "no_logprobs", "gives a probability only to the sampled token"),
    ("no_letters", "no_logprobs", "none of A, B is among the 13 most likely first tokens"),
    ("empty", "no_logprobs", "the reply is empty"),
    ("odd_tokens", "error", "top_logprobs are not token texts with a number each"),
    ("nan", "error", "not valid for tokens"),
    ("mass", "error", "not valid for tokens"),
    ("refusal", "refused", "I'm sorry, I can't help with that."),
    ("content_filter", "refused", "content filter"),
    ("400_filter", "refused", "HTTP 400: The response was filtered"),
    ("400_context", "error", "maximum context length"),
]


@pytest.mark.parametrize(("step", "status", "said"), MISDEEDS, ids=[m[0] for m in MISDEEDS])
def test_each_misdeed_ends_in_its_own_status(
    judge_server: Any, step: str, status: str, said: str
) -> None:
    judge_server.script(step)
    row = judged(judge_server, PAIR, timeout=0.2 if step == "hang" else 5.0)
    assert row.status == status
    assert row.detail is not None
    assert said in row.detail
    assert "\n" not in row.detail
    assert {row.p_fwd, row.p_rev, row.p_a, row.uncertainty, row.verdict} == {None}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("wrapped429", "openai:judge-1: HTTP 429: upstream busy (3 of 3 attempts)"),
        ("truncated", "openai:judge-1: the connection broke"),
        ("unfinished", "openai:judge-1: no answer within 1 s, only its start (1 of 3 attempts)"),
        ("invalid_json", "openai:judge-1: the answer is not JSON"),
        ("html", "openai:judge-1: the answer is not JSON: '<html>502"),
    ],
)
def test_a_200_that_is_none_from_the_first_call_on_ends_the_run(
    judge_server: Any, step: str, said: str
) -> None:
    """Waiting for it on every row took a minute for 40 rows; one row among others is an error."""
    judge_server.script(step)
    with pytest.raises(JudgeRefusedError, match=re.escape(said)):
        ask(backend(judge_server, timeout=1.0), [letter(f"pair {i}") for i in range(40)])
    judge_server.reset()
    judge_server.script("ok", rules=[{"contains": "pair 3", "steps": [step]}])
    patience = 0.2 if step == "unfinished" else 5.0
    judge = backend(judge_server, concurrency=1, timeout=patience)
    replies = ask_in_turn(judge, [letter(f"pair {i}") for i in range(5)])
    assert [reply.status for reply in replies] == ["ok", "ok", "ok", "error", "ok"]


def test_one_letter_in_the_top_twenty_is_censored_at_the_least_likely(judge_server: Any) -> None:
    judge_server.script("one_letter")
    (reply,) = ask(backend(judge_server), [letter()])
    assert reply.status == "censored"
    assert reply.censored == {"B"}
    assert reply.logprobs is not None
    assert reply.raw is not None
    top = json.loads(reply.raw)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    assert reply.logprobs["B"] == min(entry["logprob"] for entry in top)
    row = judged(judge_server, PAIR)
    assert row.status == "censored"
    assert row.p_fwd is not None
    assert 0.5 < row.p_fwd < 1


@pytest.mark.parametrize(
    "step", ["429", "429:0.05", "500", "503", "reset", "truncated", "invalid_json", "wrapped429"]
)
def test_passing_trouble_is_outlived(judge_server: Any, step: str) -> None:
    judge_server.script(step, step, "ok")
    replies = ask(backend(judge_server), [letter(f"pair {i}") for i in range(5)])
    assert {reply.status for reply in replies} == {"ok"}
    assert judge_server.counts()["requests"] == 15


def test_retry_after_is_honoured_in_seconds_and_as_a_date(judge_server: Any) -> None:
    for step, least in (("429:0.6", 0.6), ("429date:2", 1.0)):
        judge_server.reset()
        judge_server.script(step, "ok")
        began = time.monotonic()
        (reply,) = ask(backend(judge_server), [letter()])
        assert reply.status == "ok"
        assert time.monotonic() - began >= least


def test_a_pause_without_end_is_not_waited_for(judge_server: Any) -> None:
    judge_server.script("429:86400")
    (reply,) = ask(backend(judge_server), [letter()])
    assert reply.status == "error"
    assert reply.error is not None
    assert reply.error.endswith("the server asks to wait 86400 s")
    assert judge_server.counts()["requests"] == 1


def test_concurrency_falls_under_overload_and_rises_again(judge_server: Any) -> None:
    judge_server.script(rules=[{"contains": "early", "steps": ["429", "ok"]}], latency_s=0.01)
    judge = backend(judge_server, concurrency=16, max_attempts=6)
    seen: list[float] = []

    async def run() -> None:
        await judge.start()
        await asyncio.gather(*(judge.ask(letter(f"early {i}")) for i in range(32)))
        seen.append(judge.server.limiter.limit)
        await asyncio.gather(*(judge.ask(letter(f"late {i}")) for i in range(300)))
        seen.append(judge.server.limiter.limit)
        await judge.close()

    asyncio.run(run())
    assert seen[0] < 16
    assert seen[1] == 16
    assert judge.server.limiter.in_flight == 0
    assert judge_server.counts()["most_in_flight"] <= 16


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("400", "openai:judge-1: HTTP 400: Invalid value: 'foo'"),
        ("401", "openai:judge-1: HTTP 401: Incorrect API key provided: [redacted]"),
        ("402", "HTTP 402: Insufficient credits"),
        ("404", "HTTP 404: The model `nope` does not exist"),
        ("quota", "HTTP 429: You exceeded your current quota"),
        ("redirect", "HTTP 302"),
        ("400_logprobs", "sample its verdicts instead: --samples"),
        ("403_logprobs", "sample its verdicts instead: --samples"),
    ],
)
def test_a_final_no_stops_at_once_with_the_servers_words(
    judge_server: Any, step: str, said: str
) -> None:
    judge_server.script(step)
    with pytest.raises(JudgeRefusedError) as caught:
        ask(backend(judge_server), [letter()])
    assert said in str(caught.value)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert judge_server.counts()["requests"] == 1


def test_one_question_the_server_cannot_take_does_not_stop_the_others(judge_server: Any) -> None:
    judge_server.script(rules=[{"contains": "odd", "steps": ["422"]}])
    judge = backend(judge_server)
    replies = ask_in_turn(judge, [letter("plain 1"), letter("odd"), letter("plain 2")])
    assert [reply.status for reply in replies] == ["ok", "error", "ok"]
    assert replies[1].error == "HTTP 422: Unprocessable"
    # The same "no" to everything is final.
    with pytest.raises(JudgeRefusedError, match="HTTP 422"):
        ask(judge, [letter(f"odd {i}") for i in range(40)])


def test_a_question_that_waited_while_the_judge_was_closed_opens_no_connection(
    judge_server: Any,
) -> None:
    judge_server.script("ok", latency_s=2.0)
    judge = backend(judge_server, concurrency=1)

    async def run() -> list[Reply | BaseException]:
        await judge.start()
        late = [asyncio.create_task(judge.ask(letter(str(i)))) for i in range(2)]
        while not judge_server.log():  # noqa: ASYNC110 - the server is another process
            await asyncio.sleep(0.01)
        await judge.close()
        return await asyncio.gather(*late, return_exceptions=True)

    for outcome in asyncio.run(run()):
        assert isinstance(outcome, JudgeError)
        assert "is not open; start the judge" in str(outcome)
    assert len(judge_server.log()) == 1


def test_what_a_server_wants_otherwise_is_learnt_once(judge_server: Any) -> None:
    judge_server.script("needs_completion_tokens")
    replies = ask_in_turn(backend(judge_server), [letter("1"), letter("2")])
    assert [reply.status for reply in replies] == ["ok", "ok"]
    sent = [entry["body"] for entry in judge_server.log()]
    assert ["max_tokens" in body for body in sent] == [True, False, False]
    assert sent[-1]["max_completion_tokens"] == 1


def test_a_server_that_gives_fewer_alternatives_is_asked_for_fewer(judge_server: Any) -> None:
    judge_server.script("needs_few_logprobs")
    replies = ask_in_turn(backend(judge_server), [letter("1"), letter("2")])
    assert [reply.status for reply in replies] == ["ok", "ok"]
    sent = [entry["body"]["top_logprobs"] for entry in judge_server.log()]
    assert sent == [20, 5, 5]


def test_what_the_user_fixed_is_not_sent_again_and_again(judge_server: Any) -> None:
    judge_server.script("400_max_tokens")
    fixed = backend(judge_server, extra_body={"max_tokens": 1})
    with pytest.raises(JudgeRefusedError, match="Use 'max_completion_tokens' instead"):
        ask(fixed, [letter("1")])
    assert len(judge_server.log()) == 2


def test_structured_output_is_offered_and_never_relied_upon(judge_server: Any) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "number"}}}
    (reply,) = ask(backend(judge_server), [written(json_schema=schema)])
    assert reply.status == "ok"
    offered = judge_server.log()[0]["body"]["response_format"]
    assert offered["json_schema"]["schema"] == schema
    judge_server.reset()
    judge_server.script("needs_no_schema")
    questions = [written("1", json_schema=schema), written("2", json_schema=schema)]
    replies = ask_in_turn(backend(judge_server), questions)
    assert [reply.status for reply in replies] == ["ok", "ok"]
    assert ["response_format" in entry["body"] for entry in judge_server.log()] == [
        True,
        False,
        False,
    ]


def test_a_model_without_temperature_is_sampled_at_one_and_nothing_else(judge_server: Any) -> None:
    judge_server.script("needs_no_temperature")
    (reply,) = ask(backend(judge_server), [written(temperature=1.0)])
    assert reply.status == "ok"
    with pytest.raises(JudgeRefusedError, match="Only the default"):
        ask(backend(judge_server), [written(temperature=0.0)])


def test_a_text_reply_is_handed_on_as_it_is(judge_server: Any) -> None:
    judge_server.script("text:I prefer: **A**")
    (reply,) = ask(backend(judge_server), [written()])
    assert (reply.status, reply.text) == ("ok", "I prefer: **A**")
    judge_server.script("empty")
    (reply,) = ask(backend(judge_server), [written("other")])
    assert (reply.status, reply.text) == ("ok", "")


def test_a_server_that_is_not_there_is_said_to_be_not_there() -> None:
    judge = OpenAIBackend("m", base_url="http://127.0.0.1:9/v1", max_attempts=2, first_pause_s=0.01)
    with pytest.raises(JudgeRefusedError, match=r"cannot reach http://127\.0\.0\.1:9/v1"):
        ask(judge, [letter()])


def test_the_key_appears_nowhere(judge_server: Any) -> None:
    judge = backend(judge_server)
    assert KEY not in json.dumps(dict(judge.identity()))
    judge_server.script(f"text:your key is {KEY}")
    (reply,) = ask(judge, [written()])
    assert reply.text is not None
    assert KEY not in repr(reply)
    judge_server.script(f"refusal:{KEY}")
    (reply,) = ask(backend(judge_server), [letter("x")])
    assert KEY not in repr(reply)
    for attribute, value in vars(judge).items():
        assert KEY not in repr(value), attribute


def test_a_missing_key_is_named_and_local_servers_need_none(
    judge_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(JudgeError, match="OPENAI_API_KEY is not set"):
        ask(OpenAIBackend("gpt"), [letter()])
    (reply,) = ask(backend(judge_server), [letter()])
    assert reply.status == "ok"
    assert not judge_server.log()[0]["has_key"]
    monkeypatch.setenv("OTHER_KEY", "local-key-123")
    ask(backend(judge_server, api_key_env="OTHER_KEY"), [letter()])
    assert judge_server.log()[1]["has_key"]


@pytest.mark.parametrize(
    "url",
    ["http://user:pass@host/v1", "http://host/v1?api-key=secret", "localhost:8000", "ftp://x"],
)
def test_a_base_url_that_carries_a_secret_is_refused(url: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        OpenAIBackend("m", base_url=url)
    assert "pass" not in str(caught.value).split(":", 2)[1]
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("text", [text for _, text in HOSTILE_TEXTS], ids=dict(HOSTILE_TEXTS))
def test_judged_text_stays_inside_one_string_of_the_request(judge_server: Any, text: str) -> None:
    wild = Pair(id="1", prompt=text, response_a="a" + text, response_b="b" + text)
    calm = Pair(id="1", prompt="P", response_a="aR", response_b="bR")
    protocol = Preference()
    assert {r.status for r in ask(backend(judge_server), protocol.questions(wild))} == {"ok"}
    ask(backend(judge_server), protocol.questions(calm))
    wild_bodies, plain_bodies = ([e["body"] for e in judge_server.log()][i : i + 2] for i in (0, 2))
    for body, plain in zip(wild_bodies, plain_bodies, strict=True):
        assert body.keys() == plain.keys()
        assert body["model"] == "judge-1"
        assert [m["role"] for m in body["messages"]] == ["system", "user"]
        assert body["messages"][0] == plain["messages"][0]
    expected = {question.messages[1].text for question in protocol.questions(wild)}
    assert {body["messages"][1]["content"] for body in wild_bodies} == expected


def test_every_request_takes_its_turn_retries_too(judge_server: Any) -> None:
    from adjudge.judges.judging import judge_pairs

    judge_server.script("503", "500", "ok")
    pairs = [replace(PAIR, id=str(i), prompt=f"{i}+{i}?") for i in range(4)]
    done = judge_pairs(pairs, judge=backend(judge_server), store=None, rpm=60 * 40)
    assert done.summary.statuses == {"ok": 4}
    sent = [entry["at"] for entry in judge_server.log()]
    assert len(sent) == 24
    assert max(sent) - min(sent) >= 0.9 * 23 / 40  # the network may bunch two of them a little


def test_a_stopped_run_does_not_wait_for_turns_that_nobody_takes(judge_server: Any) -> None:
    from adjudge.judges.flow import Stop
    from adjudge.judges.judging import judge_pairs

    stop = Stop()
    pairs = [replace(PAIR, id=str(i), prompt=f"{i}+{i}?") for i in range(20)]

    def interrupt() -> None:
        wait_for(lambda: judge_server.counts()["requests"] == 1)
        stop.interrupt()

    began = time.monotonic()
    threading.Thread(target=interrupt).start()
    done = judge_pairs(pairs, judge=backend(judge_server), store=None, rpm=1, stop=stop)
    assert time.monotonic() - began < 10  # a turn is a minute
    assert (done.summary.stopped, len(judge_server.log())) == ("interrupted", 1)
