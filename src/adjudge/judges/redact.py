"""Secrets do not pass: struck out of everything that is kept or shown.

A backend strikes out the key it uses (`Redactor`). `EnvironmentSecrets` comes after all backends
and knows none: whatever the environment calls a key, a token, a secret or a password goes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from adjudge.records import Reply

MARK = "[redacted]"
_NAMES = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_KEY_SHAPES = re.compile(
    r"(?i)\b(?:bearer\s+|x-api-key:?\s*)[\w.\-*]+|\b(?:sk|pk|gsk|xai|hf|pplx)[-_][\w\-*]{8,}"
)
#: Shorter values are words ("EMPTY", "none") that are usual in ordinary text.
_SHORTEST_KEY, _SHORTEST_VALUE = 6, 8


def _strike(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, MARK)
    return text


class Redactor:
    """Strikes secrets out of text: the keys it knows, and whatever looks like one.

    >>> Redactor(["hunter2-secret"])("bad key hunter2-secret, not sk-abcd***wxyz")
    'bad key [redacted], not [redacted]'
    """

    def __init__(self, keys: list[str]) -> None:
        long = [key for key in keys if len(key) >= _SHORTEST_KEY]
        # JSON may write a slash with a backslash before it.
        self._keys = long + [key.replace("/", "\\/") for key in long if "/" in key]

    def exact(self, text: str) -> str:
        """Only the keys it knows: for replies that are kept as they came."""
        return _strike(text, self._keys)

    def __call__(self, text: str) -> str:
        return _KEY_SHAPES.sub(MARK, self.exact(text))


class EnvironmentSecrets:
    """The secrets of an environment, and how to strike them out.

    >>> secrets = EnvironmentSecrets({"OPENAI_API_KEY": "hunter2hunter2", "HOME": "/home/me"})
    >>> secrets.strike("hunter2hunter2!")
    '[redacted]!'
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        values = {
            value.strip()
            for name, value in environment.items()
            if _NAMES.search(name) and len(value.strip()) >= _SHORTEST_VALUE
        }
        spelled = values | {json.dumps(value)[1:-1] for value in values}
        # Longest first: a secret inside another must not leave the rest of the longer one.
        self._values = sorted(spelled, key=len, reverse=True)

    def strike(self, text: str) -> str:
        """The text without the secrets."""
        return _strike(text, self._values)

    def clean(self, reply: Reply) -> Reply:
        """The reply without the secrets; the same object when it holds none."""
        texts = (reply.text, reply.error, reply.raw)
        if not any(value in text for text in texts if text is not None for value in self._values):
            return reply
        text, error, raw = (None if text is None else self.strike(text) for text in texts)
        return replace(reply, text=text, error=error, raw=raw)
