"""The last door before anything is kept or told: secrets of the environment do not pass.

Backends strike out the key they use. This stands behind them and knows no backend: whatever the
environment calls a key, a token, a secret or a password is struck out of every text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace

from adjudge.records import Reply

MARK = "[redacted]"
_NAMES = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
#: Shorter values are words ("EMPTY", "none") that stand in ordinary text.
_SHORTEST = 8


class Secrets:
    """The secrets of an environment, and how to strike them out.

    >>> Secrets({"OPENAI_API_KEY": "hunter2hunter2", "HOME": "/home/me"}).struck("hunter2hunter2!")
    '[redacted]!'
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        values = {
            value.strip()
            for name, value in environment.items()
            if _NAMES.search(name) and len(value.strip()) >= _SHORTEST
        }
        spelled = values | {json.dumps(value)[1:-1] for value in values}
        # Longest first: a secret inside another must not leave the rest of the longer one.
        self._values = sorted(spelled, key=len, reverse=True)

    def struck(self, text: str) -> str:
        """The text without the secrets."""
        for value in self._values:
            if value in text:
                text = text.replace(value, MARK)
        return text

    def of(self, reply: Reply) -> Reply:
        """The reply without the secrets; the same object when it holds none."""
        if not any(value in told for told in _told(reply) for value in self._values):
            return reply
        text, error, raw = (
            None if told is None else self.struck(told)
            for told in (reply.text, reply.error, reply.raw)
        )
        return replace(reply, text=text, error=error, raw=raw)


def _told(reply: Reply) -> list[str]:
    return [told for told in (reply.text, reply.error, reply.raw) if told is not None]
