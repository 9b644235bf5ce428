"""A causal language model read directly: token ids in, exact log probabilities out.

Needs only torch and numpy; `transformers` objects are passed in. The model computes logits only for
the columns that are needed. There are two ways to batch prompts.

*Padded.* Rows of similar length are padded on the left, so that every row ends in the same column.

*Prefix trees.* A shared beginning is computed once. Prompts in lexicographic order are the leaves
of their prefix tree from left to right. Written one after the other, each without the part it
shares with the one before, they are the tree in preorder: all descendants of a token are one run
after it. So the ancestor mask needs one number per token, the end of that run:

    query q sees key k   if and only if   k <= q < end[k]

FlexAttention computes it. Kernels are compiled for one shape, so every pass is one row of a
constant length, and the mask functions read buffers that are filled in place.
"""

from __future__ import annotations

import inspect
import math
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Tokens = Sequence[int]
Integers = npt.NDArray[np.int64]
#: The block size of FlexAttention; lengths are multiples of it.
BLOCK = 128
#: Attention that equals the ancestor mask while no prompt is longer than its window.
_KNOWN_LAYERS = frozenset({"full_attention", "sliding_attention"})
#: Times of padded batches. Trees should take half of one, or hundreds of them if nothing is
#: compiled. A busy GPU must not change the route, which is part of the fingerprint.
_SLOW = 2.0


def fill_batches(
    lengths: Sequence[int], *, tokens: int, logits: Sequence[int], most_logits: int
) -> Iterator[list[int]]:
    """Positions of prompts of these `lengths` in batches of similar length, longest first.

    `logits[i]` is the number of the last columns of prompt i whose logits are needed. A batch has
    at most `tokens` cells and `most_logits` rows of logits, padding counted. A larger prompt makes
    a batch alone. Longest first, so that a lack of memory shows immediately.

    >>> list(fill_batches([3, 9, 4, 10], tokens=20, logits=[1, 1, 1, 1], most_logits=99))
    [[3, 1], [2, 0]]
    """
    batch: list[int] = []
    width = columns = 0
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        size = len(batch) + 1
        columns = max(columns, logits[at])
        if batch and (size * width > tokens or size * columns > most_logits):
            yield batch
            batch = []
            columns = logits[at]
        if not batch:
            width = lengths[at]
        batch.append(at)
    if batch:
        yield batch


def option_logprobs(logits: torch.Tensor, ids: Tokens) -> list[list[float]]:
    """The log probabilities of these tokens, by each row of logits."""
    numbers: list[list[float]] = torch.log_softmax(logits.float(), -1)[:, list(ids)].tolist()
    return numbers


def how_drawn(temperature: float) -> dict[str, Any]:
    """How `generate` draws: greedy at temperature 0, else from all tokens."""
    if temperature > 0:
        return {"do_sample": True, "temperature": temperature, "top_p": None, "top_k": 0}
    return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}


class CausalModel:
    """Batched forward passes of a model from `transformers`."""

    def __init__(self, model: Any, *, pad: int) -> None:
        self.model = model.eval()
        self.pad = pad
        self.device = next(model.parameters()).device
        takes = inspect.signature(model.forward).parameters
        # A model without this argument returns all columns; the last ones are used.
        self._keeps = "logits_to_keep" in takes
        self._positions = "position_ids" in takes

    def options(self, prompts: Sequence[Tokens], ids: Tokens) -> list[list[float]]:
        """log P(option | prompt) of each prompt, over the complete vocabulary."""
        return option_logprobs(self._last_logits(prompts, 1)[:, -1], ids)

    def continuations(
        self, prompts: Sequence[Tokens], tails: Sequence[Tokens]
    ) -> list[list[float]]:
        """log P(token | prompt, tokens before) for every token of each continuation."""
        whole = [[*prompt, *tail] for prompt, tail in zip(prompts, tails, strict=True)]
        logits = self._last_logits(whole, max(map(len, tails)) + 1)
        # The column before a token predicts it.
        return [
            token_logprobs(logits[row, -len(tail) - 1 : -1], tail) for row, tail in enumerate(tails)
        ]

    def write(
        self, prompts: Sequence[Tokens], *, max_tokens: int, temperature: float, seed: int
    ) -> list[list[int]]:
        """The tokens that the model writes next: greedy at temperature 0, else sampled."""
        tokens, mask = self._padded(prompts)
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            out = self.model.generate(
                input_ids=tokens,
                attention_mask=mask,
                max_new_tokens=max_tokens,
                pad_token_id=self.pad,
                **how_drawn(temperature),
            )
        return [row.tolist() for row in out[:, tokens.shape[1] :]]

    def _last_logits(self, rows: Sequence[Tokens], keep: int) -> torch.Tensor:
        tokens, mask = self._padded(rows)
        inputs: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
        if self._positions:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        if self._keeps:
            inputs["logits_to_keep"] = keep
        with torch.inference_mode(), self._attention():
            logits: torch.Tensor = self.model(input_ids=tokens, **inputs).logits
        return logits[:, -keep:]

    def _attention(self) -> Any:
        """On CUDA, kernels that need no plan per shape, because shapes differ between batches."""
        if self.device.type != "cuda":
            return nullcontext()
        from torch.nn.attention import SDPBackend, sdpa_kernel

        kinds = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)
        return sdpa_kernel(list(kinds))

    def _padded(self, rows: Sequence[Tokens]) -> tuple[torch.Tensor, torch.Tensor]:
        width = max(map(len, rows))
        tokens = torch.full((len(rows), width), self.pad, dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for at, row in enumerate(rows):
            tokens[at, width - len(row) :] = torch.tensor(list(row), dtype=torch.long)
            mask[at, width - len(row) :] = 1
        return tokens.to(self.device), mask.to(self.device)


def token_logprobs(logits: torch.Tensor, tokens: Tokens) -> list[float]:
    """The log probability of each token by its row of logits; one text at a time saves memory.

    >>> [round(value, 3) for value in token_logprobs(torch.zeros(2, 4), [1, 3])]
    [-1.386, -1.386]
    """
    ids = torch.tensor(list(tokens), device=logits.device)[:, None]
    numbers: list[float] = torch.log_softmax(logits.float(), -1).gather(1, ids)[:, 0].tolist()
    return numbers


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
    prompts: Sequence[Tokens], *, length: int, logits: Sequence[int], most_logits: int
) -> list[list[int]]:
    """Positions of `prompts` in rows of at most `length` tokens as a tree.

    `logits[i]` is the number of tokens of prompt i whose logits are needed; a row has at most
    `most_logits` of them. A larger prompt makes a row alone.

    >>> plan_rows([[1, 2, 3], [7, 8], [1, 2, 4]], length=4, logits=[1, 1, 1], most_logits=9)
    [[0, 2], [1]]
    """
    arrays = _arrays(prompts)
    rows: list[list[int]] = []
    row_tokens = row_logits = 0
    for at in _in_order(arrays):
        last = rows[-1][-1] if rows else None
        new = arrays[at].size
        if last is not None:
            more = new - _shared(arrays[last], arrays[at])
            if row_tokens + more <= length and row_logits + logits[at] <= most_logits:
                rows[-1].append(at)
                row_tokens += more
                row_logits += logits[at]
                continue
        rows.append([at])
        row_tokens = new
        row_logits = logits[at]
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
    ends = np.empty(sum(prompt_array.size for prompt_array in arrays), np.int64)
    previous = path = np.empty(0, np.int64)
    size = 0
    for at in _in_order(arrays):
        prompt = arrays[at]
        same = _shared(previous, prompt)
        ends[path[same:]] = size  # tokens that are not shared have no more descendants
        fresh = np.arange(size, size + prompt.size - same)
        pieces.append(prompt[same:])
        depths.append(np.arange(same, prompt.size))
        path = np.concatenate([path[:same], fresh])
        paths[at] = path
        previous = prompt
        size += fresh.size
    ends[path] = size
    return PrefixTree(
        np.concatenate(pieces), np.concatenate(depths), ends[:size].copy(), tuple(paths)
    )


def fill_row(tree: PrefixTree, length: int, *, pad: int) -> tuple[Integers, Integers, Integers]:
    """Tokens, depth and end of a row of `length`; a padding cell sees only itself."""
    size = tree.tokens.size
    tokens = np.full(length, pad, np.int64)
    depth = np.zeros(length, np.int64)
    end = np.arange(1, length + 1)
    tokens[:size] = tree.tokens
    depth[:size] = tree.depth
    end[:size] = tree.end
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


def _shared(first: Integers, second: Integers) -> int:
    """The number of tokens that two prompts share at the start."""
    size = min(first.size, second.size)
    differ = np.flatnonzero(first[:size] != second[:size])
    return int(differ[0]) if differ.size else size


class UnusableTreesError(Exception):
    """Prefix trees cannot be used with this model here; the message has the reason."""


class TreeModel:
    """Computes the numbers of `CausalModel` for prompts that fit into one row as a tree."""

    def __init__(self, padded: CausalModel, *, lengths: Sequence[int]) -> None:
        model = padded.model
        config = model.config.get_text_config()
        if kinds := set(getattr(config, "layer_types", None) or ()) - _KNOWN_LAYERS:
            raise UnusableTreesError(f"the model has layers of {' and '.join(sorted(kinds))}")
        takes = inspect.signature(model.forward).parameters
        if missing := {"logits_to_keep", "position_ids"} - takes.keys():
            raise UnusableTreesError(f"the model does not take {' and '.join(sorted(missing))}")
        self._model = model
        self._pad = padded.pad
        self._device = padded.device
        self._usual = model.config._attn_implementation
        names = model._no_split_modules or ()
        blocks = [module for module in model.modules() if type(module).__name__ in names]
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
        return tuple(self._ends)

    def options(self, prompts: Sequence[Tokens], ids: Tokens) -> list[list[float]]:
        tree = make_tree(prompts)
        return option_logprobs(self._logits(tree, np.array([p[-1] for p in tree.paths])), ids)

    def continuations(
        self, prompts: Sequence[Tokens], tails: Sequence[Tokens]
    ) -> list[list[float]]:
        tree = make_tree([[*prompt, *tail] for prompt, tail in zip(prompts, tails, strict=True)])
        # The cell before a token predicts it.
        cells = [path[-len(tail) - 1 : -1] for path, tail in zip(tree.paths, tails, strict=True)]
        logits = self._logits(tree, np.concatenate(cells)).split([len(tail) for tail in tails])
        return [token_logprobs(row, tail) for row, tail in zip(logits, tails, strict=True)]

    def _logits(self, tree: PrefixTree, cells: Integers) -> torch.Tensor:
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
        number = marks.sum(axis=1, dtype=np.int32)
        return self._put(number[None, None]), self._put(which[None, None])

    def _put(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)


def _ancestor_mask(end: torch.Tensor) -> Callable[..., torch.Tensor]:
    def sees(
        batch: torch.Tensor, head: torch.Tensor, query: torch.Tensor, key: torch.Tensor
    ) -> torch.Tensor:
        return (key <= query) & (query < end[key])

    return sees


def plant_trees(padded: CausalModel, *, length: int, context: int | None) -> TreeModel:
    """The model with rows of `length` tokens, and of a quarter of that for few questions."""
    whole = max(length // BLOCK, 1) * BLOCK
    quarter = max(length // 4 // BLOCK, 1) * BLOCK
    trees = TreeModel(padded, lengths=(quarter, whole))
    try_trees(trees, padded, longest=min(trees.longest, context or whole))
    return trees


def try_trees(trees: TreeModel, padded: CausalModel, *, longest: int) -> None:
    """Compile, and compare numbers and time with padded batches, on prompts that share a half.

    Raises UnusableTreesError if trees fail, change the numbers or take much longer. If torch does
    not compile FlexAttention to one kernel, there is no error message; only the time shows it.
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
