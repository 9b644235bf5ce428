"""What people see of rates, differences and plans: fixed results in, exact text out.

The whole text of every result is in the files of the folder `estimation`; what must never be
confused is asserted here in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from shown_estimation import (
    CLASS_GROUPS,
    CLASSES,
    ESTIMATE,
    GROUPED,
    LARGE,
    NO_PLAN,
    OVERLAPPING,
    PAPER,
    PLAN,
    PROTOCOL,
    RESULTS,
    SMALL,
)

from adjudge.cli.output import _with_hint
from adjudge.data import write_result
from adjudge.estimation import estimate, plan_rate
from adjudge.present.blocks import Block, Figure
from adjudge.present.figure import new_figure
from adjudge.present.render.html import render_fragment
from adjudge.present.render.markdown import render_blocks
from adjudge.present.render.terminal import render_terminal
from adjudge.present.result import Result
from adjudge.records import Interval
from adjudge.report import render_report
from shown import html_lines, markdown_lines, terminal_lines
from simulators import panel_rows


def undrawn(blocks: list[Block]) -> list[Block]:
    """The blocks with an empty drawing for every figure: what is drawn is held below."""
    return [
        replace(block, draw=new_figure) if isinstance(block, Figure) else block for block in blocks
    ]


def text_of(result: Result, format: str) -> str:
    if format == "txt":
        return str(result) + "\n"
    if format == "md":
        return render_blocks(result.view())
    html = render_fragment(undrawn(result.view()))
    return re.sub(r"<svg.*?</svg>", "<svg/>", html, flags=re.DOTALL) + "\n"


@pytest.mark.parametrize("format", ["txt", "md", "html"])
@pytest.mark.parametrize("name", RESULTS)
def test_the_whole_text(name: str, format: str) -> None:
    expected = Path(__file__).parent / "estimation" / f"{name}.{format}"
    assert text_of(RESULTS[name], format) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("format", ["txt", "md", "html"])
def test_the_naive_interval_is_never_shown_as_the_corrected_one(format: str) -> None:
    text = text_of(ESTIMATE, format).replace("\\", "")
    assert "Corrected rate 0.412, 95 % interval [0.311, 0.523] (misclassification, wald)" in text
    text += ESTIMATE.explain()
    before = [text[: at.start()] for at in re.finditer(re.escape("[0.487, 0.566]"), text)]
    assert before
    assert all(part.endswith("naive 95 % interval ") for part in before)


@pytest.mark.parametrize("read", [terminal_lines, markdown_lines, html_lines])
def test_every_group_has_its_own_interval_in_the_column_of_that_name(
    read: Callable[[Result], list[str]],
) -> None:
    rows = cells_of(read(GROUPED))
    assert rows["small"]["rate"] == "0.412"
    assert rows["small"]["95 % interval"] == "[0.311, 0.523]"
    assert rows["small"]["naive rate"] == "0.528"
    assert rows["large"]["95 % interval"] == "[0.519, 0.742] !"
    assert rows["large"]["labels +/-"] == "91/64"


def test_the_folded_table_of_groups_is_complete() -> None:
    lines = [re.sub(r"\s{2,}", " | ", line.strip()) for line in GROUPED.explain().splitlines()]
    rows = cells_of(lines)
    assert rows["small"]["95 % interval"] == "[0.311, 0.523]"
    assert rows["small"]["naive 95 % interval"] == "[0.487, 0.566]"
    assert rows["large"]["sensitivity"] == "0.911"
    assert rows["large"]["specificity"] == "0.657"


def cells_of(lines: Sequence[str]) -> dict[str, dict[str, str]]:
    """The first table by row and column, read back from what is shown."""
    shown = (line for line in lines if not line.startswith("detail: "))
    head, *rows = [line.split(" | ") for line in shown if " | " in line]
    return {row[0]: dict(zip(head, row, strict=False)) for row in rows}


def test_a_folder_shows_the_same_blocks(tmp_path: Path) -> None:
    write_result(ESTIMATE, tmp_path / "estimate.json")
    write_result(GROUPED, tmp_path / "groups.json")
    page = render_report(tmp_path, format="md")
    assert "## The rate to report" in page
    for name in ("estimate", "grouped_estimate"):
        assert text_of(RESULTS[name], "md") in page
    html = render_report(tmp_path)
    assert "95 % interval [0.311, 0.523]" in html
    assert "naive 95 % interval [0.487, 0.566]" in html


def test_no_sentence_about_differences_inside_intervals() -> None:
    for result in RESULTS.values():
        assert "inside" not in str(result)
    apart = replace(
        OVERLAPPING, groups=(SMALL, replace(LARGE, interval=Interval(0.524, 0.742, level=0.95)))
    )
    assert "do not show whether two groups differ" in str(OVERLAPPING)
    assert "do not show whether two groups differ" not in str(apart)


def test_many_groups_are_counted_in_the_headline() -> None:
    many = replace(GROUPED, groups=tuple(replace(SMALL, group=f"m{i}") for i in range(5)))
    assert str(many).startswith("Corrected rates for 5 of 5 values of model\n")
    people = replace(OVERLAPPING, method="human-only")
    assert str(people).startswith("Human rates by model, 95 % intervals: small 0.412 ")
    alone = replace(OVERLAPPING, method="naive")
    assert str(alone).startswith("Naive judge rates by model, naive 95 % intervals: small 0.412 ")


def test_a_result_as_a_table() -> None:
    assert ESTIMATE.to_frame().select("estimate", "low", "high", "naive_low").rows() == [
        (0.412, 0.311, 0.523, 0.487)
    ]
    assert GROUPED.to_frame().select("group", "low", "naive_low").rows() == [
        ("small", 0.311, 0.487),
        ("large", 0.519, 0.549),
        ("<bare>", None, 0.459),
    ]
    assert CLASS_GROUPS.to_frame().select("group", "label", "low", "high").rows() == [
        ("x", "A", 0.352, 0.549),
        ("x", "tie", 0.447, 0.649),
        ("y", "A", None, None),
        ("y", "tie", None, None),
    ]
    assert CLASSES.to_frame().columns[:5] == ["group", "label", "estimate", "low", "high"]
    assert PLAN.to_frame().select("extra", "expected_width").rows() == [(0, 0.287), (50, 0.246)]
    assert NO_PLAN.to_frame()["labels"].to_list() == [104]
    assert PROTOCOL.to_frame()["model"].to_list() == ["gpt-4", "other", "coin"]
    assert PAPER.to_frame().select("figure", "coverage_low").rows() == [("10", 0.941)]


RATES = {"small": 0.45, "large": 0.55, "huge": 0.6}
ROWS = panel_rows(RATES, {"judge": 1.2, "second": 1.0}, questions=300, labels=120, seed=1)


@pytest.mark.parametrize("labels_are_random", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"by": "model"},
        {"method": "human-only"},
        {"interval": "profile", "cluster": "none"},
        {"judges": ["judge", "second"]},
        {"judges": ["judge", "second"], "by": "model"},
        {"model": "small"},
        {"model": "small", "by": "opponent"},
        {"classes": True},
    ],
)
def test_the_default_output_is_short(options: dict[str, object], labels_are_random: bool) -> None:
    """At most seven lines at 80 columns, and the rows of a table; blank lines are not counted."""
    table = ROWS
    if (options.get("interval") and labels_are_random) or (
        options.get("judges") and not labels_are_random
    ):
        return
    if "model" in options:
        table = pl.DataFrame(
            {
                "id": [str(i) for i in range(600)],
                "model_a": ["small", "small", "other"] * 200,
                "model_b": ["large", "huge", "small"] * 200,
                "p_a": np.random.default_rng(0).random(600),
                "label": np.random.default_rng(1).random(600),
            }
        ).with_columns(
            label=pl.when(pl.int_range(pl.len()) < 300).then(
                pl.when(pl.col("label") < pl.col("p_a")).then(pl.lit("A")).otherwise(pl.lit("B"))
            )
        )
    if options == {"classes": True}:
        options, words = {}, {0: "bad", 1: "fair", 2: "good"}
        table = ROWS.with_columns(judge=pl.col("judge") + pl.col("second"))
        human = pl.when(pl.col("human").is_not_null()).then(pl.col("truth") + pl.col("second"))
        table = table.with_columns(human=human).with_columns(
            pl.col(c).cast(pl.Int64).replace_strict(words) for c in ("judge", "human")
        )
    result = estimate(table, labels_are_random=labels_are_random, **options)
    lines = lines_at_80(result)
    rows = len(result.groups) if hasattr(result, "groups") else 0
    assert len(lines) <= 7 + rows, "\n".join(lines)


@pytest.mark.parametrize("options", [{"width": 0.1}, {"width": 0.02}, {"budget": 300}])
def test_the_default_output_of_a_plan_is_short(options: dict[str, float]) -> None:
    lines = lines_at_80(plan_rate(ROWS, **options))
    assert len(lines) <= 5, "\n".join(lines)


def lines_at_80(result: Result) -> list[str]:
    console = Console(file=StringIO(), width=80)
    for part in render_terminal(_with_hint(result.view())):
        console.print(part)
    return [line for line in console.file.getvalue().splitlines() if line.strip("─ ")]


def test_a_narrow_terminal_names_only_columns_that_there_are() -> None:
    people = [replace(one, sensitivity=None, specificity=None) for one in (SMALL, LARGE)]
    console = Console(file=StringIO(), width=40)
    for part in render_terminal(replace(OVERLAPPING, groups=tuple(people)).view()):
        console.print(part)
    _, line = console.file.getvalue().split("left out at this width: ")
    assert " ".join(line.split(" (see")[0].split()) == "labels +/-; naive rate"
    console = Console(file=StringIO(), width=40)
    for part in render_terminal(replace(OVERLAPPING, groups=tuple(people)).view(), explain=True):
        console.print(part)
    line = console.file.getvalue().split("left out at this width: ")[2]
    assert " ".join(line.split(" (see")[0].split()) == (
        "naive 95 % interval; test rows; people alone, 95 %; labels +/-; naive rate"
    )


def test_a_grouping_column_may_have_the_name_of_another_column() -> None:
    rows = cells_of(markdown_lines(replace(OVERLAPPING, by="rate")))
    assert list(rows) == ["small", "large"]
