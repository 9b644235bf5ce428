"""An answer is read no further than it may be large: memory and time of a run, from outside.

The server is a process of its own, and so is the run that is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from peak import run_for_peak

from adjudge.judges import judge_pairs
from adjudge.records import Pair

ONE_ATTEMPT = """
from adjudge.judges.backends._chat_server import ChatServerBackend
ChatServerBackend.__init__.__kwdefaults__.update(max_attempts=1)
"""


def judge(server: Any, name: str, *options: str, rows: int = 1) -> tuple[dict[str, Any], float]:
    """The first row of a run, and its largest memory in MB."""
    pairs = [
        {"id": f"{name} {n}", "prompt": f"<{name} {n}>", "response_a": "a", "response_b": "b"}
        for n in range(rows)
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    command = ["judge", "pairs.jsonl", "--judge", "openai:m"]
    command += ["--base-url", server.base_url, "--concurrency", "1", "--store", f"{name}.db"]
    done, peak = run_for_peak(
        [*command, "-o", "out.jsonl", "--summary", "s.json", *options],
        first=ONE_ATTEMPT,
        stdout=subprocess.DEVNULL,
        timeout=120,
        env={**os.environ, "OPENAI_API_KEY": "k" * 20},
    )
    assert done.returncode in (0, 2), done.stderr
    (row, *_) = map(json.loads, Path("out.jsonl").read_text().splitlines())
    return row, peak


@pytest.mark.crash
def test_large_answers_cost_next_to_no_memory(judge_server: Any) -> None:
    judge_server.script("ok")
    _, usual = judge(judge_server, "usual")
    judge_server.script("mode:large")
    large, memory = judge(judge_server, "large")
    assert large["status"] == "error"
    assert large["detail"].startswith("an answer of more than 1.002 MiB; --max-reply SIZE allows")
    assert memory < usual + 20


def test_who_wants_more_reads_more(judge_server: Any) -> None:
    def judged(**options: Any) -> dict[str, int]:
        url, pairs = judge_server.base_url, [Pair(id="1", prompt="", response_a="", response_b="")]
        run = judge_pairs(pairs, judge="openai:m", base_url=url, store="s.db", **options)
        return dict(run.summary.statuses)

    judge_server.script("mode:model_large")
    assert judged() == {"error": 1}
    assert judge_server.counts()["requests"] == 2, "what is too large was asked for again"
    assert judged(max_reply=8 << 20) == {"ok": 1}, "an error is asked again, and fits now"


@pytest.mark.crash
@pytest.mark.parametrize(
    "name", ["gzip_bomb", "error_large", "endless_body", "gzip_bomb_in_error", "deflate_bomb"]
)
def test_no_answer_takes_much_memory_however_it_is_sent(judge_server: Any, name: str) -> None:
    judge_server.script("ok")
    _, usual = judge(judge_server, "usual")
    judge_server.script(f"mode:{name}")
    row, memory = judge(judge_server, name, rows=1)
    assert row["status"] == "error"
    assert memory < usual + 20


@pytest.mark.parametrize("size", ["", "many", "-1", "8X", "1.5M", "0", "10"])
def test_a_size_that_is_none_is_refused(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    from adjudge.cli import run

    Path("p.jsonl").write_text('{"id": 1, "prompt": "p", "response_a": "a", "response_b": "b"}\n')
    options = ["--judge", "openai:m", "--base-url", "http://localhost:9/v1", "-o", "o.jsonl"]
    assert run(["judge", "p.jsonl", *options, "--max-reply", size]) == 1
    assert "max_reply" in capsys.readouterr().err
