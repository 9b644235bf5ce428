"""Prefix trees as rows of tokens: every beginning once, and each prompt sees itself alone."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: prefix trees untested")

from adjudge.judges.backends._causal import (
    fill_row,
    make_tree,
    mark_blocks,
    plan_rows,
)


def draw_prompts(seed: int) -> list[list[int]]:
    """Few different tokens, so that beginnings are shared and prompts begin or equal others."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, size=rng.integers(1, 12))
    return [rng.integers(0, 3, size=size).tolist() for size in sizes]


def seen_by(end: np.ndarray) -> np.ndarray:
    """The mask itself, cell by cell: which keys a query sees."""
    cells = np.arange(end.size)
    return (cells[None, :] <= cells[:, None]) & (cells[:, None] < end[None, :])


@pytest.mark.parametrize("seed", range(20))
def test_every_beginning_is_there_once_and_a_prompt_sees_its_own_tokens(seed):
    prompts = draw_prompts(seed)
    tree = make_tree(prompts)
    assert tree.tokens.size == len(
        {tuple(one[: n + 1]) for one in prompts for n in range(len(one))}
    )
    mask = seen_by(tree.end)
    for prompt, path in zip(prompts, tree.paths, strict=True):
        assert tree.tokens[path].tolist() == prompt
        assert tree.depth[path].tolist() == list(range(len(prompt)))
        for depth, cell in enumerate(path):
            assert np.flatnonzero(mask[cell]).tolist() == path[: depth + 1].tolist()


@pytest.mark.parametrize("seed", range(20))
def test_blocks_are_those_of_the_whole_mask(seed):
    _, _, end = fill_row(make_tree(draw_prompts(seed)), 64, pad=0)
    blocks = seen_by(end).reshape(8, 8, 8, 8)
    some, every = mark_blocks(end, 8)
    assert np.array_equal(some, blocks.any(axis=(1, 3)))
    assert np.array_equal(every, blocks.all(axis=(1, 3)))


def test_a_long_shared_beginning_gives_whole_blocks():
    prompts = [[1] * 16 + [token] * 8 for token in (2, 3)]
    _, _, end = fill_row(make_tree(prompts), 32, pad=0)
    some, every = mark_blocks(end, 8)
    assert every.astype(int).tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert some[3].tolist() == [True, True, False, True]


def test_padding_sees_itself_alone_and_is_seen_by_nobody():
    tokens, depth, end = fill_row(make_tree([[5, 6], [5, 7]]), 6, pad=9)
    assert (tokens.tolist(), depth.tolist()) == ([5, 6, 7, 9, 9, 9], [0, 1, 1, 0, 0, 0])
    assert np.array_equal(seen_by(end)[3:], np.eye(6, dtype=bool)[3:])


def test_all_pairs_of_answers_have_the_question_once_and_each_answer_once_as_the_first():
    question, after = list(range(100, 110)), [1, 2]
    answers = [[1000 * n + at for at in range(20)] for n in range(1, 8)]
    prompts = [question + one + two + after for one, two in permutations(answers, 2)]
    tree = make_tree(prompts)
    assert tree.tokens.size == 10 + 7 * 20 + 42 * (20 + 2)


@pytest.mark.parametrize("seed", range(20))
def test_rows_hold_every_prompt_once_within_both_limits(seed):
    prompts = draw_prompts(seed)
    kept = [len(prompt) for prompt in prompts]
    rows = plan_rows(prompts, length=12, logits=kept, most_logits=10)
    assert sorted(at for row in rows for at in row) == list(range(len(prompts)))
    for row in rows:
        assert make_tree([prompts[at] for at in row]).tokens.size <= 12
        assert len(row) == 1 or sum(kept[at] for at in row) <= 10


def test_prompts_that_begin_alike_share_a_row_and_a_large_one_has_its_own():
    prompts = [[1] * 8 + [n] for n in (3, 4, 5)] + [[2] * 30] + [[7] * 8 + [n] for n in (1, 2)]
    mixed = [prompts[at] for at in (4, 0, 3, 2, 5, 1)]
    assert plan_rows(mixed, length=11, logits=[1] * 6, most_logits=9) == [[1, 5, 3], [2], [0, 4]]
    assert plan_rows([], length=11, logits=[], most_logits=9) == []
