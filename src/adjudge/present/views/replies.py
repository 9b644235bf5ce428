"""What was asked and what the judge wrote, reply by reply."""

from __future__ import annotations

from adjudge.present.blocks import Block, Heading, Headline, Note, notes_of
from adjudge.present.text import count, percent
from adjudge.results.replies import JudgeReply, Replies


def view_replies(kept: Replies) -> list[Block]:
    """Counts by status, then each reply: its status and numbers, the question, the answer."""
    blocks: list[Block] = [_headline(kept)]
    for reply in kept.replies:
        blocks += [Heading(_place(reply)), Note(describe_reply(reply))]
        blocks += [
            Note([f"asked, {message.role}:", *message.text.splitlines()])
            for message in reply.asked or ()
        ]
        if reply.text is not None:
            blocks.append(Note(["wrote:", *(reply.text.splitlines() or ["(nothing)"])]))
        if reply.raw is not None:
            blocks.append(Note(["the server's answer:", reply.raw]))
    return blocks + notes_of(kept.notes)


def describe_reply(reply: JudgeReply) -> list[str]:
    """The status of a reply and its numbers, a line each."""
    lines = [f"{reply.status}: {reply.detail}" if reply.detail else reply.status]
    if reply.probabilities is not None:
        bounds = f" ({', '.join(reply.bounded)} at most)" if reply.bounded else ""
        shares = ", ".join(f"{name} {percent(p)}" for name, p in reply.probabilities.items())
        lines.append(f"of the letters asked for: {shares}{bounds}")
    if reply.answer_mass is not None:
        least = "" if reply.exact_mass else "at least "
        lines.append(f"the letters hold {least}{percent(reply.answer_mass)} of the probability")
    if reply.mean_logprob is not None:
        lines.append(f"mean log probability of the response {reply.mean_logprob:.4f}")
    facts = [reply.created_at, reply.server, reply.prompt and f"prompt {reply.prompt}"]
    if reply.completion_tokens is not None:
        end = ", cut off" if reply.cut_off else ""
        facts.append(
            f"{reply.prompt_tokens or 0:,} tokens read, {reply.completion_tokens:,} written{end}"
        )
    lines += [" · ".join(fact for fact in facts if fact)]
    return [line for line in lines if line]


def _place(reply: JudgeReply) -> str:
    parts = [reply.id, reply.judge, reply.protocol]
    parts += [f"order {reply.order}"] if reply.order else []
    parts += [reply.slot] if reply.slot else []
    parts += [f"repeat {reply.repeat}"] if reply.repeat else []
    return ", ".join(part for part in parts if part)


def _headline(kept: Replies) -> Headline:
    if not kept.matching:
        action = "Check --store and the other options."
        return Headline(f"{kept.store}: no matching reply", action, tone="bad")
    by_status = ", ".join(f"{n:,} {name}" for name, n in kept.statuses.items())
    text = f"{kept.store}: {count(kept.matching, 'reply', 'replies')}, {by_status}"
    more = kept.matching > kept.shown
    return Headline(
        text, f"The first {kept.shown:,} are shown; --limit N shows more." if more else ""
    )
