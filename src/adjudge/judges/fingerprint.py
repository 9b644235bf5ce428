"""The identity of a judge: everything that could change an answer, in one hash, with its parts.

Two judges with the same fingerprint can share stored replies, calibrations and policies. Two with
different fingerprints never do, and the parts show what differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from adjudge.errors import ArgumentError
from adjudge.judges.interface import (
    Backend,
    Choice,
    Judge,
    JudgeProtocol,
    Likelihood,
    Question,
    Reasoned,
    Text,
    Want,
)
from adjudge.present.result import plain
from adjudge.records import Item, Pair
from adjudge.store.interface import content_hash, sha256_json

#: Parts that judges of earlier versions lack. If one side lacks a part, it is not compared.
LATER_PARTS = frozenset({"route"})
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_WANT_NAMES = {
    "Choice": "letter probabilities",
    "Reasoned": "letter probabilities after reasoning",
    "Text": "text",
    "Likelihood": "likelihoods",
}


def differing_parts(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the parts in which two judges differ, if both can have the part.

    >>> differing_parts({"model": "a", "protocol": "preference"}, {"model": "b", "seed": 1})
    ('model', 'protocol', 'seed')
    >>> differing_parts({"model": "a"}, {"model": "a", "route": "top_logprobs 5"})
    ()
    """
    missing = object()
    names = sorted((one.keys() | other.keys()).difference(incomparable_parts(one, other)))
    return tuple(name for name in names if one.get(name, missing) != other.get(name, missing))


def incomparable_parts(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """The newer parts that only one of two judges has."""
    return tuple(sorted(LATER_PARTS & (one.keys() ^ other.keys())))


def make_judge(backend: Backend, protocol: JudgeProtocol, *, repeats: int = 1) -> Judge:
    """A judge from a backend and a protocol, if the backend can answer the protocol's questions.

    The parts of the fingerprint are the backend's, then the protocol's with its prefix.
    """
    lacking = protocol.wants - backend.wants
    if lacking:
        wanted = _named(lacking)
        drawn = lacking <= {Choice, Reasoned} and Text in backend.wants
        remedy = "draw answers with --samples 5, or choose" if drawn else "choose"
        raise ArgumentError(
            "protocol",
            protocol.name,
            f"it needs {wanted}, which {backend.name} cannot give (only {_named(backend.wants)});"
            f" {remedy} another --protocol or --judge",
        )
    parts = {name: _without_credentials(plain(v)) for name, v in backend.identity().items()}
    parts["protocol"] = protocol.name
    parts |= {f"protocol.{name}": plain(value) for name, value in protocol.settings().items()}
    return Judge(
        backend=backend,
        protocol=protocol,
        fingerprint=sha256_json(parts),
        fingerprint_parts=parts,
        repeats=repeats,
    )


def by_route(judge: Judge) -> dict[str, Judge]:
    """The judge by each route that its server can allow; empty if there is no choice."""
    routes = judge.backend.routes(judge.protocol.wants)
    return {route: _with_parts(judge, {"route": route}) for route in routes}


def _with_parts(judge: Judge, more: Mapping[str, Any]) -> Judge:
    parts = {**judge.fingerprint_parts, **more}
    return replace(judge, fingerprint=sha256_json(parts), fingerprint_parts=parts)


def question_hash(question: Question, subject: Pair | Item | None = None) -> str:
    """The content hash of one question: all text that is sent and what is wanted in return.

    The hash is of what is sent, not of the pair's columns. So anything that a protocol shows (a
    reference, a persona, demonstrations) makes a new question when it changes. `subject` is for
    judges that answer from the subject itself instead of the text (`knows_subject`).
    """
    texts = [part for message in question.messages for part in (message.role, message.text)]
    texts += texts_of_want(question.want)
    if subject is not None:
        texts += texts_of_subject(subject)
    return content_hash(texts)


def texts_of_want(want: Want) -> list[str]:
    """What is wanted, for the content hash: it comes after the messages."""
    if isinstance(want, Choice):
        return ["choice", *want.options]
    if isinstance(want, Reasoned):
        written = [str(want.max_tokens), repr(want.temperature)]
        return ["reasoned", want.format, *want.options, *written]
    if isinstance(want, Likelihood):
        return ["likelihood", want.continuation.text]
    texts = ["text", str(want.max_tokens), repr(want.temperature)]
    return texts if want.json_schema is None else [*texts, sha256_json(plain(want.json_schema))]


def texts_of_subject(subject: Pair | Item) -> list[str]:
    """What a judge that knows the subject can answer from, for the content hash: it comes last."""
    known = [subject.label] if isinstance(subject, Pair) else _truths(subject)
    return ["subject", subject.id, "".join([str(one) for one in known if one is not None])]


def _truths(item: Item) -> list[object]:
    """The fields that a judge that knows the item can answer from."""
    return [item.extra.get(name) for name in ("truth", "human")]


def _named(wants: Iterable[type]) -> str:
    return " and ".join(sorted(_WANT_NAMES.get(want.__name__, want.__name__) for want in wants))


def _without_credentials(value: Any) -> Any:
    return _CREDENTIALS.sub("", value) if isinstance(value, str) else value
