"""What the demo's own results show."""

from __future__ import annotations

from adjudge.demo.check import JudgeCheck, Share, Way
from adjudge.demo.run import Demo, DemoChapter
from adjudge.records import Interval
from shown import assert_shown


def way(protocol: str, right: int, pairs: int, low: float, high: float, **orders: int) -> Way:
    return Way(
        protocol=protocol,
        right=Share(
            name=protocol,
            right=right,
            pairs=pairs,
            share=right / pairs,
            interval=Interval(low, high, level=0.95),
        ),
        unmeasured=0,
        first_won=orders.get("first_won"),
        orders=orders.get("orders"),
        bands=(),
        groups=(),
    )


CHECK = JudgeCheck(
    judge="llamacpp:small",
    confidence_level=0.95,
    ways=(
        way("preference", 12, 24, 0.291, 0.709, first_won=47, orders=48),
        way("likelihood", 138, 163, 0.782, 0.898),
    ),
)


def test_a_judge_against_known_answers() -> None:
    assert_shown(
        CHECK,
        [
            "llamacpp:small asked by likelihood is right on 138 of 163, 85 % [78, 90]",
            "asked by | pairs | right | 95 % interval | first answer won",
            "preference | 24 | 50 % | 29 to 71 % | 47 of 48",
            "likelihood | 163 | 85 % | 78 to 90 % | no order",
        ],
    )
    assert CHECK.to_frame()["right"].to_list() == [12, 138]


CHAPTERS = (
    DemoChapter(name="one", title="First?", findings=("It is so.",), files=("a.json",)),
    DemoChapter(name="two", title="Second?", findings=("This.", "That."), files=()),
)
DEMO = Demo(judge="simulated:", pairs=163, seed=4, folder="out", elapsed_s=1.5, chapters=CHAPTERS)


def test_the_whole_demo() -> None:
    assert_shown(
        DEMO,
        [
            "simulated: on 163 pairs, 2 chapters",
            "1. First?",
            "It is so.",
            "2. Second?",
            "This.",
            "That.",
        ],
    )
