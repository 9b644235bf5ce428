"""Exact log probabilities of given tokens at vLLM and SGLang, which return them by token id.

The ids are those of the options' usual spellings ("A", " A", "(A", "A." ...), if the spelling is
one token in the server's tokenizer. Nothing is censored then, however unlikely a letter is, and
`answer_mass` is exact: the probability of all these spellings. A spelling that is not in the list
counts as something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.judges.backends._http import Exchange, Server
from adjudge.judges.backends._spellings import bare

#: The maximum number of ids that vLLM takes.
MOST_IDS = 128
_BEFORE = ("", " ", "\n", "(", " (", "[", " [", "**", " **", '"', ' "', "'", "`", "_", ":", "<")
_AFTER = (".", ")", ":", ",", "]", "**", '"', "'", "`", "\n", ";", ">", "_")


def spell(options: Sequence[str]) -> list[str]:
    """The spellings of all options, the most usual first, at most as many as allowed.

    >>> spell(["A", "B"])[:6]
    ['A', 'B', ' A', ' B', '\\nA', '\\nB']
    """
    forms = [(before, "") for before in _BEFORE] + [("", after) for after in _AFTER]
    every = [f"{before}{option}{after}" for before, after in forms for option in options]
    return every[: MOST_IDS - len(options)]


class Tokenizer:
    """The server's tokenizer, over `POST /tokenize`."""

    def __init__(self, server: Server, model: str, template: Mapping[str, Any]) -> None:
        self._server = server
        self._model = model
        self._template = dict(template)

    async def text(self, text: str) -> list[int] | None:
        """The ids of a text alone; None if the server does not give them."""
        return await self._tokens({"prompt": text, "add_special_tokens": False})

    async def chat(self, messages: list[dict[str, str]]) -> list[int] | None:
        """The ids of a chat as the model reads it, up to the assistant's first token."""
        said = {"messages": messages, "add_generation_prompt": True, **self._template}
        return await self._tokens(said)

    async def letters(self, options: Sequence[str]) -> dict[int, str] | None:
        """id -> spelling, for the spellings that are one token; None if an option has none."""
        spellings = spell(options)
        read = await asyncio.gather(*map(self.text, spellings))
        ids = {
            tokens[0]: spelling
            for spelling, tokens in zip(spellings, read, strict=True)
            if tokens is not None and len(tokens) == 1
        }
        line_end = await self.text("\n")
        for option in options if line_end else ():
            # Some tokenizers put a blank before a text: the letter alone only follows other text.
            after = await self.text("\n" + option)
            if after is not None and after[:-1] == line_end:
                ids.setdefault(after[-1], option)
        complete = {bare(spelling) for spelling in ids.values()} >= set(options)
        return ids if complete else None

    async def _tokens(self, said: Mapping[str, Any]) -> list[int] | None:
        body = {"model": self._model, **said}
        path = self._server.at_root("/tokenize")
        answer = await self._server.post_json(path, body, largest=1 << 24)
        tokens = answer.payload.get("tokens") if is_good(answer) else None
        whole = isinstance(tokens, list) and all(type(token) is int for token in tokens)
        return tokens if whole and tokens else None


def is_good(answer: Exchange) -> bool:
    """Whether an answer is an object that can be read."""
    return answer.http_status == 200 and answer.trouble is None and isinstance(answer.payload, dict)
