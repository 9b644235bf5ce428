"""A real Chromium for the pages: Debian's, or the one CHROMIUM names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


def chromium_path() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser per file: while it runs, its event loop would be in the way of other tests'."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium on this machine: install it, or name it in CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                # What a name resolves to after its owner has rebound it to this machine.
                "--host-resolver-rules=MAP rebound.test 127.0.0.1",
                # Newer browsers ask before a page reaches this machine: not here.
                "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
            ],
        )
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1280, "height": 800})
    yield opened
    opened.close()
