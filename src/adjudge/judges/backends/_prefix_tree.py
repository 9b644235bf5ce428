"""The layout of prompts as a prefix tree, so that a shared beginning is computed once.

Prompts in lexicographic order are the leaves of their prefix tree from left to right. If they are
written one after the other, each without the part it shares with the one before, this is the tree
in preorder: every token once, and all descendants of a token in one run after it. So the ancestor
mask needs one number per token, the end of that run:

    query q sees key k   if and only if   k <= q < end[k]

Token ids in, numpy arrays out; no model is used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Tokens = Sequence[int]


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """Prompts as one row of tokens, with each shared beginning once.

    `depth` is a token's position in its prompt. `end` is where the run of its descendants ends.
    `paths[i]` has the positions of the tokens of prompt i, from first to last.
    """

    tokens: Integers
    depth: Integers
    end: Integers
    paths: tuple[Integers, ...]


def plan_rows(
    prompts: Sequence[Tokens], *, length: int, kept: Sequence[int], most_kept: int
) -> list[list[int]]:
    """Positions of `prompts` in rows of at most `length` tokens as a tree.

    `kept[i]` is the number of tokens of prompt i whose logits are needed; a row has at most
    `most_kept` of them. A larger prompt makes a row alone.

    >>> plan_rows([[1, 2, 3], [7, 8], [1, 2, 4]], length=4, kept=[1, 1, 1], most_kept=9)
    [[0, 2], [1]]
    """
    arrays = _arrays(prompts)
    rows: list[list[int]] = []
    tokens = logits = 0
    for at in _in_order(arrays):
        last = rows[-1][-1] if rows else None
        new = arrays[at].size
        if last is not None:
            more = new - _shared(arrays[last], arrays[at])
            if tokens + more <= length and logits + kept[at] <= most_kept:
                rows[-1].append(at)
                tokens += more
                logits += kept[at]
                continue
        rows.append([at])
        tokens, logits = new, kept[at]
    return rows


def make_tree(prompts: Sequence[Tokens]) -> PrefixTree:
    """The prefix tree of prompts in preorder.

    >>> tree = make_tree([[5, 6, 7], [5, 6, 8], [9]])
    >>> tree.tokens.tolist(), tree.depth.tolist(), tree.end.tolist()
    ([5, 6, 7, 8, 9], [0, 1, 2, 2, 0], [4, 4, 3, 4, 5])
    >>> [path.tolist() for path in tree.paths]
    [[0, 1, 2], [0, 1, 3], [4]]
    """
    arrays = _arrays(prompts)
    paths: list[Integers] = [np.empty(0, np.int64)] * len(arrays)
    pieces: list[Integers] = []
    depths: list[Integers] = []
    ends = np.empty(sum(one.size for one in arrays), np.int64)
    before, path, size = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for at in _in_order(arrays):
        prompt = arrays[at]
        same = _shared(before, prompt)
        ends[path[same:]] = size  # tokens that are not shared have no more descendants
        fresh = np.arange(size, size + prompt.size - same)
        pieces.append(prompt[same:])
        depths.append(np.arange(same, prompt.size))
        path = np.concatenate([path[:same], fresh])
        paths[at], before, size = path, prompt, size + fresh.size
    ends[path] = size
    return PrefixTree(
        np.concatenate(pieces), np.concatenate(depths), ends[:size].copy(), tuple(paths)
    )


def fill_row(tree: PrefixTree, length: int, *, pad: int) -> tuple[Integers, Integers, Integers]:
    """Tokens, depth and end of a row of `length`; a padding cell sees only itself."""
    size = tree.tokens.size
    tokens, depth = np.full(length, pad, np.int64), np.zeros(length, np.int64)
    end = np.arange(1, length + 1)
    tokens[:size], depth[:size], end[:size] = tree.tokens, tree.depth, tree.end
    return tokens, depth, end


def mark_blocks(end: Integers, block: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each block of queries and keys: whether any query sees any key, and each sees each.

    Both follow from the last and the first `end` among a block's keys, so that no array of the
    squared row size is made.

    >>> some, every = mark_blocks(np.array([4, 4, 3, 4, 6, 6]), 2)
    >>> some.astype(int).tolist(), every.astype(int).tolist()
    ([[1, 0, 0], [1, 1, 0], [0, 0, 1]], [[0, 0, 0], [1, 0, 0], [0, 0, 0]])
    """
    by_block = end.reshape(-1, block)
    first = np.arange(len(by_block)) * block
    earlier = first[:, None] > first
    some = np.where(earlier, by_block.max(axis=1) > first[:, None], np.eye(len(first), dtype=bool))
    every = earlier & (by_block.min(axis=1) >= first[:, None] + block)
    return some, every


def _arrays(prompts: Sequence[Tokens]) -> list[Integers]:
    return [np.asarray(prompt, dtype=np.int64) for prompt in prompts]


def _in_order(arrays: Sequence[Integers]) -> list[int]:
    """Positions in lexicographic order of token ids, the same as of big-endian bytes."""
    return sorted(range(len(arrays)), key=lambda at: arrays[at].astype(">u4").tobytes())


def _shared(one: Integers, other: Integers) -> int:
    """The number of tokens that two prompts share at the start."""
    size = min(one.size, other.size)
    differ = np.flatnonzero(one[:size] != other[:size])
    return int(differ[0]) if differ.size else size
