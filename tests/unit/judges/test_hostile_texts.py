"""Text being judged stays data: in every protocol's prompts, in requests, on the terminal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import HOSTILE_TEXTS, LONE_SURROGATE

from adjudge.cli.output import remark, show
from adjudge.judges import judge_pairs
from adjudge.judges.backends.anthropic import AnthropicBackend
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.interface import Data, JudgeProtocol, Question
from adjudge.judges.judge import PROTOCOLS
from adjudge.present.text import safe
from adjudge.records import Item, Pair, Subject
from adjudge.simulate.pairs import simulate_pairs

TEXTS = [*HOSTILE_TEXTS, ("lone_surrogate", LONE_SURROGATE)]
#: What no terminal may get from data: codes it obeys, marks that turn text around.
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def protocol_named(name: str) -> JudgeProtocol:
    kind = PROTOCOLS.load(name)
    if "demonstrations" in kind.options and kind.subjects == "items":
        shown = {0: "wrong", 1: "right"}.items()
        items = [Item(id=text, prompt="q", response=text, extra={"human": n}) for n, text in shown]
        return kind(demonstrations=items)
    if "demonstrations" in kind.options:
        return kind(demonstrations=[p for p in simulate_pairs(60, seed=3) if p.label != "tie"])
    return kind()


def subject(protocol: JudgeProtocol, text: str) -> Subject:
    if protocol.subjects == "items":
        return Item(id="1", prompt=f"p{text}", response=f"r{text}")
    return Pair(id="1", prompt=f"p{text}", response_a=f"a{text}", response_b=f"b{text}")


def own_words(questions: Sequence[Question]) -> list[object]:
    """All that does not come from the subject: roles, words, and where its parts stand."""
    return [
        (message.role, [part if isinstance(part, str) else None for part in message.parts])
        for question in questions
        for message in question.messages
    ]


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_no_text_changes_what_a_protocol_says_around_it(name: str) -> None:
    protocol = protocol_named(name)
    calm = own_words(protocol.questions(subject(protocol, "")))
    for label, text in TEXTS:
        questions = protocol.questions(subject(protocol, text))
        # Which order comes first may follow the content: compare what is said, not when.
        assert sorted(map(repr, own_words(questions))) == sorted(map(repr, calm)), label
        given = {
            part.text
            for q in questions
            for m in q.messages
            for part in m.parts
            if isinstance(part, Data)
        }
        assert f"p{text}" in given, label


@pytest.mark.parametrize("backend", [OpenAIBackend, AnthropicBackend])
def test_no_text_leaves_its_string_in_a_request(backend: Any) -> None:
    judge = backend("m", base_url="http://localhost:9/v1")
    protocol = protocol_named("verbalized")
    calm = judge.request_body(protocol.questions(subject(protocol, ""))[0])
    for label, text in TEXTS:
        body = json.loads(
            json.dumps(judge.request_body(protocol.questions(subject(protocol, text))[0]))
        )
        assert body.keys() == calm.keys(), label
        assert [m["role"] for m in body["messages"]] == [m["role"] for m in calm["messages"]], label
        assert {k: v for k, v in body.items() if k not in ("messages", "system")} == {
            k: v for k, v in calm.items() if k not in ("messages", "system")
        }, label
        assert f"a{text}" in body["messages"][-1]["content"], label


@pytest.mark.parametrize(("label", "text"), TEXTS, ids=[label for label, _ in TEXTS])
def test_no_text_is_obeyed_by_a_terminal(
    label: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not OBEYED.search(safe(text))
    remark(f"before {text} after")
    show(f"before {text} after")
    printed = capsys.readouterr()
    for shown in (printed.out, printed.err):
        assert not OBEYED.search(shown)
        assert shown.startswith("before ")
        assert shown.endswith(" after\n")
    assert printed.err.count("\n") == 1, "one line stays one line"
    if label == "rich_markup":
        assert text in printed.out, "markup is text"


def test_hostile_ids_texts_and_columns_go_through_a_whole_run() -> None:
    """Judged by the command line, in a process of its own: every row comes back as it went in."""
    rows = [
        {
            "id": f"{label} {text}",
            "prompt": text,
            "response_a": f"a{text}",
            "response_b": "b",
            "model_a": text,
            "note": text,
        }
        for label, text in HOSTILE_TEXTS
    ]
    Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "adjudge", "judge", "p.jsonl", "--judge", "simulated:noise=1"]
    done = subprocess.run([*command, "-o", "o.jsonl"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    # Lines end where JSON Lines end: U+2028 and its like are text.
    written = [json.loads(line) for line in Path("o.jsonl").read_text().split("\n") if line]
    assert [row["id"] for row in written] == [row["id"] for row in rows]
    assert [row["note"] for row in written] == [row["note"] for row in rows]
    assert not OBEYED.search(done.stdout + done.stderr)


def test_a_judge_that_writes_hostile_text_is_read_as_text(judge_server: Any, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    pairs = [
        Pair(id=label, prompt=f"<{label}>", response_a="a", response_b="b")
        for label, _ in HOSTILE_TEXTS
    ]
    rules = [{"contains": f"<{label}>", "steps": [f"text:{text}"]} for label, text in HOSTILE_TEXTS]
    judge_server.script("ok", rules=rules)
    for protocol in ("verbalized", "rubric"):
        done = judge_pairs(
            pairs,
            judge="openai:m",
            base_url=judge_server.base_url,
            protocol=protocol,
            keep_going=True,
            store=None,
        )
        assert done.judgments.height == len(pairs)
        statuses = dict(zip(done.judgments["id"], done.judgments["status"], strict=True))
        assert set(statuses.values()) <= {"ok", "unparsed", "error"}
        assert statuses["ansi_clear"] == "unparsed"
        assert statuses["null"] == "error", "no store can keep it"
