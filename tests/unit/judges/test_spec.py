"""From what a user types to a judge; fingerprints; prices; secrets."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import ArgumentError, BackendMissingError
from adjudge.hashing import sha256_json
from adjudge.judges import Backend, JudgeProtocol, judge, make_judge, parse_judge, parse_protocol
from adjudge.judges.interface import Choice, Data, Likelihood, Message, Question, Text
from adjudge.judges.judge import BACKENDS, PROTOCOLS, differing_parts, question_hash
from adjudge.judges.protocols._choices import Asking
from adjudge.plugins import Builtin, Registry
from adjudge.records import Pair


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("gpt-4", "write BACKEND:MODEL, such as openai:gpt-4; backends: openai, azure, "),
        ("opnai:x", "write BACKEND:MODEL, such as openai:gpt-4.1-mini; backends: openai, azure, "),
        ("openai", "name a model after a colon, such as openai:"),
        ("openai:", "name a model after the colon"),
        ("simulated:accuracy=2", "0.5 to 1"),
        ("simulated:accurcy=0.8", "simulated:accuracy=0.8,position_bias"),
        ("simulated:accuracy", "simulated:accuracy=0.8,position_bias"),
        ("simulated:seed=1.5", "simulated:accuracy=0.8,position_bias"),
    ],
)
def test_a_bad_spec_is_refused_with_its_remedy(typed: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        parse_judge(typed)


def test_an_unknown_protocol_lists_the_known() -> None:
    with pytest.raises(ArgumentError, match="preference, likelihood"):
        parse_protocol("preferrence")


def test_options_a_judge_does_not_take_are_refused() -> None:
    with pytest.raises(
        ArgumentError, match="simulated does not take it .openai, .*, anthropic take it."
    ):
        parse_judge("simulated:", base_url="http://localhost:1/v1")
    with pytest.raises(ArgumentError, match="likelihood does not take it"):
        parse_protocol("likelihood", samples=3)


@pytest.mark.parametrize("name", ["verbalized", "rubric"])
def test_what_is_stated_in_one_reply_is_not_sampled_and_says_why(name: str) -> None:
    with pytest.raises(
        ArgumentError, match=f"samples = 5: leave it out: protocol {name} does not take it"
    ):
        parse_protocol(name, samples=5)
    assert parse_protocol(name, samples=None).name == name


def test_a_backend_whose_library_is_missing_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = Builtin("adjudge_no_such_module:X", "embedded")
    registry = Registry[type[Backend]]("judge", "none", {"llamacpp": gone})
    monkeypatch.setattr(judge, "BACKENDS", registry)
    with pytest.raises(BackendMissingError, match=r"pip install '\.\[embedded\]' in a checkout"):
        parse_judge("llamacpp:smollm2")


@pytest.mark.parametrize("name", sorted(BACKENDS))
def test_every_backend_is_there_and_says_what_it_takes(name: str) -> None:
    backend = BACKENDS.load(name)
    assert issubclass(backend, Backend)
    assert backend.example.startswith(f"{name}:")
    parameters = inspect.signature(backend).parameters
    assert set(backend.options) <= set(parameters)


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_every_protocol_is_there_and_says_what_it_takes(name: str) -> None:
    protocol = PROTOCOLS.load(name)
    assert issubclass(protocol, JudgeProtocol)
    assert protocol.name == name
    makers = [kind.__init__ for kind in protocol.__mro__] + [Asking.__init__]  # type: ignore[misc]
    taken = {name for make in makers for name in inspect.signature(make).parameters}
    assert set(protocol.options) <= taken


def test_only_the_registry_knows_backends_and_protocols_by_name() -> None:
    """What a class can do is an attribute of the class: nobody asks what it is called."""
    names = {*BACKENDS, *PROTOCOLS}
    for path in Path(judge.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                constants = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                asked = re.search(r"\b(name|protocol|backend|judge|kind)\b", ast.unparse(node))
                assert not (asked and constants & names), f"{path}:{node.lineno} compares a name"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                asked = node.func.id in ("isinstance", "issubclass") and len(node.args) == 2
                kinds = ast.unparse(node.args[1]) if asked else ""
                assert not re.search(r"\w+Backend|Likert|Annotators", kinds), f"{path}: {kinds}"


def test_the_fingerprint_follows_every_part_and_parts_say_what_differs() -> None:
    one = make_judge(parse_judge("simulated:seed=1"), parse_protocol("preference"))
    same = make_judge(parse_judge("simulated:seed=1"), parse_protocol("preference"))
    other = make_judge(parse_judge("simulated:seed=2"), parse_protocol("preference", samples=3))
    assert one.fingerprint == same.fingerprint == sha256_json(one.fingerprint_parts)
    assert one.fingerprint != other.fingerprint
    differs = differing_parts(one.fingerprint_parts, other.fingerprint_parts)
    assert {"seed", "protocol.samples"} <= set(differs)
    assert "protocol" not in differs
    assert json.loads(json.dumps(one.fingerprint_parts)) == dict(one.fingerprint_parts)


def test_a_backends_setting_and_a_protocols_of_the_same_name_do_not_mix() -> None:
    judge = make_judge(parse_judge("simulated:seed=1"), parse_protocol("verbalized", seed=2))
    assert judge.fingerprint_parts["seed"] == 1
    assert judge.fingerprint_parts["protocol.seed"] == 2


def test_credentials_in_an_identity_do_not_reach_the_fingerprint() -> None:
    backend = parse_judge("simulated:")
    backend.identity = lambda: {"base_url": "https://me:secret@host/v1"}  # type: ignore[method-assign]  # on purpose
    parts = make_judge(backend, parse_protocol("preference")).fingerprint_parts
    assert parts["base_url"] == "https://host/v1"


def test_question_hash_follows_all_that_is_sent() -> None:
    base = Question((Message("user", ("Q ", Data("x"))),), Choice(("A", "B")))
    variants = [
        base,
        dataclasses.replace(base, messages=(Message("system", ("Q ", Data("x"))),)),
        dataclasses.replace(base, messages=(Message("user", ("Q ", Data("y"))),)),
        dataclasses.replace(base, messages=(*base.messages, Message("user", ("x",)))),
        dataclasses.replace(base, want=Choice(("1", "2"))),
        dataclasses.replace(base, want=Text(5)),
        dataclasses.replace(base, want=Text(6)),
        dataclasses.replace(base, want=Text(6, 1.0)),
        dataclasses.replace(base, want=Text(6, json_schema={"type": "object"})),
        dataclasses.replace(base, want=Likelihood(Data("x"))),
        dataclasses.replace(base, want=Likelihood(Data("y"))),
    ]
    assert len({question_hash(question) for question in variants}) == len(variants)
    pair = Pair(id="1", prompt="", response_a="", response_b="")
    told = {question_hash(base, pair), question_hash(base, dataclasses.replace(pair, label="A"))}
    assert len(told | {question_hash(base)}) == 3


def test_importing_a_backend_loads_no_room_it_does_not_need() -> None:
    import subprocess
    import sys

    code = (
        "import sys, adjudge.judges.interface; "
        "print([m for m in ('polars', 'scipy', 'aiohttp', 'pydantic') if m in sys.modules])"
    )
    told: Any = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"


def test_a_server_by_name_is_the_same_judge_as_by_its_address() -> None:
    from adjudge.judges import make_judge

    protocol = parse_protocol("preference")
    by_name = make_judge(parse_judge("ollama:m"), protocol)
    by_url = make_judge(parse_judge("openai:m", base_url="http://localhost:11434/v1"), protocol)
    assert by_name.fingerprint == by_url.fingerprint
    assert (by_name.backend.name, by_url.backend.name) == ("ollama:m", "openai:m")


def test_settings_of_named_servers_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(ArgumentError, match="set AZURE_OPENAI_ENDPOINT"):
        parse_judge("azure:mine")
    with pytest.raises(ArgumentError, match="write provider=VALUE"):
        parse_judge("openrouter:m?providers=x")
    assert parse_judge("openrouter:m?provider=b,a").identity()["provider"] == ["a", "b"]
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    identity = parse_judge("azure:mine").identity()
    assert identity["base_url"] == "https://mine.openai.azure.com/openai/v1"
