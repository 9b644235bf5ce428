"""The demo: a judge against known answers, and what each chapter showed."""

from __future__ import annotations

from adjudge.present.blocks import Block, Heading, Headline, notes_of, table_of
from adjudge.present.text import count, level, percent
from adjudge.results.demo import Demo, JudgeCheck, Share


def describe_share(share: Share) -> str:
    """A share as text.

    >>> describe_share(Share(name="", right=3, pairs=4, share=0.75, low=0.194, high=0.994))
    '3 of 4, 75 % [19, 99]'
    """
    if share.share is None:
        return "none scored"
    return (
        f"{share.right} of {share.pairs}, {100 * share.share:.0f} % "
        f"[{100 * share.low:.0f}, {100 * share.high:.0f}]"
    )


def view_check(check: JudgeCheck) -> list[Block]:
    """A row for each way of asking."""
    most = max(check.ways, key=lambda way: way.right.pairs)
    return [
        Headline(
            f"{check.judge} asked by {most.protocol} is right on {describe_share(most.right)}"
        ),
        table_of(
            check.ways,
            {
                "asked by": lambda way: way.protocol,
                "pairs": lambda way: str(way.right.pairs),
                "right": lambda way: percent(way.right.share, 0),
                f"{level(check.confidence_level)} interval": lambda way: (
                    f"{100 * way.right.low:.0f} to {100 * way.right.high:.0f} %"
                ),
                "first answer won": lambda way: (
                    "no order" if way.first_won is None else f"{way.first_won} of {way.orders}"
                ),
            },
        ),
    ]


def view_demo(demo: Demo) -> list[Block]:
    """Every chapter's findings."""
    blocks: list[Block] = [
        Headline(
            f"{demo.judge} on {count(demo.pairs, 'pair')}, {count(len(demo.chapters), 'chapter')}"
        )
    ]
    for number, chapter in enumerate(demo.chapters, 1):
        blocks += [Heading(f"{number}. {chapter.title}"), *notes_of(chapter.findings)]
    return blocks
