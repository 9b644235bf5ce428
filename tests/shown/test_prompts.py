"""What two prompts of one judge show."""

from __future__ import annotations

from dataclasses import replace

from adjudge.diagnosis.prompts import PromptChange, PromptSensitivity
from shown import assert_shown, decision, drawn, ends, html_lines, legend

SCORED = PromptChange(
    judge="gpt-x", criterion="fluency", n=240, clusters=30, changed=0.3125,
    interval=ends(0.251, 0.379),
    repeated=240, again=0.1042, excess=0.2083, excess_interval=ends(0.131, 0.286),
    shift=-0.23, shift_interval=ends(-0.34, -0.12), more_than_again=True, shifted=True,
)  # fmt: skip
STEADY = replace(
    SCORED, criterion="relevance", changed=0.1208, interval=ends(0.082, 0.17), excess=0.0166,
    excess_interval=ends(-0.02, 0.053), shift=0.02,
    shift_interval=ends(-0.05, 0.09), more_than_again=False, shifted=False,
)  # fmt: skip
PROMPTS = PromptSensitivity(
    first="plain.jsonl", second="paper.jsonl", answers="scores", groups=(SCORED, STEADY),
    clustered_by="doc_id", floor=0.03, confidence_level=0.9,
    dropped={"row only in the first file": 3}, assumptions=("intervals are clustered",),
)  # fmt: skip
VERDICTS = replace(
    PROMPTS, answers="verdicts", dropped={}, assumptions=(),
    groups=(
        replace(
            STEADY, judge=None, criterion=None, repeated=0, again=None, excess=None,
            excess_interval=None, shift=None, shift_interval=None,
        ),
    ),
)  # fmt: skip


def test_scores_with_two_prompts() -> None:
    assert_shown(
        PROMPTS,
        [
            "bad: 12.1 to 31.2 % of scores change with the prompt: it is shown to matter for 1 "
            "of 2 judges and criteria",
            "gpt-x, fluency | 31.2 % [25.1, 37.9] | +20.8 points over asking again, mean score "
            "-0.23",
            "gpt-x, relevance | 12.1 % [8.2, 17.0] | +1.7 points over asking again (can be "
            "chance), mean score +0.02 (can be chance)",
            "first: plain.jsonl; second: paper.jsonl",
            "left out 3 rows: row only in the first file",
            "detail: Scores that differ between the two prompts",
            "detail: judge, criterion | rows | doc_id | changed | 90 % interval",
            "detail: gpt-x, fluency | 240 | 30 | 31.2 % | [25.1, 37.9]",
            "detail: gpt-x, relevance | 240 | 30 | 12.1 % | [8.2, 17.0]",
            "detail: What asking again with the same prompt changes, and what the new prompt adds",
            "detail: judge, criterion | asked twice | same prompt, asked again | prompt adds | 90 "
            "% interval",
            "detail: gpt-x, fluency | 240 | 10.4 % | 20.8 % | [13.1, 28.6]",
            "detail: gpt-x, relevance | 240 | 10.4 % | 1.7 % | [-2.0, 5.3]",
            "detail: Mean score",
            "detail: judge, criterion | second minus first | 90 % interval",
            "detail: gpt-x, fluency | -0.23 | [-0.34, -0.12]",
            "detail: gpt-x, relevance | +0.02 | [-0.05, 0.09]",
            "detail: Details",
            "detail: intervals are clustered",
            "figure: Answers that change with the prompt, and (rings) when the same prompt is "
            "asked again.",
        ],
    )
    assert PROMPTS.to_frame()["criterion"].to_list() == ["fluency", "relevance"]


def test_verdicts_asked_once() -> None:
    assert_shown(
        VERDICTS,
        [
            "12.1 % of verdicts change with the prompt; asked once, so part of it can be the "
            "judge's randomness",
            "all rows | 12.1 % [8.2, 17.0]",
            "first: plain.jsonl; second: paper.jsonl",
            "asked once each: a part can be chance, which judge --repeats 3 measures",
            "detail: Verdicts that differ between the two prompts",
            "detail: judge, criterion | rows | doc_id | changed | 90 % interval",
            "detail: all rows | 240 | 30 | 12.1 % | [8.2, 17.0]",
            "figure: Answers that change with the prompt.",
        ],
    )


def test_the_headline_of_one_group_follows_its_test() -> None:
    numbers = "31.2 % of scores change with the prompt: "
    assert html_lines(replace(PROMPTS, groups=(SCORED,)))[0] == f"bad: {numbers}the prompt matters"
    still = replace(SCORED, more_than_again=False, shifted=False)
    assert html_lines(replace(PROMPTS, groups=(still,)))[0] == (
        f"{numbers}the prompt is not shown to matter"
    )


def test_the_picture_of_two_prompts() -> None:
    figure = PROMPTS.plot()
    [axes] = figure.axes
    panel = drawn(axes)
    assert panel["title"] == "12.1 to 31.2 % of scores change with the prompt"
    assert panel["x"] == "scores that change, %, with 90 % interval"
    assert panel["y ticks"] == ["gpt-x\nfluency", "gpt-x\nrelevance"]
    assert panel["lines"] == [[(25.1, 0), (37.9, 0)], [(8.2, 1), (17, 1)]]
    assert panel["dots"] == [(31.25, 0), (10.42, 0), (12.08, 1), (10.42, 1)]
    assert legend(figure) == ["other prompt", "same prompt, asked again"]
    assert legend(VERDICTS.plot()) == []


def test_what_follows_from_prompts() -> None:
    assert decision(PROMPTS) == (
        "12.1 to 31.2 % of scores change with the prompt: it is shown to matter for 1 of 2 judges "
        "and criteria"
    )
