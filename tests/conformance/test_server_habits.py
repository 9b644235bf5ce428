"""Servers as they are: each habit in another process, asked by the whole of `adjudge judge`.

The stub knows the probability of every first token, so each test holds the numbers, not only that
there are some.
"""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_habits import likeliest, mean_logprob, p_of_a

from adjudge.errors import JudgeRefusedError
from adjudge.judges import judge_pairs, plan_judging
from adjudge.judges.backends._chat_server import as_chat
from adjudge.judges.backends._tokens import bare
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.flow import Progress
from adjudge.judges.judging import JudgingRun
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Pair

PAIRS = [
    Pair(id=f"p{i}", prompt=f"question {i}", response_a=f"left {i}", response_b=f"right {i}")
    for i in range(24)
]


class Habits:
    """tests/support/server_habits.py in a process of its own."""

    def __init__(self) -> None:
        program = Path(__file__).parents[1] / "support" / "server_habits.py"
        self.process = subprocess.Popen(
            [sys.executable, str(program)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], "the servers did not start"
        self.root = f"http://127.0.0.1:{ready[1]}"

    def url(self, habit: str) -> str:
        return f"{self.root}/{habit}/v1"

    def log(self, habit: str) -> list[dict[str, Any]]:
        return list(self.get(habit, "log"))

    def get(self, habit: str, what: str) -> Any:
        place = f"{self.root}/{habit}/control/{what}"
        with urllib.request.urlopen(place, timeout=10) as answer:  # noqa: S310  (our own)
            return json.load(answer)

    def post(self, habit: str, what: str, body: str = "") -> None:
        place = f"{self.root}/{habit}/control/{what}"
        asked = urllib.request.Request(place, body.encode(), method="POST")  # noqa: S310  (as above)
        urllib.request.urlopen(asked, timeout=10).close()  # noqa: S310  (as above)

    @contextlib.contextmanager
    def answers(self, habit: str, **bodies: str) -> Iterator[None]:
        """These bodies for these paths, and then no more."""
        for path, body in bodies.items():
            self.post(habit, f"answer/{path}", body)
        yield
        for path in bodies:
            self.post(habit, f"answer/{path}")

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=10)


@pytest.fixture(scope="module")
def habits_process() -> Iterator[Habits]:
    habits = Habits()
    yield habits
    habits.close()


@pytest.fixture
def habits(habits_process: Habits, monkeypatch: pytest.MonkeyPatch) -> Habits:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, "sk-habits-not-a-key")
    return habits_process


def ask(habits: Habits, habit: str, *, judge: str = "openai:judge-1", **options: Any) -> JudgingRun:
    habits.post(habit, "reset")
    given = {"store": None, "concurrency": 4, "base_url": habits.url(habit), **options}
    return judge_pairs(given.pop("pairs", PAIRS), judge=judge, **given)


def questions(pair: Pair) -> list[list[dict[str, str]]]:
    return [as_chat(question.messages) for question in Preference().questions(pair)]


def exact_p_a(pair: Pair) -> float:
    """P(A) by all spellings of the letters, both orders averaged."""
    forward, backward = questions(pair)
    return (p_of_a(forward) + 1 - p_of_a(backward)) / 2


def p_a_among(pair: Pair, number: int) -> float:
    """The same where only the likeliest tokens are seen: a letter without one is at their bound."""

    def among(messages: list[dict[str, str]]) -> float:
        top = likeliest(messages, number)
        bound = math.exp(min(value for _, value in top))
        a, b = (
            math.fsum(math.exp(value) for token, value in top if bare(token) == letter) or bound
            for letter in "AB"
        )
        return a / (a + b)

    forward, backward = questions(pair)
    return (among(forward) + 1 - among(backward)) / 2


def assert_p_a(run: JudgingRun, expected: list[float]) -> None:
    assert run.judgments["p_a"].to_list() == pytest.approx(expected, abs=1e-9)


def route(run: JudgingRun) -> object:
    return run.summary.fingerprint_parts.get("route")


def chats(habits: Habits, habit: str) -> list[dict[str, Any]]:
    return [row for row in habits.log(habit) if row["path"] == "chat"]


def test_vllm_gives_letters_by_token_id_and_nothing_is_censored(habits: Habits) -> None:
    run = ask(habits, "vllm")
    assert run.judgments["status"].unique().to_list() == ["ok"]
    assert_p_a(run, [exact_p_a(pair) for pair in PAIRS])
    assert run.judgments["answer_mass"].to_list() == pytest.approx([0.8] * len(PAIRS), abs=1e-9)
    assert set(run.judgments["server"]) == {"vllm 0.30.0"}
    assert route(run) == "logprob_token_ids"
    asked = chats(habits, "vllm")
    assert len(asked) == 2 * len(PAIRS), "the first question is asked once, its reply kept"
    assert all(set(row["logprob_token_ids"]) == {32, 362, 4444, 32013, 33, 425, 5462, 33013}
               for row in asked)  # fmt: skip


def test_a_vllm_that_ignores_token_ids_is_read_by_its_likeliest(habits: Habits) -> None:
    run = ask(habits, "vllm_old")
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS])
    assert "censored" in run.summary.statuses, "the stub's unlikely letters are not among 20"
    assert route(run) == "top_logprobs 20"
    asked = chats(habits, "vllm_old")
    assert len(asked) == 2 * len(PAIRS)
    assert sum("logprob_token_ids" in row for row in asked) == 1, "only the first question"
    assert set(run.judgments["server"]) == {"vllm 0.9.1"}


def test_sglang_gives_letters_by_its_own_endpoint(habits: Habits) -> None:
    run = ask(habits, "sglang")
    assert run.judgments["status"].unique().to_list() == ["ok"]
    assert_p_a(run, [exact_p_a(pair) for pair in PAIRS])
    assert set(run.judgments["server"]) == {"sglang 0.6.2"}
    assert route(run) == "generate token_ids_logprob"
    assert not chats(habits, "sglang")


def test_an_sglang_that_renders_no_chat_is_read_by_its_likeliest(habits: Habits) -> None:
    run = ask(habits, "sglang_old")
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS])
    assert route(run) == "top_logprobs 20"
    assert set(run.judgments["server"]) == {"sglang 0.4.1"}


@pytest.mark.parametrize("habit", ["vllm", "sglang"])
def test_likelihoods_over_http(habits: Habits, habit: str) -> None:
    run = ask(habits, habit, protocol="likelihood", pairs=PAIRS[:6])
    expected = []
    for pair in PAIRS[:6]:
        said = [{"role": "user", "content": pair.prompt}]
        ahead = mean_logprob(said, pair.response_a) - mean_logprob(said, pair.response_b)
        expected.append(1 / (1 + math.exp(-ahead)))
    assert_p_a(run, expected)


def test_likelihoods_are_refused_where_no_server_gives_them(habits: Habits) -> None:
    needs = "needs a vLLM or SGLang server, and this one is"
    with pytest.raises(JudgeRefusedError, match=f"{needs} not recognised;"):
        ask(habits, "plain", protocol="likelihood")
    assert {row["path"] for row in habits.log("plain")} == {"models"}
    with pytest.raises(JudgeRefusedError, match=rf"{needs} ollama 0\.12\.3;"):
        ask(habits, "ollama", protocol="likelihood")


def test_a_server_with_five_log_probabilities_is_asked_for_five(habits: Habits) -> None:
    run = ask(habits, "five")
    assert_p_a(run, [p_a_among(pair, 5) for pair in PAIRS])
    assert route(run) == "top_logprobs 5"
    other = ask(habits, "plain")
    assert route(other) == "top_logprobs 20"
    assert len(chats(habits, "five")) == 2 * len(PAIRS) + 1


def test_an_error_that_names_its_field_alone_is_understood(habits: Habits) -> None:
    run = ask(habits, "param")
    assert_p_a(run, [p_a_among(pair, 5) for pair in PAIRS])
    assert route(run) == "top_logprobs 5"
    assert "max_completion_tokens" in chats(habits, "param")[-1]


def test_the_older_shape_of_log_probabilities(habits: Habits) -> None:
    run = ask(habits, "legacy")
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS])


def test_ollama_is_never_asked_with_max_completion_tokens(habits: Habits) -> None:
    run = ask(habits, "ollama", concurrency=1)
    assert run.summary.statuses["error"] == 1, "one question was refused, and stays so"
    assert all("max_tokens" in row for row in chats(habits, "ollama"))
    assert set(run.judgments.filter(status="ok")["server"]) <= {"ollama 0.12.3"}


def test_llamacpp_is_named_on_rows(habits: Habits) -> None:
    run = ask(habits, "llamacpp", pairs=PAIRS[:2])
    assert set(run.judgments["server"]) == {"llamacpp b6000-abc"}


def test_openrouter_keeps_to_the_provider_named(habits: Habits) -> None:
    run = ask(habits, "openrouter", judge="openrouter:judge-1?provider=together")
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS])
    assert set(run.judgments["server"]) == {"openrouter together"}
    wanted = {"require_parameters": True, "only": ["together"], "allow_fallbacks": False}
    assert all(row["provider"] == wanted for row in chats(habits, "openrouter"))
    anyone = ask(habits, "openrouter", judge="openrouter:judge-1", pairs=PAIRS[:2])
    assert set(anyone.judgments["server"]) == {"openrouter Anyone"}
    assert "provider" not in anyone.summary.fingerprint_parts
    assert run.summary.fingerprint_parts["provider"] == ["together"]


def test_azure_by_deployment_and_version(habits: Habits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"{habits.root}/azure/")
    habits.post("azure", "reset")
    run = judge_pairs(PAIRS[:3], judge="azure:judge-1?api-version=2024-10-21", store=None)
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS[:3]])
    assert {row["key"] for row in chats(habits, "azure")} == {"sk-habits-not-a-key"}
    assert run.summary.fingerprint_parts["api_version"] == "2024-10-21"


def test_a_reasoning_model_is_refused_with_the_way_out(habits: Habits) -> None:
    with pytest.raises(JudgeRefusedError, match="reasoning_effort") as refused:
        ask(habits, "reasoning")
    assert "--samples 10" in str(refused.value)
    run = ask(habits, "reasoning", extra_body={"reasoning_effort": "none"})
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS])


def test_a_server_that_turns_away_every_second_request(habits: Habits) -> None:
    habits.post("busy", "reset")
    url, seen = habits.url("busy"), list[Progress]()
    judge = OpenAIBackend(
        "judge-1", base_url=url, concurrency=4, max_attempts=30, first_pause_s=0.01
    )
    run = judge_pairs(PAIRS, judge=judge, store=None, progress=seen.append)
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS])
    assert seen[-1].rate_limited == len(chats(habits, "busy")) - 2 * len(PAIRS) > 20
    assert (seen[-1].rows, seen[-1].subjects) == (24, 24)


def test_questions_that_begin_alike_follow_each_other(
    habits: Habits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve prompts, each with three pairs of answers, far apart in the file."""
    pairs = [
        Pair(
            id=f"{prompt}-{a}{b}",
            prompt=f"{prompt}: " + "what is to be done? " * 20,
            response_a=f"answer {a}: " + "so and so. " * 20,
            response_b=f"answer {b}: " + "this and that. " * 20,
        )
        for a, b in ((1, 2), (1, 3), (2, 3))
        for prompt in range(12)
    ]
    run = ask(habits, "plain", pairs=pairs, concurrency=1)
    sorted_share = shared(habits)
    monkeypatch.setattr("adjudge.judges.runner.by_beginning", lambda work, **_: work)
    as_given = ask(habits, "plain", pairs=pairs, concurrency=1)
    assert sorted_share > 0.6 > 0.5 > shared(habits)
    assert run.judgments.equals(as_given.judgments)
    assert run.summary.judge_fingerprint == as_given.summary.judge_fingerprint


def shared(habits: Habits) -> float:
    """The share of all prompts that a cache of the last eight knows."""
    counted = habits.get("plain", "prefixes")
    return float(counted["shared"] / counted["characters"])


# --- stores and fingerprints -----------------------------------------------------------------


def test_a_dry_run_asks_nobody_and_says_what_it_does_not_know(
    habits: Habits, tmp_path: Path
) -> None:
    habits.post("vllm", "reset")
    given = {"judge": "openai:judge-1", "base_url": habits.url("vllm"), "store": tmp_path / "s.db"}
    plan = plan_judging(PAIRS, **given)
    assert plan.unknown_parts == ("route",)
    assert "route unknown until" in str(plan)
    assert habits.log("vllm") == []
    judge_pairs(PAIRS, **given)
    known = plan_judging(PAIRS, **given)
    assert (known.unknown_parts, known.to_ask) == ((), 0)


def test_a_store_goes_on_by_its_route_whatever_the_server_learns(
    habits: Habits, tmp_path: Path
) -> None:
    """Begun on an old vLLM; the same address then runs one that knows token ids."""
    store = tmp_path / "s.db"
    habits.post("updated", "become/vllm_old")
    old = ask(habits, "updated", store=store, pairs=PAIRS[:12])
    habits.post("updated", "become/vllm")
    run = ask(habits, "updated", store=store)
    assert route(run) == route(old) == "top_logprobs 20"
    assert run.summary.reused == 24
    assert_p_a(run, [p_a_among(pair, 20) for pair in PAIRS])
    assert set(run.judgments["server"]) == {"vllm 0.9.1", "vllm 0.30.0"}
    anew = ask(habits, "updated")
    assert route(anew) == "logprob_token_ids"


def test_numbers_of_two_routes_are_not_mixed(habits: Habits, tmp_path: Path) -> None:
    """A server that gives less than it did is said to, and no row gets another kind of number."""
    store = tmp_path / "s.db"
    habits.post("shrunk", "become/vllm")
    ask(habits, "shrunk", store=store, pairs=PAIRS[:12])
    habits.post("shrunk", "become/vllm_old")
    run = ask(habits, "shrunk", store=store)
    assert run.summary.statuses == {"ok": 12, "error": 12}
    assert "use another --store" in run.judgments["detail"][-1]
    habits.post("shrunk", "become/plain")
    ask(habits, "shrunk", store=tmp_path / "other.db", pairs=PAIRS[:12])
    habits.post("shrunk", "become/five")
    with pytest.raises(JudgeRefusedError, match="now gives only 5 log probabilities"):
        ask(habits, "shrunk", store=tmp_path / "other.db")


# --- what such servers could say besides -----------------------------------------------------

#: What each of them says of a token; its log probability goes into the place.
SCORED = {
    "vllm": ("v1/completions", '{"choices": [{"prompt_logprobs": [{"7": {"logprob": %s}}]}]}'),
    "sglang": ("generate", '{"text": "", "meta_info": {"input_token_logprobs": [[%s, 7, null]]}}'),
}
NO_LOGPROBS = ["5", "1e999", "NaN", "-1e308", '"-0.5"', "true", "null", "[]", "1" + 400 * "0"]


@pytest.mark.parametrize("habit", SCORED)
def test_what_is_no_log_probability_is_an_error_of_its_row(habits: Habits, habit: str) -> None:
    path, answer = SCORED[habit]
    with habits.answers(habit, tokenize='{"tokens": [7]}'):
        for value in NO_LOGPROBS:
            with habits.answers(habit, **{path: answer % value}):
                run = ask(habits, habit, protocol="likelihood", pairs=PAIRS[:1], keep_going=True)
            assert run.judgments["status"].to_list() == ["error"], value
            assert "has no log probabilities" in run.judgments["detail"][0], value
        with habits.answers(habit, **{path: answer % "-0.5"}):
            run = ask(habits, habit, protocol="likelihood", pairs=PAIRS[:1])
        assert run.judgments["p_a"].to_list() == [0.5]


def test_letters_that_are_no_log_probabilities_are_not_taken(habits: Habits) -> None:
    ask(habits, "sglang", pairs=PAIRS[:1])  # the route is known
    for value in ("5", "true", "1" + 400 * "0", "-1" + 400 * "0"):
        letters = [[1, 32], [2, 33]]
        meta = {"meta_info": {"output_token_ids_logprobs": [letters]}}
        body = json.dumps(meta).replace("[1, 32]", f"[{value}, 32]").replace("[2,", "[-0.9,")
        with habits.answers("sglang", generate=body):
            run = ask(habits, "sglang", pairs=PAIRS[:1], keep_going=True)
        assert run.summary.fingerprint_parts["route"].startswith("top_logprobs"), value


SECRET = "sk-habits-not-a-key"
ODD_NAMES = {
    json.dumps(SECRET): "[redacted]",
    '"' + "".join(f"\\u{ord(letter):04x}" for letter in SECRET) + '"': "[redacted]",
    '"' + 9999 * "9" + '"': 40 * "9",
    '"\\u202e1"': "",
    '"\\ud800"': "",
    "[]": "",
    "1" + 400 * "0": "",
}


@pytest.mark.parametrize(("named", "expected"), ODD_NAMES.items(), ids=range(len(ODD_NAMES)))
def test_a_version_is_a_short_word_without_the_key(
    habits: Habits, named: str, expected: str
) -> None:
    with habits.answers("vllm", version=f'{{"version": {named}}}'):
        run = ask(habits, "vllm", pairs=PAIRS[:2])
    assert set(run.judgments["server"]) == {f"vllm {expected}".strip()}
    with habits.answers("plain", **{"v1/models": f'{{"data": [{{"owned_by": {named}}}]}}'}):
        run = ask(habits, "plain", pairs=PAIRS[:2])
    assert set(run.judgments["server"]) == {expected or None}
