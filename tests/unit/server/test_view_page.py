"""The viewer's page: what it sends to whom, second opinions, the threshold, what it saves."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import shlex
from base64 import b64decode
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.testclient import TestClient
from hostile_texts import HOSTILE_TEXTS

from adjudge.cli import run
from adjudge.data import read_labels, write_rows
from adjudge.data.judgments import prepare_judgments
from adjudge.errors import DataError
from adjudge.judges.judging import judge_pairs
from adjudge.selection import calibrate, read_policy
from adjudge.server.guard import CONTENT_SECURITY_POLICY
from adjudge.server.label_summary import labels_frame
from adjudge.server.labelling import PAIRS
from adjudge.server.view_page import ViewPage, view_app
from adjudge.server.viewer import open_view, view
from adjudge.simulate.pairs import simulate_pairs, two_order_judge
from adjudge.store import use_store
from adjudge.store.labels import LabelBook

READER = "reader-of-these-rows"
ROWS = pl.DataFrame(
    {
        "id": ["x", "y", "z"],
        "prompt": ["What is said of x?", "What is said of y?", "What is said of z?"],
        "response_a": ["first answer"] * 3,
        "response_b": ["second answer"] * 3,
        "p_fwd": [0.97, 0.9, 0.2],
        "p_rev": [0.93, 0.8, 0.3],
        "label": ["A", "B", "B"],
        "rater": ["ann", "bob", "ann"],
        "judge": ["a-judge"] * 3,
        "why": ["EXPLAINED"] * 3,
    }
)


@pytest.fixture
def page(tmp_path: Path) -> ViewPage:
    return open_view([ROWS], store=tmp_path / "adjudge.db")


@pytest.fixture
def client(page: ViewPage) -> TestClient:
    app = view_app(page, host="127.0.0.1", port=80)
    return TestClient(app, base_url="http://127.0.0.1")


def decide(client: TestClient, page: ViewPage, row: str, side: str = "left", **more: Any) -> Any:
    sent = {"reader": READER, "rater": "ann", "id": row, "nonce": f"nonce-{row}-{side}",
            "side": side, "shown_order": page.order_for(READER, row)}  # fmt: skip
    return client.post("/api/opinion", json={**sent, **more})


def events(page: ViewPage) -> list[tuple[str, str | None, str, str | None, str | None]]:
    with use_store(page.store) as store:
        answers = LabelBook(store, PAIRS.labels).answers()
    return [(a.subject_id, a.label, a.rater, a.sampled_by, a.comment) for a in answers]


SECRETS = ("a-judge says", ".97", ".95", ".93", "against people", "accepted", "EXPLAINED", "bob")


@pytest.mark.parametrize("where", ["rows", "threshold", "compare"])
def test_what_is_hidden_is_not_sent(client: TestClient, where: str) -> None:
    told = client.get(f"/api/{where}", params={"reader": READER, "blind": "1"}).json()
    parts = {key: told[key] for key in ("items", "one", "bar", "html") if key in told}
    sent = json.dumps(parts)
    for secret in SECRETS:
        # The curve of all labelled rows is no row's verdict, and has numbers.
        if where != "threshold" or secret in {"EXPLAINED", "bob"}:
            assert secret not in sent, secret
    for row in re.findall(r'class="strip[^>]*', sent):
        pytest.fail(row)
    open_rows = client.get("/api/rows", params={"reader": READER}).json()
    assert "EXPLAINED" in open_rows["one"]


#: One false pass, one false fail, and a column that explains each row in other words.
GRADES = {
    "id": ["x", "y", "z"],
    "prompt": ["q"] * 3,
    "response": ["first", "second", "third"],
    "p_pass": [0.9, 0.2, 0.8],
    "human": [0, 1, 1],
    "rationale": ["it is wrong", None, None],
    "topic": ["law", "law", "math"],
}


def test_no_filter_says_what_is_hidden() -> None:
    page = open_view([GRADES], store=None)
    assert 'data-chip="false_pass"' in page.listing({})["chips"]
    blind = {"blind": "1", "reader": READER}
    chips = page.listing(blind)["chips"]
    assert "false" not in chips.replace('aria-pressed="false"', "")
    assert "it is wrong" not in chips
    assert '<option value="law">law</option>' in chips
    # A link to the false passes shows what is in dispute, and not which way.
    told = page.listing({**blind, "only": "false_pass"})
    assert told["n"] == 2
    assert 'data-chip="wrong" aria-pressed="true"' in told["chips"]
    # Not blind any more, the same rows are chosen by the chips that say more.
    assert told["only"] == "wrong"
    assert page.listing({"only": told["only"]})["only"] == "false_pass.false_fail"
    ties = [ROWS.with_columns(label=pl.Series(["tie", "A", "B"]))]
    assert "people tie" not in open_view(ties, store=None).listing(blind)["chips"]


def test_systems_are_not_compared_row_by_row_before_the_decision(tmp_path: Path) -> None:
    rows = {"id": ["x", "y"], "prompt_id": ["p", "p"], "model": ["one", "two"],
            "p_pass": [0.9, 0.2], "response": ["first", "second"]}  # fmt: skip
    page = open_view([rows], store=tmp_path / "adjudge.db")
    asked = {"before": "one", "after": "two"}
    assert page.compare(asked)["html"].count('class="row"') == 1
    hidden = page.compare({**asked, "blind": "1", "reader": READER})["html"]
    assert 'class="row"' not in hidden
    assert "1 are hidden until you have decided" in hidden


def test_a_page_saved_blind_has_the_texts_alone(page: ViewPage) -> None:
    html = page.static({"blind": "1", "reader": READER}).partition("<body")[2]
    assert html.count("first answer") == html.count("second answer") == 3
    assert 'class="strip' not in html
    for secret in SECRETS:
        assert secret not in html, secret
    # What was saved with the verdicts was seen.
    page.static({"reader": READER, "only": "wrong"})
    asked = {"reader": READER, "blind": "1"}
    assert "kept as not blind" in page.listing({**asked, "row": "y"})["one"]
    assert "kept as not blind" not in page.listing({**asked, "row": "x"})["one"]


def test_a_row_is_shown_in_random_order_and_again_in_the_same(page: ViewPage) -> None:
    orders = [page.order_for(f"reader-{n}", "x") for n in range(40)]
    assert {*orders} == {"ab", "ba"}
    for order in orders:
        row = page.pages.undecided(0, PAIRS, order)
        assert ("first" in str(row["answers"][0]["text"])) == (order == "ab")
    assert page.order_for("reader-0", "x") == orders[0]


def test_a_blind_opinion_is_a_new_label_and_shows_the_row(
    client: TestClient, page: ViewPage
) -> None:
    reply = decide(client, page, "x", comment="the left one counts")
    assert reply.json()["blind"]
    label = reply.json()["label"]
    assert label in {"A", "B"}
    assert events(page) == [("x", label, "ann (second opinion)", "browsed", "the left one counts")]
    shown = client.get("/api/rows", params={"reader": READER, "blind": "1", "row": "x"}).json()
    assert f"You said <b>{label}</b>" in shown["one"]
    assert "EXPLAINED" in shown["one"]
    # Another reader has not decided.
    other = {"reader": "another-reader", "blind": "1", "row": "x"}
    assert "EXPLAINED" not in client.get("/api/rows", params=other).json()["one"]
    # A click that is sent again is the same click.
    decide(client, page, "x", comment="the left one counts")
    assert len(events(page)) == 1


def test_an_opinion_after_the_verdict_was_on_screen_is_not_blind(
    client: TestClient, page: ViewPage
) -> None:
    client.get("/api/rows", params={"reader": READER})
    asked = {"reader": READER, "row": "x", "opinion": "1"}
    shown = client.get("/api/rows", params=asked).json()["one"]
    assert "kept as not blind" in shown
    assert "EXPLAINED" not in shown
    assert decide(client, page, "x").json()["blind"] is False
    assert events(page)[0][2] == "ann (verdict seen)"


def test_the_order_that_was_not_shown_is_refused(client: TestClient, page: ViewPage) -> None:
    shown = page.order_for(READER, "x")
    reply = decide(client, page, "x", shown_order="ba" if shown == "ab" else "ab")
    assert reply.status_code == 409
    assert "reload the page" in reply.json()["detail"]
    assert decide(client, page, "no-such-row").status_code == 409


def test_only_the_last_opinion_is_undone(client: TestClient, page: ViewPage) -> None:
    decide(client, page, "x")
    decide(client, page, "y")
    back = {"reader": READER, "id": "x", "nonce": "undo-of-x"}
    assert client.post("/api/undo", json=back).status_code == 409
    assert client.post("/api/undo", json=back | {"id": "y"}).json() == {
        "undone": "y", "comment": None,
    }  # fmt: skip
    assert [event[0] for event in events(page)] == ["x"]
    assert client.post("/api/undo", json=back | {"id": "z"}).status_code == 409


def test_an_opinion_replaces_no_label_and_never_counts_as_random(
    client: TestClient, page: ViewPage, tmp_path: Path
) -> None:
    with use_store(page.store) as store:
        LabelBook(store).add(nonce="first-label", rater="ann", subject_id="x", label="A",
                             shown_order="ab", sampled_by="random")  # fmt: skip
    shown = page.order_for(READER, "x")
    decide(client, page, "x", "right" if shown == "ab" else "left")
    decide(client, page, "y", "left")
    with use_store(page.store) as store:
        frame = labels_frame(LabelBook(store))
    assert frame.height == 3
    write_rows(frame, tmp_path / "labels.csv")
    assert read_labels(tmp_path / "labels.csv").height == 3
    unlabelled = ROWS.drop("label", "rater")
    joined = prepare_judgments(unlabelled, labels=tmp_path / "labels.csv")
    # The random label stays; of y there is only the browsed one.
    assert joined.frame["label"].to_list()[0] == "A"
    assert joined.frame["sampled_by"].to_list() == ["random", "browsed", None]
    with pytest.raises(DataError, match="browsed|label"):
        calibrate(unlabelled.filter(pl.col("id") == "y"), labels=tmp_path / "labels.csv")


def test_replies_of_the_store_are_shown_word_for_word(tmp_path: Path) -> None:
    pairs = simulate_pairs(6, seed=2)
    judged = judge_pairs(pairs, judge="simulated:accuracy=0.9", store=tmp_path / "adjudge.db",
                         output=tmp_path / "judgments.jsonl")  # fmt: skip
    assert judged is not None
    texts = pl.DataFrame(
        {name: [getattr(pair, name) for pair in pairs] for name in
         ("id", "prompt", "response_a", "response_b")}
    )  # fmt: skip
    page = open_view([tmp_path / "judgments.jsonl"], pairs=texts, store=tmp_path / "adjudge.db")
    row = page.pages.one(0, page.viewing.usual.judge, ())
    assert len(row["replies"]) == 2
    asked = " ".join(message.text for message in row["replies"][0]["asked"])
    assert pairs[0].prompt in asked
    without = open_view([tmp_path / "judgments.jsonl"], store=tmp_path / "none.db")
    assert "--store FILE" in without.pages.one(0, without.viewing.usual.judge, ())["no_replies"]


@pytest.mark.parametrize("cut", [40, 120, 170, 230, 300])
def test_the_alpha_of_a_threshold_by_eye_is_what_calibrate_takes(cut: int, tmp_path: Path) -> None:
    rows = two_order_judge(300, seed=5)
    write_rows(rows, tmp_path / "judgments.csv")
    html = open_view([tmp_path / "judgments.csv"], store=None).threshold({"cut": str(cut)})["html"]
    command = re.search(r'id="command">(.*?)</code>', html)
    assert command is not None
    typed = re.sub(r"<.*?>", "", command[1])
    assert str(tmp_path / "judgments.csv") in typed
    alpha = re.search(r"--alpha (0\.\d{4}) ", typed)
    assert alpha is not None
    accepted = int(re.search(r'aria-valuenow="(\d+)"', html)[1])  # type: ignore[index]
    if other := re.search(r"which accepts\s+([\d,]+) of", html):
        accepted = int(other[1].replace(",", ""))
    assert calibrate(rows, alpha=float(alpha[1])).n_accepted == accepted


def test_the_command_of_a_threshold_works_when_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = pl.col("judge").replace("strong", "it's $HOME")
    frames = [
        two_order_judge(300, seed=5).with_columns(judge=pl.lit(n)) for n in ("strong", "weak")
    ]
    write_rows(pl.concat(frames).with_columns(named), "judgments.csv")
    page = open_view(["judgments.csv"], store=None)
    html = page.threshold({"cut": "170", "judge": "it's $HOME"})["html"]
    command = re.search(r'id="command">(.*?)</code>', html)
    assert command is not None
    typed = unescape(re.sub(r"<.*?>", "", command[1]))
    assert run(shlex.split(typed)[1:]) == 0
    assert read_policy("policy.json").groups[0].judge == "it's $HOME"


def test_an_empty_answer_is_shown_as_one(tmp_path: Path) -> None:
    page = open_view([ROWS.with_columns(response_b=pl.lit(""))], store=None)
    for asked in ({}, {"blind": "1"}):
        assert page.listing({"reader": READER, **asked})["one"].count("(empty)") == 1


def test_the_calibrated_threshold_has_its_promise_and_another_has_none() -> None:
    rows = two_order_judge(300, seed=5)
    page = open_view([rows], alpha=0.2, store=None)
    policy = calibrate(rows, alpha=0.2)
    html = page.threshold({})["html"]
    assert "Calibrated threshold" in html
    assert f'aria-valuenow="{policy.n_accepted}"' in html
    assert "Promise (scope)" in html
    assert "It promises nothing" not in html
    by_eye = page.threshold({"cut": "20"})["html"]
    assert "It promises nothing" in by_eye
    assert "Promise (scope)" not in by_eye
    few = open_view([rows.head(8)], alpha=0.05, store=None).threshold({})["html"]
    assert "Nothing of" in few


def test_rows_of_one_cluster_are_one_labelled_row_of_the_curve() -> None:
    rows = two_order_judge(100, seed=5).with_columns(prompt_id=pl.int_range(100) // 2)
    html = open_view([rows], alpha=0.2, store=None).threshold({})["html"]
    assert "50 labelled rows (one of each prompt_id, at random)" in html


def test_two_judges_are_compared_by_the_labels_of_people() -> None:
    rows = pl.DataFrame(
        {
            "id": list("wxyz") * 2,
            "judge": ["old"] * 4 + ["new"] * 4,
            "p_a": [0.9, 0.1, 0.2, 0.8, 0.8, 0.7, 0.9, None],
            "label": ["A", "A", "B", "A"] * 2,
        }
    )
    html = open_view([rows], store=None).compare({"before": "old", "after": "new"})["html"]
    assert "As many rows right with new as with old: 1 gained, 1 lost." in html
    assert "Of 3 rows that both judged; 1 row without a verdict of both." in html
    assert re.findall(r"<b>(\d+)</b><span>([^<]*)</span>", html) == [
        ("1", "right → wrong"), ("1", "wrong → right"), ("1", "both right"), ("0", "both wrong"),
    ]  # fmt: skip
    only = open_view([rows], store=None).compare({"before": "old", "after": "new", "way": "fixed"})
    assert only["html"].count('class="row"') == 1


def test_two_systems_are_compared_on_the_same_questions() -> None:
    rows = pl.DataFrame(
        {
            "id": range(6),
            "prompt_id": ["p", "q", "r"] * 2,
            "model": ["one"] * 3 + ["two"] * 3,
            "p_pass": [0.9, 0.1, 0.2, 0.2, 0.9, 0.9],
        }
    )
    html = open_view([rows], store=None).compare({"before": "one", "after": "two"})["html"]
    assert "1 more row passed with two than with one: 2 gained, 1 lost." in html
    assert "Of 3 questions that both answered" in html


def test_saved_rows_open_again(client: TestClient, tmp_path: Path) -> None:
    saved = tmp_path / "rows.jsonl"
    answer = client.get("/api/file", params={"only": "wrong", "order": "file"})
    saved.write_bytes(answer.content)
    again = open_view([saved], store=None).viewing
    assert again.items["id"].to_list() == ["y"]
    assert again.judges["a-judge"].marks["wrong"].tolist() == [True]
    hidden = client.get("/api/file", params={"blind": "1"}).text
    assert "first answer" in hidden
    for word in ("p_fwd", "label", "EXPLAINED", "ann"):
        assert word not in hidden


def test_the_command_writes_the_rows_shown(tmp_path: Path) -> None:
    write_rows(ROWS, tmp_path / "rows.csv")
    shown = ["view", str(tmp_path / "rows.csv"), "--only", "disagreements", "-o"]
    for name in ("wrong.csv", "wrong.parquet"):
        assert run([*shown, str(tmp_path / name)]) == 0
        assert open_view([tmp_path / name], store=None).viewing.items["id"].to_list() == ["y"]
    assert run([*shown, str(tmp_path / "wrong.html")]) == 0
    assert "1 row: against people" in (tmp_path / "wrong.html").read_text(encoding="utf-8")


def test_saved_grades_open_again(tmp_path: Path) -> None:
    rows = {"id": ["x", "y"], "p_pass": [0.9, 0.2], "human": [0, 0], "response": ["a", "b"]}
    page = open_view([rows], store=None)
    write_rows(pl.concat(page.export({})), tmp_path / "rows.jsonl")
    again = open_view([tmp_path / "rows.jsonl"], store=None)
    assert again.listing({})["tally"] == page.listing({})["tally"]


@pytest.mark.attack("texts")
@pytest.mark.parametrize(("name", "text"), HOSTILE_TEXTS)
def test_a_static_page_runs_nothing(name: str, text: str) -> None:
    texts = ("prompt", "response_a", "response_b", "other")
    rows: dict[str, list[Any]] = {column: [text] for column in texts}
    rows |= {"id": [f"x{text}"], "p_a": [0.9], "label": ["B"], "judge": [text.strip() or "j"]}
    page = open_view([rows], store=None).static({"find": ""})
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = re.search(r"style-src &#39;sha256-([^&]*)&#39;|style-src 'sha256-([^']*)'", policy[1])
    assert digest is not None
    assert b64decode(digest[1] or digest[2]) == hashlib.sha256(style.encode()).digest()
    assert policy[1].startswith("default-src 'none';")
    body = page.partition("<body")[2]
    tags = {tag.lower() for tag in re.findall(r"<([a-zA-Z!?/][^\s>/]*)", body)}
    assert not tags & {"script", "img", "iframe", "object", "link", "style", "base", "form", "meta"}
    assert not re.search(r"<[^>]*\son\w+=", body)
    assert not re.search(r'href="(?!https?:|mailto:|#)', body)


def test_the_static_page_has_the_rows_chosen() -> None:
    page = open_view([ROWS], store=None)
    html = page.static({"only": "wrong"})
    assert '<h1 class="finding">1 row: against people</h1>' in html
    assert html.count('<details class="item"') == 1
    assert "EXPLAINED" in html
    shortened = page.static({}, limit=2)
    assert "The first 2 are on this page, most against people." in shortened


def test_calls_need_the_token_and_this_host(page: ViewPage) -> None:
    app = view_app(page, host="127.0.0.1", port=80, token="a-token-of-some-length")
    with_token = {"Authorization": "Bearer a-token-of-some-length"}
    client = TestClient(app, base_url="http://127.0.0.1")
    shell = client.get("/")
    assert shell.status_code == 200
    assert shell.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "first answer" not in shell.text
    for path in ("rows", "threshold", "compare", "file", "page"):
        assert client.get(f"/api/{path}").status_code == 401
        assert client.get(f"/api/{path}", headers=with_token).status_code == 200
        foreign = {**with_token, "Host": "evil.example"}
        assert client.get(f"/api/{path}", headers=foreign).status_code == 421
        foreign = {**with_token, "Origin": "http://evil.example"}
        assert client.get(f"/api/{path}", headers=foreign).status_code == 403


def test_from_python_the_link_opens_until_it_is_closed(tmp_path: Path) -> None:
    local = view(ROWS, store=tmp_path / "adjudge.db", only="disagreements")
    connection = http.client.HTTPConnection(local.address.removeprefix("http://").rstrip("/"))
    connection.request("GET", "/")
    assert "&#34;only&#34;: &#34;wrong&#34;" in connection.getresponse().read().decode()
    assert local.address in local._repr_html_()
    connection.close()
    local.close()
    with pytest.raises(ConnectionRefusedError):
        connection.request("GET", "/")


def test_one_judge_is_compared_with_nothing(client: TestClient) -> None:
    html = client.get("/api/compare").json()["html"]
    assert "This file has one judge and one system." in html
    assert "<select" not in html
    assert 'class="changes"' not in html
