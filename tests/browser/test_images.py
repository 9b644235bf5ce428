"""Images on the labelling page, in the viewer, its exported page and the report."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from looking import draw_bars, draw_shape
from serving import running

from adjudge.data import write_result
from adjudge.judges.judging import judge_pairs
from adjudge.report import write_report
from adjudge.selection import calibrate
from adjudge.server.labelling import PAIRS
from adjudge.store import use_store
from adjudge.store.labels import LabelBook

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

SIZES = [(1280, 800), (390, 844)]
HOSTILE = '"><script>window.hacked = 1</script>'
#: Whether every image of the page was decoded, and fits into its box.
WELL = """async () => {
  const images = [...document.querySelectorAll('.text img')];
  await Promise.all(images.map(i => i.decode()));
  return images.map(i => i.naturalWidth > 0 && i.getBoundingClientRect().right
    <= i.closest('.text').getBoundingClientRect().right + 1);
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pairs of a wide chart and two shapes; one image is missing its file's end."""
    (tmp_path / "wide.png").write_bytes(draw_bars([20, 90, 40, 70] * 12))
    (tmp_path / "round.webp").write_bytes(draw_shape("circle", form="WEBP", size=700))
    (tmp_path / "square.jpg").write_bytes(draw_shape("square", form="JPEG", size=300))
    (tmp_path / "cut.png").write_bytes(draw_shape("triangle")[:80])
    rows = []
    for n in range(40):
        broken = n == 1
        prompt = [{"type": "text", "text": f"**Question {n}**: which is round?"},
                  {"type": "image", "path": "wide.png", "alt": f"48 bars {HOSTILE}"}]  # fmt: skip
        sides: list[Any] = [[{"type": "image", "path": "cut.png" if broken else "round.webp"}],
                            [{"type": "text", "text": "This:"},
                             {"type": "image", "path": "square.jpg"}]]  # fmt: skip
        a, b = sides if n % 3 else sides[::-1]
        rows.append({"id": f"p{n}", "prompt": prompt, "response_a": a, "response_b": b,
                     "label": "A" if n % 3 else "B"})  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    judge_pairs(
        "pairs.jsonl", judge="simulated:accuracy=0.9,noise=0.3", output="judgments.jsonl",
        store="adjudge.db",
    )  # fmt: skip
    return tmp_path


def watch(page: Page, own: str) -> list[str]:
    """What the page should not do: complain, or ask for anything from elsewhere."""
    troubles: list[str] = []
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith((own, "data:")) else troubles.append(r.url),
    )
    return troubles


def take(page: Page, name: str) -> None:
    """A screenshot, for people who want to look: SCREENSHOTS names a folder."""
    if place := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(place) / f"{name}.png", full_page=True)


def shown(page: Page, least: int) -> list[str]:
    """The names of the images, all decoded and within their boxes."""
    page.locator(".text img").nth(least - 1).wait_for(state="attached")
    assert page.evaluate(WELL) == [True] * page.locator(".text img").count()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("window.hacked") is None
    return [str(name) for name in page.locator(".text img").evaluate_all("l => l.map(i => i.alt)")]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_people_label_images(
    folder: Path, context: BrowserContext, width: int, height: int
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    with running("label", "pairs.jsonl", "--no-browser", cwd=folder) as service:
        troubles = watch(page, f"http://127.0.0.1:{service.port}/")
        page.goto(f"http://127.0.0.1:{service.port}/")
        page.fill("#name", "ann")
        page.keyboard.press("Enter")
        page.wait_for_selector("#stage:not([hidden])")
        names = shown(page, 2)
        assert f"48 bars {HOSTILE}" in names
        take(page, f"label-{width}")
        page.keyboard.press("1")
        page.locator("#count", has_text="1 /").wait_for()
        shown(page, 2)
        assert troubles == []
    with use_store(folder / "adjudge.db", readonly=True) as store:
        (answer,) = LabelBook(store, PAIRS.labels).answers()
    assert answer.shown_texts is not None
    assert answer.shown_texts.count(":") == 3


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_viewer_and_its_exported_page_show_images(
    folder: Path, context: BrowserContext, width: int, height: int
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    arguments = ("view", "judgments.jsonl", "--pairs", "pairs.jsonl", "--no-browser")
    with running(*arguments, cwd=folder) as service:
        own = f"http://127.0.0.1:{service.port}/"
        troubles = watch(page, own)
        page.goto(f"{own}#row=p2")
        assert sorted(shown(page, 3)) == sorted([f"48 bars {HOSTILE}", "round.webp", "square.jpg"])
        take(page, f"view-{width}")
        page.goto(f"{own}#row=p1")
        page.wait_for_selector("text=[image cut.png: it cannot be read]")
        assert troubles == []
        saved = page.request.get(f"{own}api/page", headers={"sec-fetch-site": "same-origin"})
        (folder / "exported.html").write_bytes(saved.body())
    exported = context.new_page()
    exported.set_viewport_size({"width": width, "height": height})
    troubles = watch(exported, "file://")
    exported.goto((folder / "exported.html").as_uri())
    exported.locator("summary").first.click()
    shown(exported, 3)
    take(exported, f"exported-{width}")
    assert troubles == []


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_report_shows_the_images_of_doubtful_rows(
    folder: Path, context: BrowserContext, width: int, height: int
) -> None:
    write_result(calibrate("judgments.jsonl", alpha=0.2), folder / "policy.json")
    report = write_report(folder, folder / "report.html")
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    troubles = watch(page, "file://")
    page.goto(report.as_uri())
    page.locator(".pair img").nth(3).wait_for()
    page.locator(".pair").first.scroll_into_view_if_needed()
    assert all(page.evaluate(WELL))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take(page, f"report-{width}")
    assert troubles == []
