"""The two halves of asking and what passes between them.

A *protocol* turns a pair into questions and their replies into a judgment. A *backend* carries one
question to a model and brings one reply back. Neither knows the other; the runner and the store
stand between them, so that every reply is kept before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from adjudge.judges.pace import Pace
from adjudge.records import Item, Judgment, Order, Pair, Reply, Score

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Data:
    """Text being judged. A backend that tokenises itself must do so with special tokens off."""

    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message: our own words (str) and the text being judged (Data), in order."""

    role: Role
    parts: tuple[str | Data, ...]

    @property
    def text(self) -> str:
        """The message as one string, for servers that tokenise it themselves."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Choice:
    """Wanted: the probability of each option as the next token ("A"/"B", "1".."5")."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """Wanted: written text. `json_schema` is offered to servers that can enforce it."""

    max_tokens: int
    temperature: float = 0.0
    json_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Wanted: the mean log probability of `continuation` as the assistant's turn."""

    continuation: Data


Want = Choice | Text | Likelihood


@dataclass(frozen=True, slots=True)
class Question:
    """One call: what is said, what is wanted, and which of the item's calls it is.

    `repeat` counts calls that differ in nothing else; a protocol whose calls differ otherwise
    (personas, criteria) names the difference in `slot`.
    """

    messages: tuple[Message, ...]
    want: Want
    order: Order | None = None
    repeat: int = 0
    slot: str = ""


class Backend(Protocol):
    """A way to reach a model. Implementations: one file each in judges/backends/."""

    #: What users type and what stands in the `judge` column, e.g. "openai:gpt-4.1-mini".
    name: str
    #: The kinds of question it can answer.
    wants: frozenset[type]
    #: How many calls the runner may have under way at once unless the user says otherwise.
    concurrency: int

    def identity(self) -> Mapping[str, Any]:
        """The parts of the judge fingerprint that this backend knows, secrets never among them.

        Complete before `start`: a dry run names the judge without loading it.
        """
        ...

    async def start(self) -> None:
        """Load weights, open connections. Called once in the event loop before the first ask."""
        ...

    async def ask(self, question: Question) -> Reply:
        """One question, one reply. Transient trouble is retried inside and then told as a status.

        Raises JudgeRefusedError only for what no further question could survive.
        """
        ...

    async def close(self) -> None:
        """Free what `start` took."""
        ...


@runtime_checkable
class KnowsSubject(Protocol):
    """A backend that answers from the subject itself (its id, its label), not from the words.

    Only judges that are no judges do: one with a known truth, one that replays old replies.
    """

    async def ask_about(self, subject: Pair | Item, question: Question) -> Reply:
        """One question about a subject that the backend is told of."""
        ...


@runtime_checkable
class KeepsPace(Protocol):
    """A backend that may send several requests for one question: retries, and what it learns."""

    def keep_pace(self, pace: Pace | None) -> None:
        """Take a turn of `pace` before every request; None: send at once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file: its name, its text with {placeholders}, and the SHA-256 of the text."""

    name: str
    text: str
    sha256: str


class JudgeProtocol(Protocol):
    """A way of asking. Implementations: one file each in judges/protocols/."""

    name: str
    #: What it needs of a backend.
    wants: frozenset[type]

    def settings(self) -> Mapping[str, Any]:
        """All that changes what is asked: prompt hash, samples, seed, scale."""
        ...

    def questions(self, subject: Pair | Item) -> Sequence[Question]:
        """Everything to ask about one pair or item."""
        ...

    def judge(self, subject: Pair | Item, replies: Sequence[Reply]) -> Sequence[Judgment | Score]:
        """The rows that the replies, in the order of `questions`, give for this subject.

        The replies come from the store, where `raw` stays: what a row needs is in the others.

        Most protocols give one row; one that asks per criterion gives one for each. A row is ok
        only when every reply it needs is; otherwise it has the worst status and no number. The
        runner fills in judge, fingerprint, tokens and cost.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A backend asked by a protocol: one row of the judgments file per subject."""

    backend: Backend
    protocol: JudgeProtocol
    fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
