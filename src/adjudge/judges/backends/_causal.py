"""A causal language model read directly: token ids in, exact log probabilities out, in batches.

Needs only torch and numpy; `transformers` objects are passed in. Rows of a batch are padded on the
left, so that every row ends in the same column. The model computes logits only for the last
columns, which makes a vocabulary of 150,000 and a prompt of 700 tokens affordable.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

Tokens = Sequence[int]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a batch: its tokens, and how many of its last columns need logits."""

    tokens: Tokens
    keep: int


def fill_batches(rows: Sequence[Row], *, tokens: int, logits: int) -> Iterator[list[int]]:
    """Positions of `rows` in batches of similar length, longest first.

    A batch has at most `tokens` cells, padding counted, and `logits` rows of logits. A larger row
    makes a batch alone. Longest first, so that a lack of memory shows immediately.

    >>> sizes = [3, 9, 4, 10]
    >>> list(fill_batches([Row([0] * n, 1) for n in sizes], tokens=20, logits=99))
    [[3, 1], [2, 0]]
    """
    batch: list[int] = []
    width = keep = 0
    for position in sorted(range(len(rows)), key=lambda at: -len(rows[at].tokens)):
        row = rows[position]
        wider, more = max(width, len(row.tokens)), max(keep, row.keep)
        size = len(batch) + 1
        if batch and (size * wider > tokens or size * more > logits):
            yield batch
            batch, wider, more = [], len(row.tokens), row.keep
        batch.append(position)
        width, keep = wider, more
    if batch:
        yield batch


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
        logits = self._last_logits(prompts, 1)[:, -1]
        numbers: list[list[float]] = torch.log_softmax(logits.float(), -1)[:, list(ids)].tolist()
        return numbers

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
        drawn: dict[str, Any] = {"do_sample": False, "temperature": None}
        if temperature > 0:
            drawn = {"do_sample": True, "temperature": temperature}
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            out = self.model.generate(
                input_ids=tokens,
                attention_mask=mask,
                max_new_tokens=max_tokens,
                pad_token_id=self.pad,
                top_p=None,
                top_k=0 if temperature > 0 else None,
                **drawn,
            )
        return [row.tolist() for row in out[:, tokens.shape[1] :]]

    def _last_logits(self, rows: Sequence[Tokens], keep: int) -> torch.Tensor:
        tokens, mask = self._padded(rows)
        given: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
        if self._positions:
            given["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        if self._keeps:
            given["logits_to_keep"] = keep
        with torch.inference_mode(), self._attention():
            logits: torch.Tensor = self.model(input_ids=tokens, **given).logits
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
