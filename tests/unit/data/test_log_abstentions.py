"""Abstentions that our scorer, webhook and metric wrote into logs: neither grades nor failures."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from runner_logs import load_log, write_log

from adjudge.cli import run
from adjudge.data import convert_log, write_rows
from adjudge.data.grades import prepare_grades

UNSURE = "abstained: too uncertain; the refused verdict is pass (p_pass 0.61, doubt 0.96)"
UNPARSED = "abstained: status unparsed"
ACCEPTED = "pass: accepted by scope at error level 0.1 (p_pass 0.98, doubt 0.14)"
_METRIC = "simulated under policy 0a1b2c, abstentions "
_WEBHOOK = "http://127.0.0.1:8478/v1/promptfoo?abstain="


def _grade_of(content: Any, path: Path) -> dict[str, Any]:
    """The first grade of a log."""
    return convert_log(write_log(content, path)).rows.to_dicts()[0]


def _answer(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["status"], *(row.get(name) for name in ("judge", "p_pass", "judge_score"))


def _deepeval(reason: str, abstain: str, **outcome: Any) -> Any:
    log = load_log("deepeval.json")
    [metric] = log["testCases"][0]["metricsData"]
    for name in ("score", "success"):
        del metric[name]
    metric.update(name="Policy", reason=reason, evaluationModel=f"{_METRIC}{abstain}", **outcome)
    return log


@pytest.mark.parametrize(
    ("abstain", "outcome"),
    [
        ("unscored", {}),
        ("unscored", {"score": None, "success": None}),
        ("pass", {"score": 1.0, "success": True}),
        ("fail", {"score": 0.0, "success": False}),
    ],
)
def test_an_abstention_of_our_metric_is_no_grade(
    tmp_path: Path, abstain: str, outcome: dict[str, Any]
) -> None:
    row = _grade_of(_deepeval(UNSURE, abstain, **outcome), tmp_path / "run.json")
    assert _answer(row) == ("abstained", None, None, None)
    assert row["detail"] == UNSURE


def test_a_failed_judge_of_our_metric_keeps_its_status(tmp_path: Path) -> None:
    log = _deepeval(UNPARSED, "fail", score=0.0, success=False)
    assert _answer(_grade_of(log, tmp_path / "run.json"))[0] == "unparsed"


def test_another_metric_can_say_that_something_abstained(tmp_path: Path) -> None:
    log = _deepeval("abstained: the model declined", "fail", score=0.9, success=True)
    log["testCases"][0]["metricsData"][0]["evaluationModel"] = "gpt-4.1"
    assert _answer(_grade_of(log, tmp_path / "run.json")) == ("ok", 1, None, 0.9)


def _promptfoo(reason: str, *, passed: bool, kind: str = "webhook", url: str = _WEBHOOK) -> Any:
    log = load_log("promptfoo.json")
    result = log["results"]["results"][0]
    score = int(passed)
    assertion = {"type": kind, "value": f"{url}fail"}
    graded = {"pass": passed, "score": score, "reason": reason, "assertion": assertion}
    result["gradingResult"] = {**graded, "assertion": None, "componentResults": [graded]}
    log["results"]["results"] = [result]
    return log


@pytest.mark.parametrize(("passed", "kind"), [(True, "webhook"), (False, "webhook")])
def test_an_abstention_of_our_webhook_is_no_grade(tmp_path: Path, passed: bool, kind: str) -> None:
    row = _grade_of(_promptfoo(UNSURE, passed=passed, kind=kind), tmp_path / "out.json")
    assert _answer(row) == ("abstained", None, None, None)


@pytest.mark.parametrize(
    ("reason", "url", "status"),
    [
        ("Webhook error: Webhook response status: 409", _WEBHOOK, "abstained"),
        ("Webhook error: Webhook response status: 409", "http://other/grade?", "error"),
        ("Webhook error: Webhook response status: 503", _WEBHOOK, "error"),
        ("Webhook error: Unexpected token '<' in JSON at position 0", _WEBHOOK, "error"),
        ("Webhook error: Request timed out after 5000 ms", "http://other/grade?", "error"),
        (UNPARSED, _WEBHOOK, "unparsed"),
    ],
)
@pytest.mark.parametrize("kind", ["webhook", "not-webhook"])
def test_an_error_of_a_webhook_is_no_grade(
    tmp_path: Path, reason: str, url: str, status: str, kind: str
) -> None:
    log = _promptfoo(reason, passed=False, kind=kind, url=url)
    assert _answer(_grade_of(log, tmp_path / "out.json")) == (status, None, None, None)


def test_an_accepted_verdict_of_our_webhook_is_a_grade(tmp_path: Path) -> None:
    row = _grade_of(_promptfoo(ACCEPTED, passed=True), tmp_path / "out.json")
    assert _answer(row) == ("ok", 1, None, 1.0)


def _inspect(explanation: str, reason: str | None) -> Any:
    log = load_log("inspect.json")
    log["samples"] = log["samples"][:1]
    value = float("nan") if reason else "C"
    score = {"value": value, "answer": "4", "explanation": explanation, "history": []}
    if reason:
        score["reason"] = reason
    log["samples"][0]["scores"] = {"policy_judge": score}
    return log


@pytest.mark.parametrize(
    ("explanation", "reason", "status"),
    [
        (UNSURE, "abstained", "abstained"),
        (UNPARSED, "grader_failed", "unparsed"),
        ("abstained: status refused", "grader_failed", "refused"),
        ("give its text", "scoring_failed", "error"),
        (ACCEPTED, None, "ok"),
    ],
)
def test_an_abstention_of_our_scorer_is_no_grade(
    tmp_path: Path, explanation: str, reason: str | None, status: str
) -> None:
    row = _grade_of(_inspect(explanation, reason), tmp_path / "log.json")
    assert _answer(row) == (status, None, 1.0 if status == "ok" else None, None)


def test_an_edited_abstention_is_still_one(tmp_path: Path) -> None:
    log = _inspect(UNSURE, "abstained")
    score = log["samples"][0]["scores"]["policy_judge"]
    first = {name: score[name] for name in ("value", "answer", "explanation")}
    edit = {**first, "value": "C", "provenance": {"author": "ann"}}
    score.update(value="C", history=[first, edit])
    row = _grade_of(log, tmp_path / "log.json")
    assert (row["status"], row["human"], row.get("p_pass")) == ("abstained", 1.0, None)


def _log_with_abstentions(path: Path) -> Path:
    """Forty accepted verdicts, half of them passes; ten abstentions that count as passes."""
    log = _deepeval(ACCEPTED, "pass", score=1.0, success=True)
    case = log["testCases"][0]
    log["testCases"] = []
    for number in range(50):
        new = copy.deepcopy(case)
        new["name"] = f"case-{number}"
        new["input"] = f"question {number}"
        [metric] = new["metricsData"]
        if number >= 40:
            metric["reason"] = UNSURE
        elif number % 2:
            metric.update(score=0.0, success=False, reason="fail: accepted by scope")
        log["testCases"].append(new)
    return write_log(log, path)


def test_an_analysis_leaves_abstentions_out_and_counts_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _log_with_abstentions(tmp_path / "run.json")
    labels = tmp_path / "labels.csv"
    named = [f"case-{number},{number % 2 == 0:d}" for number in range(0, 50, 2)]
    labels.write_text("\n".join(["id,label", *named]))
    assert run(["estimate", str(log), "--labels", str(labels), "--json"]) != 1
    assert json.loads(capsys.readouterr().out)["dropped"] == {"status abstained": 10}


def test_a_converted_abstention_can_be_read_again(tmp_path: Path) -> None:
    rows = convert_log(_log_with_abstentions(tmp_path / "run.json")).rows
    written = tmp_path / "grades.csv"
    write_rows(rows, written)
    again = prepare_grades(written, needs_labels=False)
    assert again.frame.height == 40
    assert again.dropped == {"status abstained": 10}
