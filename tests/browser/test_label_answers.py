"""People who pass, fail and score single answers, in a real browser."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from label_pages import done, enter, until
from serving import running

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> **bold**"


def write_items(folder: Path, n: int = 4) -> None:
    rows = [
        {"id": f"i{k}", "prompt": f"Question {k}", "response": f"Answer {k} {HOSTILE}",
         "reference": f"Truth {k} {HOSTILE}" if k % 2 else None, "model": "secret-model"}
        for k in range(n)
    ]  # fmt: skip
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_answers_pass_and_fail_by_key_and_by_click(tmp_path: Path, context: BrowserContext) -> None:
    write_items(tmp_path)
    (tmp_path / "told.md").write_text(f"# How to grade\n\nBe strict. {HOSTILE}")
    words = ("items.jsonl", "--no-browser", "-o", "labels.csv", "--instructions", "told.md")
    with running("label", *words, cwd=tmp_path) as service:
        page = context.new_page()
        complaints = enter(page, service.port)
        assert "How to grade" in (page.text_content("#instructions-text") or "")
        assert page.is_visible("#instructions-text")
        page.click("#instructions summary")
        until(page, lambda: page.is_hidden("#instructions-text"))
        assert page.is_hidden(".sides")
        shown: dict[str, str] = {}
        for turn, act in enumerate(("1", "f", "click", "s")):
            page.set_viewport_size({"width": 390 if turn % 2 else 1280, "height": 800})
            name = (page.text_content("#stage .asked .text >> nth=0") or "").split()[-1]
            assert (page.text_content("#response") or "").startswith(f"Answer {name}")
            assert page.is_visible("h2:text('Reference answer')") == bool(int(name) % 2)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            shown[f"i{name}"] = {"1": "pass", "f": "fail", "click": "fail", "s": ""}[act]
            if act == "click":
                page.click("[data-side=fail]")
            else:
                page.keyboard.press(act)
            until(page, lambda turn=turn: done(page) > turn)
        page.keyboard.press("u")
        page.wait_for_selector("#stage:not([hidden])")
        page.reload()
        page.wait_for_selector("#stage:not([hidden])")
        assert page.is_hidden("#instructions-text")
        assert done(page) == 3
        assert page.evaluate("window.hacked") is None
        assert "secret-model" not in page.content()
        assert complaints == []
        assert service.stop(signal.SIGINT)[0] == 0
    labels = pl.read_csv(tmp_path / "labels.csv")
    given = dict(labels.select("id", "label").rows())
    assert given == {name: label for name, label in shown.items() if label}
    assert labels["human"].to_list() == [int(label == "pass") for label in labels["label"]]


@pytest.mark.parametrize(
    ("scale", "keys", "scores"), [("1-10", ("7", "0"), (7, 10)), ("0-100", None, (85, 3))]
)
def test_answers_get_scores(
    tmp_path: Path,
    context: BrowserContext,
    scale: str,
    keys: tuple[str, str] | None,
    scores: tuple[int, int],
) -> None:
    write_items(tmp_path, 2)
    words = ("items.jsonl", "--no-browser", "-o", "labels.csv", "--scale", scale)
    with running("label", *words, cwd=tmp_path) as service:
        page = context.new_page()
        complaints = enter(page, service.port)
        assert "Score each answer from" in (page.text_content("#instructions .hint") or "")
        assert page.is_hidden("#instructions .hint")
        for turn, score in enumerate(scores):
            if keys is None:
                page.keyboard.type(str(score))  # the field has the focus
                page.keyboard.press("Enter")
            else:
                page.keyboard.press(keys[turn])
            until(page, lambda turn=turn: done(page) > turn)
        assert complaints == []
        assert service.stop(signal.SIGINT)[0] == 0
    assert tuple(pl.read_csv(tmp_path / "labels.csv")["human_score"]) == scores
