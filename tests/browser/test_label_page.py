"""People labelling, with a real server in another process and a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

N = 20
HOSTILE = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> "
    "[x](javascript:window.hacked=1) ![p](http://127.0.0.1:9/p.png) **bold** `code`"
)
WIDE = "\n\n".join(
    [
        "",
        "```python\nx = " + "1 + " * 60 + "1\n```",
        "| a | " + "wide " * 40 + "|\n|---|---|\n| 1 | 2 |",
        "unbroken" * 40,
    ]
)


class LabelServer:
    """`adjudge label` in a process of its own, on one port, to be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = options
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "adjudge", "label", "pairs.jsonl", "-o", "labels.csv",
             "--no-browser", "--port", str(self.port), *self.options],
            cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert self.address in line, line

    def kill(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def stop(self) -> str:
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, err
        return out


@contextmanager
def serving(folder: Path, rows: list[dict[str, str]]) -> Iterator[LabelServer]:
    """A server of these pairs; it is killed at the end unless it has been stopped."""
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = LabelServer(folder)
    made.start()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


ROWS = [
    {"id": f"p{i}", "prompt": f"Question {i}\n\n{text}",
     "response_a": f"AAA {i} {text}", "response_b": f"BBB {i}"}
    for i, text in enumerate([WIDE, HOSTILE] * (N // 2))
]  # fmt: skip


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LabelServer]:
    """To be killed, stopped and asked what it wrote."""
    with serving(tmp_path, ROWS) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelServer]:
    """For raters of different names, who are shown the same."""
    with serving(tmp_path_factory.mktemp("shared"), ROWS) as made:
        yield made


def watch(page: Page) -> list[str]:
    """What the page complains of: console errors and exceptions."""
    told: list[str] = []
    page.on("console", lambda m: told.append(m.text) if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: told.append(str(error)))
    return told


def enter(page: Page, server: LabelServer, name: str) -> None:
    page.goto(server.address)
    page.fill("#name", name)
    page.keyboard.press("Enter")
    page.wait_for_selector("#stage:not([hidden])")


def count(page: Page) -> int:
    return int((page.text_content("#count") or "").split("/")[0])


def until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait from outside: the page's policy lets nobody evaluate strings in it, us included."""
    for _ in range(200):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen within ten seconds")


def answer(page: Page, key: str) -> None:
    before = count(page)
    page.keyboard.press(key)
    until(page, lambda: count(page) > before)


def prefer_a(page: Page) -> str:
    """The key of the side on which response_a stands now."""
    return "1" if (page.text_content("#left") or "").startswith("AAA") else "2"


def test_twenty_pairs_by_keyboard_through_reload_and_kill(
    server: LabelServer, context: BrowserContext, tmp_path: Path
) -> None:
    page = context.new_page()
    complaints = watch(page)
    enter(page, server, "ann")
    for _ in range(5):
        answer(page, prefer_a(page))
    page.reload()
    page.wait_for_selector("#stage:not([hidden])")
    assert count(page) == 5
    for _ in range(5):
        answer(page, prefer_a(page))

    assert page.evaluate("window.hacked") is None
    assert complaints == []
    server.kill()
    page.keyboard.press(prefer_a(page))
    page.wait_for_selector("#notice:not([hidden])")
    assert "Not saved yet" in (page.text_content("#notice") or "")
    server.start()
    until(page, lambda: count(page) > 10)
    assert page.is_hidden("#notice")

    page.keyboard.press("u")
    until(page, lambda: count(page) == 10)
    while page.is_visible("#stage"):
        before = count(page)
        page.keyboard.press(prefer_a(page))
        until(page, lambda before=before: page.is_visible("#done") or count(page) > before)
    assert "20 labels kept" in (page.text_content("#done-text") or "")
    told = server.stop()
    assert re.search(r"20 labels on 20 of 20 pairs", told)

    labels = pl.read_csv(tmp_path / "labels.csv")
    assert sorted(labels["id"].to_list()) == sorted(f"p{i}" for i in range(N))
    assert labels["label"].unique().to_list() == ["A"]
    assert labels["rater"].unique().to_list() == ["ann"]
    assert set(labels["shown_order"]) == {"ab", "ba"}
    assert labels["sampled_by"].unique().to_list() == ["random"]


def test_two_raters_at_once(server: LabelServer, browser: object, context: BrowserContext) -> None:
    other = context.browser.new_context()  # type: ignore[union-attr]  # it has one: it was made by one
    ann, bob = context.new_page(), other.new_page()
    enter(ann, server, "ann")
    enter(bob, server, "bob")
    for turn in range(10):
        answer(ann, prefer_a(ann))
        answer(bob, "0" if turn % 2 else prefer_a(bob))
    other.close()
    shown = [" ".join(line.split()) for line in server.stop().splitlines()]
    assert "rater and pairs agree kappa Krippendorff's alpha" in shown
    assert any(line.startswith("ann bob 10 50 % ") for line in shown)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_phone_and_desktop(
    shared: LabelServer,
    browser: object,
    context: BrowserContext,
    width: int,
    height: int,
    scheme: str,
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    enter(page, shared, f"{scheme} {width}")
    for _ in range(4):
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        left, right = (page.locator(f"#{side}").bounding_box() for side in ("left", "right"))
        assert left is not None
        assert right is not None
        assert left["width"] == right["width"]
        answer(page, "0")
    for side in ("left", "tie", "right"):
        box = page.locator(f"[data-side={side}]").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    names = ["Upper", "Lower"] if width <= 800 else ["Left", "Right"]
    for side, name in zip(("left", "right"), names, strict=True):
        # Headings are in capitals by their style.
        assert name.upper() in page.inner_text(f"#{side}-head").upper()
        assert name in page.inner_text(f"[data-side={side}]")
    answer(page, "1")
    page.click("#bar .undo")
    page.wait_for_selector(f"#notice:has-text('Undone: your answer “{names[0]}”')")
    if folder := os.environ.get("ADJUDGE_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/label-{scheme}-{width}.png")


def test_what_is_read_from_right_to_left_stands_so(tmp_path: Path, context: BrowserContext) -> None:
    row = {
        "id": "r",
        "prompt": "مرحبا",
        "response_a": "- نعم\n\n```\nx = 1\n```",
        "response_b": "yes",
    }
    with serving(tmp_path, [row]) as server:
        page = context.new_page()
        enter(page, server, "ann")
        shown = "#left" if page.locator("#left pre").count() else "#right"
        style = "(e, name) => getComputedStyle(e)[name]"
        assert page.locator(f"{shown} ul").evaluate(style, "direction") == "rtl"
        assert page.locator(f"{shown} pre").evaluate(style, "direction") == "ltr"


def test_the_last_one_can_be_taken_back_without_a_keyboard_and_is_read_out(
    tmp_path: Path, context: BrowserContext
) -> None:
    row = {"id": "r", "prompt": "q", "response_a": "a", "response_b": "b"}
    with serving(tmp_path, [row]) as server:
        page = context.new_page()
        page.goto(server.address)
        assert page.is_hidden("#who")
        enter(page, server, "ann")
        assert page.text_content("#status") == "0 of 1 answered. Next pair."
        page.keyboard.press("c")
        assert page.evaluate("document.activeElement.id") == "comment"
        page.keyboard.insert_text("x" * 2001)
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        assert page.text_content("#comment-length") == (
            "2,001 of 2,000 characters: shorten the comment to save your answer."
        )
        assert page.evaluate("document.activeElement.id") == "comment"
        page.fill("#comment", "")
        page.keyboard.type("1 s 0 u c <b>2</b>")
        assert count(page) == 0
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        page.wait_for_selector("#done:not([hidden])")
        assert page.text_content("#status") == "1 of 1 answered. That was the last."
        assert page.text_content("#done-text") == (
            "1 label kept, 0 skipped. You can close this page."
        )
        page.click("#done .undo")
        page.wait_for_selector("#stage:not([hidden])")
        assert page.text_content("#notice") == (
            "Undone: your answer “Left”. It is shown again with your comment."
        )
        assert page.input_value("#comment") == "1 s 0 u c <b>2</b>"
        assert page.is_visible("#comment")
        assert count(page) == 0


def test_every_state_has_one_main_landmark_and_one_heading(
    shared: LabelServer, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(shared.address)
    headings = []
    page.wait_for_selector("#name-form:not([hidden])")
    headings.append([h.text_content() for h in page.query_selector_all("h1") if h.is_visible()])
    page.fill("#name", "landmark")
    page.keyboard.press("Enter")
    page.wait_for_selector("#stage:not([hidden])")
    headings.append([h.text_content() for h in page.query_selector_all("h1") if h.is_visible()])
    assert headings == [["Who is labelling?"], ["Label"]]
    assert len(page.query_selector_all("main")) == 1
    assert page.query_selector("main .asked") is not None


def test_names_with_markup_are_only_names(shared: LabelServer, context: BrowserContext) -> None:
    page = context.new_page()
    enter(page, shared, "<img src=x onerror='window.hacked=1'>")
    answer(page, "1")
    assert page.evaluate("window.hacked") is None
    assert page.text_content("#who") == "<img src=x onerror='window.hacked=1'>"


def test_raters_see_nothing_of_how_rows_were_drawn(
    shared: LabelServer, context: BrowserContext
) -> None:
    page = context.new_page()
    replies: list[str] = []
    page.on("response", lambda reply: "/api/" in reply.url and replies.append(reply.text()))
    enter(page, shared, "ann")
    shown = page.inner_text("body") + "".join(replies)
    assert replies
    for word in ("random", "calibrat", "sampled", "doubt", "audit", "surest"):
        assert word not in shown.lower()
