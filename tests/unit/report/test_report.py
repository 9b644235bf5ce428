"""The report: what it takes in, what it passes over, and the same story in three formats."""

from __future__ import annotations

import json
import re
import shutil
from html import escape
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import read_judgments, read_result, write_result, write_rows
from adjudge.diagnosis import diagnose_bias
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate
from adjudge.judges.judging import judge_pairs
from adjudge.policy.result import Policy
from adjudge.present.blocks import Html, Section, Sides, Table
from adjudge.present.figure import ON_TINT, new_figure, themed
from adjudge.present.render.html import inline_svg
from adjudge.present.text import show_interval
from adjudge.ranking import rank
from adjudge.report import build_document, read_folder, render_report, write_report
from adjudge.report.folder import Folder
from adjudge.report.page import doubtful_part, rename, short_names
from adjudge.selection import calibrate, select
from adjudge.simulate.battles import simulate_battles
from adjudge.simulate.pairs import simulate_pairs

HOSTILE = "<b>|*x*|</b> `y` [z](http://e.example) \x1b[31m"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("results")
    pairs = [
        {"id": pair.id, "prompt": pair.prompt + HOSTILE, "response_a": pair.response_a,
         "response_b": pair.response_b, "label": pair.label}
        for pair in simulate_pairs(150, seed=1)
    ]  # fmt: skip
    write_rows(pl.DataFrame(pairs), made / "pairs.jsonl")
    judged = judge_pairs(
        made / "pairs.jsonl", judge="simulated:accuracy=0.85,noise=0.3,seed=1",
        output=made / "judgments.jsonl", store=":memory:",
    )  # fmt: skip
    write_result(judged.summary, made / "judging.json")
    policy = calibrate(made / "judgments.jsonl", alpha=0.1)
    write_result(policy, made / "policy.json")
    write_result(select(made / "judgments.jsonl", policy).summary, made / "selection.json")
    people = [1, 1, 0, 0, 0, None, None, None]
    rate = estimate(judge=[1, 1, 0, 1, 0, 1, 1, 0] * 40, human=people * 40)
    write_result(rate, made / "estimate.json")
    write_result(diagnose_bias(made / "judgments.jsonl"), made / "bias.json")
    battles = simulate_battles(models=6, battles=400, seed=1).frame
    write_result(rank(battles), made / "leaderboard.json")
    write_rows(pl.DataFrame({"day": ["Monday"]}), made / "unrelated.csv")
    (made / "notes.json").write_text('{"kind": "shopping list"}')
    (made / "broken.json").write_text("{")
    return made


def test_every_room_has_its_section_and_unrelated_files_are_not_listed(folder: Path) -> None:
    document = build_document(folder)
    keys = [section.key for section in document.sections]
    rooms = ["judging", "selection", "estimation", "diagnosis", "ranking"]
    assert keys == ["damaged", *rooms, "appendix"]
    html = render_report(folder)
    assert "broken.json" in html
    assert "judgments.jsonl" in html
    assert not [name for name in ("notes.json", "unrelated.csv") if name in html]


def test_a_judge_has_a_short_name_and_the_appendix_the_long_one(folder: Path) -> None:
    [(full, short)] = short_names(read_folder(folder)).items()
    assert full == "simulated:accuracy=0.85,position_bias=0,noise=0.3,seed=1"
    assert short == "simulated"
    html = render_report(folder)
    body, appendix = html.split('<section id="appendix">')
    assert "simulated asked by preference: 150 rows" in body
    assert full not in body
    assert full in appendix


def test_two_judges_never_share_a_short_name(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "judging.json", tmp_path / "one.json")
    judging = json.loads((folder / "judging.json").read_text(encoding="utf-8"))
    del judging["digest"]
    other = json.dumps(judging).replace("=0.85", "=0.95")
    (tmp_path / "two.json").write_text(other, encoding="utf-8")
    assert short_names(read_folder(tmp_path)) == {}


def test_texts_of_pairs_keep_the_words_that_are_a_judges_name() -> None:
    answers = {"A": Html("long:name")}
    pair = Sides("p", Html("ask long:name"), answers, note="long:name says A")
    shown = rename([pair, Table(("judge",), [("long:name",)])], {"long:name": "name"})
    assert shown[0] == Sides("p", Html("ask long:name"), answers, note="name says A")
    assert shown[1].rows == (("name",),)


def test_the_summary_begins_with_decisions(folder: Path) -> None:
    html = render_report(folder)
    contents = html[html.index("<nav") : html.index("</nav>")]
    policy = read_result(folder / "policy.json")
    selection = read_result(folder / "selection.json")
    rate = read_result(folder / "estimate.json")
    assert isinstance(policy, Policy)
    left = policy.n_calibration - policy.n_accepted
    wrong = f"{100 * policy.n_accepted_errors / policy.n_accepted:.1f}".removesuffix(".0")
    assert re.findall("<b>(.*?)</b>", contents)[:3] == [
        f"{policy.n_accepted} of 150 labelled verdicts accepted, {left} to people; of the "
        f"accepted, {wrong} % wrong",
        f"{selection.n_accepted} of 150 verdicts accepted, {150 - selection.n_accepted} to people",
        f"0.500 {show_interval(rate.interval)}, not 0.667",
    ]
    keys = re.findall('href="#(\\w+)"', contents)
    assert keys[:5] == ["damaged", "selection", "estimation", "diagnosis", "ranking"]


def test_results_come_back_from_their_files_unchanged(folder: Path) -> None:
    for path in sorted(folder.glob("*.json")):
        if path.name in {"notes.json", "broken.json"}:
            continue
        written = json.loads(path.read_text(encoding="utf-8"))
        assert written.pop("digest").startswith("sha256:")
        content = read_result(path).to_dict()
        content.pop("digest", None)
        assert content == written


def test_an_edited_result_is_named_and_not_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "whole.json").write_bytes((folder / "judging.json").read_bytes())
    labelled = {"judge": [1] * 30 + [0] * 20, "human": [1, 0, 1, None, None] * 10}
    write_result(estimate(labelled), tmp_path / "edited.json")
    edited = json.loads((tmp_path / "edited.json").read_text(encoding="utf-8"))
    edited["estimate"] = 0.9
    (tmp_path / "edited.json").write_text(json.dumps(edited), encoding="utf-8")
    assert run(["report", str(tmp_path)]) == 2
    reason = "was changed: its digest differs; write it again: do not edit it"
    assert f"damaged, not in the report: edited.json ({reason})" in capsys.readouterr().err
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 damaged file is not in this report: edited.json" in html


def test_a_result_without_a_digest_is_shown_and_named(folder: Path, tmp_path: Path) -> None:
    judging = json.loads((folder / "judging.json").read_text(encoding="utf-8"))
    del judging["digest"]
    (tmp_path / "older.json").write_text(json.dumps(judging), encoding="utf-8")
    text = render_report(tmp_path, format="md")
    assert "without a digest, so an edit is not noticed: older.json" in text


def test_a_copy_of_a_result_is_shown_once_and_named(folder: Path, tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "c.json"):
        shutil.copy(folder / "judging.json", tmp_path / name)
    indented = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    (tmp_path / "c.json").write_text(json.dumps(indented), encoding="utf-8")
    document = build_document(tmp_path)
    assert [part.name for section in document.sections for part in section.parts] == [
        "a.json", "Settings",
    ]  # fmt: skip
    assert "the same result: b.json, c.json" in render_report(tmp_path, format="md")
    assert json.loads(render_report(tmp_path, format="json"))["copies"] == {
        "a.json": ["b.json", "c.json"]
    }


def test_html_keeps_foreign_text_text(folder: Path) -> None:
    html = render_report(folder)
    assert "<b>|" not in html
    assert "&lt;b&gt;|<em>x</em>|&lt;/b&gt;" in html  # Markdown as in the viewer
    assert "\x1b" not in html
    assert "<script" not in html
    assert not re.search(r'src="(?!data:)', html)  # nothing is loaded
    outside = set(re.findall(r'href="(?!#)[^>]*>', html))
    linked = 'href="http://e.example" rel="noopener noreferrer nofollow" target="_blank">'
    assert outside == {linked}
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_markdown_has_the_findings_and_no_live_markup(folder: Path) -> None:
    text = render_report(folder, format="md")
    document = build_document(folder)
    assert text.startswith("# Judge report")
    for section in document.sections:
        assert f"## {section.title}" in text
    assert "<b>" not in text


def test_the_minute_it_was_made_can_be_fixed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert build_document(folder).subtitle.endswith("made 2023-11-14 22:13 UTC")


def test_json_is_the_results_themselves(folder: Path) -> None:
    report = json.loads(render_report(folder, format="json"))
    assert report["results"]["policy.json"]["kind"] == "policy"
    assert set(report["skipped"]) == {"notes.json"}
    assert set(report["damaged"]) == {"broken.json"}


def test_what_cannot_be_reported_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DataError, match="holds no result"):
        render_report(tmp_path)
    with pytest.raises(DataError, match="not a folder"):
        render_report(tmp_path / "none")
    with pytest.raises(ArgumentError, match="html, md, json"):
        render_report(folder, format="pdf")


def test_the_verb_writes_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(folder), "-o", "out.html"]) == 2
    assert Path("out.html").stat().st_size > 10_000
    remarks = capsys.readouterr().err
    assert "not in the report: notes.json (" in remarks
    assert "kind 'shopping list' is not known" in remarks
    assert "damaged, not in the report: broken.json (" in remarks
    assert run(["report", str(folder), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["kind"] == "report"
    assert run(["report", "nowhere"]) == 1


def test_the_ending_of_the_file_names_its_format(folder: Path, tmp_path: Path) -> None:
    """`report DIR -o report.md` wrote a page of HTML into it."""
    path = tmp_path / "report"
    run(["report", str(folder), "-o", f"{path}.md"])
    assert path.with_suffix(".md").read_text(encoding="utf-8").startswith("# ")
    run(["report", str(folder), "-o", f"{path}.json"])
    assert json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    write_report(folder, f"{path}.htm")
    assert "<html" in path.with_suffix(".htm").read_text(encoding="utf-8")


def test_the_contents_are_the_answer_in_short(folder: Path) -> None:
    html = render_report(folder)
    contents = html[html.index("<nav") : html.index("</nav>")]
    headlines = [
        part.headline
        for section in build_document(folder).sections
        for part in section.parts
        if part.headline is not None
    ]
    assert len(headlines) >= 6
    for headline in headlines:
        assert escape(headline.decision or headline.text) in contents


def test_doubtful_pairs_are_those_of_the_judge_the_policy_is_for(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("pairs.jsonl", "judgments.jsonl", "policy.json"):
        shutil.copy(folder / name, tmp_path)
    ids = pl.read_ndjson(tmp_path / "pairs.jsonl").select("id")
    other = ids.with_columns(
        judge=pl.lit("x"), protocol=pl.lit("another way"), status=pl.lit("ok"), p_a=0.5
    )
    write_rows(other, tmp_path / "others.jsonl")
    assert not read_folder(tmp_path).skipped
    # A table that cannot be read is named once, with its row.
    twice = '{"id": "x", "prompt": "q", "response_a": "a", "response_b": "b"}\n'
    (tmp_path / "twice.jsonl").write_text(twice + twice.replace('"q"', '"r"'))
    assert read_folder(tmp_path).skipped == {
        "twice.jsonl": "row 2, column id: id 'x' is in the file twice; give every pair its own id"
    }
    (section,) = (s for s in build_document(tmp_path).sections if s.key == "selection")
    notes = _notes(section)
    assert len(notes) == 10
    assert all("(preference) says " in note and "; people say " in note for note in notes)
    (tmp_path / "policy.json").unlink()
    shutil.copy(folder / "selection.json", tmp_path)
    (section,) = (s for s in build_document(tmp_path).sections if s.key == "selection")
    notes = _notes(section)
    assert all("(another way) says neither: " in note and "people" not in note for note in notes)


def _notes(section: Section) -> list[str]:
    blocks = [block for part in section.parts for block in part.blocks]
    return [block.note for block in blocks if isinstance(block, Sides)]


def test_ink_on_a_coloured_cell_does_not_turn_light(tmp_path: Path) -> None:
    with themed():
        figure = new_figure()
        axes = figure.subplots()
        axes.axis("off")
        axes.text(0.5, 0.5, "3.85", color=ON_TINT)
    drawn = inline_svg(figure, prefix="x", label="cell")
    assert ON_TINT in drawn
    assert "--ink" not in drawn


def test_a_doubtful_pair_of_a_judge_without_a_name() -> None:
    pairs = pl.DataFrame({"id": ["p"], "prompt": ["Q"], "response_a": ["x"], "response_b": ["y"]})
    rows = read_judgments(pl.DataFrame({"id": ["p"], "p_a": [0.625], "uncertainty": [0.25]}))
    [part] = doubtful_part(Folder(path=Path(), files=(), pairs=pairs, judgments=(rows,)))
    assert part.blocks[-1].note == "the judge says A: p(A) = 0.625, doubt 0.250"


def test_what_the_judge_wrote_about_doubtful_and_failed_rows(tmp_path: Path) -> None:
    pairs = [
        {"id": f"p{n}", "prompt": "q", "response_a": f"left {n}", "response_b": f"right {n}"}
        for n in range(3)
    ]
    write_rows(pl.DataFrame(pairs), tmp_path / "pairs.jsonl")
    replies = [
        {"id": "p0", "order": "ab", "text": f"Well {HOSTILE}\n[[A]]",
         "logprobs": {"A": -0.7, "B": -0.8}},
        {"id": "p0", "order": "ba", "text": "Hmm\n[[B]]", "logprobs": {"A": -0.8, "B": -0.7}},
        {"id": "p1", "order": "ab", "text": "Both are <i>fine</i>"},
        {"id": "p1", "order": "ba", "text": "[[A]]", "logprobs": {"A": -0.1, "B": -3}},
    ]  # fmt: skip
    source = tmp_path.parent / "replies.jsonl"
    source.write_text("\n".join(map(json.dumps, replies)))
    judged = judge_pairs(
        tmp_path / "pairs.jsonl", judge=f"replay:{source}", reason=True,
        output=tmp_path / "judgments.jsonl", store=tmp_path / "adjudge.db",
    )  # fmt: skip
    write_result(judged.summary, tmp_path / "judging.json")
    (part,) = doubtful_part(read_folder(tmp_path))
    (pair,) = (block for block in part.blocks if isinstance(block, Sides))
    assert "It wrote: order ab: 'Well <b>" in pair.note
    assert "order ba: 'Hmm" in pair.note
    (table,) = (block for block in part.blocks if isinstance(block, Table))
    assert [row[0] for row in table.rows] == ["p1", "p2"]
    assert table.rows[0][2] == "unparsed"
    assert table.rows[0][4] == "order ab: 'Both are <i>fine</i>'; order ba: '[[A]]'"
    html = render_report(tmp_path)
    assert "<i>fine</i>" not in html
    assert "\x1b" not in html
    (tmp_path / "adjudge.db").rename(tmp_path.parent / "elsewhere.db")
    assert "It wrote" not in render_report(tmp_path)
    held = read_folder(tmp_path, store=tmp_path.parent / "elsewhere.db")
    assert "It wrote" in render_report(held)
    with pytest.raises(DataError, match="check --store"):
        read_folder(tmp_path, store=tmp_path / "none.db")
    (tmp_path / "adjudge.db").write_text("not a store at all")
    assert "what the judge wrote is not shown" in render_report(tmp_path)


def test_pictures_are_counted_while_they_are_drawn(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.report.page.ANNOUNCED_EVERY_S", 0.0)
    for name in ("policy.json", "selection.json", "judging.json"):
        shutil.copy(folder / name, tmp_path / name)
    said: list[str] = []
    html = render_report(tmp_path, announce=said.append)
    pictures = html.count("<figure>")
    assert pictures > 0
    assert said == [f"{drawn} of {pictures} pictures drawn" for drawn in range(pictures)]
    assert render_report(tmp_path).count("<figure>") == pictures


def test_a_section_has_pictures_in_its_first_results_and_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.report.page.MOST_WITH_PICTURES", 2)
    made = json.loads((folder / "estimate.json").read_text(encoding="utf-8"))
    del made["digest"]
    for number in range(4):
        text = json.dumps({**made, "seed": number})
        (tmp_path / f"estimate-{number}.json").write_text(text, encoding="utf-8")
    html = render_report(tmp_path)
    assert html.count("<figure>") == 2
    (line,) = re.findall("<p[^>]*>(pictures are only[^<]*)", html)
    assert line.startswith("pictures are only in the first 2 results of a section")
    assert (
        html.index("estimate-2.json</h3>") < html.index(line) < html.index("estimate-3.json</h3>")
    )


def _talk(number: int) -> dict[str, object]:
    call = {"function": {"name": "search", "arguments": f'{{"q": "{HOSTILE}"}}'}}
    said = [
        {"role": "user", "content": f"Question {number} {HOSTILE}"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "search", "content": f"found {number}", "error": "timeout"},
        {"role": "assistant", "content": f"First **{number}**"},
        {"role": "user", "content": "And then?"},
        {"role": "assistant", "content": f"Second `{number}`"},
    ]
    return {"id": f"c{number}", "messages": said}


@pytest.mark.parametrize(
    ("unit", "rows", "first", "last"),
    [
        ("turn", "c0#3", "<p>And then?</p>", "<p>Second <code>0</code></p>"),
        ("step", "c0#3", "<p>And then?</p>", "<p>Second <code>0</code></p>"),
        ("conversation", "c0", "<p>Question 0 ", "<p>Second <code>0</code></p>"),
    ],
)
def test_turns_and_steps_are_shown_as_in_the_viewer(
    unit: str, rows: str, first: str, last: str, tmp_path: Path
) -> None:
    write = "\n".join(json.dumps(_talk(number)) for number in range(2))
    (tmp_path / "talks.jsonl").write_text(write)
    judged = judge_pairs(
        tmp_path / "talks.jsonl", judge="simulated:accuracy=0.8", protocol="grade", unit=unit,
        output=tmp_path / "grades.jsonl", store=None,
    )  # fmt: skip
    write_result(judged.summary, tmp_path / "judging.json")
    (part,) = doubtful_part(read_folder(tmp_path))
    shown = {block.id: block for block in part.blocks if isinstance(block, Sides)}
    assert len(shown) == {"turn": 6, "step": 6, "conversation": 2}[unit]
    whole = shown[rows].prompt + shown[rows].answers["Answer"]
    assert first in whole
    assert last in whole
    assert '<details class="turn tool failed"><summary>tool search: error' in whole
    assert '<details class="call"><summary>calls <b>search</b>' in whole
    html = render_report(tmp_path)
    assert whole.count("<section") > 2
    assert HOSTILE not in html
    assert ".turn.failed" in html
