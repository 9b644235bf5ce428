"""The labelling page in a real browser: a rater enters, and waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def until(page: Page, holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen within ten seconds")


def enter(page: Page, port: int) -> list[str]:
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"http://127.0.0.1:{port}/")
    page.fill("#name", "ann")
    page.keyboard.press("Enter")
    page.wait_for_selector("#stage:not([hidden])")
    return complaints


def done(page: Page) -> int:
    return int((page.text_content("#count") or "").split("/")[0])
