"""Prefix trees in a model: every shared beginning is computed once, with exact log probabilities.

FlexAttention with the ancestor mask of `_prefix_tree`. Kernels are compiled for one shape, so every
pass is one row of a constant length. The mask functions read buffers that are filled in place: a
new tensor would be a new function to compile.
"""

from __future__ import annotations

import inspect
import math
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from adjudge.judges.backends._causal import CausalModel, Tokens, token_logprobs
from adjudge.judges.backends._prefix_tree import (
    Integers,
    PrefixTree,
    fill_row,
    make_tree,
    mark_blocks,
)

#: The block size of FlexAttention; lengths are multiples of it.
BLOCK = 128
#: Attention that equals the ancestor mask while no prompt is longer than its window.
_KNOWN_LAYERS = frozenset({"full_attention", "sliding_attention"})
#: Times of padded batches. Trees should take half of one, or hundreds of them if nothing is
#: compiled. A busy GPU must not change the route, which is part of the fingerprint.
_SLOW = 2.0


class UnusableTreesError(Exception):
    """Prefix trees cannot be used with this model here; the message has the reason."""


class TreeModel:
    """Computes the numbers of `CausalModel` for prompts that fit into one row as a tree."""

    def __init__(self, padded: CausalModel, *, lengths: Sequence[int]) -> None:
        model = padded.model
        config = model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ()) - _KNOWN_LAYERS
        if kinds:
            raise UnusableTreesError(f"the model has layers of {' and '.join(sorted(kinds))}")
        missing = {"logits_to_keep", "position_ids"} - set(
            inspect.signature(model.forward).parameters
        )
        if missing:
            raise UnusableTreesError(f"the model does not take {' and '.join(sorted(missing))}")
        self._model, self._pad, self._device = model, padded.pad, padded.device
        self._usual = model.config._attn_implementation
        names = model._no_split_modules or ()
        blocks = [one for one in model.modules() if type(one).__name__ in names]
        if not blocks:
            raise UnusableTreesError("the model does not name its layers")
        # Layers of one class share one graph, which compiles much faster than the model.
        self._layers = {layer: torch.compile(layer.forward, dynamic=False) for layer in blocks}
        self._ends = {
            length: torch.zeros(length, dtype=torch.int32, device=self._device)
            for length in sorted(lengths)
        }
        self._masks = {length: _ancestor_mask(end) for length, end in self._ends.items()}
        window = getattr(config, "sliding_window", None) or math.inf
        #: The longest prompt that it reads; longer ones go through `CausalModel`.
        self.longest = int(min(max(lengths), window))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of a row, shortest first."""
        return tuple(self._ends)

    def options(self, prompts: Sequence[Tokens], ids: Tokens) -> list[list[float]]:
        """log P(option | prompt) of each prompt, over the complete vocabulary."""
        tree = make_tree(prompts)
        logits = self._logits(tree, np.array([path[-1] for path in tree.paths]))
        numbers: list[list[float]] = torch.log_softmax(logits.float(), -1)[:, list(ids)].tolist()
        return numbers

    def continuations(
        self, prompts: Sequence[Tokens], tails: Sequence[Tokens]
    ) -> list[list[float]]:
        """log P(token | prompt, tokens before) for every token of each continuation."""
        tree = make_tree([[*prompt, *tail] for prompt, tail in zip(prompts, tails, strict=True)])
        # The cell before a token predicts it.
        cells = [path[-len(tail) - 1 : -1] for path, tail in zip(tree.paths, tails, strict=True)]
        logits = self._logits(tree, np.concatenate(cells)).split([len(tail) for tail in tails])
        return [token_logprobs(part, tail) for part, tail in zip(logits, tails, strict=True)]

    def _logits(self, tree: PrefixTree, cells: Integers) -> torch.Tensor:
        """The logits of some cells, one row per cell."""
        length = next(length for length in self.lengths if length >= tree.tokens.size)
        tokens, depth, end = fill_row(tree, length, pad=self._pad)
        with torch.inference_mode(), self._as_tree():
            out = self._model(
                input_ids=self._put(tokens[None]),
                position_ids=self._put(depth[None]),
                attention_mask=self._block_mask(end),
                logits_to_keep=self._put(cells),
                use_cache=False,
            )
        logits: torch.Tensor = out.logits[0]
        return logits

    @contextmanager
    def _as_tree(self) -> Iterator[None]:
        """FlexAttention in compiled layers; padded batches and writing use the model unchanged."""
        self._model.set_attn_implementation("flex_attention")
        for layer, forward in self._layers.items():
            layer.forward = forward
        try:
            yield
        finally:
            for layer in self._layers:
                del layer.forward
            self._model.set_attn_implementation(self._usual)

    def _block_mask(self, end: Integers) -> Any:
        from torch.nn.attention.flex_attention import BlockMask

        self._ends[end.size].copy_(torch.from_numpy(end))
        some, every = mark_blocks(end, BLOCK)
        return BlockMask.from_kv_blocks(
            *self._block_lists(some & ~every),
            *self._block_lists(every),
            BLOCK_SIZE=BLOCK,
            mask_mod=self._masks[end.size],
        )

    def _block_lists(self, marks: npt.NDArray[np.bool_]) -> tuple[torch.Tensor, torch.Tensor]:
        """The number of key blocks that each query block needs, and these blocks first."""
        which = np.argsort(~marks, axis=1, kind="stable").astype(np.int32)
        return self._put(marks.sum(axis=1, dtype=np.int32)[None, None]), self._put(
            which[None, None]
        )

    def _put(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)


def _ancestor_mask(end: torch.Tensor) -> Callable[..., torch.Tensor]:
    def sees(
        batch: torch.Tensor, head: torch.Tensor, query: torch.Tensor, key: torch.Tensor
    ) -> torch.Tensor:
        return (key <= query) & (query < end[key])

    return sees


def plant_trees(padded: CausalModel, *, length: int, context: int | None) -> TreeModel:
    """The model with rows of `length` tokens, and of a quarter of that for few questions.

    Raises UnusableTreesError if the model or this machine cannot do it.
    """
    whole, quarter = (max(cells // BLOCK, 1) * BLOCK for cells in (length, length // 4))
    trees = TreeModel(padded, lengths=(quarter, whole))
    try_trees(trees, padded, longest=min(trees.longest, context or whole))
    return trees


def try_trees(trees: TreeModel, padded: CausalModel, *, longest: int) -> None:
    """Compile, and compare numbers and time with padded batches.

    Raises UnusableTreesError if trees fail, change the numbers or take much longer. They are
    compared on prompts that share a half. If torch does not compile FlexAttention to one kernel,
    there is no error message; only the time shows it.
    """
    rng = np.random.default_rng(0)
    vocabulary = int(padded.model.config.get_text_config().vocab_size)
    ids = np.unique(np.linspace(0, vocabulary - 1, 64).astype(int)).tolist()
    for length in trees.lengths:
        half = min(2 * BLOCK, longest // 2, length // 4)
        stem, *branches = rng.integers(vocabulary, size=(length // half, half)).tolist()
        prompts = [stem + branch for branch in branches]
        try:
            trees.options(prompts, ids)
        except Exception as error:  # compilers can raise anything
            words = textwrap.shorten(f"{type(error).__name__}: {error}", 160, placeholder=" ...")
            raise UnusableTreesError(f"FlexAttention fails here ({words})") from error
        ours, tree_s = _timed(trees, prompts, ids)
        theirs, padded_s = _timed(padded, prompts, ids)
        spread = np.linalg.norm(theirs - theirs.mean(axis=1, keepdims=True))
        apart = float(np.linalg.norm(ours - theirs) / spread)
        if not apart <= 2 * math.sqrt(torch.finfo(padded.model.dtype).eps):
            raise UnusableTreesError(
                f"prefix trees change its log probabilities by {apart:.1g} of their spread"
            )
    if tree_s > _SLOW * padded_s:
        raise UnusableTreesError(
            f"prefix trees take {tree_s / padded_s:.0f} times as long here (a module named 'tree' "
            "on the path can keep torch from compiling FlexAttention)"
        )


def _timed(
    model: TreeModel | CausalModel, prompts: Sequence[Tokens], ids: Tokens
) -> tuple[npt.NDArray[np.float64], float]:
    """The numbers, and the shorter of two times."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        logs = model.options(prompts, ids)
        times.append(time.perf_counter() - began)
    return np.array(logs), min(times)
