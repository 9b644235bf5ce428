"""Reading rows in the viewer, with a real server in another process and a real browser."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hostile_texts import HOSTILE_TEXTS
from serving import Service, running

from adjudge.data import write_rows
from adjudge.server.viewer import open_view
from adjudge.simulate.pairs import two_order_judge
from adjudge.store import use_store
from adjudge.store.labels import LabelBook

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

TEXTS = [text for _, text in HOSTILE_TEXTS if text.strip()]
WIDE = "x" * 400 + "\n\n| a | " + "wide " * 40 + "|\n|---|---|\n| 1 | 2 |"
AXE = Path(__file__).parent / "axe" / "axe.min.js.gz"
TOKEN = "a-token-of-some-length"


def rows_to_read() -> pl.DataFrame:
    """Two judges on 130 pairs with hostile and wide texts, groups, and a failed row."""
    base = two_order_judge(130, seed=7)
    texts = [f"Question {i} {TEXTS[i % len(TEXTS)]}" for i in range(130)]
    frames = []
    for judge, shift in (("strong", 0.0), ("weak", 0.3)):
        p = base["p_rev"] * (1 - shift) + shift * base["p_rev"].shuffle(seed=1)
        frames.append(base.with_columns(judge=pl.lit(judge), p_rev=p).drop("p_a", strict=False))
    rows = pl.concat(frames).select("id", "judge", "p_fwd", "p_rev", "label")
    shown = pl.DataFrame(
        {
            "id": base["id"],
            "prompt": texts,
            "response_a": [
                WIDE if i % 9 == 0 else f"AAA {i} {TEXTS[-i % len(TEXTS)]}" for i in range(130)
            ],
            "response_b": [f"BBB {i}" for i in range(130)],
            "category": ["math" if i % 3 else "law" for i in range(130)],
        }
    )
    failed = pl.col("id") == base["id"][5]
    numbers = [pl.when(~failed).then(name).alias(name) for name in ("p_fwd", "p_rev")]
    status = pl.when(failed).then(pl.lit("refused")).otherwise(pl.lit("ok")).alias("status")
    return rows.with_columns(*numbers, status).join(shown, on="id")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("view")
    write_rows(rows_to_read(), made / "judgments.jsonl")
    return made


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Service]:
    with running("view", "judgments.jsonl", "--no-browser", cwd=folder) as service:
        yield service


def opened(context: BrowserContext, viewer: Service, address: str = "") -> tuple[Page, list[str]]:
    """The page, and what it should not do: complain, or ask another server."""
    page = context.new_page()
    home = f"http://127.0.0.1:{viewer.port}/"
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
    page.on(
        "request",
        lambda sent: None if sent.url.startswith((home, "blob:")) else wrong.append(sent.url),
    )
    page.goto(home + address)
    page.wait_for_selector("#rows:not([hidden]), #threshold:not([hidden]), #compare:not([hidden])")
    return page, wrong


def until(page: Page, holds: Callable[[], Any]) -> None:
    """Wait from outside: the page's policy lets no string be evaluated in it."""
    for _ in range(200):
        if holds():
            return
        page.wait_for_timeout(30)
    raise AssertionError("it did not happen within six seconds")


def shown_row(page: Page) -> str:
    return page.text_content("#bar .id") or ""


def number_of(page: Page) -> int:
    return int((page.text_content("#tally strong") or "0").replace(",", ""))


def test_the_list_filters_searches_and_sorts(viewer: Service, context: BrowserContext) -> None:
    page, wrong = opened(context, viewer)
    assert number_of(page) == 130
    assert page.locator("#items li").count() == 50
    chip = page.locator('[data-chip="wrong"]')
    expected = int(chip.locator("b").text_content() or "0")
    chip.click()
    until(page, lambda: number_of(page) == expected)
    assert chip.get_attribute("aria-pressed") == "true"
    assert "chosen by you" in (page.text_content("#tally") or "")
    assert set(page.locator("#items .state .bad").all_text_contents()) == {"against people"}
    page.select_option('[data-by="category"]', "law")
    until(page, lambda: 0 < number_of(page) < expected)
    page.locator('[data-by="category"]').select_option("")
    chip.click()
    until(page, lambda: number_of(page) == 130)
    page.keyboard.press("/")
    page.keyboard.type("bbb 12")
    until(page, lambda: number_of(page) == 11)
    assert "BBB 12" in (page.text_content("#items .snippet") or "")
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("#rows:not([hidden])")
    assert number_of(page) == 11
    page.fill("#find", "no such words at all")
    page.wait_for_selector("#items [data-act=clear]")
    page.click("#items [data-act=clear]")
    until(page, lambda: number_of(page) == 130)
    page.select_option("#order", "file")
    until(page, lambda: shown_row(page) == rows_to_read()["id"][0])
    assert wrong == []


def test_keys_walk_through_pages_of_rows(viewer: Service, context: BrowserContext) -> None:
    page, wrong = opened(context, viewer, "#order=file&start=0")
    first = shown_row(page)
    page.keyboard.press("j")
    until(page, lambda: shown_row(page) != first)
    second = shown_row(page)
    assert f"row={second}" in page.url
    page.keyboard.press("k")
    until(page, lambda: shown_row(page) == first)
    ids = rows_to_read()["id"].unique(maintain_order=True)
    page.click('#foot [data-start="50"]')
    until(page, lambda: shown_row(page) == ids[50])
    page.keyboard.press("k")
    until(page, lambda: shown_row(page) == ids[49])
    assert page.locator("#items li").count() == 50
    judge = page.input_value("#judge")
    page.keyboard.press("]")
    until(page, lambda: page.input_value("#judge") != judge)
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    assert wrong == []


def test_every_hostile_text_is_shown_as_text(viewer: Service, context: BrowserContext) -> None:
    page, wrong = opened(context, viewer, "#order=file")
    read = ""
    for _ in range(60):
        row = shown_row(page)
        read += page.text_content("#one") or ""
        page.keyboard.press("j")
        until(page, lambda row=row: shown_row(page) != row)
    assert page.evaluate("window.owned === undefined && window.hacked === undefined")
    assert page.locator("#rows script, #rows img, #rows iframe, #rows style").count() == 0
    assert "<script>" in read
    assert "\u202e" not in read
    assert wrong == []


def decide(page: Page, key: str, reason: str = "") -> None:
    page.wait_for_selector(".answer")
    if not page.input_value("#rater"):
        page.fill("#rater", "ann")
    if reason:
        page.fill("#comment", reason)
        page.keyboard.press("Escape")
    page.locator("#bar").click(position={"x": 2, "y": 2})
    page.keyboard.press(key)
    page.wait_for_selector(".answer", state="detached")


def test_a_label_is_corrected_blind(folder: Path, viewer: Service, context: BrowserContext) -> None:
    page, wrong = opened(context, viewer, "#blind=1&order=file&start=100")
    assert page.locator("#items .strip").count() == 0
    assert page.locator("#one .judges").count() == 0
    row = shown_row(page)
    left = page.text_content(".stage .sides .text") or ""
    decide(page, "1", "the left one is right")
    label = "A" if not left.startswith("BBB") else "B"
    assert f"You said {label}" in (page.text_content(".notice:not(#notice)") or "")
    assert page.locator("#items .strip").count() == 1
    assert "sampled_by browsed" in (page.text_content(".labels") or "")
    with use_store(folder / "adjudge.db") as store:
        event = LabelBook(store).answers()[-1]
    assert (event.subject_id, event.label, event.rater, event.sampled_by, event.comment) == (
        row, label, "ann (second opinion)", "browsed", "the left one is right",
    )  # fmt: skip
    page.keyboard.press("u")
    page.wait_for_selector(".answer")
    until(page, lambda: page.input_value("#comment") == "the left one is right")
    # What is written stays while the page is drawn again.
    page.keyboard.press("]")
    until(page, lambda: page.input_value("#judge") == "weak")
    assert page.input_value("#comment") == "the left one is right"
    with use_store(folder / "adjudge.db") as store:
        assert row not in {answer.subject_id for answer in LabelBook(store).answers()}
    page.keyboard.press("s")
    until(page, lambda: shown_row(page) != row)
    assert wrong == []


def test_a_link_to_a_chip_that_says_who_says_what_is_read_blind_without_it(
    viewer: Service, context: BrowserContext
) -> None:
    page, wrong = opened(context, viewer, "#blind=1&only=tie.wrong")
    assert page.url.endswith("#blind=1&only=wrong")
    page.click('[data-chip="wrong"]')
    until(page, lambda: number_of(page) == 130)
    assert wrong == []


def test_an_opinion_on_a_row_that_was_read_is_not_blind(
    folder: Path, viewer: Service, context: BrowserContext
) -> None:
    page, wrong = opened(context, viewer, "#order=file")
    row = shown_row(page)
    page.keyboard.press("o")
    page.wait_for_selector(".answer")
    assert "kept as not blind" in (page.text_content("#one") or "")
    assert page.locator("#one .judges").count() == 0
    decide(page, "0")
    with use_store(folder / "adjudge.db") as store:
        event = LabelBook(store).answers()[-1]
    assert (event.subject_id, event.label, event.rater) == (row, "tie", "ann (verdict seen)")
    # What was on screen in one tab was seen in every other.
    other, _ = opened(context, viewer, f"#blind=1&row={row}&judge=weak")
    other.keyboard.press("u")
    other.wait_for_selector(".answer")
    assert "kept as not blind" in (other.text_content("#one") or "")
    assert wrong == []


def test_the_handle_of_the_threshold(viewer: Service, context: BrowserContext) -> None:
    page, wrong = opened(context, viewer, "#page=threshold")
    page.wait_for_selector("#knob")
    before = int(page.get_attribute("#knob", "aria-valuenow") or "0")
    page.focus("#knob")
    page.keyboard.press("ArrowRight")
    until(page, lambda: int(page.get_attribute("#knob", "aria-valuenow") or "0") > before)
    assert page.evaluate("document.activeElement.id") == "knob"
    assert "It promises nothing" in (page.text_content("#threshold") or "")
    assert "adjudge calibrate judgments.jsonl --judge" in (page.text_content("#command") or "")
    plot = page.locator("#plot svg").bounding_box()
    assert plot is not None
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + 100)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] - 15, plot["y"] + 100)
    page.mouse.up()
    most = page.get_attribute("#knob", "aria-valuemax")
    until(page, lambda: page.get_attribute("#knob", "aria-valuenow") == most)
    if page.locator('[data-go=\'{"cut": ""}\']').count():
        page.click('[data-go=\'{"cut": ""}\']')
        until(page, lambda: "Promise (scope)" in (page.text_content("#threshold") or ""))
    page.click("#threshold .edge a >> nth=0")
    page.wait_for_selector("#rows:not([hidden])")
    assert wrong == []


def test_two_judges_side_by_side(viewer: Service, context: BrowserContext) -> None:
    page, wrong = opened(context, viewer, "#page=compare&before=weak&after=strong")
    assert "gained" in (page.text_content("#compare h1") or "")
    changed = page.locator("#compare .changes a")
    listed = changed.count()
    page.click("#compare .flow .right")
    until(page, lambda: page.get_attribute("#compare .flow .right", "aria-pressed") == "true")
    assert changed.count() != listed
    page.click("#compare .changes a >> nth=0")
    page.wait_for_selector("#rows:not([hidden])")
    assert page.input_value("#judge") == "strong"
    assert wrong == []


def test_rows_are_saved_as_file_and_as_page(
    viewer: Service, context: BrowserContext, tmp_path: Path
) -> None:
    page, wrong = opened(context, viewer, "#only=wrong")
    expected = number_of(page)
    for kind, name in (("file", "rows.jsonl"), ("page", "rows.html")):
        page.keyboard.press("e")
        with page.expect_download() as download:
            page.click(f"#save [value={kind}]")
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
    assert open_view([tmp_path / "rows.jsonl"], store=None).viewing.items.height == expected
    assert wrong == []
    static = context.new_page()
    told: list[str] = []
    static.on("console", lambda message: told.append(message.text))
    static.on("request", lambda sent: told.append(sent.url) if sent.url[:5] != "file:" else None)
    static.goto((tmp_path / "rows.html").as_uri())
    assert static.locator("details.item").count() == expected
    static.click("details.item >> nth=0")
    assert static.locator("details.item[open] .judges").is_visible()
    assert (
        static.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius") != "0px"
    )
    assert told == []


def test_a_token_is_asked_for(folder: Path, context: BrowserContext) -> None:
    with running("view", "judgments.jsonl", "--no-browser", cwd=folder, token=TOKEN) as service:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{service.port}/")
        page.wait_for_selector("#token-form:not([hidden])")
        assert page.locator("#items li").count() == 0
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#rows:not([hidden])")
        assert page.locator("#items li").count() == 50
        assert TOKEN not in page.url


PAGES = ("#order=file", "#blind=1&order=file&start=50", "#page=threshold&cut=60",
         "#page=compare&before=weak&after=strong", "#only=refused")  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_is_cut_off(
    folder: Path, viewer: Service, browser: Any, width: int, scheme: str
) -> None:
    axe = gzip.decompress(AXE.read_bytes()).decode()
    # The rules themselves are a script, which the page's policy would not run.
    context = browser.new_context(
        viewport={"width": width, "height": 840}, color_scheme=scheme, bypass_csp=True
    )
    for address in PAGES:
        page, _ = opened(context, viewer, address)
        if width < 800 and page.locator("#items a").first.is_visible():
            assert_fits(page, width)
            page.locator("#items a").first.click()
            page.wait_for_selector("body.reading")
        page.wait_for_timeout(100)
        assert_fits(page, width)
        page.evaluate(axe)
        found = page.evaluate("axe.run().then((result) => result.violations)")
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == [], address
        page.close()
    folder.joinpath("static.html").write_text(
        open_view([folder / "judgments.jsonl"], store=None).static({}, 20)
    )
    page = context.new_page()
    page.goto((folder / "static.html").as_uri())
    page.locator("details.item > summary").first.click()
    assert_fits(page, width)
    page.evaluate(axe)
    found = page.evaluate("axe.run().then((result) => result.violations)")
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    context.close()


def assert_fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
