"""The line that a result has in the summary of a report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shown_estimation import CLASSES
from shown_monitoring import ALARM, BY_GROUP, CALM
from shown_ranking import BOARD
from shown_selection import POLICY, SELECTION

from adjudge.estimation import estimate
from adjudge.present.blocks import Document, Headline, Part, Section
from adjudge.present.render.html import render_html
from adjudge.present.render.markdown import render_markdown
from shown import decision


def test_a_policy() -> None:
    assert decision(POLICY) == (
        "142 of 300 labelled verdicts accepted, 158 to people; of the accepted, 8.5 % wrong"
    )
    batch = replace(
        POLICY, guarantee="fdr", accepts="batch", threshold=None, indicative=True, coverage=0.5033
    )
    assert decision(batch) == "About 50.3 % of a batch accepted, the rest to people"
    nothing = replace(POLICY, accepts="none", threshold=None, feasible=False)
    assert decision(nothing) == ""


def test_a_selection() -> None:
    assert decision(SELECTION) == "804 of 1,200 verdicts accepted, 396 to people"
    moved = replace(SELECTION, drift=replace(SELECTION.drift, flagged=True, p_value=0.0004))
    assert decision(moved) == (
        "804 of 1,200 verdicts accepted, 396 to people; "
        "the new rows look different: label some first"
    )


def test_a_rate_and_rates_by_group() -> None:
    # Sensitivity 1, specificity 2/3, the judge's rate 2/3: (2/3 + 2/3 - 1) / (2/3) = 0.5.
    judge = [1, 1, 0, 1, 0, 1, 1, 0] * 40
    human = [1, 1, 0, 0, 0, None, None, None] * 40
    rate = estimate(judge=judge, human=human)
    assert decision(rate).startswith("0.500 [")
    assert decision(rate).endswith("], not 0.667")
    alone = estimate(judge=judge, human=human, method="naive")
    assert decision(alone) == ""
    rows = {"judge": judge * 2, "human": human * 2, "model": ["a"] * 320 + ["b"] * 320}
    text = decision(rate)
    assert decision(estimate(rows, by="model")) == f"a {text}; b {text}"


def test_classes() -> None:
    assert decision(CLASSES) == "A 0.451 [0.352, 0.549], tie 0.548 [0.447, 0.649]"


def test_the_markdown_report_begins_with_decisions() -> None:
    part = Part(name="rate.json", blocks=[Headline("A rate", decision="0.5 [0.4, 0.6]")])
    plain = Part(name="more.json", blocks=[Headline("Nothing follows")])
    sections = [Section(key="rate", title="The rate", parts=[plain, part])]
    page = render_markdown(Document(title="T", subtitle="s", sections=sections))
    assert page.splitlines()[:6] == [
        "# T", "", "s", "", r"- The rate: **0.5 \[0.4, 0.6\]** (rate.json)", "",
    ]  # fmt: skip
    assert page.count("Nothing follows") == 1
    html = render_html(Document(title="T", subtitle="s", sections=sections))
    assert "<b>0.5 [0.4, 0.6]</b> <i>rate.json</i>" in html
    assert "<i>more.json</i>" in html


def test_a_leaderboard() -> None:
    assert decision(BOARD) == (
        "ash has the highest Elo of 4 models by soft-elo, from the judge's scores; "
        "1 other can be first; judge errors not included"
    )
    votes = replace(BOARD, method="bt", outcome="votes", whose=None, covers_judge_error=True)
    assert decision(votes) == "ash has the highest Elo of 4 models by bt; 1 other can be first"


def test_a_monitor() -> None:
    assert decision(CALM) == "No alarm in 5 audits, 1 of them wrong (20 %)"
    assert decision(ALARM) == "Stop accepting: ALARM at audit 1,212 (1,200 counted)"
    assert decision(BY_GROUP) == "Stop accepting: ALARM in prose at audit 1,212"


@pytest.mark.parametrize("tone", ["plain", "bad"])
def test_decisions_and_bad_findings_come_first(tone: str) -> None:
    plain = Part(name="x.json", blocks=[Headline("A fact", tone=tone)])  # type: ignore[arg-type]
    decided = Part(name="y.json", blocks=[Headline("A finding", decision="Do this")])
    sections = [
        Section(key="facts", title="Facts", parts=[plain]),
        Section(key="decisions", title="Decisions", parts=[decided]),
    ]
    page = render_html(Document(title="t", subtitle="s", sections=sections))
    contents = page[page.index("<nav") : page.index("</nav>")]
    assert (contents.index("A fact") < contents.index("<b>Do this</b>")) == (tone == "bad")
    assert "A finding" not in contents
