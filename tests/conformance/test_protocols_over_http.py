"""Every protocol from file to file, through runner and store, against a real HTTP server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.cli import main
from adjudge.data import read_battles, read_judgments, read_scores, read_tournaments
from adjudge.judges.criteria import our_criteria

RUBRIC = our_criteria("rubric")

NAMES = [criterion.name for criterion in RUBRIC]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-over-http-secret-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-over-http-secret")
    monkeypatch.setenv("GATEWAY_KEY", "gateway-secret-123")


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"p{i}",
            "prompt": f"question {i}",
            "response_a": f"left {i}",
            "response_b": f"right {i}",
            "model_a": "m1",
            "model_b": "m2",
            "label": "A",
        }
        for i in range(6)
    ]
    return write(tmp_path / "pairs.jsonl", rows)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    rows = [
        {"id": f"{d}{m}", "prompt": f"doc {d}", "response": f"{d} by {m}", "doc_id": d, "model": m}
        for d in ("d1", "d2")
        for m in ("x", "y", "z")
    ]
    return write(tmp_path / "items.jsonl", rows)


def run(server: Any, source: Path, protocol: str, *options: str, judge: str = "openai:m") -> Path:
    out = source.with_name(f"{protocol}.jsonl")
    arguments = [
        "judge",
        str(source),
        *("--judge", judge, "--base-url", server.base_url),
        *("--protocol", protocol, "-o", str(out), *options),
    ]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return out


def test_verbalized(judge_server: Any, pairs: Path) -> None:
    judge_server.script("text:Verdict: A\nConfidence: 0.75")
    frame = read_judgments(run(judge_server, pairs, "verbalized"))
    assert frame["status"].to_list() == ["ok"] * 6
    assert frame["uncertainty"].to_list() == [0.25] * 6
    assert set(frame["order"].to_list()) <= {"ab", "ba"}
    assert judge_server.counts()["requests"] == 6


def test_rubric_gives_judgments_and_battles(judge_server: Any, pairs: Path) -> None:
    scores = {"A": dict.fromkeys(NAMES, 8), "B": dict.fromkeys(NAMES, 5)}
    judge_server.script(
        "text:" + json.dumps(scores), rules=[{"contains": "question 3", "steps": ["text:{}"]}]
    )
    out = run(judge_server, pairs, "rubric")
    frame = read_judgments(out)
    # The same side wins in both orders: the sign changes, every row is a tie.
    assert frame["verdict"].to_list() == [None] * 6
    assert frame["status"].to_list() == ["ok", "ok", "ok", "unparsed", "ok", "ok"]
    battles = read_battles(out)
    assert battles["winner"].to_list() == ["model_a"] * 6
    assert battles["score_a"].to_list() == [6.5, 6.5, 6.5, None, 6.5, 6.5]
    sent = judge_server.log()[0]["body"]
    assert sent["response_format"]["json_schema"]["strict"] is True


def test_likert_with_the_probability_of_each_digit(judge_server: Any, items: Path) -> None:
    frame = read_scores(run(judge_server, items, "likert"))
    assert frame.height == 24
    assert set(frame["criterion"]) == {"coherence", "consistency", "fluency", "relevance"}
    assert all(abs(sum(probs) - 1) < 1e-12 for probs in frame["score_probs"].to_list())
    assert set(frame["judge_score"]) <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_likert_in_words(judge_server: Any, items: Path) -> None:
    judge_server.script("text:4", "text:5", "text:7/10")
    frame = read_scores(run(judge_server, items, "likert", "--samples", "3"))
    assert frame["judge_score"].to_list() == [4.5] * 24


def test_all_pairs_of_models_meet_on_each_criterion(judge_server: Any, items: Path) -> None:
    frame = read_tournaments(run(judge_server, items, "criterion"))
    assert frame.height == 2 * 3 * 4
    meetings = {(row["doc_id"], row["model_a"], row["model_b"]) for row in frame.to_dicts()}
    assert meetings == {
        (d, *two) for d in ("d1", "d2") for two in (("x", "y"), ("x", "z"), ("y", "z"))
    }
    assert judge_server.counts()["requests"] == 24 * 2


def test_annotators(judge_server: Any, pairs: Path) -> None:
    rows = [
        {
            "id": f"demo{i}",
            "prompt": f"dq {i}",
            "response_a": f"good {i}",
            "response_b": f"bad {i}",
            "label": "AB"[i % 2],
        }
        for i in range(12)
    ]
    demonstrations = write(pairs.with_name("demos.jsonl"), rows)
    out = run(judge_server, pairs, "annotators", "--demonstrations", str(demonstrations))
    frame = read_judgments(out)
    assert frame["status"].to_list() == ["ok"] * 6
    assert set(frame["p_a"].to_list()) <= {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}
    assert judge_server.counts()["requests"] == 30


def test_demonstrations_from_what_is_judged_are_refused(
    judge_server: Any, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = pairs.with_name("out.jsonl")
    with pytest.raises(SystemExit) as ended:
        main(
            ["judge", str(pairs), "--judge", "openai:m", "--base-url", judge_server.base_url,
             "--protocol", "annotators", "--demonstrations", str(pairs), "-o", str(out)]
        )  # fmt: skip
    assert ended.value.code == 1
    assert "is both judged and a demonstration (same text)" in capsys.readouterr().err
    assert not out.exists()
    assert judge_server.counts()["requests"] == 0


def test_anthropic_is_sampled(judge_server: Any, pairs: Path) -> None:
    judge_server.script("text:A", "text:B", "text:hm")
    out = run(judge_server, pairs, "preference", "--samples", "3", judge="anthropic:claude")
    frame = read_judgments(out)
    assert frame["p_fwd"].to_list() == [0.5] * 6
    assert judge_server.counts()["requests"] == 36


def test_the_key_and_the_body_for_another_server(judge_server: Any, pairs: Path) -> None:
    thinking = {"chat_template_kwargs": {"enable_thinking": False}}
    options = ("--api-key-env", "GATEWAY_KEY", "--extra-body", json.dumps(thinking))
    run(judge_server, pairs, "preference", *options)
    sent = judge_server.log()[0]
    assert sent["has_key"]
    assert sent["body"]["chat_template_kwargs"] == {"enable_thinking": False}
