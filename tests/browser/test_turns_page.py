"""Conversations of 40 turns and runs of 200 steps on the pages, in a real browser."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from label_pages import done, enter, until
from serving import running

from adjudge.judges import judge_pairs

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
SIZES = [pytest.param(1280, id="desktop"), pytest.param(390, id="phone")]


def talk(turns: int = 20) -> dict[str, Any]:
    said = []
    for turn in range(1, turns + 1):
        said.append({"role": "user", "content": f"Question {turn} {HOSTILE}"})
        said.append(
            {"role": "assistant", "content": f"Answer **{turn}**\n\n```python\nx = {turn}\n```"}
        )
    return {"id": "talk", "messages": said}


def agent(steps: int = 200) -> dict[str, Any]:
    said: list[dict[str, Any]] = [{"role": "user", "content": "Find the cheapest flight to Oslo."}]
    for step in range(1, steps + 1):
        call = {"id": str(step), "function": {"name": "search_flights", "arguments": json.dumps(
            {"step": step, "to": "OSL", "note": HOSTILE, "long": "x" * 300})}}  # fmt: skip
        said.append({"role": "assistant", "content": f"Try {step}.", "tool_calls": [call]})
        result = {
            "role": "tool",
            "tool_call_id": str(step),
            "content": f"{HOSTILE} " + "price 99, " * 60,
        }
        said.append({**result, "error": "timeout"} if step % 50 == 0 else result)
    return {"id": "run", "messages": [*said, {"role": "assistant", "content": "99 euros."}]}


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.parametrize("width", SIZES)
def test_turns_are_labelled_one_after_the_other(
    width: int, tmp_path: Path, context: BrowserContext
) -> None:
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk()))
    words = ("talks.jsonl", "--unit", "turn", "--no-browser", "-o", "labels.csv")
    with running("label", *words, cwd=tmp_path) as service:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        complaints = enter(page, service.port)
        for turn in range(1, 21):
            assert f"Answer {turn}" in (page.text_content("#response") or "")
            headings = page.locator("#prompt .turn > h3").all_text_contents()
            expected = ["user", "assistant"] * (turn - 1) + ["user"]
            assert headings == (expected if turn > 1 else [])
            if turn > 1:
                # The question that is answered is in view: the end of the history.
                last = page.locator("#prompt .turn").last
                box, frame = last.bounding_box(), page.locator("#prompt").bounding_box()
                assert box is not None
                assert frame is not None
                assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 1
            assert fits(page)
            page.keyboard.press("1")
            until(page, lambda turn=turn: done(page) == turn)
        assert page.evaluate("window.hacked") is None
        assert complaints == []
        service.stop(signal.SIGINT)
    labels = (tmp_path / "labels.csv").read_text()
    assert [f"talk#{turn}" in labels for turn in range(1, 21)] == [True] * 20


@pytest.mark.parametrize("width", SIZES)
def test_a_run_of_200_steps_is_folded_and_can_be_opened(
    width: int, tmp_path: Path, context: BrowserContext
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(agent()))
    with running("label", "runs.jsonl", "--no-browser", cwd=tmp_path) as service:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        complaints = enter(page, service.port)
        assert page.locator("#response .turn.assistant").count() == 201
        assert page.locator("#response details.call").count() == 200
        failed = page.locator("#response details.failed > summary")
        assert failed.count() == 4
        assert (failed.first.text_content() or "").startswith("tool search_flights: error")
        call = page.locator("#response details.call").first
        assert not call.locator("pre").is_visible()
        call.locator("summary").click()
        assert '"step": 1' in (call.locator("pre").text_content() or "")
        assert call.locator("pre").is_visible()
        assert fits(page)
        assert page.evaluate("window.hacked") is None
        assert complaints == []


@pytest.mark.parametrize("width", SIZES)
def test_the_viewer_shows_steps_with_their_history(
    width: int, tmp_path: Path, context: BrowserContext
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(agent(40)))
    judged = tmp_path / "judged.jsonl"
    how: dict[str, Any] = {"judge": "simulated:", "protocol": "grade", "unit": "step"}
    judge_pairs(path, **how, store=tmp_path / "s.db", output=judged)
    words = ("judged.jsonl", "--pairs", "runs.jsonl", "--no-browser")
    with running("view", *words, cwd=tmp_path) as service:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"http://127.0.0.1:{service.port}/#row=run%233")
        page.wait_for_selector(".card .turn")
        answer = page.locator(".card", has=page.locator("h2", has_text="Answer")).last
        title = page.locator("[data-row='run#3'] .title").text_content() or ""
        assert title.startswith("Try 3.")
        assert answer.locator(".turn.assistant > h3").count() == 1
        assert answer.locator("details.turn.tool").count() == 1
        assert fits(page)
        assert page.evaluate("window.hacked") is None
