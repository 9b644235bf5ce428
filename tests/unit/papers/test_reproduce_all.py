"""`adjudge reproduce all`: every paper it is asked for, its files, and one page of items."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from shown_estimation import PAPER

from adjudge.cli import run
from adjudge.data import read_result
from adjudge.errors import ArgumentError
from adjudge.judges.flow import Progress
from adjudge.present.render.markdown import render_markdown
from adjudge_papers.everything import (
    HOW_TO_READ,
    PAPERS,
    Inputs,
    PaperRun,
    papers_document,
    reproduce_all,
    summarize,
    write_papers,
)
from adjudge_papers.items import ItemValue, PaperItem, ReproductionItems, Status
from adjudge_papers.paper import read_measures
from adjudge_papers.printed import item_entry, read_published

PUBLISHED = {
    "title": "Small", "unchecked": ["its data"],
    "items": {"Table 1": {"about": "Rates", "values": {"rate": 0.5, "unknown": {"digits": 1}}}},
}  # fmt: skip


def test_a_paper_is_a_function_and_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All four run from the command line in tests/montecarlo: their pictures take a while."""
    asked: list[Inputs] = []

    def run_small(inputs: Inputs) -> PaperRun:
        asked.append(inputs)
        return replace(RUN, name="small", data=inputs.words("", "--data NAME=FILE"))

    monkeypatch.setitem(PAPERS, "small", run_small)
    monkeypatch.setattr("adjudge_papers.everything.read_published", lambda _: PUBLISHED)
    out = tmp_path / "all"
    rows = tmp_path / "rows.csv"
    pl.DataFrame({"judge": [1], "human": [1], "model": ["m"]}).write_csv(rows)
    files = ["--grades", str(rows), "--data", f"mine={rows}", "--judge", "simulated:seed=1"]
    sizes = ["--paper", "small", "--size", "0.5", "--seed", "3"]
    assert run(["reproduce", "all", "--out", str(out), *files, *sizes]) == 0
    shown = capsys.readouterr()
    assert re.fullmatch(
        r"small: 4 items: 2 reproduced, 1 simulated, 1 not possible, 1 picture, \d+ s",
        shown.err.splitlines()[0],
    )
    assert shown.err.splitlines()[-1] == f"wrote {out}/index.html and papers.md"
    assert "Status of each paper's items" in shown.out
    [inputs] = asked
    assert (inputs.judge, inputs.size, inputs.seed, list(inputs.data)) == (
        "simulated:seed=1", 0.5, 3, ["mine"],
    )  # fmt: skip
    assert inputs.scaled(1000, 10) == 500
    assert inputs.scaled(10, 10) == 10
    assert read_result(out / "small.json").kind == "reproduction_reporting"
    items = read_result(out / "items.json")
    assert isinstance(items, ReproductionItems)
    assert items.items == RUN.items
    assert [path.name for path in (out / "figures").rglob("*.png")] == ["figure3.png"]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "on simulated data (give --data NAME=FILE), at 0.5 of the paper" in page
    assert run(["reproduce", "all", "--out", str(out), "--paper", "small", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "reproduction_items"


def test_a_paper_that_fails_is_a_section_and_loses_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One bad file: its paper has the reason and the remedy, the other paper its page."""
    bad = tmp_path / "bad.csv"
    pl.DataFrame({"judge": ["gpt"], "p_a": [0.5]}).write_csv(bad)
    out = tmp_path / "out"
    command = ["reproduce", "all", "--out", str(out), "--size", "0.001", "--grades", str(bad)]
    papers = ["--paper", "reporting", "--paper", "diagnosis"]
    assert run([*command, *papers]) == 2
    shown = capsys.readouterr()
    first, second = shown.err.splitlines()[:2]
    assert first.startswith(f"reporting: failed: {bad}: has no columns human, model; name yours")
    assert second.startswith("diagnosis: 18 items: 16 simulated, 2 not possible, 5 pictures")
    items = read_result(out / "items.json")
    assert isinstance(items, ReproductionItems)
    assert list(items.failures) == ["reporting"]
    failed = [item for item in items.items if item.paper == "reporting"]
    assert len(failed) == 21
    # Its own simulation and formulas need no data.
    impossible = [item for item in failed if item.status == "not possible"]
    assert {item.name for item in impossible} == {"Table 2", "Figure 1", "Figure 7"}
    assert all("has no columns human, model" in item.reason for item in impossible)
    assert all(item.values for item in failed if item not in impossible)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert f"did not run: {bad}" in page
    assert not (out / "reporting.json").exists()
    summary = (out / "papers.md").read_text(encoding="utf-8").splitlines()
    # Claims of a paper that did not run, and numbers of one that did, each with its own column.
    assert "| Figure 7 | models brought closer to people, % | 100 | – | not possible |" in summary
    [line] = [line for line in summary if line.startswith("| Section 5.2, width and error | all")]
    assert line.split(" | ")[2] == "0.576"
    assert line.endswith("| simulated |")
    assert any("cannot be checked: the answers of its four judges" in line for line in summary)


def test_a_column_can_be_named_for_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "judged.csv"
    judged = {"judge": ["mine"] * 80, "p_a": [0.9, 0.2] * 40, "truth": ["A", "B"] * 40}
    pl.DataFrame(judged).with_row_index("id").write_csv(rows)
    out = tmp_path / "out"
    command = ["reproduce", "all", "--out", str(out), "--size", "0.001", "--paper", "scope"]
    files = ["--data", f"mine={rows}"]
    assert run([*command, *files, "--column", "mine:label=truth"]) == 0
    assert run([*command, *files, "--column", "scores:label=truth"]) == 1
    assert "mine" in capsys.readouterr().err
    assert run([*command, *files, "--column", "mine:label=nope"]) == 1
    assert "nope" in capsys.readouterr().err


def test_own_rows_reach_the_paper_they_are_for(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"model": ["m"] * 80, "judge": [1, 1, 0, 0] * 20, "human": [1, 0, 0, 0] * 20}
    )
    run_of = PAPERS["reporting"](Inputs(grades=rows, size=0.001))
    assert run_of.data.startswith("the paper's own simulation; section 8.2 on the DataFrame")
    states = {item.name: item.status for item in run_of.items}
    assert states["Table 2"] == states["Figure 7"] == "other judges or data"
    table = next(item for item in run_of.items if item.name == "Table 2")
    assert table.reason == "the DataFrame"


def test_a_judge_that_is_asked_is_watched() -> None:
    texts = {"prompt": "Why?", "response_a": "Since.", "response_b": "No.", "label": "A"}
    pairs = pl.DataFrame(
        [{"id": str(n), "model_a": "x", "model_b": "y", **texts} for n in range(40)]
    )
    seen: list[Progress] = []
    asked = Inputs(grades=pairs, judge="simulated:seed=1", store=":memory:", watch=seen.append)
    PAPERS["reporting"](replace(asked, size=0.001))
    assert seen[-1].done == seen[-1].total == 80


def test_what_cannot_be_asked_for_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ArgumentError, match="soft-elo"):
        reproduce_all(tmp_path, papers=["elo"])
    with pytest.raises(ArgumentError, match="size"):
        reproduce_all(tmp_path, size=0)
    assert run(["reproduce", "all", "--out", str(tmp_path), "--data", "mt-bench"]) == 1
    assert "write it as NAME=FILE" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


RUN = PaperRun(
    name="reporting",
    title="How to report",
    data="on simulated data",
    result=PAPER,
    items=(
        *PAPER.items,
        PaperItem(
            paper="reporting", name="Proposition 9", about="Again", status="reproduced",
            values=(ItemValue(name="labels", ours=3.0, digits=0),), figure="figure3",
        ),
    ),
)  # fmt: skip


def test_the_page_has_each_item_once_with_its_numbers_picture_or_reason() -> None:
    text = render_markdown(papers_document([RUN], subtitle="1 paper"))
    lines = [line for line in text.splitlines() if line]
    assert "**4 items of 1 paper: 2 reproduced, 1 simulated, 1 not possible**" in lines
    assert "| reporting | 4 | 2 | 0 | 0 | 1 | 1 |" in lines
    for sentence in HOW_TO_READ:
        assert f"- {sentence}" in lines
    at = lines.index("#### Figure 3: Labels for a length (reproduced)")
    assert lines[at + 1 : at + 4] == [
        "| value | ours | paper | difference |",
        "|---|---|---|---|",
        "| equal split | 362 | 200 | +162 |",
    ]
    assert lines[at + 4].startswith("_Figure 3: interval length")
    simulated = lines.index("#### Table 2: Coverage and length (simulated)")
    assert lines[simulated + 1] == "| value | ours | paper |"
    missing = lines.index("#### Figure 1: Two error rates (not possible)")
    assert lines[missing + 1] == "- a drawing"
    assert "- The picture is at Figure 3." in lines
    # The list of items and its pictures are on the page once.
    assert sum(line.startswith("_Figure 3:") for line in lines) == 1
    assert not any("Tables, figures and claims of the paper" in line for line in lines)


def test_the_summary_says_of_each_number_whether_it_is_the_papers() -> None:
    why = "the text's number is not what its formula gives"
    values = (
        ItemValue(name="equal", ours=0.3, published=0.301, digits=3, noise=0.002),
        ItemValue(name="other", ours=362.0, published=200.0, digits=0, noise=0.5, why=why),
        ItemValue(name="not stated", ours=3.0),
    )
    item = PaperItem(
        paper="reporting", name="Figure 3", about="x", status="with differences", values=values
    )
    text = render_markdown(summarize([replace(RUN, items=(item,))], subtitle=""))
    ends = [line.split(" | ")[-1].rstrip(" |") for line in text.splitlines() if "Figure 3" in line]
    on = "the paper's data, or its own simulation"
    assert ends == [f"{on}: -0.001, equal within noise", f"{on}: +162, differs: {why}", on]


def test_the_page_is_one_file_without_addresses(tmp_path: Path) -> None:
    hostile = PaperItem(
        paper="x", name="<script>alert(1)</script>", about="http://127.0.0.1/x",
        status="not possible", reason="<img src=x onerror=alert(1)>",
    )  # fmt: skip
    given = PaperRun(name="x", title="X", data="", items=(hostile,))
    page = write_papers([given], tmp_path / "page.html", subtitle="").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<img" not in page
    assert "src=" not in page.replace("src=x", "")
    assert json.loads(ReproductionItems(items=(hostile,)).to_json())["items"][0]["paper"] == "x"


def test_the_headline_lists_findings_that_the_simulation_does_not_show() -> None:
    def run_of(times: float, above: float, status: Status = "simulated") -> PaperRun:
        values = {
            "Abstract and section 4.2": ItemValue(name="times the coverage of naive", ours=times),
            "Figure 3": ItemValue(name="mean error shares above alpha", ours=above),
        }
        items = tuple(
            PaperItem(paper="scope", name=name, about="", status=status, values=(value,))
            for name, value in values.items()
        )
        return PaperRun(name="scope", title="SCOPE", data="on simulated data", items=items)

    assert run_of(2.4, 0.0).about == "on simulated data"
    assert run_of(1.4, 0.0).about == (
        "on simulated data; the simulated study does not show 1 of the paper's 2 findings: "
        "scope accepts at least twice as many as naive"
    )
    page = render_markdown(papers_document([run_of(1.4, 1.0)], subtitle=""))
    assert page.count("does not show 2 of the paper's 2 findings") == 2
    # Numbers of real judges are not a simulated study.
    assert run_of(1.4, 0.0, "other judges or data").about == "on simulated data"


@pytest.mark.parametrize("paper", ["scope", "diagnosis", "soft-elo"])
def test_every_finding_is_about_values_of_its_item(paper: str) -> None:
    """A misspelled value would leave its finding out in silence."""
    lines = read_published(paper)["findings"].strip().splitlines()
    assert len(lines) >= 3
    for line in lines:
        _, item, condition = (word.strip() for word in line.split(";"))
        values = {measure.name for measure in read_measures(item_entry(paper, item), None)}
        assert {*pl.sql_expr(condition).meta.root_names()} <= values, line
