"""Which pair comes next, and what that makes of its label."""

from __future__ import annotations

from collections import Counter

import pytest

from adjudge.errors import ArgumentError, DataError
from adjudge.server.rounds import abstained_ids, doubt_queue, planned_queue, random_queue

IDS = [f"p{i}" for i in range(40)]


def test_a_random_queue_shows_every_pair_once_and_repeats_by_seed() -> None:
    queue = random_queue(IDS, seed=1)
    assert sorted(draw.id for draw in queue) == sorted(IDS)
    assert queue == random_queue(IDS, seed=1)
    assert queue != random_queue(IDS, seed=2)
    assert {draw.sampled_by for draw in queue} == {"random"}


def test_a_plan_is_followed_as_written() -> None:
    queue = planned_queue([("p3", "plan"), ("p1", "random")], known=IDS)
    assert [(draw.id, draw.sampled_by) for draw in queue] == [
        ("p3", "plan"),
        ("p1", "random"),
    ]
    with pytest.raises(ArgumentError, match="1 planned ids are not among the rows"):
        planned_queue([("zz", "plan")], known=IDS)


def test_doubt_comes_first_and_a_random_share_goes_on() -> None:
    doubtful = [f"p{i}" for i in range(0, 40, 2)]
    queue = doubt_queue(IDS, doubtful, seed=3, random_share=0.3)
    kinds = Counter(draw.sampled_by for draw in queue)
    assert kinds == {"doubt": 20, "random": 40}
    doubt_order = [draw.id for draw in queue if draw.sampled_by == "doubt"]
    assert doubt_order == doubtful


def test_the_random_stream_does_not_look_at_doubt() -> None:
    """Over seeds, the first random draw is uniform over all pairs, doubtful or not."""
    doubtful = IDS[:20]
    first = Counter()
    for seed in range(2000):
        queue = doubt_queue(IDS, doubtful, seed=seed)
        first[next(draw.id for draw in queue if draw.sampled_by == "random")] += 1
    share = sum(first[name] for name in doubtful) / 2000
    assert abs(share - 0.5) < 4 * (0.25 / 2000) ** 0.5


@pytest.mark.parametrize("share", [0, 1, -0.5])
def test_the_random_share_is_neither_nothing_nor_all(share: float) -> None:
    with pytest.raises(ArgumentError, match="random_share"):
        doubt_queue(IDS, IDS[:3], seed=0, random_share=share)


def test_strangers_among_the_abstentions_are_named() -> None:
    with pytest.raises(ArgumentError, match="'zz'.*not among the rows"):
        doubt_queue(IDS, ["zz"], seed=0)


def test_abstentions_are_read_as_decisions() -> None:
    said: list[str] = []
    rows = {
        "ID": ["p0", "p1", "p2", "p3", "p1"],
        "Accepted": [True, False, False, True, False],
        "uncertainty": [0.1, 0.2, 0.6, 0.1, 0.2],
        "status": ["ok", "ok", "ok", "error", "ok"],
    }
    # p3 failed, so that it was not accepted.
    assert abstained_ids(rows, said.append) == ["p3", "p2", "p1"]
    assert said == [
        "the dict of columns: left out 1 row: the same row again",
        "the dict of columns: 1 abstention without an answer of the judge: status error",
    ]
    other = {**rows, "uncertainty": [0.1, 0.2, 0.6, 0.1, 0.4]}
    with pytest.raises(DataError, match="id 'p1' is in the file twice"):
        abstained_ids(other, said.append)
    del rows["uncertainty"]
    with pytest.raises(DataError, match="column uncertainty: is missing; give the rows that"):
        abstained_ids(rows, said.append)
