"""Blocks in every format: the same words, foreign text kept harmless, details folded away."""

from __future__ import annotations

import io

import pytest
from matplotlib.figure import Figure as Drawing
from rich.console import Console

from adjudge.errors import ArgumentError
from adjudge.present.blocks import (
    Block,
    Document,
    Fact,
    Facts,
    Figure,
    Heading,
    Headline,
    Html,
    Note,
    Part,
    Section,
    Sides,
    Table,
)
from adjudge.present.figure import new_figure
from adjudge.present.render.html import render_fragment, render_html
from adjudge.present.render.markdown import render_blocks, render_markdown
from adjudge.present.render.terminal import render_terminal, render_text
from adjudge.present.text import count, interval, left_out, number, percent

HOSTILE = "<b>|*x*|</b> [bold]y[/bold] \x1b[31m\u202e"


def _nothing() -> Drawing:
    raise ArgumentError("plot", "x", "nothing to draw")


def _line() -> Drawing:
    figure = new_figure()
    figure.subplots().plot([0, 1], [0, 1])
    return figure


BLOCKS: list[Block] = [
    Headline("It holds", "Do this.", tone="good"),
    Heading("a part"),
    Facts([Fact("rate", "0.5", "[0.4, 0.6]", tone="bad")]),
    Table(("name", "n"), [("x", "1"), ("y", "22")], caption="counts"),
    Table(("hidden", "n"), [("z", "3")], caption="more counts", detail=True),
    Note(["one line"]),
    Note(["first", "second"], tone="bad"),
    Note(["small print"], detail=True),
    Note(["a condition"], detail=True, title="What this assumes"),
    Figure("line", _line, "what to read off it"),
    Figure("none", _nothing, "never shown"),
    Sides("p1", Html("Q?"), {"Answer A": Html("left"), "Answer B": Html("right")}, "p(A) = 0.5"),
]


def test_terminal_text() -> None:
    assert [line for line in render_text(BLOCKS).splitlines() if line] == [
        "It holds",
        "Do this.",
        "a part",
        "rate  0.5  [0.4, 0.6]",
        "counts",
        " name    n",
        " ─────────",
        " x       1",
        " y      22",
        "one line",
        "first",
        "second",
    ]
    assert "small print" in render_text(BLOCKS, explain=True)
    assert "hidden" in render_text(BLOCKS, explain=True)
    assert "hidden" not in render_text(BLOCKS)


def test_a_long_folded_table_is_printed_to_its_limit() -> None:
    table = Table(["n"], [[str(n)] for n in range(500)], "many", detail=True)
    text = render_text([table], explain=True)
    assert " 199" in text
    assert " 200" not in text
    assert "and 300 more rows (see --json or the report)" in text


def test_only_the_notes_of_facts_wrap_if_there_is_room() -> None:
    facts = Facts([Fact("a label of some words", "1,234 of 5,678", "a note " * 8), Fact("b", "2")])
    lines = {}
    for width in (60, 40):
        page = io.StringIO()
        Console(file=page, width=width).print(*render_terminal([facts]))
        lines[width] = page.getvalue().splitlines()
    assert lines[60][0].startswith("a label of some words  1,234 of 5,678  a note")
    assert lines[60][-1].split() == ["b", "2"]
    assert max(map(len, lines[40])) <= 40
    assert "5,678" in "".join(lines[40])


def test_markdown_text() -> None:
    def folded(title: str, *lines: str) -> list[str]:
        return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]

    assert render_blocks(BLOCKS).splitlines() == [
        "**It holds**", "", "Do this.", "",
        "#### a part", "",
        "|  | value |  |", "|---|---|---|", "| rate | 0.5 | \\[0.4, 0.6\\] |", "",
        "counts", "", "| name | n |", "|---|---|", "| x | 1 |", "| y | 22 |", "",
        *folded("more counts", "| hidden | n |", "|---|---|", "| z | 3 |"),
        "- one line", "",
        "- first", "- second", "",
        *folded("Details", "- small print"),
        *folded("What this assumes", "- a condition"),
        "_what to read off it_", "",
        "_never shown_",
    ]  # fmt: skip


def test_html_text() -> None:
    html = render_fragment(BLOCKS)
    for part in (
        '<p class="finding good">It holds</p><p class="action">Do this.</p>',
        "<h4>a part</h4>",
        '<div class="number bad"><dt>rate</dt><dd>0.5</dd><small>[0.4, 0.6]</small></div>',
        '<p class="caption">counts</p>',
        "<tr><td>y</td><td class=num>22</td></tr>",
        "<details><summary>more counts</summary>",
        '<p class="plain">one line</p>',
        '<ul class="bad"><li>first</li><li>second</li></ul>',
        '<details><summary>Details</summary><ul class="plain"><li>small print</li></ul></details>',
        "<details><summary>What this assumes</summary>",
        "<figcaption>what to read off it</figcaption>",
        "<p>No picture: plot = &#x27;x&#x27;: nothing to draw</p>",
        "<b><bdi>p1</bdi></b> p(A) = 0.5",
    ):
        assert part in html
    assert html.count("<svg") == 1


@pytest.mark.parametrize("at", range(5))
def test_foreign_text_has_no_effect_anywhere(at: int) -> None:
    block: Block = [
        Headline(HOSTILE, HOSTILE),
        Heading(HOSTILE),
        Facts([Fact(HOSTILE, HOSTILE, HOSTILE)]),
        Table((HOSTILE,), [(HOSTILE,)], caption=HOSTILE),
        Note([HOSTILE, HOSTILE]),
    ][at]
    text = render_text([block])
    assert "[bold]y[/bold]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    html = render_fragment([block])
    assert "<b>|" not in html
    assert "&lt;b&gt;|*x*|&lt;/b&gt;" in html
    markdown = render_blocks([block])
    assert "<b>" not in markdown
    assert "\\<b\\>\\|\\*x\\*\\|" in markdown


def test_a_document_names_its_parts_and_its_contents_are_the_headlines() -> None:
    parts = [Part(name=f"{n}.json", blocks=[Headline(f"answer {n}")]) for n in range(6)]
    document = Document(
        title="Title",
        subtitle="sub",
        sections=[
            Section(key="many", title="Many", parts=parts),
            Section(key="one", title="One", parts=[Part(name="only.json", blocks=BLOCKS)]),
        ],
    )
    html = render_html(document)
    contents = html[html.index("<nav") : html.index("</nav>")]
    assert [f"answer {n}" in contents for n in range(6)] == [True] * 4 + [False] * 2
    assert "and 2 more" in contents
    assert "It holds" in contents
    assert "<h3>5.json</h3>" in html
    assert "<h3>only.json</h3>" not in html
    markdown = render_markdown(document)
    assert "## Many\n\n### 0.json\n\n**answer 0**" in markdown
    assert "### only.json" not in markdown


def test_numbers_in_words() -> None:
    assert number(None) == "–"
    assert percent(0.123456) == "12.3 %"
    assert percent(1.0) == "100 %"
    assert percent(0.2, 0) == "20 %"
    assert interval(None, 1.0) == "–"
    assert count(1, "row") == "1 row"
    assert left_out({"why": 0}) == []
