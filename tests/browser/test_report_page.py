"""The report from disk: no network, no complaint, readable at every width, light and dark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from adjudge.data import write_result, write_rows
from adjudge.judges.judging import judge_pairs
from adjudge.report import write_report
from adjudge.selection import calibrate, evaluate_doubt
from adjudge.simulate.pairs import simulate_pairs

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

HOSTILE = "<script>document.title='hacked'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    pairs = simulate_pairs(200, seed=1)
    rows = [
        {"id": pair.id, "prompt": pair.prompt + HOSTILE, "response_a": pair.response_a + HOSTILE,
         "response_b": pair.response_b, "label": pair.label}
        for pair in pairs
    ]  # fmt: skip
    write_rows(pl.DataFrame(rows), folder / "pairs.jsonl")
    judged = judge_pairs(
        folder / "pairs.jsonl",
        judge="simulated:accuracy=0.85,noise=0.3,seed=1",
        output=folder / "judgments.jsonl",
        store=":memory:",
    )
    write_result(judged.summary, folder / "judging.json")
    write_result(calibrate(folder / "judgments.jsonl", alpha=0.1), folder / "policy.json")
    write_result(evaluate_doubt(folder / "judgments.jsonl", splits=50), folder / "evaluation.json")
    return write_report(folder, folder / "report.html", title=f"Report {HOSTILE}")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_from_disk_without_network_or_complaint(
    report: Path, context: BrowserContext, width: int, height: int, scheme: str
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda m: complaints.append(m.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    assert complaints == []
    assert [url for url in requests if not url.startswith(report.as_uri())] == []
    assert page.title() == f"Report {HOSTILE}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure svg").count() >= 1
    assert page.locator(".pair").count() == 10
    assert page.locator("script").count() == 0
    if folder := os.environ.get("ADJUDGE_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/report-{scheme}-{width}.png", full_page=True)


def test_dark_pictures_have_light_ink(report: Path, context: BrowserContext) -> None:
    page = context.new_page()
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(report.as_uri())
        colours.append(
            page.locator("figure svg [style*='--ink']").first.evaluate(
                "(element) => getComputedStyle(element).fill"
            )
        )
    assert colours[0] != colours[1]


def test_on_paper_nothing_is_cut_off_or_folded(report: Path, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 690, "height": 1000})  # A4 between Chromium's margins
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(report.as_uri())
    for selector in (".wide", ".drawing", ".text"):
        wider = page.locator(selector).evaluate_all(
            "(found) => found.filter((e) => e.scrollWidth > e.clientWidth + 1).length"
        )
        assert wider == 0, selector
    folded = page.locator("details")
    assert folded.count() >= 1
    for table in folded.locator("table").all():
        box = table.bounding_box()
        assert box is not None
        assert box["height"] > 20
    ink = page.locator("body").evaluate("(e) => getComputedStyle(e).color")
    assert ink == "rgb(0, 0, 0)"


def test_what_scrolls_can_be_reached_by_keyboard(report: Path, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(report.as_uri())
    unreachable = page.locator(".wide, .drawing, .text").evaluate_all(
        "(found) => found.filter((e) => e.tabIndex < 0).length"
    )
    assert unreachable == 0
    widths = """(found) => found.map((e) => e.getBoundingClientRect().width)"""
    drawings = page.locator(".drawing svg")
    assert {width <= 390 for width in drawings.evaluate_all(widths)} == {True}
    # Its text is small at the width of a phone: a tap makes it larger.
    shown = page.locator(".drawing:visible").first
    shown.focus()
    assert max(drawings.evaluate_all(widths)) == 640
    assert page.evaluate("document.documentElement.scrollWidth") == 390
