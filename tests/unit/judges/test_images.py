"""Images as what is judged: read, checked, sent to judges that take them, refused elsewhere."""

from __future__ import annotations

import base64
import json
import math
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from looking import SHAPES, draw_bars, draw_shape, parts_asked, sections, shape_of

from adjudge import judge_pairs
from adjudge.data import read_battles, read_judgments, read_scores
from adjudge.data.grades import prepare_grades
from adjudge.data.pairs import iter_items, iter_pairs, read_items, read_pairs
from adjudge.data.parts import images_of, parts_of
from adjudge.data.shown import hash_texts
from adjudge.errors import ArgumentError, DataError
from adjudge.images import LARGEST, MOST, ImageError, fetch, fetched, read_image
from adjudge.judges.backends._image_tokens import OPENAI, claude_tokens
from adjudge.judges.backends.anthropic import AnthropicBackend
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.backends.services import GeminiBackend
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Backend
from adjudge.judges.judging import make_plans, plan_judging
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prices import Price
from adjudge.records import Image, Pair
from adjudge.server.rounds import open_round

FORMS = ("PNG", "JPEG", "GIF", "WEBP")


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def image_rows(folder: Path) -> Path:
    """Pairs with known answers: a shape to draw, and bars to count. Files beside the rows."""
    (folder / "drawn").mkdir()
    rows: list[dict[str, Any]] = []
    for at, asked in enumerate(SHAPES):
        other = [*SHAPES][at - 1]
        for kind, side in ((asked, "right"), (other, "wrong")):
            form = FORMS[at]
            (folder / "drawn" / f"{at}-{side}").write_bytes(draw_shape(kind, form=form))
        right, wrong = ([{"type": "image", "path": f"drawn/{at}-{s}"}] for s in ("right", "wrong"))
        label = "AB"[at % 2]
        a, b = (right, wrong) if label == "A" else (wrong, right)
        rows.append({"id": f"s{at}", "prompt": f"Draw a {asked}.", "response_a": a,
                     "response_b": b, "label": label})  # fmt: skip
    (folder / "bars.webp").write_bytes(draw_bars([30, 80, 50], form="WEBP"))
    bars = [{"type": "text", "text": "How many bars?"},
            {"type": "image_url", "image_url": {"url": "bars.webp"}}]  # fmt: skip
    rows.append({"id": "b", "prompt": bars, "response_a": "2 bars", "response_b": "3 bars",
                 "label": "B"})  # fmt: skip
    return write_rows(folder / "pairs.jsonl", rows)


@pytest.mark.parametrize("judge", ["openai:looks", "anthropic:looks"])
def test_a_server_sees_the_images_of_each_side_in_both_orders(
    judge: str, judge_server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    rows = image_rows(tmp_path)
    judge_server.script("look")
    samples = 1 if judge.startswith("anthropic") else None
    run = judge_pairs(
        rows, judge=judge, base_url=judge_server.base_url, store="s.db", output="out.jsonl",
        samples=samples,
    )  # fmt: skip
    judged = run.judgments
    assert judged["status"].to_list() == ["ok"] * 4
    assert judged["verdict"].to_list() == judged["label"].to_list() == ["A", "B", "A", "B"]
    least = 0.7 if samples else 0.9
    for row in judged.to_dicts():
        assert all((p > least) == (row["label"] == "A") for p in (row["p_fwd"], row["p_rev"]))
    sent = [entry["body"] for entry in judge_server.log()]
    assert len(sent) == 8
    seen = {shape: set() for shape in SHAPES}
    for body in sent:
        found = sections(body)
        for side in "AB":
            for part in found[side]:
                if isinstance(part, bytes):
                    seen[shape_of(part)].add(side)
    assert all(sides == {"A", "B"} for sides in seen.values())
    # Their bytes are those of the files, with the type that the bytes have.
    files = {
        path.read_bytes() for path in (*(tmp_path / "drawn").iterdir(), tmp_path / "bars.webp")
    }
    images = {part for body in sent for part in parts_asked(body) if not isinstance(part, str)}
    assert {content for _, content in images} == files
    assert {kind for kind, _ in images} == {"image/png", "image/jpeg", "image/gif", "image/webp"}
    # They are in no file that was written, and in no log.
    written = [path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".db", ".jsonl")]
    coded = {base64.b64encode(content)[:40] for content in files}
    assert len(written) == 3
    assert not any(code in content for code in coded for content in written)
    assert not any(code.decode() in caplog.text for code in coded)


def test_the_bytes_make_the_key_and_not_the_path(judge_server: Any, tmp_path: Path) -> None:
    rows = image_rows(tmp_path)
    judge_server.script("look")
    options: dict[str, Any] = {"judge": "openai:m", "base_url": judge_server.base_url}
    first = judge_pairs(rows, store="s.db", **options).summary
    assert (first.calls_made, first.reused) == (8, 0)
    (tmp_path / "drawn").rename(tmp_path / "moved")
    rows.write_text(rows.read_text().replace("drawn/", "moved/"))
    again = judge_pairs(rows, store="s.db", **options).summary
    assert (again.calls_made, again.reused) == (0, 8)
    assert again.judge_fingerprint == first.judge_fingerprint
    # One more shape in one file: the two questions about it are new.
    (tmp_path / "moved" / "0-right").write_bytes(draw_shape("triangle"))
    assert plan_judging(rows, store="s.db", **options).to_ask == 2
    changed = judge_pairs(rows, store="s.db", **options).summary
    assert (changed.calls_made, changed.reused) == (2, 6)


def test_words_like_an_image_are_another_question(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(draw_shape("circle"))
    row = {
        "id": "1",
        "prompt": "q",
        "response_b": "b",
        "response_a": [{"path": "a.png", "type": "image"}],
    }
    shown = next(iter(iter_pairs(write_rows(tmp_path / "p.jsonl", [row]))))
    words = "".join(
        part if isinstance(part, str) else part.text for part in parts_of(shown.response_a)
    )
    options: dict[str, Any] = {"judge": SimulatedBackend(), "store": "s.db"}
    pair = Pair(id="1", prompt="q", response_a=words, response_b="b")
    assert judge_pairs([pair], **options).summary.calls_made == 2
    assert judge_pairs(tmp_path / "p.jsonl", **options).summary.calls_made == 2


def _shapes_of_a_part(uri: str) -> dict[str, Any]:
    data = uri.partition(",")[2]
    return {
        "OpenAI chat": {"type": "image_url", "image_url": {"url": uri, "detail": "low"}},
        "OpenAI responses": {"type": "input_image", "image_url": uri},
        "Anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                                  "data": data}},
        "Inspect": {"type": "image", "image": uri, "detail": "auto"},
        "LangSmith": {"type": "image", "source_type": "base64", "mime_type": "image/png",
                      "data": data},
        "LangChain": {"type": "image", "base64": data, "mime_type": "image/png"},
        "path": {"type": "image", "path": "a.png"},
    }  # fmt: skip


def test_every_usual_shape_is_the_same_image(tmp_path: Path) -> None:
    content = draw_shape("circle")
    (tmp_path / "a.png").write_bytes(content)
    uri = "data:image/png;base64," + base64.b64encode(content).decode()
    shapes = _shapes_of_a_part(uri)
    given: list[Any] = [
        *({"value": [{"type": "text", "text": "See"}, part]} for part in shapes.values()),
        *({"value": [{"role": "user", "content": ["See", part]}]} for part in shapes.values()),
    ]
    given += [{"value": json.dumps(entry["value"])} for entry in given]
    rows = [{"id": str(n), "prompt": "p", "response": one["value"]} for n, one in enumerate(given)]
    path = write_rows(tmp_path / "items.jsonl", rows)
    texts = {item.response for item in iter_items(path)} | {*read_items(path)["response"]}
    hashes = {image.sha256 for text in texts for image in images_of(text)}
    assert len(hashes) == 1
    assert read_image(*hashes) == content
    assert {tuple(type(part) for part in parts_of(text)) for text in texts} == {(str, Image)}
    assert len({hash_texts({"response": text}) for text in texts}) == 1
    assert not any("base64" in text for text in texts)
    # A data URI alone, one part alone, and CSV.
    alone = [uri, {"type": "image", "path": "a.png"}, [{"type": "image", "path": "a.png"}]]
    rows = [{"id": str(n), "prompt": "p", "response": value} for n, value in enumerate(alone)]
    read = [item.response for item in iter_items(write_rows(path, rows))]
    assert [image.sha256 for text in read for image in images_of(text)] == [*hashes] * 3
    cells = [value if isinstance(value, str) else json.dumps(value) for value in alone]
    pl.DataFrame({"id": ["1", "2", "3"], "prompt": ["p"] * 3, "response": cells}).write_csv("i.csv")
    assert [item.response for item in iter_items("i.csv")] == read
    assert read_items("i.csv")["response"].to_list() == read


_URI = "data:image/png;base64," + base64.b64encode(draw_shape("square")).decode()
_PIXEL = base64.b64encode(draw_shape("square")).decode()


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"path": "no.png"}, "the image no.png cannot be read: FOLDER/no.png is not there; put"),
        ({"path": "."}, "the image . cannot be read: FOLDER"),
        ({"path": "words.png"}, "the image words.png is not a PNG, JPEG, GIF or WebP; save it as"),
        ({"path": "large.png"}, "the image large.png is too large (5.2 MB of 5.2 MB); scale"),
        ({"path": "../up.png"}, "the image ../up.png is not in the folder of the file; copy or"),
        ({"path": "/etc/passwd"}, "the image /etc/passwd is not in the folder of the file; copy"),
        ({"image_url": "file:///etc/passwd"}, "the image file:///etc/passwd is not in the folder"),
        ({"image_url": "data:image/png;base64,@@"}, "the image data:image/png;base64,... is not v"),
        ({"image_url": "data:image/svg+xml,<x>"}, "the image data:image/svg+xml,... is not base64"),
        ({"base64": "aGVsbG8gd29ybGQh"}, "the image data:image;base64,... is not a PNG, JPEG"),
        ({"data": "iVBORw0K" * (LARGEST // 5)}, "the image data:image;base64,... is too large (6"),
        ({"path": "no\x1b[31m\n.png"}, r"the image no\x1b[31m .png cannot be read"),
    ],
)  # fmt: skip
def test_an_image_that_cannot_be_read_is_refused_with_its_row(
    tmp_path: Path, part: dict[str, str], said: str
) -> None:
    (tmp_path / "words.png").write_text("words, not an image at all")
    (tmp_path / "large.png").write_bytes(draw_shape("circle") + b"\0" * LARGEST)
    good = {"id": "1", "prompt": "p", "response": "r"}
    bad = {"id": "2", "prompt": "p", "response": ["See", {"type": "image", **part}]}
    path = write_rows(tmp_path / "items.jsonl", [good, bad])
    for read in (lambda: [*iter_items(path)], lambda: read_items(path)):
        with pytest.raises(DataError) as caught:
            read()
        expected = f"items.jsonl, row 2, column response: {said}"
        assert expected.replace("FOLDER", str(tmp_path)) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_an_image_of_a_service_has_no_bytes_here(tmp_path: Path) -> None:
    part = {"type": "input_image", "file_id": "file-1"}
    row = {"id": "1", "prompt": "p", "response": ["See", part]}
    path = write_rows(tmp_path / "items.jsonl", [row])
    said = "row 1, column response: contains an image without bytes; give a path, a data URI or a"
    with pytest.raises(DataError, match=said):
        list(iter_items(path))


def test_the_number_of_images_in_a_text_is_limited(tmp_path: Path) -> None:
    part = {"type": "image", "base64": _PIXEL}
    row = {"id": "1", "prompt": [part] * (MOST + 1), "response": "r"}
    path = write_rows(tmp_path / "items.jsonl", [row])
    with pytest.raises(DataError, match=rf"row 1, column prompt: has {MOST + 1} images; give at"):
        list(iter_items(path))
    (item,) = iter_items(write_rows(path, [{**row, "prompt": [part] * MOST}]))
    assert len(images_of(item.prompt)) == MOST


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "a.png").write_bytes(draw_shape("circle"))
    row = {"id": "1", "prompt": "p", "response": {"type": "image", "path": "a.png"}}
    path = write_rows(tmp_path / "items.jsonl", [row])
    monkeypatch.setenv("ADJUDGE_IMAGES", str(tmp_path / "file"))
    with pytest.raises(DataError, match="row 1.*images cannot be kept in .*file: .*; name an"):
        list(iter_items(path))
    monkeypatch.setenv("ADJUDGE_IMAGES", str(tmp_path / "mine"))
    list(iter_items(path))
    (kept,) = (tmp_path / "mine").glob("*/*")
    assert kept.readlink() == tmp_path / "a.png"
    assert (kept.parent.stat().st_mode & 0o777, kept.parent.parent.stat().st_mode & 0o777) == (
        0o700,
        0o700,
    )


class _Blind(SimulatedBackend):
    takes_images = False

    async def ask_about(self, *_: Any) -> Any:
        raise AssertionError("asked")


def test_a_judge_that_takes_no_images_is_refused_before_the_first_call(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in image_rows(tmp_path).read_text().splitlines()]
    plain = {"id": "first", "prompt": "q", "response_a": "a", "response_b": "b"}
    path = write_rows(tmp_path / "pairs.jsonl", [plain, *rows])
    said = (
        r"pairs.jsonl, row 2: has an image, and the judge is simulated:.*; it takes no images: ask "
        "openai:, anthropic: or transformers: with a model that does"
    )
    with pytest.raises(DataError, match=said):
        judge_pairs(path, judge=[SimulatedBackend(seed=3), _Blind()], store=None)
    with pytest.raises(ArgumentError, match="judge = 'simulated:.*it takes no images: ask openai:"):
        plan_judging(path, judge=_Blind(), store=None)
    with pytest.raises(DataError, match="row 2: protocol: likelihood scores the words of an"):
        judge_pairs(path, judge=SimulatedBackend(), protocol="likelihood", store=None)
    (tmp_path / "mine.txt").write_text(
        "--- system ---\n{prompt}\n--- user ---\n{response_a} or {response_b}"
    )
    with pytest.raises(DataError, match=r"row 5: has an image, and the prompt is bars.webp; "):
        judge_pairs(path, judge=SimulatedBackend(), prompt=tmp_path / "mine.txt", store=None)


def test_an_image_that_goes_after_the_check_is_an_error_of_its_row(
    judge_server: Any, tmp_path: Path
) -> None:
    rows = image_rows(tmp_path)
    judge_server.script("look")
    options: dict[str, Any] = {"judge": "openai:m", "base_url": judge_server.base_url}

    def remove(_: str) -> None:
        (tmp_path / "drawn" / "1-right").unlink()
        (tmp_path / "drawn" / "2-right").write_bytes(draw_shape("circle", size=50))

    run = judge_pairs(rows, store="s.db", announce=remove, **options)
    found = dict(run.judgments.select("id", "status").iter_rows())
    assert found == {"s0": "ok", "s1": "error", "s2": "error", "b": "ok"}
    details = dict(run.judgments.select("id", "detail").iter_rows())
    assert "the image drawn/1-right is not there" in details["s1"]
    assert "the image drawn/2-right has changed since the rows were read" in details["s2"]
    with pytest.raises(DataError, match=r"row 2, column response_b: the image drawn/1-right canno"):
        judge_pairs(rows, store="s.db", **options)
    # Back in its place, only the rows without an answer are asked.
    (tmp_path / "drawn" / "1-right").write_bytes(draw_shape("circle", form="JPEG"))
    assert judge_pairs(rows, store="s.db", **options).summary.calls_made == 4


def test_a_server_that_sends_the_question_back_leaves_no_image_in_the_store(
    judge_server: Any, tmp_path: Path
) -> None:
    judge_server.script("look", rules=[{"contains": "circle", "steps": ["echo_images"]}])
    run = judge_pairs(
        image_rows(tmp_path), judge="openai:m", base_url=judge_server.base_url, store="s.db"
    )
    assert run.summary.statuses == {"ok": 3, "error": 1}
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("s.db*"))
    assert b"/9j/" not in stored
    assert b"[image]" in stored


@pytest.fixture
def image_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    content = draw_shape("circle")
    #: Status, headers and body by path; any other path is not there.
    answers: dict[str, tuple[int, dict[str, str], bytes]] = {
        "/circle.png": (200, {}, content),
        "/page": (200, {}, b"<html></html>"),
        "/huge": (200, {}, content + bytes(LARGEST)),
        "/half": (200, {"Content-Length": str(len(content) + 1)}, content),
        "/moved": (302, {"Location": "/circle.png"}, b""),
        "/inside": (302, {"Location": "http://127.0.0.2/circle.png"}, b""),
        "/file": (302, {"Location": "file:///etc/hostname"}, b""),
        "/ftp": (302, {"Location": "ftp://127.0.0.1/circle.png"}, b""),
    }
    monkeypatch.setenv("ADJUDGE_IMAGE_HOSTS", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.server.asked.append(self.path)  # type: ignore[attr-defined]
            status, headers, body = answers.get(self.path, (404, {}, b"gone"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # nobody reads to the end of what is too large
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    host = HTTPServer(("127.0.0.1", 0), Handler)
    host.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=host.serve_forever)
    thread.start()
    yield host
    host.shutdown()
    thread.join()
    host.server_close()


def test_a_url_is_fetched_only_if_the_user_says_so(
    judge_server: Any, image_host: Any, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{image_host.server_port}/circle.png"
    part = {"type": "image_url", "image_url": {"url": url}}
    row = {"id": "1", "prompt": "Draw a circle", "response_a": [part], "response_b": "no"}
    path = write_rows(tmp_path / "pairs.jsonl", [row])
    judge_server.script("look")
    options: dict[str, Any] = {"judge": "openai:m", "base_url": judge_server.base_url, "store": "s"}
    assert images_of(next(iter_pairs(path)).response_a)[0].place == url
    with pytest.raises(DataError, match="row 1, column response_a: the image http.* is a URL; "):
        judge_pairs(path, **options)
    assert image_host.asked == []
    judged = judge_pairs(path, fetch_images=True, **options).judgments
    assert judged["verdict"][0] == "A"
    assert image_host.asked == ["/circle.png"]
    # Asked for once: from now on every reader knows the image of this address.
    assert judge_pairs(path, **options).summary.reused == 2
    assert images_of(next(iter_pairs(path)).response_a)[0].sha256 is not None
    assert image_host.asked == ["/circle.png"]
    gone = url.replace("circle", "gone")
    write_rows(path, [{**row, "response_a": [{**part, "image_url": gone}]}])
    with pytest.raises(DataError, match=r"row 1, .*gone.png cannot be fetched: Not Found; check"):
        judge_pairs(path, fetch_images=True, **options)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("page", "is not a PNG, JPEG, GIF or WebP"),
        ("huge", "is too large"),
        ("half", r"cannot be fetched: IncompleteRead.*1 more expected"),
        ("inside", "is at a private address"),
        ("file", "cannot be fetched: .*not allowed"),
        ("ftp", "is not at an http address"),
        ("a b", "cannot be fetched: URL can't contain control characters"),
    ],
)
def test_what_a_url_answers_is_checked(image_host: Any, path: str, problem: str) -> None:
    url = f"http://127.0.0.1:{image_host.server_port}/"
    with pytest.raises(ImageError, match=problem):
        fetch(url + path)
    assert fetched(url + path) is None
    assert fetch(url + "moved") == fetch(url + "circle.png")


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::1]", "169.254.169.254"])
def test_a_row_cannot_ask_a_private_address(
    image_host: Any, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row can be the answer of a model: it must not reach what only this machine can."""
    monkeypatch.delenv("ADJUDGE_IMAGE_HOSTS")
    with pytest.raises(ImageError, match="is at a private address") as error:
        fetch(f"http://{host}:{image_host.server_port}/circle.png")
    assert error.value.remedy.endswith(f"ADJUDGE_IMAGE_HOSTS={host.strip('[]')}")
    assert image_host.asked == []


def test_people_are_not_asked_about_an_image_that_was_not_fetched(tmp_path: Path) -> None:
    part = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/gone.png"}}
    rows = [{"id": "1", "prompt": "p", "response": "r"},
            {"id": "2", "prompt": "p", "response": "r", "reference": [part]}]  # fmt: skip
    path = write_rows(tmp_path / "items.jsonl", rows)
    said = r"row 2, column reference: the image http.* is a URL; judge the rows with --fetch-images"
    with pytest.raises(DataError, match=said), open_round(path, store=None):
        pass


def test_images_in_context_reference_and_columns_of_a_prompt(
    judge_server: Any, tmp_path: Path
) -> None:
    for kind in SHAPES:
        (tmp_path / f"{kind}.png").write_bytes(draw_shape(kind))
    rows = [{"id": "1", "prompt": "p", "response": "r", "context": ["plain", "list"],
             "reference": [{"type": "image", "path": "circle.png"}],
             "chart": {"type": "image", "path": "square.png"}}]  # fmt: skip
    path = write_rows(tmp_path / "items.jsonl", rows)
    options: dict[str, Any] = {"judge": "openai:m", "base_url": judge_server.base_url}
    options |= {"protocol": "grade", "store": None, "samples": 1}
    judge_pairs(path, **options)
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{chart} then {reference}: {prompt} {response}")
    judge_pairs(path, prompt=prompt, **options)
    asked = [parts_asked(entry["body"]) for entry in judge_server.log()]
    shapes = [[shape_of(p[1]) for p in parts if not isinstance(p, str)] for parts in asked]
    assert shapes == [["circle"], ["square", "circle"]]
    assert '["plain", "list"]' in "".join(part for part in asked[0] if isinstance(part, str))
    # No table has bytes: not even a column that nobody asked about.
    write_rows(path, [{**rows[0], "photo": _URI, "talk": [{"role": "user", "content": [_URI]}]}])
    judged = judge_pairs(path, **options).judgments
    assert "base64" not in judged.write_ndjson()
    assert images_of(judged["photo"][0]) == images_of(judged["talk"][0]) != []
    (tmp_path / "square.png").unlink()
    with pytest.raises(DataError, match=r"row 1, column chart: the image square.png cannot be"):
        judge_pairs(path, prompt=prompt, **options)


@pytest.mark.parametrize("kind", ["pairs", "judgments", "grades", "scores", "battles"])
def test_no_table_of_any_kind_has_the_bytes_of_an_image(kind: str) -> None:
    """A frame is read as a file is: a data URI is its hash, in any column and any shape."""
    shapes = {
        "photo": _URI,
        "photos": [_URI, _URI],
        "talk": [{"role": "user", "content": [_URI]}],
        "seen": {"by": {"camera": _URI}},
        "plain": [{"a": 1}],
    }
    texts = {"prompt": "p", "response_a": "a", "response_b": _URI}
    models = {"model_a": "m", "model_b": "n", "winner": "A"}
    native = {
        "pairs": (texts, lambda frame: read_pairs(frame)),
        "judgments": ({"p_a": 0.9, "response": _URI}, lambda frame: read_judgments(frame)),
        "grades": (
            {"judge": 1, "human": 1, "response": _URI},
            lambda frame: prepare_grades(frame).frame,
        ),
        "scores": (
            {"doc_id": "d", "judge_score": 1, "human_score": 1},
            lambda frame: read_scores(frame),
        ),
        "battles": (models, lambda frame: read_battles(frame)),
    }
    columns, read = native[kind]
    given = pl.DataFrame([{"id": "1", **columns, **shapes}])
    rows = read(given).to_dicts()[0]
    assert "base64" not in json.dumps(rows, default=str)
    for name in ("photo", "photos", "talk", "seen"):
        assert {*images_of(rows[name])} == {*images_of(rows["photo"])} != set()
    assert rows["plain"] == [{"a": 1}]
    if kind == "pairs":
        path = write_rows(Path("pairs.jsonl"), given.to_dicts())
        (pair,) = iter_pairs(path)
        assert {name: rows[name] for name in shapes} == {name: pair.extra[name] for name in shapes}


def test_records_made_in_python_name_images_beside_the_current_folder(
    judge_server: Any, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(draw_shape("circle"))
    judge_server.script("look")
    shown = json.dumps([{"type": "image", "path": "a.png"}])
    pair = Pair(id="1", prompt="Draw a circle", response_a="no", response_b=shown)
    options: dict[str, Any] = {"judge": "openai:m", "base_url": judge_server.base_url}
    assert judge_pairs([pair], store=None, **options).judgments["verdict"][0] == "B"


def test_a_plan_says_that_the_tokens_of_images_are_not_in_it(tmp_path: Path) -> None:
    plan = plan_judging(image_rows(tmp_path), judge="openai:gpt-x", store=None)
    assert (plan.images, plan.images_not_counted) == (14, 14)
    assert "14 images to send: tokens not known before the replies, and not in th" in str(plan)
    same = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    for row in same:
        row |= {side: "" for side in ("response_a", "response_b") if isinstance(row[side], list)}
        row["prompt"] = row["prompt"] if isinstance(row["prompt"], str) else "How many bars?\n"
    words = plan_judging(write_rows(tmp_path / "words.jsonl", same), judge="openai:m", store=None)
    assert plan.prompt_tokens_estimate == words.prompt_tokens_estimate
    (tmp_path / "plain").mkdir()
    row = {"id": "1", "prompt": "q", "response_a": "a", "response_b": "b"}
    plain = write_rows(tmp_path / "plain" / "p.jsonl", [row])
    assert "image" not in str(plan_judging(plain, judge="openai:gpt-4.1-mini", store=None))


SIZES = [((1024, 1024), 1024, 765, 1369), ((2048, 2048), 4096, 765, 1521),
         ((100, 3000), 192, 765, 112), ((32, 32), 1, 255, 4), ((1, 1), 1, 255, 1)]  # fmt: skip


@pytest.mark.parametrize(("size", "patches", "tiles", "claude"), SIZES)
def test_tokens_of_images_by_the_published_rules(
    size: tuple[int, int], patches: int, tiles: int, claude: int
) -> None:
    assert OpenAIBackend("gpt-4.1-mini-2025-04-14").image_tokens(*size) == math.ceil(
        round(1.62 * patches, 6)
    )
    assert OpenAIBackend("gpt-4o").image_tokens(*size) == tiles
    haiku, opus = AnthropicBackend("claude-haiku-4-5"), AnthropicBackend("claude-opus-4-7")
    assert haiku.image_tokens(*size) == claude
    assert haiku.image_tokens(*reversed(size)) == claude
    assert (opus.image_tokens(*size) or 0) >= claude


@pytest.mark.parametrize(
    "backend",
    [
        OpenAIBackend("gpt-x"),
        OpenAIBackend("gpt-4o", base_url="http://localhost:8000/v1"),
        GeminiBackend("gpt-4o-like"),
        AnthropicBackend("claude-haiku-4-5", base_url="https://gateway.example/v1"),
        AnthropicBackend("other"),
        SimulatedBackend(),
    ],
)
def test_other_models_and_servers_have_no_known_rule(backend: Backend) -> None:
    assert backend.image_tokens(512, 512) is None


def test_every_size_has_tokens_within_the_budget_of_its_rule() -> None:
    sides = [1, 2, 31, 33, 500, 1567, 1569, 2049, 8000]
    for width in sides:
        for height in sides:
            for model, rule in OPENAI.items():
                tokens = rule.tokens(width, height)
                assert tokens >= 1, model
                budget = getattr(rule, "budget", None)
                if budget is not None:
                    assert tokens <= math.ceil(rule.multiplier * budget), (model, width, height)
            assert 1 <= claude_tokens(width, height, side=1568, limit=1568) <= 1568


def test_a_plan_and_a_limit_count_images_before_any_call(
    judge_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIBackend, "maker_url", judge_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    rows = image_rows(tmp_path)
    prices = {"openai:gpt-4o": Price(10_000.0, 0.0, "test")}  # a cent a token
    options: dict[str, Any] = {"judge": "openai:gpt-4o", "prices": prices}
    plan = plan_judging(rows, store=None, **options)
    # One tile each: 85 + 170 tokens.
    assert (plan.images, plan.image_tokens, plan.images_not_counted) == (14, 14 * 255, 0)
    shown = str(plan)
    assert "characters / 4; 14 images: 3,570 tokens" in shown
    assert "not known" not in shown
    texts = plan_judging(rows, store=None, **options | {"judge": "openai:m"})
    assert plan.prompt_tokens_estimate == texts.prompt_tokens_estimate + 3570
    assert plan.cost_estimate == pytest.approx(plan.prompt_tokens_estimate / 100)
    panel = make_plans(rows, JudgingOptions(judge=["openai:gpt-4o", "openai:m"], store=None))
    assert "openai:m: 14 images to send: tokens not known before the replies" in str(panel)
    assert "openai:gpt-4o: 14 images" not in str(panel)
    # The texts of one call are for less than two dollars, its images for more.
    judge_server.script("look")
    run = judge_pairs(rows, store=None, max_cost=2.0, **options)
    assert (run.summary.stopped, run.summary.calls_made) == ("max_cost", 0)
    assert judge_server.log() == []


def test_a_long_prompt_after_short_ones_is_not_sent_beyond_the_limit(judge_server: Any) -> None:
    """The mean of the calls so far is no measure of a prompt that is a hundred times longer."""
    short = [Pair(id=f"s{n}", prompt="q", response_a="a", response_b="b") for n in range(10)]
    long = Pair(id="long", prompt="word " * 40_000, response_a="a", response_b="b")
    prices = {"openai:m": Price(10.0, 0.0, "test")}
    run = judge_pairs(
        [*short, long], judge="openai:m", base_url=judge_server.base_url, store=None,
        prices=prices, max_cost=0.2, concurrency=1,
    )  # fmt: skip
    assert run.summary.stopped == "max_cost"
    assert (run.summary.rows, run.summary.not_asked) == (10, 1)
