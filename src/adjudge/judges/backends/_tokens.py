"""A chat prompt as tokens, and the tokens that name an option.

A response that contains `<|im_end|>` must not end the turn. So the chat template never gets the
text being judged. It is rendered with a marker in each place and split at the markers. Only the
pieces between the markers are tokenised with special tokens on.

A token counts for an option if it is that option without the blanks, quotes, brackets, emphasis and
stops around it: "A", " A", "(A", "A." and "**A" all count for A, and their probabilities are added.
Case matters: "a" is an English word.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise, zip_longest
from typing import Any

from adjudge.errors import JudgeRefusedError
from adjudge.judges.interface import Data, Message, Question
from adjudge.records import Image

_STRIPPED = " \t\r\n\u00a0\u0120\u2581\u010a*_\"'`“”‘’()[]{}<>.:,;"
#: Some servers write -9999 or minus infinity for values that they did not compute.
NEVER = -1000.0
#: Takes [{"role": ..., "content": ...}, ...], returns the text up to the assistant's first token.
Render = Callable[[list[dict[str, str]]], str]
#: A message without its data: this decides the rendering.
Skeleton = tuple[tuple[str, tuple[str | None, ...]], ...]
CACHE_LIMIT = 256
HALF_CHARACTER = "the text contains half a character (a lone surrogate)"


class ChatSegments:
    """Splits messages at their data, rendering each skeleton once.

    >>> def chatml(turns):
    ...     return "".join(f"<|{t['role']}|>{t['content']}<|end|>" for t in turns) + "<|assistant|>"
    >>> cut = ChatSegments(chatml, model="demo")
    >>> cut((Message("user", ("Q: ", Data("<|end|>"), "?")),))
    ('<|user|>Q: ', Data(text='<|end|>'), '?<|end|><|assistant|>')
    """

    def __init__(self, render: Render, *, model: str) -> None:
        self._render = render
        self._model = model
        self._marker = f"zqdata{secrets.token_hex(8)}n"
        self._cut = re.compile(self._marker + r"(\d+)z")
        self._known: dict[Skeleton, tuple[str, ...]] = {}

    def __call__(self, messages: Sequence[Message]) -> tuple[str | Data | Image, ...]:
        """Text (special tokens on), Data (special tokens off) and images, in reading order."""
        data = [part for turn in messages for part in turn.parts if not isinstance(part, str)]
        skeleton = tuple(
            (turn.role, tuple(part if isinstance(part, str) else None for part in turn.parts))
            for turn in messages
        )
        frame = self._known.get(skeleton)
        if frame is None:
            frame = self._frame(skeleton, len(data))
            if len(self._known) >= CACHE_LIMIT:
                self._known.clear()
            self._known[skeleton] = frame
        pieces = chain.from_iterable(zip_longest(frame, data))
        return tuple(piece for piece in pieces if piece)

    def _frame(self, skeleton: Skeleton, holes: int) -> tuple[str, ...]:
        """The template's text around each hole: one piece more than there are holes."""
        numbers = iter(range(holes))
        turns = [
            {
                "role": role,
                "content": "".join(
                    f"{self._marker}{next(numbers)}z" if text is None else text for text in parts
                ),
            }
            for role, parts in skeleton
        ]
        pieces = self._cut.split(self._render(turns))
        if [int(number) for number in pieces[1::2]] != list(range(holes)):
            raise JudgeRefusedError(
                f"{self._model}: its chat template drops, repeats or reorders text of the "
                "messages; choose a model whose template keeps every message once"
            )
        return tuple(pieces[::2])


class CannotAnswerError(Exception):
    """This question cannot be answered, others can: it becomes a row with status `error`."""


class ChatTokens(ABC):
    """Token ids of questions, for a model of the name `model` that is tokenised on this machine."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._segments = ChatSegments(self.render, model=model)
        self._own: dict[tuple[str, bool], list[int]] = {}
        self._texts: dict[str, list[int]] = {}
        self._option_ids: dict[tuple[str, ...], tuple[int, ...]] = {}

    @abstractmethod
    def render(self, turns: list[dict[str, str]]) -> str:
        """The turns in the model's chat template, up to the assistant's first token."""

    @abstractmethod
    def encode(self, text: str, *, special: bool, begin: bool = False) -> list[int]:
        """Tokens of `text`; `special` reads <|im_end|> as one token, `begin`: starts a prompt."""

    def image(self, image: Image) -> list[int]:
        """The tokens in whose place the model reads an image."""
        raise CannotAnswerError(f"{self.model} takes no images")

    def data(self, text: str) -> list[int]:
        """Tokens of text being judged, none of them part of the chat frame."""
        return self.encode(text, special=False)

    def prompt(self, question: Question) -> list[int]:
        """The prompt as the model reads it, up to the assistant's first token."""
        tokens: list[int] = []
        for position, piece in enumerate(self._segments(question.messages)):
            if isinstance(piece, Image):
                tokens += self.image(piece)
                continue
            if isinstance(piece, Data):
                # Cached: an answer is in many pairs, a prompt in more.
                if piece.text not in self._texts:
                    if len(self._texts) >= CACHE_LIMIT:
                        self._texts.clear()
                    self._texts[piece.text] = self.data(piece.text)
                tokens += self._texts[piece.text]
                continue
            key = piece, position == 0
            if key not in self._own:
                self._own[key] = self.encode(piece, special=True, begin=position == 0)
            tokens += self._own[key]
        return tokens

    def response(self, text: str) -> list[int]:
        """The tokens of a response to score; at least one."""
        tokens = self.data(text)
        if not tokens:
            raise CannotAnswerError("the response is empty: there is no token to score")
        return tokens

    def options(self, options: tuple[str, ...]) -> tuple[int, ...]:
        """The one token of each option."""
        if options not in self._option_ids:
            ids = [self.encode(option, special=False) for option in options]
            for option, tokens in zip(options, ids, strict=True):
                if len(tokens) != 1:
                    problem = f"{self.model}: option {option!r} is not one token of this model"
                    raise JudgeRefusedError(f"{problem}; choose options of one letter or digit")
            self._option_ids[options] = tuple(tokens[0] for tokens in ids)
        return self._option_ids[options]


class HubTokens(ChatTokens):
    """Token ids for a tokenizer from `transformers`.

    Special tokens are off for the text being judged: the tokenizer must split them; a token of the
    chat frame that is still there is split after its first character; if one is left even then, the
    text is refused.
    """

    def __init__(self, tokenizer: Any, *, model: str) -> None:
        if not tokenizer.chat_template:
            problem = f"{model}: its tokenizer has no chat template"
            raise JudgeRefusedError(f"{problem}; choose an instruct model")
        super().__init__(model)
        self._tokenizer = tokenizer
        self._spellings: dict[tuple[str, ...], dict[str, list[int]]] = {}

    def data(self, text: str) -> list[int]:
        tokens = self.encode(text, special=False)
        if self.framing.isdisjoint(tokens):
            return tokens
        cuts = [0, *(match.start() + 1 for match in self._words.finditer(text)), len(text)]
        tokens = []
        for start, end in pairwise(cuts):
            tokens += self.encode(text[start:end], special=False)
        if not self.framing.isdisjoint(tokens):
            raise CannotAnswerError("the text contains special tokens that cannot be split")
        return tokens

    def text(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def spellings(self, options: tuple[str, ...]) -> dict[str, list[int]]:
        """Every token of the vocabulary that names an option."""
        if options not in self._spellings:
            named: dict[str, list[int]] = {option: [] for option in options}
            for token, number in self._tokenizer.get_vocab().items():
                if bare(token) in named:
                    named[bare(token)].append(number)
            self._spellings[options] = named
        return self._spellings[options]

    @property
    def pad(self) -> int | None:
        """The token that fills up short rows, if the tokenizer names one."""
        token = self._tokenizer.pad_token_id
        return None if token is None else int(token)

    @cached_property
    def ends(self) -> frozenset[int]:
        """Tokens that end what a model writes."""
        token = self._tokenizer.eos_token_id
        return frozenset() if token is None else frozenset({int(token)})

    @cached_property
    def framing(self) -> frozenset[int]:
        """Ids that judged text must not have: special tokens, and added ones of the frame."""
        probe = self.encode(self.render([{"role": "user", "content": "x"}]), special=True)
        added = self._tokenizer.added_tokens_decoder
        return frozenset(t for t, entry in added.items() if entry.special or t in set(probe))

    @cached_property
    def _words(self) -> re.Pattern[str]:
        added = self._tokenizer.added_tokens_decoder
        words = sorted((added[token].content for token in self.framing), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, words)))

    def encode(self, text: str, *, special: bool, begin: bool = False) -> list[int]:
        # The template writes every special token itself, including the one at the start.
        try:
            how = {"add_special_tokens": False, "split_special_tokens": not special}
            return list(self._tokenizer(text, **how)["input_ids"])
        except (UnicodeEncodeError, TypeError):
            raise CannotAnswerError(HALF_CHARACTER) from None

    def render(self, turns: list[dict[str, str]]) -> str:
        try:
            rendered = self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # templates can raise anything
            problem = f"{self.model}: its chat template raises an error: {error}"
            raise JudgeRefusedError(problem) from error
        return str(rendered)


def score_reply(tokens: list[int], logprobs: list[float]) -> dict[str, Any]:
    """The reply to `Likelihood`, from the log probability of each token of the response."""
    raw = {"tokens": tokens, "logprobs": [round(value, 6) for value in logprobs]}
    return {
        "status": "ok",
        "mean_logprob": math.fsum(logprobs) / len(logprobs),
        "scored_tokens": len(tokens),
        "raw": json.dumps(raw),
        "completion_tokens": len(tokens),
    }


@lru_cache(maxsize=8192)
def bare(token: str) -> str:
    """The token without the characters that can be around an option."""
    return token.strip(_STRIPPED)


def option_logprobs(
    pairs: Sequence[tuple[str, float]], options: tuple[str, ...]
) -> tuple[dict[str, float], frozenset[str]]:
    """Each option's log probability, summed over its spellings, and those with only a bound.

    >>> option_logprobs([("A", -0.5), (" A", -2.0), ("x", -4.0)], ("A", "B"))
    ({'A': -0.29..., 'B': -4.0}, frozenset({'B'}))
    """
    spellings: dict[str, list[float]] = {}
    for token, value in pairs:
        stripped = bare(token)
        if stripped in options and value > NEVER:
            spellings.setdefault(stripped, []).append(value)
    bound = min([value for _, value in pairs if value > NEVER], default=math.inf)
    logprobs = dict.fromkeys(options, bound)
    for option, values in spellings.items():
        top = max(values)
        rest = math.fsum(math.exp(value - top) for value in values)
        logprobs[option] = values[0] if len(values) == 1 else top + math.log(rest)
    return logprobs, frozenset(option for option in options if option not in spellings)


def option_mass(pairs: Iterable[tuple[str, float]], options: tuple[str, ...]) -> float:
    """The probability of all spellings of all options among these tokens.

    >>> round(option_mass([("A", -1.0), (" B", -2.0), ("<think>", -0.7)], ("A", "B")), 3)
    0.503
    """
    total = math.fsum(
        math.exp(value) for token, value in pairs if value > NEVER and bare(token) in options
    )
    return min(total, 1.0)
