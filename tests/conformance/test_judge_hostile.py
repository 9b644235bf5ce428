"""A hostile server, seen from the command line: every misdeed a status, counted in the summary.

And the key, planted in the environment and echoed by the server, is found nowhere afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KEY = "planted-KEY/with+odd=chars-0123456789"
MISDEEDS = {
    "fine": (["ok"], "ok"),
    "busy-then-fine": (["429:0.05", "429", "ok"], "ok"),
    "busy": (["429"], "error"),
    "broken": (["500"], "error"),
    "hanging": (["hang:30"], "error"),
    "resetting": (["reset"], "error"),
    "garbled": (["invalid_json"], "error"),
    "no-logprobs": (["no_logprobs"], "no_logprobs"),
    "one-letter": (["one_letter"], "censored"),
    "no-letters": (["no_letters"], "no_logprobs"),
    "empty": (["empty"], "no_logprobs"),
    "refusing": (["refusal"], "refused"),
}


def judge(server: Any, rows: list[dict[str, str]], *options: str) -> Any:
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    program = (
        # The command line with less patience: a test cannot wait for real backoff.
        "from adjudge.judges.backends._chat_server import ChatServerBackend as b; "
        "b.__init__.__kwdefaults__.update(max_attempts=3, first_pause_s=0.01); "
        "from adjudge.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "judge", "pairs.jsonl", "--judge", "openai:m"]
    command += ["--base-url", server.base_url, "--timeout", "1.5", "-o", "out.jsonl", "--json"]
    return subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "OPENAI_API_KEY": KEY},
    )


def pair(name: str) -> dict[str, str]:
    return {"id": name, "prompt": f"<{name}>", "response_a": "a", "response_b": "b"}


@pytest.mark.crash
def test_each_misdeed_ends_in_its_status_and_none_becomes_a_number(judge_server: Any) -> None:
    judge_server.script(
        "ok",
        rules=[{"contains": f"<{name}>", "steps": steps} for name, (steps, _) in MISDEEDS.items()],
    )
    done = judge(judge_server, [pair(name) for name in MISDEEDS])
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    rows = {row["id"]: row for row in map(json.loads, Path("out.jsonl").read_text().splitlines())}
    assert {name: row["status"] for name, row in rows.items()} == {
        name: status for name, (_, status) in MISDEEDS.items()
    }
    for row in rows.values():
        measured = row["status"] in ("ok", "censored")
        for column in ("p_fwd", "p_rev", "p_a", "uncertainty"):
            assert (row[column] is not None) == measured, row
        assert measured or (row["verdict"] is None and row["detail"])
    expected: dict[str, int] = {}
    for _, status in MISDEEDS.values():
        expected[status] = expected.get(status, 0) + 1
    assert summary["statuses"] == expected
    assert summary["measured"] == 3
    assert "5 rows are errors" in done.stderr


def test_not_a_single_number_is_a_bad_finding(judge_server: Any) -> None:
    judge_server.script("no_logprobs")
    done = judge(judge_server, [pair("1"), pair("2")])
    assert done.returncode == 2
    assert json.loads(done.stdout)["measured"] == 0
    assert "no row has a usable score" in done.stderr


@pytest.mark.parametrize("step", ["401", pytest.param("404", marks=pytest.mark.crash)])
def test_a_refusal_for_good_ends_the_run_with_the_servers_words(
    judge_server: Any, step: str
) -> None:
    words = {"401": "Incorrect API key", "404": "does not exist"}
    judge_server.script("ok", rules=[{"contains": "<bad", "steps": [step]}])
    good = [pair(f"good-{n}") for n in range(100)]
    done = judge(judge_server, [*good, *(pair(f"bad-{n}") for n in range(400))])
    assert done.returncode == 1
    assert words[step] in done.stderr.splitlines()[-1]
    assert "are kept in adjudge.db" in done.stderr
    assert not Path("out.jsonl").exists()
    assert judge_server.counts()["requests"] < 400


@pytest.mark.crash
def test_the_key_is_nowhere(judge_server: Any) -> None:
    """Echoed in an error body, in a wrapped error, in a good reply's text, in what ends the run."""
    judge_server.script(
        "ok",
        rules=[
            {"contains": "<echo-400>", "steps": ["ok", "401"]},
            {"contains": "<echo-text>", "steps": [f"text:your key is {KEY}"]},
            {"contains": "<end>", "steps": ["401"]},
        ],
    )
    log = []
    log.append(judge(judge_server, [pair("fine"), pair("echo-text")]))
    log.append(judge(judge_server, [pair("end")]))
    log.append(judge(judge_server, [pair("echo-text")], "--samples", "2"))
    assert log[1].returncode == 1
    arrived = judge_server.log()
    assert arrived, "the server was asked"
    assert all(entry["has_key"] for entry in arrived), "the key did not reach the server"
    spellings = [KEY.encode(), json.dumps(KEY)[1:-1].encode(), b"planted-KEY", b"Bearer"]
    files = [path for path in Path().rglob("*") if path.is_file() and path.name != "pairs.jsonl"]
    assert any(path.name.startswith("adjudge.db") for path in files)
    places = {str(path): path.read_bytes() for path in files}
    for number, done in enumerate(log):
        places[f"output {number}"] = done.stdout.encode() + done.stderr.encode()
    found = [(place, s) for place, content in places.items() for s in spellings if s in content]
    assert found == []
    assert any(b"[redacted]" in content for content in places.values()), "it was never echoed"
