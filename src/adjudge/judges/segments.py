"""A chat prompt cut into our own words and the text being judged, so that each is tokenised apart.

A response that contains `<|im_end|>` must not end the turn. So the chat template never sees the
text being judged: it is rendered with a marker in each place, cut at the markers, and the pieces
between them, ours and the template's, are the only ones tokenised with special tokens on.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence

from adjudge.errors import JudgeRefusedError
from adjudge.judges.interface import Data, Message

#: Takes [{"role": ..., "content": ...}, ...] and gives the text up to the assistant's first token.
Render = Callable[[list[dict[str, str]]], str]
#: A message with its data taken out: what decides the rendering.
Skeleton = tuple[tuple[str, tuple[str | None, ...]], ...]

_CACHE_LIMIT = 256


class ChatSegments:
    """Cuts messages at their data, rendering each skeleton once.

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

    def __call__(self, messages: Sequence[Message]) -> tuple[str | Data, ...]:
        """Text (special tokens on) and Data (special tokens off) in the order they are read."""
        data = [part for turn in messages for part in turn.parts if isinstance(part, Data)]
        skeleton = tuple(
            (turn.role, tuple(None if isinstance(part, Data) else part for part in turn.parts))
            for turn in messages
        )
        frame = self._known.get(skeleton)
        if frame is None:
            frame = self._frame(skeleton, len(data))
            if len(self._known) >= _CACHE_LIMIT:
                self._known.clear()
            self._known[skeleton] = frame
        pieces: list[str | Data] = []
        for position, words in enumerate(frame):
            if words:
                pieces.append(words)
            if position < len(data):
                pieces.append(data[position])
        return tuple(pieces)

    def _frame(self, skeleton: Skeleton, holes: int) -> tuple[str, ...]:
        """The template's own text around each hole: one piece more than there are holes."""
        numbers = iter(range(holes))
        turns = [
            {
                "role": role,
                "content": "".join(
                    f"{self._marker}{next(numbers)}z" if part is None else part for part in parts
                ),
            }
            for role, parts in skeleton
        ]
        pieces = self._cut.split(self._render(turns))
        if [int(number) for number in pieces[1::2]] != list(range(holes)):
            raise JudgeRefusedError(
                f"{self._model}: its chat template drops, repeats or reorders what the messages "
                "say; choose a model whose template keeps every message once"
            )
        return tuple(pieces[::2])
