r"""Every reply is checked before it is stored, and secrets in it are redacted.

A server controls every field of its answers. A value that no store could keep, or that breaks a
sum, is an error of that one reply, which names the field.

A `Redactor` gets the key of a backend, and every environment variable that is named like a key, a
token, a secret or a password. It detects a secret as plain text, in base64 and in hexadecimal, each
also with JSON escapes (\u0073), percent signs or HTML entities. It also detects a secret in pieces,
over string values that follow each other in the JSON of an answer, or have one name on one level of
it (the tokens of a text). Such an answer is not stored at all. Nothing helps against a server that
hides a key on purpose: it has the key and can reorder its letters.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import unquote

from adjudge.errors import ArgumentError
from adjudge.present.text import count
from adjudge.records import STATUSES, Reply

MARK = "[redacted]"
_NAMES = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_KEY_SHAPES = re.compile(
    r"(?i)\b(?:bearer\s+|x-api-key:?\s*)[\w.\-*]+|\b(?:sk|pk|gsk|xai|hf|pplx)[-_][\w\-*]{8,}"
    r"|\bAIza[\w-]{30,}|\bgh[pousr]_\w{20,}|\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{8,}\.eyJ[\w.-]{8,}"
)
#: A key in the name of a judge; names of models begin with hf- too.
_KEY_IN_NAME = re.compile(
    r"(?i)(?:key|token|secret|passw(?:or)?d)=|\b(?:sk|pk|gsk|xai|pplx)-(?=[\w-]*\d)[\w-]{16,}"
    r"|\bAIza[\w-]{30,}"
)
#: Ends of names whose values are secrets in a request; not max_tokens, eos_token or a cache key.
_SECRET_FIELDS = re.compile(
    r"(?:(?:api|access|private|secret|subscription)key|authorization|secret|passw(?:or)?d|pwd"
    r"|passphrase|credentials?|(?:access|api|auth|bearer|id|refresh|security|session)token"
    r"|^(?:auth|bearer|cookie|token))$"
)
#: The base64 of an image: a server can send a question back with its error.
_IMAGE_BEGINS = ("iVBORw0KGgo", "/9j", "R0lGOD", "UklGR")
_IMAGE = re.compile(rf"(?:{'|'.join(_IMAGE_BEGINS)})[A-Za-z0-9+/=\\]{{60,}}")
IMAGE_MARK = "[image]"
_SCHEMA_WORDS = {"type", "$ref", "anyOf", "enum"}
#: Shorter values are words ("EMPTY", "none") that are common in ordinary text.
_SHORTEST_KEY = 6
_SHORTEST_VALUE = 8
_SHORTEST_CODE = 8
#: One backslash, then any more: a pattern that starts with a character is searched much faster.
_ESCAPE = re.compile(r"\\\\*(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(?=[/\"']))")
#: Levels of nested escapes; more do not occur by accident.
_MOST_ROUNDS = 4
#: An escape that the end of a string can split in two. A single backslash before the quote is part
#: of the string, and before an n it is a line end.
_CUT_ESCAPE = re.compile(r'(?:[%&]|\\[ux\\])[\\#;\w]*"')
#: Letters in answers, the most common first; letters not listed are rarer.
_USUAL = "e0123456789tanoirslcpgdbumhkfyvwx-_.ATISCMBRPDEHLNOFWGUVYJKqjzXQZ"
#: The strings of a JSON text (a colon follows a name), and the brackets of a level.
_PARTS = re.compile(r'("([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{\[}\]])')


def environment_secrets(environment: Mapping[str, str] | None = None) -> list[str]:
    """The values of environment variables that are named like secrets.

    >>> environment_secrets({"OPENAI_API_KEY": "hunter2hunter2", "HOME": "/home/me"})
    ['hunter2hunter2']
    """
    environment = os.environ if environment is None else environment
    values = {value.strip() for name, value in environment.items() if _NAMES.search(name)}
    return sorted(value for value in values if len(value) >= _SHORTEST_VALUE)


def check_secrets(
    *, api_key_env: str | None = None, extra_body: Mapping[str, Any] | None = None, **_: object
) -> None:
    """Refuse options of a judge that hold a key, without showing it.

    >>> check_secrets(extra_body={"max_tokens": 5, "stop_token_ids": [1], "password": None})
    >>> check_secrets(extra_body={"headers": {"X-Api-Key": "hunter2"}})
    Traceback (most recent call last):
    adjudge.errors.ArgumentError: extra_body.headers.X-Api-Key = '[redacted]': it looks like a \
key, and would be stored; put it into an environment variable and name it with --api-key-env NAME
    """
    if api_key_env is not None and api_key_env not in os.environ:
        remedy = "no environment variable has this name (not shown, it can be a key): export "
        raise ArgumentError("api_key_env", MARK, remedy + "NAME=... and give --api-key-env NAME")
    if isinstance(extra_body, Mapping):
        strike = Redactor(environment_secrets())
        if (place := _secret_in(extra_body, "extra_body", strike)) is not None:
            remedy = "it looks like a key, and would be stored; put it into an environment variable"
            raise ArgumentError(place, MARK, f"{remedy} and name it with --api-key-env NAME")


def check_name(spec: str) -> None:
    """Refuse the name of a judge that holds a key: it would be in every row and result.

    >>> check_name("openai:gpt-x,api_key=hunter2")
    Traceback (most recent call last):
    adjudge.errors.ArgumentError: judge = 'openai:[redacted]': it holds a key, and would be \
stored; export it and name its variable with --api-key-env NAME
    """
    if _KEY_IN_NAME.search(spec) or any(key in spec for key in environment_secrets()):
        shown, colon, _ = spec.partition(":")
        remedy = "it holds a key, and would be stored; export it and name its variable with"
        raise ArgumentError(
            "judge", f"{shown}:{MARK}" if colon else MARK, f"{remedy} --api-key-env NAME"
        )


def _secret_in(value: Any, place: str, strike: Redactor, *, secret: bool = False) -> str | None:
    """The place of the first secret in a JSON value; `secret`: it is under the name of one."""
    if isinstance(value, Mapping):
        inside = secret and _SCHEMA_WORDS.isdisjoint(value)
        for name, part in value.items():
            named = _SECRET_FIELDS.search(re.sub(r"[\W_]", "", str(name)).lower())
            shown = f"{place}.{strike(str(name))}"
            if strike(str(name)) != str(name):
                return shown
            secret_place = _secret_in(part, shown, strike, secret=inside or named is not None)
            if secret_place is not None:
                return secret_place
        return None
    if isinstance(value, list | tuple):
        places = (_secret_in(part, place, strike, secret=secret) for part in value)
        return next(filter(None, places), None)
    if value is None or isinstance(value, bool) or value == "":
        return None
    return place if secret or strike(str(value)) != str(value) else None


class Redactor:
    """Redacts secrets in text: those it was given, and text that looks like one.

    >>> Redactor(["hunter2-secret"])("bad key hunter2-secret, not sk-abcd***wxyz")
    'bad key [redacted], not [redacted]'
    >>> Redactor(["hunter2-secret"]).exact("h%75nter2-secret, or aHVudGVyMi1zZWNyZXQ=")
    '[redacted], or [redacted]Q='
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        long = {secret for secret in secrets if len(secret) >= _SHORTEST_KEY}
        spellings = {spelling for secret in long for spelling in _spellings(secret)}
        # Longest first: if a secret is inside another, no rest of the longer one must be left.
        ordered = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        self._spellings = [_Spelling(spelling) for spelling in ordered]
        self._shortest = min(map(len, ordered), default=0)

    def exact(self, text: str) -> str:
        """Redact only the given secrets, for replies that are stored unchanged."""
        if len(text) < self._shortest:  # decoding escapes never makes a text longer
            return text
        return self._strike(text, self._in(text, _decoded(text)))

    def __call__(self, text: str) -> str:
        return _KEY_SHAPES.sub(MARK, self.exact(text))

    def clean(self, reply: Reply) -> Reply:
        """The reply without secrets; the same object if it has none."""
        if not self._spellings:
            return reply
        raw = reply.raw
        if raw is not None:
            plain = _decoded(raw)
            whole = self._in(raw, plain)
            if self._in_pieces(raw, plain, whole):
                counted = (*_COUNTS, "latency_s")
                fields = {name: getattr(reply, name) for name in counted}
                error = "the answer contains a secret in pieces; it is not stored"
                return Reply(status="error", error=error, raw=MARK, **fields)
            raw = self._strike(raw, whole)
        text = None if reply.text is None else self.exact(reply.text)
        server = None if reply.server is None else self.exact(reply.server)
        model = None if reply.served_model is None else self.exact(reply.served_model)
        words = None if reply.error is None else self(reply.error)
        fields = {"text": text, "error": words, "raw": raw, "server": server, "served_model": model}
        if all(getattr(reply, name) == value for name, value in fields.items()):
            return reply
        return replace(reply, **fields)

    def _strike(self, text: str, spellings: list[str]) -> str:
        if not spellings:
            return text
        for spelling in spellings:
            text = _pattern(spelling).sub(MARK, text)
        # No pattern covers this spelling: keep nothing rather than a secret.
        return MARK if self._in(text, _decoded(text)) else text

    def _in(self, text: str, plain: str) -> list[str]:
        """The spellings of secrets in a text, also after decoding its escapes."""
        if len(text) < self._shortest:
            return []
        secrets = [spelling.text for spelling in self._spellings]
        if plain is not text:
            return [secret for secret in secrets if secret in plain or secret in text]
        return [secret for secret in secrets if secret in text]

    def _in_pieces(self, raw: str, plain: str, whole: list[str]) -> bool:
        """Whether string values of a JSON text together contain a secret."""
        texts = (raw,) if plain is raw else (raw, plain)
        split = (spelling.may_be_split_in(t) for t in texts for spelling in self._spellings)
        if not any(split) and not _may_cut_escapes(raw):
            return False
        values: list[str] = []
        by_name: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        named = by_name[0, ""]
        for level, string, is_name in _strings(raw):
            if is_name:
                named = by_name[level, string]
            else:
                values.append(string)
                named.append(string)
        pieces = [values, *(alike for alike in by_name.values() if len(alike) > 1)]
        # No secret contains a line end and a quote, so none spans two of these.
        joined_text = '"\n'.join(map("".join, pieces))
        joined = self._in(joined_text, _decoded(joined_text))
        return bool(set(joined).difference(whole))


@dataclass(frozen=True)
class _Spelling:
    """One way in which a secret can be written. A text that lacks a letter has it not in pieces."""

    text: str

    @cached_property
    def letters(self) -> list[str]:
        usual = {letter: place for place, letter in enumerate(_USUAL)}
        return sorted(set(self.text), key=lambda letter: (-usual.get(letter, len(_USUAL)), letter))

    def may_be_split_in(self, plain: str) -> bool:
        """Whether it could end one string and continue in another. Rare, and a fast check."""
        for letter in self.letters:
            if letter not in plain:
                return False
        # If there is a rest, it is near the start; hexadecimal digits rarely have one.
        return self._rest.search(plain) is not None and self._beginning.search(plain) is not None

    @cached_property
    def _beginning(self) -> re.Pattern[str]:
        """The beginning of the secret at the end of a string."""
        first, second, third = map(re.escape, self.text[:3])
        return re.compile(f'{first}(?:{second}(?:{third}[^"]*)?)?"')

    @cached_property
    def _rest(self) -> re.Pattern[str]:
        """Two of its letters, a single one, or its last one at the beginning of a string."""
        letters = f"[{''.join(map(re.escape, self.letters))}]"
        return re.compile(f'"(?:{letters}(?:{letters}|")|{re.escape(self.text[-1])})')


def _may_cut_escapes(raw: str) -> bool:
    # A line end in a token is common and not such an escape; this needs no search.
    begun = "%" in raw or "&" in raw
    if not begun and "\\" in raw:
        begun = "\\u" in raw or "\\x" in raw or "\\\\" in raw
    return begun and _CUT_ESCAPE.search(raw) is not None


def _strings(raw: str) -> list[tuple[int, str, bool]]:
    """The strings of a JSON text, their level (for alternatives), and whether it is a name.

    In most answers quotes alone separate the strings, which takes a third of the time.
    """
    has_levels = raw.count('"top_logprobs"') > 1
    if not has_levels and '\\"' not in raw:
        parts = raw.split('"')
        return [
            (0, string, after.lstrip()[:1] == ":")
            for string, after in zip(parts[1::2], parts[2::2], strict=False)
        ]
    strings = []
    level = 0
    for whole, string, colon in _PARTS.findall(raw):
        if whole[0] == '"':
            strings.append((level, string, bool(colon)))
        elif has_levels:
            level += 1 if whole in "{[" else -1
    return strings


def _spellings(secret: str) -> Iterator[str]:
    """A secret as plain text, and inside base64 and hexadecimal text."""
    yield secret
    yield json.dumps(secret)[1:-1]
    octets = secret.encode("utf-8", "replace")
    codes = {octets.hex(), octets.hex().upper()}
    for before in range(3):
        # The letters at both ends depend on the text before and after: leave them out.
        code = base64.b64encode(bytes(before) + octets).decode().rstrip("=")
        whole = 8 * (before + len(octets)) // 6
        middle = code[(8 * before + 5) // 6 : whole]
        codes |= {middle, middle.replace("+", "-").replace("/", "_")}
    yield from (code for code in codes if len(code) >= _SHORTEST_CODE)


def _unescape(escape: re.Match[str]) -> str:
    """The letter of a code in hexadecimal digits; nothing for a lone backslash."""
    digits = escape[1] or escape[2]
    return chr(int(digits, 16)) if digits else ""


def _decoded(text: str) -> str:
    """The text with JSON escapes, percent signs and HTML entities decoded, also nested ones."""
    for _ in range(_MOST_ROUNDS):
        before = text
        if "\\" in text:
            text = _ESCAPE.sub(_unescape, text)
        if "%" in text:
            text = unquote(text)
        if "&" in text:
            text = html.unescape(text)
        if text == before:
            break
    return text


@lru_cache(maxsize=1024)
def _pattern(spelling: str) -> re.Pattern[str]:
    """The pattern of a secret with any of its letters escaped."""
    letters = []
    for letter in spelling:
        code = ord(letter)
        forms = [re.escape(letter), rf"\\+u(?i:{code:04x})", rf"\\+x(?i:{code:02x})"]
        forms += [f"&#0*{code};", f"&#[xX]0*(?i:{code:x});"]
        octets = letter.encode("utf-8", "replace")
        forms.append("".join(f"%(?:25)*(?i:{octet:02x})" for octet in octets))
        if letter in "/\"'":
            forms.insert(0, rf"\\+{letter}")
        letters.append(f"(?:{'|'.join(forms)})")
    return re.compile("".join(letters))


#: A larger number is not a count of tokens, and the sum over a row would not fit into 63 bits.
_MOST_TOKENS = 1 << 48


def check_reply(reply: Reply) -> Reply:
    """The reply if all of it can be stored; otherwise an error that names the field and why."""
    trouble = _trouble(reply)
    raw = _plain(reply.raw)
    error = _plain(reply.error)
    if trouble is not None:
        latency = reply.latency_s if _is_number(reply.latency_s) else None
        return Reply(status="error", error=trouble, latency_s=latency, raw=raw)
    if (raw, error) == (reply.raw, reply.error):
        return reply
    return replace(reply, raw=raw, error=error)


def without_raw(reply: Reply) -> Reply:
    """The reply with only its status and numbers (`--no-raw`), and its text if rows need it."""
    written = reply.status == "ok" and reply.logprobs is None and reply.mean_logprob is None
    return replace(reply, raw=None, text=reply.text if written else None)


def _trouble(reply: Reply) -> str | None:
    if reply.status not in STATUSES:
        return f"the reply has the status {_shown(reply.status)}, which does not exist"
    for name in ("text", "server", "served_model"):
        trouble = _text_trouble(getattr(reply, name))
        if trouble is not None:
            return f"the reply's {name} {trouble}"
    for name in ("exact_mass", "cut_off"):
        if not isinstance(getattr(reply, name), bool):
            return f"the reply's {name} is {_shown(getattr(reply, name))}, not true or false"
    for name, fits, wanted in _FIELDS:
        value = getattr(reply, name)
        if value is not None and not fits(value):
            return f"the reply's {name} is {_shown(value)}, not {wanted}"
    for name, fits in (("logprobs", _is_number), ("counts", _is_count)):
        numbers = getattr(reply, name)
        if numbers is None:
            continue
        if not isinstance(numbers, Mapping):
            return f"the reply's {name} are {_shown(numbers)}, not numbers by option"
        for option, value in numbers.items():
            if not isinstance(option, str) or not fits(value):
                return f"the reply's {name} hold {_shown(value)} for {_shown(option)}"
    return None


def _text_trouble(text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        return f"is {_shown(text)}, not text"
    if "\0" in text:
        return "contains a NUL character, which no store can keep"
    if not text.isascii() and _plain(text) != text:
        return "contains half a character (a lone surrogate), which no store can keep"
    return None


def _plain(text: object) -> str | None:
    """Text that every store and file can hold, for fields that only people read."""
    if text is None:
        return None
    if not isinstance(text, str):
        return _shown(text)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if any(begin in text for begin in _IMAGE_BEGINS):
        text = _IMAGE.sub(IMAGE_MARK, text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return value.bit_length() < 64
    return isinstance(value, float) and math.isfinite(value)


_COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")
#: Fields that can be empty: what they hold otherwise.
_FIELDS = (
    *((name, _is_count, "a count of tokens") for name in (*_COUNTS, "scored_tokens")),
    ("mean_logprob", _is_number, "a finite number"),
    ("latency_s", _is_number, "a finite number"),
    ("answer_mass", lambda value: _is_number(value) and 0 <= value <= 1, "a probability"),
)


def _shown(value: object) -> str:
    """A short text for a value, which can be huge or contain secrets.

    >>> _shown(-3), _shown(1 << 70), _shown("7"), _shown({})
    ('-3', 'a number of 71 bits', 'a text of 1 character', 'an object')
    """
    if isinstance(value, bool | float) or value is None:
        return str(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() < 64 else f"a number of {value.bit_length()} bits"
    if isinstance(value, str):
        return f"a text of {count(len(value), 'character')}"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, Mapping) else type(value).__name__
