"""`--judge echo:WORD`: a backend that answers WORD wherever it is among the options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjudge.judges.interface import Backend, Choice, Question
from adjudge.records import Reply


class EchoBackend(Backend):
    """No model at all: the word after the colon, whatever is asked."""

    example = "echo:WORD"
    free = True
    wants: frozenset[type] = frozenset({Choice})

    def __init__(self, word: str) -> None:
        self.word = word
        self.name = f"echo:{word}"

    def identity(self) -> Mapping[str, Any]:
        """The word is all that moves an answer."""
        return {"backend": "echo", "word": self.word}

    async def ask(self, question: Question) -> Reply:
        """The word, with a little doubt."""
        if not isinstance(question.want, Choice):
            return Reply(status="error", error="echo only chooses")
        logprobs = {
            option: 0.0 if option == self.word else -4.0 for option in question.want.options
        }
        return Reply(status="ok", logprobs=logprobs, prompt_tokens=1, completion_tokens=1)
