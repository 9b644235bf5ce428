"""Texts that try to be more than text, in a real browser: nothing runs, and people see the text."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hostile_texts import DIRECTION, HOSTILE_TEXTS, SCRIPTS, TERMINAL
from serving import Service, running
from tries import tried

from adjudge.data import write_result, write_rows
from adjudge.judges.judging import judge_pairs
from adjudge.ranking import rank
from adjudge.report import write_report
from adjudge.selection import calibrate
from adjudge.server.label_summary import LabellingSummary, RaterAgreement, RaterSummary

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

TOKEN = "a-token-of-some-length"
RATER = "<img src=x onerror=window.owned=1>"
TEXTS = [text for _, text in HOSTILE_TEXTS if text.strip()]
#: What the pages make themselves; anything else came from a text.
TAGS = {
    "P", "STRONG", "EM", "S", "CODE", "PRE", "SPAN", "A", "UL", "OL", "LI", "BLOCKQUOTE", "HR",
    "BR", "DIV", "H1", "H2", "H3", "H4", "H5", "H6", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD",
}  # fmt: skip
LOOK = """(box) => {
  const made = [...box.querySelectorAll("*")];
  return {
    tags: [...new Set(made.map((one) => one.tagName))],
    attributes: [...new Set(made.flatMap((one) => one.getAttributeNames()))],
    links: made.filter((one) => one.href).map((one) => one.protocol),
    text: box.textContent,
  };
}"""


class Watch:
    """All that a page does which it should not: dialogs, complaints, requests elsewhere."""

    def __init__(self, page: Page, home: str) -> None:
        self.page = page
        self.seen: list[str] = []
        page.on("dialog", lambda dialog: (self.seen.append("dialog"), dialog.dismiss()))
        page.on("console", lambda message: self.seen.append(message.text))
        page.on("pageerror", lambda error: self.seen.append(str(error)))
        page.on("popup", lambda popup: self.seen.append(f"popup {popup.url}"))
        page.on(
            "request",
            lambda one: None if one.url.startswith(home) else self.seen.append(f"to {one.url}"),
        )

    def nothing_ran(self) -> bool:
        return self.seen == [] and self.page.evaluate("window.owned") is None


@pytest.fixture(scope="module")
def label(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        dict(zip(("prompt", "response_a", "response_b"), three, strict=True))
        | {"id": f"{RATER}{number}", "model_a": RATER}
        for number, three in enumerate(zip(*[iter([*TEXTS, *"xx"])] * 3, strict=False))
    ]
    name = "pairs'<img src=x>.jsonl"
    (folder / name).write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    with running("label", name, "--no-browser", cwd=folder, token=TOKEN) as service:
        yield service


def open_page(context: BrowserContext, label: Service) -> tuple[Page, Watch]:
    home = f"http://127.0.0.1:{label.port}/"
    page = context.new_page()
    watch = Watch(page, home)
    page.goto(home)
    page.fill("#name", RATER)
    page.keyboard.press("Enter")
    page.wait_for_selector("#token-form:not([hidden])")
    return page, watch


def test_the_page_asks_for_the_token_and_keeps_it_out_of_addresses(
    label: Service, context: BrowserContext
) -> None:
    page, _ = open_page(context, label)
    urls: list[str] = []
    page.on("request", lambda one: urls.append(one.url))
    page.fill("#token", "not-the-token-at-all")
    page.keyboard.press("Enter")
    page.wait_for_selector("#notice:not([hidden])")
    assert page.text_content("#notice") == "That is not the server's token."
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#stage:not([hidden])")
    page.reload()
    page.wait_for_selector("#stage:not([hidden])")
    assert page.get_attribute("#token", "type") == "password"
    assert TOKEN not in "".join([page.url, *urls])


@pytest.mark.attack("texts")
def test_every_hostile_text_is_labelled_as_text(label: Service, context: BrowserContext) -> None:
    page, watch = open_page(context, label)
    watch.seen.clear()  # the browser itself notes the refusal that made the page ask
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#stage:not([hidden])")
    assert page.text_content("#who") == RATER
    read: list[str] = []
    places: set[str] = set()
    while page.is_visible("#stage"):
        before = page.text_content("#count")
        for box in ("#stage .asked .text", "#left", "#right"):
            shown = page.locator(box).evaluate(LOOK)
            assert set(shown["tags"]) <= TAGS
            assert set(shown["attributes"]) <= {"class", "href", "rel", "target", "title", "start"}
            assert set(shown["links"]) <= {"http:", "https:", "mailto:"}
            read.append(shown["text"])
            tried()
        places.add(json.dumps([page.locator(f"[data-side={side}]").bounding_box()
                               for side in ("left", "tie", "right", "skip")]))  # fmt: skip
        page.keyboard.press("s")
        for _ in range(500):
            if page.text_content("#count") != before:
                break
            page.wait_for_timeout(10)
    assert page.is_visible("#done")
    assert watch.nothing_ran(), watch.seen
    assert len(places) == 1, "a text moved the buttons"
    everything = "\n".join(read)
    for name, text in SCRIPTS:
        if text.startswith("<") and "\x00" not in text and "vbscript" not in text:
            assert text in everything, name
    for code in "\x1b\x9b\u202e\u2066\u2067\u2068":
        assert code not in everything
        assert code.encode("unicode_escape").decode() in everything


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hostile texts as pairs, models, raters, groups, file names and title."""
    folder = tmp_path_factory.mktemp("report")
    names = [text for _, text in (*SCRIPTS, *DIRECTION, *TERMINAL)]
    rng = np.random.default_rng(1)
    sides = [rng.choice(len(names), 2, replace=False) for _ in range(2000)]
    battles = pl.DataFrame(
        {
            "model_a": [names[a] for a, _ in sides],
            "model_b": [names[b] for _, b in sides],
            "winner": rng.choice(["model_a", "model_b"], len(sides)),
        }
    )
    write_result(rank(battles, replicates=20), folder / "leaderboard.json")
    rows = [
        {"id": f"{text}{i}", "prompt": text, "response_a": text, "response_b": text,
         "label": "AB"[i % 2], "model": text}
        for i, text in enumerate(3 * TEXTS)
    ]  # fmt: skip
    write_rows(pl.DataFrame(rows), folder / "pairs.jsonl")
    judged = judge_pairs(
        folder / "pairs.jsonl", judge="simulated:accuracy=0.85,noise=0.3,seed=1",
        output=folder / "judgments.jsonl", store=":memory:",
    )  # fmt: skip
    write_result(judged.summary, folder / "<img src=x onerror=window.owned=1>.json")
    write_result(calibrate(folder / "judgments.jsonl", alpha=0.4), folder / "policy.json")
    raters = [
        RaterSummary(rater=name, labels=1, skipped=0, ties=0, left_share=1.0, left_low=0.1,
                     left_high=1.0) for name in names
    ]  # fmt: skip
    agreement = RaterAgreement(
        rater_1=names[0], rater_2=names[1], pairs=1, raw=1.0, kappa=None, alpha=None
    )
    summary = LabellingSummary(
        pairs=1, pairs_labelled=1, n_labels=1, raters=tuple(raters), agreement=(agreement,),
        sampled_by={names[0]: 1},
    )  # fmt: skip
    write_result(summary, folder / "labelling.json")
    return write_report(folder, folder / "report.html", title=names[0])


@pytest.mark.attack("texts")
def test_nothing_runs_in_a_report_of_hostile_names(report: Path, context: BrowserContext) -> None:
    page = context.new_page()
    watch = Watch(page, report.as_uri())
    page.goto(report.as_uri())
    assert page.title() == SCRIPTS[0][1]
    assert watch.nothing_ran(), watch.seen
    shown: dict[str, Any] = page.locator("body").evaluate(LOOK)
    assert not {tag.upper() for tag in shown["tags"]} & {
        "SCRIPT", "IMG", "IFRAME", "FORM", "BASE", "META", "LINK", "OBJECT", "EMBED", "MATH",
    }  # fmt: skip
    assert not [name for name in shown["attributes"] if name.startswith("on")]
    for name, text in SCRIPTS:
        tried()
        if text.startswith("<") and "\x00" not in text:
            assert text in shown["text"], name
    for code in "\x1b\x9b\u202e\u2066\u2067\u2068":
        assert code not in shown["text"]


@pytest.fixture(scope="module")
def one_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Path]]:
    """A page without a token, of one pair, and the store of its labels."""
    folder = tmp_path_factory.mktemp("one_pair")
    row = {"id": "0", "prompt": "q", "response_a": "a", "response_b": "b"}
    (folder / "pairs.jsonl").write_text(json.dumps(row))
    with running("label", "pairs.jsonl", "--no-browser", cwd=folder) as service:
        yield service, folder / "adjudge.db"


def clicks(store: Path) -> int:
    with closing(sqlite3.connect(store)) as db:
        return int(db.execute("select count(*) from label_events").fetchone()[0])


ATTACK = """<!doctype html><body><iframe name=frame src="TARGET/"></iframe>
<form method=post action="TARGET/api/label" enctype="text/plain" target=frame>
<input name='{"rater": "eve", "id": "0", "side": "tie", "shown_order": "ab", "nonce": "12345678",
 "x' value='": 1}'></form><img src="TARGET/api/next?rater=eve"><script>
const body = JSON.stringify({rater: "eve", id: "0", side: "tie", shown_order: "ab",
                             nonce: "12345678"});
const json = {"Content-Type": "application/json"};
window.read = Promise.allSettled([
  fetch("TARGET/api/label", {method: "POST", body, headers: json}),
  fetch("TARGET/api/label", {method: "POST", body, mode: "no-cors"}),
  fetch("TARGET/api/next?rater=eve"),
]).then((all) => all.map((one) => one.status === "fulfilled" && one.value.ok));
window.onload = () => document.forms[0].submit();
</script></body>"""


@pytest.mark.attack("other sites")
def test_another_site_cannot_make_a_browser_label(
    one_pair: tuple[Service, Path], context: BrowserContext
) -> None:
    """A page on another port tries what pages can: fetch, a form, an image, a frame."""
    service, store = one_pair
    before = clicks(store)
    target = f"http://127.0.0.1:{service.port}"

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(ATTACK.replace("TARGET", target).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on the terminal."""

    elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
    try:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda one: asked.append(f"{one.method} {one.url}"))
        page.goto(f"http://127.0.0.1:{elsewhere.server_port}/")
        assert page.evaluate("window.read") == [False] * 3
        page.wait_for_timeout(300)
        # Nor is the page itself shown in a frame, where clicks could be stolen.
        assert not any("Who is labelling" in frame.content() for frame in page.frames)
        assert asked.count(f"POST {target}/api/label") >= 2
    finally:
        elsewhere.shutdown()
        elsewhere.server_close()
    assert clicks(store) == before


REBOUND = """
<script>
const body = JSON.stringify({id: "0", rater: "eve", label: "A", nonce: "n"});
const json = {"Content-Type": "application/json"};
window.read = Promise.all([
  fetch("/api/label", {method: "POST", body, headers: json}),
  fetch("/api/next?rater=eve"),
  fetch("/"),
].map((asked) => asked.then((reply) => reply.status)));
</script>
"""


@pytest.mark.attack("other sites")
def test_a_name_that_is_rebound_to_this_machine_reads_and_labels_nothing(
    one_pair: tuple[Service, Path], context: BrowserContext
) -> None:
    """The first page is the attacker's; what it then asks of its own name arrives here."""
    service, store = one_pair
    before = clicks(store)
    page = context.new_page()
    home = f"http://rebound.test:{service.port}/attack"
    page.route(home, lambda route: route.fulfill(content_type="text/html", body=REBOUND))
    page.goto(home)
    assert page.evaluate("window.read") == [421] * 3
    other = page.goto(f"http://rebound.test:{service.port}/")
    assert other is not None
    assert other.status == 421
    assert clicks(store) == before
