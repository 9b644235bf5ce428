"""The page of `adjudge reproduce all` from disk: every item there, no network, no complaint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from shown_estimation import PAPER

from adjudge_papers.everything import PaperRun, write_papers
from adjudge_papers.items import PaperItem

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

OTHER = PaperItem(
    paper="scope", name="Table 3 <b>", about="Ranges", status="not possible", reason="no file given"
)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        PaperRun(name="scope", title="SCOPE", data="nothing", items=(OTHER,)),
        PaperRun(
            name="reporting", title="How to Correctly Report", data="on simulated data",
            result=PAPER, items=PAPER.items,
        ),
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("papers") / "index.html"
    return write_papers(runs, path, subtitle="2 papers, seed 0")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_every_item_is_there_and_nothing_is_asked_for(
    page_file: Path, context: BrowserContext, width: int, height: int
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    assert complaints == []
    assert [url for url in requests if not url.startswith(page_file.as_uri())] == []
    headings = page.locator("h4").all_inner_texts()
    assert headings == [
        f"{item.name}: {item.about} ({item.status})" for item in (OTHER, *PAPER.items)
    ]
    assert page.locator("#summary tbody tr").all_inner_texts() == [
        "scope\t1\t0\t0\t0\t0\t1", "reporting\t3\t1\t0\t0\t1\t1",
    ]  # fmt: skip
    place = page.locator("h4", has_text="Figure 3").locator("xpath=following-sibling::*[2]")
    assert place.locator("svg").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("nav a[href='#reporting']").click()
    assert page.locator("#reporting").is_visible()
    if folder := os.environ.get("ADJUDGE_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/papers-{width}.png", full_page=True)
