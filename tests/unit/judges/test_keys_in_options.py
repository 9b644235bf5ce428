"""A key that is given as an option is refused, and neither shown nor stored anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.cli.app import run as run_command
from adjudge.cli.output import command_line, running
from adjudge.errors import ArgumentError
from adjudge.judges import judge_pairs, plan_judging
from adjudge.judges.backends.anthropic import AnthropicBackend
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.judge import parse_judge
from adjudge.simulate.pairs import simulate_pairs

PAIRS = simulate_pairs(3, seed=1)
KEY = "hunter2hunter2"
DOORS: dict[str, Callable[..., Any]] = {
    "object": lambda **options: OpenAIBackend("m", base_url="http://h/v1", **options),
    "anthropic": lambda **options: AnthropicBackend("m", base_url="http://h/v1", **options),
    "spec": lambda **options: parse_judge("openai:m", **options),
    "another backend": lambda **options: parse_judge("simulated:", **options),
    "judge_pairs": lambda **options: judge_pairs(PAIRS, judge="openai:m", store=None, **options),
    "plan": lambda **options: plan_judging(PAIRS, judge="openai:m", store=None, **options),
}
SECRETS: list[dict[str, Any]] = [
    {"api_key": KEY},
    {"apiKey": KEY},
    {"extra_headers": {"Authorization": KEY}},
    {"headers": [{"X-Api-Key": KEY}]},
    {"auth": {"client_secret": {"value": KEY}}},
    {"password": [KEY]},
    {"access_token": KEY},
    {"metadata": {"note": f"Bearer {KEY}"}},
    {"user": "sk-abcdefghijklmnop"},
    {"user": {"sk-abcdefghijklmnop": 1}},
    {"aws": "AKIAIOSFODNN7EXAMPLE"},
]
HARMLESS: dict[str, Any] = {
    "max_tokens": 5,
    "max_completion_tokens": 5,
    "stop_token_ids": [1, 2],
    "prompt_cache_key": "reviews",
    "chat_template_kwargs": {"enable_thinking": False, "eos_token": "</s>"},
    "api_key": None,
    "response_format": {"properties": {"password": {"type": "string"}}},
    "stop": ["risk-adjusted", "token"],
}


def shows_no_key(error: BaseException) -> bool:
    texts = [str(error), repr(error), repr(vars(error))]
    return not any(key in text for key in (KEY, "sk-abc", "AKIA") for text in texts)


@pytest.mark.attack("keys")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("body", SECRETS, ids=str)
def test_a_key_in_the_body_is_refused_with_the_remedy(door: str, body: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"extra_body\..*--api-key-env NAME") as caught:
        DOORS[door](extra_body={"top_k": 1, **body})
    assert shows_no_key(caught.value)


def test_the_value_of_a_secret_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", KEY)
    with pytest.raises(ArgumentError, match=r"extra_body\.routing = '\[redacted\]'") as caught:
        OpenAIBackend("m", extra_body={"routing": f"x-{KEY}"})
    assert shows_no_key(caught.value)


def test_other_bodies_are_taken_as_they_are() -> None:
    judge = OpenAIBackend("m", extra_body=HARMLESS)
    assert judge.identity()["extra_body"] == HARMLESS


@pytest.mark.attack("keys")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("value", ["sk-abcdefghijklmnop", KEY, "AKIAIOSFODNN7EXAMPLE", "", "a b"])
def test_a_key_for_the_name_of_a_variable_is_not_shown(door: str, value: str) -> None:
    with pytest.raises(ArgumentError, match="no environment variable has this name") as caught:
        DOORS[door](api_key_env=value)
    assert shows_no_key(caught.value)


@pytest.mark.attack("keys")
@pytest.mark.parametrize(
    "options",
    [
        ["--api-key-env", "sk-abcdefghijklmnop"],
        ["--api-key-env", KEY],
        [f"--api-key-env={KEY}"],
        ["--extra-body", f'{{"api_key": "{KEY}"}}'],
        ["--extra-body", f'{{"api_key": "{KEY}"'],
        ["--extra-body", '{"user": "sk-abcdefghijklmnop"}'],
        ["sk-abcdefghijklmnop"],
        ["--base-url", "sk-abcdefghijklmnop"],
        ["--api-key", "sk-abcdefghijklmnop"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--judge", "simulated:"]], ids=" ".join)
def test_no_command_prints_or_writes_a_key(
    options: list[str], more: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("id,prompt,response_a,response_b\n1,p,a,b\n")
    made = tmp_path / "made"
    made.mkdir()
    where = ["--store", f"{made}/s.db", "-o", f"{made}/rows.jsonl", "--summary", f"{made}/s.json"]
    command = ["judge", str(pairs), "--judge", "openai:m", *where, *more, *options]
    assert run_command(command) == 1
    printed = capfd.readouterr()
    assert not any(key in printed.out + printed.err for key in (KEY, "sk-abc"))
    assert list(made.iterdir()) == []
    with running(command):
        line = command_line() or ""
    assert not any(key in line for key in (KEY, "sk-abc"))


@pytest.mark.attack("keys")
@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--policy", "p.json", "--judge", "simulated:", "--audit-rate", "0.1"],
        ["monitor", "draw", "served.jsonl", "--audit-rate", "0.1"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("value", ["sk-abcdefghijklmnop", KEY])
def test_a_secret_for_the_name_of_a_variable_is_not_shown(
    command: list[str], value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [*command, "--secret-env", value]
    assert run_command(command) == 1
    printed = capfd.readouterr().err
    assert "no environment variable has this name" in printed
    with running(command):
        line = command_line() or ""
    assert value not in printed + line


@pytest.mark.attack("keys")
@pytest.mark.parametrize(
    "path", ["sk-abcdefghijklmnop/v1", f"{KEY}/v1", "v1/token/f00f00f00", "key=f00f00f00/v1"]
)
def test_a_key_in_the_path_of_a_url_is_refused(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("id,prompt,response_a,response_b\n1,p,a,b\n")
    url = f"http://127.0.0.1:9/{path}"
    for more in ([], ["--dry-run"]):
        asked = ["judge", "pairs.csv", "--judge", "openai:m", "--base-url", url, *more]
        assert run_command([*asked, "-o", "out.jsonl"]) == 1
    shown = capfd.readouterr()
    assert "base_url = 'http://127.0.0.1/...': leave out the key; export it" in shown.err
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*"))
    for key in (KEY, "sk-abc", "f00f"):
        assert key not in shown.out + shown.err
        assert key.encode() not in written


@pytest.mark.parametrize("path", ["v1", "hockey/v1", f"v1/{'0123456789abcdef' * 2}/gate/openai"])
def test_a_usual_path_of_a_url_is_taken(path: str) -> None:
    assert OpenAIBackend("m", base_url=f"http://h/{path}").server.base_url.endswith(path)


@pytest.mark.parametrize(
    "spec",
    [f"openai:m,api_key={KEY}", f"openai:m?token={KEY}", f"replay:a.jsonl,password={KEY}",
     "openai:sk-proj-abcdefghijklmnop0123", "sk-abcdefghijklmnop0123", f"openai:{KEY}"],
)  # fmt: skip
def test_a_key_in_the_name_of_a_judge_is_not_shown(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", KEY)
    with pytest.raises(ArgumentError, match=r"\[redacted\]': it holds a key") as caught:
        parse_judge(spec)
    assert shows_no_key(caught.value)


@pytest.mark.parametrize("model", ["gpt-5-mini-2026-01-01", "hf-internal-testing/tiny-7b", "sk-8b"])
def test_the_names_of_models_are_no_keys(model: str) -> None:
    assert parse_judge(f"openai:{model}").name == f"openai:{model}"
