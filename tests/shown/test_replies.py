"""What replies out of a store show: what was asked, what came back, what it is worth."""

from __future__ import annotations

from dataclasses import replace

from adjudge.judges.transcript import AskedMessage, JudgeReply, Replies
from shown import assert_shown, terminal_lines

REPLIES = Replies(
    store="adjudge.db",
    matching=12,
    shown=2,
    statuses={"ok": 11, "off_answer": 1},
    replies=(
        JudgeReply(
            id="pair-7",
            judge="openai:gpt-x",
            protocol="preference",
            order="ba",
            repeat=0,
            slot="",
            status="off_answer",
            detail="A and B hold at least 3 % of the probability, below 10 %",
            text="<think>",
            probabilities={"A": 0.6, "B": 0.4},
            bounded=("B",),
            answer_mass=0.03,
            prompt_tokens=1200,
            completion_tokens=1,
            server="vllm 0.11",
            created_at="2026-01-02T03:04:05+00:00",
            prompt="preference.txt",
            asked=(
                AskedMessage(role="system", text="You are a judge."),
                AskedMessage(role="user", text="Which?\nA: x\nB: y"),
            ),
            raw='{"choices": []}',
        ),
        JudgeReply(
            id="pair-8",
            judge="openai:gpt-x",
            protocol="criterion",
            order="ab",
            repeat=2,
            slot="clarity",
            status="ok",
            text="Because.\n[[A]]",
            completion_tokens=9,
            prompt_tokens=80,
            cut_off=True,
            answer_mass=0.9,
            exact_mass=True,
            mean_logprob=-1.25,
        ),
    ),
    notes=("the store does not keep the judged texts: add --pairs FILE to see the questions",),
)


def test_replies() -> None:
    assert_shown(
        REPLIES,
        [
            "adjudge.db: 12 replies, 11 ok, 1 off_answer",
            "The first 2 are shown; --limit N shows more.",
            "pair-7, openai:gpt-x, preference, order ba",
            "off_answer: A and B hold at least 3 % of the probability, below 10 %",
            "of the letters asked for: A 60 %, B 40 % (B at most)",
            "the letters hold at least 3 % of the probability",
            "2026-01-02T03:04:05+00:00 · vllm 0.11 · prompt preference.txt · 1,200 tokens read, "
            "1 written",
            "asked, system:",
            "You are a judge.",
            "asked, user:",
            "Which?",
            "A: x",
            "B: y",
            "wrote:",
            "<think>",
            "the server's answer:",
            '{"choices": []}',
            "pair-8, openai:gpt-x, criterion, order ab, clarity, repeat 2",
            "ok",
            "the letters hold 90 % of the probability",
            "mean log probability of the response -1.2500",
            "80 tokens read, 9 written, cut off",
            "wrote:",
            "Because.",
            "[[A]]",
            "the store does not keep the judged texts: add --pairs FILE to see the questions",
        ],
    )
    assert REPLIES.to_frame()["status"].to_list() == ["off_answer", "ok"]


def test_none_and_hostile_ones() -> None:
    none = replace(REPLIES, matching=0, shown=0, statuses={}, replies=(), notes=())
    assert_shown(
        none, ["bad: adjudge.db: no matching reply", "Check --store and the other options."]
    )
    hostile = replace(REPLIES.replies[1], text="\x1b[31mred\u202e [bold]x[/bold]", id="\x07id")
    lines = terminal_lines(replace(REPLIES, replies=(hostile,)))
    assert r"\x1b[31mred\u202e [bold]x[/bold]" in lines
    assert any(line.startswith(r"\x07id, ") for line in lines)
