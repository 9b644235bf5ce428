"""Every mode of a misbehaving server, mixed in one run: each row an honest status, none lost.

The server is a process of its own, and so is the run: the command line, with less patience.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hostile_modes import EDITS, MESSAGE_EDITS, MODES

KEY = "planted-KEY/with+odd=chars-0123456789"
PROGRAM = (
    "from adjudge.judges.backends._chat_server import ChatServerBackend as b; "
    "b.__init__.__kwdefaults__.update(max_attempts=1, first_pause_s=0.01); "
    "from adjudge.cli import main; main()"
)
Row = dict[str, Any]


#: These take as long as the patience of who asks.
SLOW = {name for name, mode in MODES.items() if mode.says == "no answer within"}


def judge(server: Any, judge: str, rows: list[Row], *options: str, timeout: float = 30) -> Any:
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-c", PROGRAM, "judge", "pairs.jsonl", "--judge", judge]
    command += [
        "--base-url",
        server.base_url,
        "--timeout",
        str(timeout),
        "-o",
        "out.jsonl",
        "--json",
    ]
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    return subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        timeout=150,
        env={**os.environ, **keys},
    )


def pair(name: str) -> Row:
    return {"id": name, "prompt": f"<{name}>", "response_a": "a", "response_b": "b"}


def rules(kind: str, names: Any) -> list[Row]:
    return [{"contains": f"<{name}>", "steps": [f"{kind}:{name}"]} for name in names]


def mixed(names: Any) -> list[Row]:
    """A good row after each bad one."""
    return [row for name in names for row in (pair(name), pair(f"good after {name}"))]


def written() -> dict[str, Row]:
    return {row["id"]: row for row in map(json.loads, Path("out.jsonl").read_text().splitlines())}


def check(rows: dict[str, Row], expected: dict[str, tuple[str, str]]) -> None:
    assert len(rows) == 2 * len(expected), "a row was lost"
    wrong = {}
    for name, (status, says) in expected.items():
        row, good = rows[name], rows[f"good after {name}"]
        measured = row["status"] in ("ok", "censored")
        honest = measured or (row["p_a"] is None and row["verdict"] is None and row["detail"])
        # Of an ok row the letters may be bounded only: that is for the letters' tests.
        same = measured if status == "ok" else row["status"] == status
        if not same or not honest or says not in (row["detail"] or "") or good["status"] != "ok":
            wrong[name] = (row["status"], row["detail"], good["status"], good["detail"])
    assert not wrong, "\n".join(f"{name}: {row}" for name, row in wrong.items())


def spellings() -> list[bytes]:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    header = base64.b64encode(f"Bearer {KEY}".encode()).decode()
    coded = [quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()[:-4], header[10:-4]]
    parts = [KEY[:18], KEY[18:], KEY[4:20], KEY.encode().hex(), escaped, escaped[6:36]]
    return [text.encode() for text in (KEY, json.dumps(KEY)[1:-1], *coded, *parts)]


def check_key_is_nowhere(*outputs: str) -> None:
    """Raw bytes of every file, the store's log included; every table; everything printed."""
    files = [path for path in Path().rglob("*") if path.is_file() and path.name != "pairs.jsonl"]
    places = {str(path): path.read_bytes() for path in files}
    assert any(place.endswith(".db") for place in places)
    places |= {f"output {n}": text.encode() for n, text in enumerate(outputs)}
    with sqlite3.connect("adjudge.db") as db:
        for (table,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            places[table] = repr(db.execute(f"SELECT * FROM {table}").fetchall()).encode()  # noqa: S608  (our own tables)
    db.close()
    leaks = [(place, s) for place, content in places.items() for s in spellings() if s in content]
    assert leaks == []
    assert b"[redacted]" in places["calls"], "it was never echoed"


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.crash)])
def test_every_mode_in_one_run(judge_server: Any, slow: bool) -> None:
    modes = {name: mode for name, mode in MODES.items() if slow or name not in SLOW}
    judge_server.script("ok", rules=rules("mode", modes))
    # A server that has answered nothing yet and says no is believed: let it answer first.
    first = [pair(f"first {n}") for n in range(20)]
    rows = [*first, *mixed(modes)]
    done = judge(judge_server, "openai:m", rows, timeout=2 if slow else 30)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    judged = written()
    assert {judged.pop(row["id"])["status"] for row in first} == {"ok"}
    check(judged, {name: (mode.status, mode.says) for name, mode in modes.items()})
    assert json.loads(done.stdout)["calls_without_tokens"] > 0
    assert {entry["path"] for entry in judge_server.log()} == {"/v1/chat/completions"}
    check_key_is_nowhere(done.stdout, done.stderr)
    # What a terminal would obey came back in texts and errors: none of it is printed or written.
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]", done.stdout + done.stderr)


@pytest.mark.crash
def test_the_same_answers_from_a_batch(judge_server: Any) -> None:
    judge_server.script("ok", rules=rules("mode", EDITS), batch_key=KEY)
    done = judge(judge_server, "openai:m", mixed(EDITS), "--batch", "--batch-folder", "batches")
    assert done.returncode == 0, done.stderr
    check(written(), {name: (status, says) for name, (_, _, status, says) in EDITS.items()})
    check_key_is_nowhere(done.stdout, done.stderr)


@pytest.mark.crash
def test_odd_messages_of_another_maker(judge_server: Any) -> None:
    judge_server.script("ok", rules=rules("edit", MESSAGE_EDITS))
    done = judge(judge_server, "anthropic:m", mixed(MESSAGE_EDITS), "--samples", "1")
    assert done.returncode == 0, done.stderr
    check(written(), {name: (status, says) for name, (_, _, status, says) in MESSAGE_EDITS.items()})
    check_key_is_nowhere(done.stdout, done.stderr)


def test_the_number_of_modes_in_the_docs_is_the_number_of_modes() -> None:
    words = (Path(__file__).parents[2] / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    told = re.search(r"(\d+) kinds of misbehaviour", words)
    assert told is not None
    assert int(told[1]) == len(MODES) + len(MESSAGE_EDITS)
