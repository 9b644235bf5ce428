"""Protocols, backends and the objects that pass between them.

A *protocol* turns a pair into questions and their replies into a judgment. A *backend* sends one
question to a model and returns one reply. Neither depends on the other. The runner and the store
are between them, so that every reply is stored before it is used. The attributes of a class declare
what it can do; no code checks its name.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from adjudge.errors import ArgumentError
from adjudge.hashing import sha256_json
from adjudge.judges.flow import IDLE, Pace, ServerLoad
from adjudge.records import Grade, Image, Item, Judgment, Order, Pair, Reply, Score, Status, Subject

if TYPE_CHECKING:
    from adjudge.judges.backends._batches import Batches
    from adjudge.judges.prices import Price
    from adjudge.judges.prompting import PromptColumns
    from adjudge.store.tables import PlainReply

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Data:
    """Text being judged. A backend with its own tokeniser must turn special tokens off."""

    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message: text of the prompt (str), text and images being judged, in order."""

    role: Role
    parts: tuple[str | Data | Image, ...]

    @property
    def text(self) -> str:
        """The message as one string, for servers that tokenise it themselves."""
        return "".join([part if isinstance(part, str) else part.text for part in self.parts])

    @property
    def images(self) -> list[Image]:
        """Its images, in reading order."""
        if Image not in map(type, self.parts):  # nearly always, and without a loop of Python
            return []
        return [part for part in self.parts if isinstance(part, Image)]

    @property
    def hashed(self) -> list[str]:
        """What the message is hashed by: role, text, and where in the text its images are.

        The text has the hash of each image; its place tells it from the same words.
        """
        places = []
        length = 0
        for part in self.parts if self.images else ():
            if isinstance(part, Image):
                places.append(f"image at {length}")
            length += len(part if isinstance(part, str) else part.text)
        return [self.role, self.text, *places]


@dataclass(frozen=True, slots=True)
class Choice:
    """Wanted: the probability of each option as the next token ("A"/"B", "1".."5")."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reasoned:
    """Wanted: written reasoning that ends in an option, and each option's probability there.

    `format` is how the option is written (see `parsing.locate_option`). If the option cannot be
    located, the reply has only its text.
    """

    options: tuple[str, ...]
    format: str
    max_tokens: int
    temperature: float = 0.0


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


Want = Choice | Reasoned | Text | Likelihood
#: The result of a protocol: a row about a pair, a score, a grade.
Record = Judgment | Score | Grade


@dataclass(frozen=True, slots=True)
class Question:
    """One call: its messages, what is wanted, and which of the item's calls it is.

    `repeat` numbers calls that differ in nothing else; there are `asked` of them. A protocol whose
    calls differ otherwise (personas, criteria) names the difference in `slot`. The first `opening`
    messages are the same for every subject.
    """

    messages: tuple[Message, ...]
    want: Want
    order: Order | None = None
    repeat: int = 0
    slot: str = ""
    asked: int = 1
    opening: int = 0

    @property
    def fixed(self) -> int:
        """The number of messages at the beginning that no judged text changes.

        >>> judged = Message("user", ("Answer: ", Data("4")))
        >>> Question((Message("system", ("Be fair.",)), judged), Text(5)).fixed
        1
        """
        fixed = self.opening
        while fixed < len(self.messages) and all(
            isinstance(part, str) for part in self.messages[fixed].parts
        ):
            fixed += 1
        return fixed

    @property
    def images(self) -> list[Image]:
        """The images of all messages, in reading order."""
        return [image for message in self.messages for image in message.images]


#: For each order the hash of the messages and of what is wanted.
PlainHashes = Sequence[tuple[Order, "hashlib._Hash"]]


class Backend(ABC):
    """A way to reach a model. One file per backend in judges/backends/."""

    #: What users type, for messages.
    example: ClassVar[str] = "BACKEND:MODEL"
    #: The options of `judge_pairs` that the constructor takes: base_url, timeout ...
    options: ClassVar[tuple[str, ...]] = ()
    #: Whether a model has to be named after the colon.
    needs_model: ClassVar[bool] = True
    #: Whether it runs on the user's machine, free of charge.
    free: ClassVar[bool] = False
    #: Whether it runs the model in this process, on a GPU if there is one; a cluster assigns one.
    uses_gpu: ClassVar[bool] = False
    #: Environment variables that it reads in addition to its key; remote workers get them too.
    variables: ClassVar[tuple[str, ...]] = ()
    #: Whether it can be shown images. It reads their bytes when it asks, by `read_image`.
    takes_images: bool = False
    #: Whether it answers from the subject itself (its id, its label) by `ask_about`, not from text.
    #: Only the simulated judge, whose truth is known, and the replay of old replies do this.
    knows_subject: ClassVar[bool] = False
    #: Whether questions can be sent together and collected later, by `open_batches`; and the price
    #: of a token in a batch, as a share of its usual price.
    batches: ClassVar[bool] = False
    batch_price: ClassVar[float] = 1.0
    #: Whether a batch is billed less, too, for what is in the provider's cache.
    batch_caches: ClassVar[bool] = False

    #: What users type and what is in the `judge` column, e.g. "openai:gpt-4.1-mini".
    name: str
    #: The kinds of question it can answer.
    wants: frozenset[type]
    #: The maximum number of calls in flight, unless the user gives another number.
    concurrency: int = 8

    @classmethod
    def parse(cls, model: str, **options: Any) -> Self:
        """Make the backend for "NAME:model" with these options."""
        make: Callable[..., Self] = cls
        return make(model, **options)

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """The parts of the judge fingerprint that this backend provides, without secrets.

        Complete before `start`, except the route: a dry run names the judge without loading it.
        """

    def routes(self, wants: frozenset[type]) -> tuple[str, ...]:
        """The ways in which it can ask such questions, if the server decides; usually empty.

        A route changes numbers, so it is a part of the fingerprint, known after `find_route`.
        """
        return ()

    async def find_route(self, question: Question) -> str | None:
        """Ask one question of the run to see which route the server allows, and use this route.

        Its reply is kept for `ask`. None if the reply is an error, which shows nothing.
        """
        return None

    def take_route(self, route: str) -> None:  # noqa: B027  (most have no routes)
        """Use the route of stored replies."""

    def remarks(self) -> Sequence[str]:
        """Notes for the run's summary on how the questions were asked."""
        return ()

    def secrets(self) -> Sequence[str]:
        """What must be redacted in every reply before it is stored: the key it uses."""
        return ()

    def check(self) -> None:  # noqa: B027  (most need nothing)
        """Raise a JudgeError if it cannot be asked, as far as this is known without a call."""

    def reach(self) -> None:  # noqa: B027  (most have no server)
        """Raise a JudgeError if its server does not accept a connection. Nothing is asked."""

    async def start(self) -> None:  # noqa: B027  (nothing to load is a fine start)
        """Load weights, open connections. Called once in the event loop before the first ask."""

    @abstractmethod
    async def ask(self, question: Question) -> Reply:
        """Ask one question, return one reply. Temporary errors are retried here, then a status.

        Raises JudgeRefusedError only if every further question would fail too.
        """

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        """One question about a subject, for a backend that knows it; others see only the text."""
        return await self.ask(question)

    def image_tokens(self, width: int, height: int) -> int | None:
        """The prompt tokens of an image of this size; None if they are known only from replies."""
        return None

    def keep_pace(self, pace: Pace | None) -> bool:
        """Take a turn of `pace` before every request (None: send immediately), if supported.

        For a backend that can send several requests for one question. False: not supported, and
        the runner takes one turn for each question.
        """
        return False

    def load(self) -> ServerLoad:
        """The server's load, for the progress display."""
        return IDLE

    def reads_again(self, question: Question) -> bool:
        """Whether its provider bills this question less when it is asked again. Equal questions are
        then asked apart, so that the first has been read."""
        return False

    def plan_cache(  # noqa: B027  (most have no provider)
        self, price: Price, *, calls: int, at_once: int
    ) -> None:
        """Know the price before `calls` are made, for what the provider caches.

        `at_once` calls start before the first is read; in a batch that is unknown: 0.
        """

    def open_batches(self, folder: Path) -> Batches:
        """Questions sent together; the list of running batches is kept in `folder`."""
        raise ArgumentError("batch", self.name, "this judge has no batches; leave it out")

    async def close(self) -> None:  # noqa: B027  (as for `start`)
        """Free the resources of `start`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file; `answer` holds what its section ``--- answer ---`` declares."""

    name: str
    text: str
    sha256: str
    answer: Mapping[str, str] = field(default_factory=dict, hash=False)


class JudgeProtocol(ABC):
    """A way of asking. One file per protocol in judges/protocols/."""

    #: The options of `judge_pairs` that the constructor takes: samples, prompt, criteria ...
    options: ClassVar[tuple[str, ...]] = ()
    #: What it is asked about: pairs of responses, or single responses.
    subjects: ClassVar[Literal["pairs", "items"]] = "pairs"
    #: Whether a protocol about pairs also takes single responses: then all models that answered a
    #: document are compared with each other.
    tournaments: ClassVar[bool] = False
    #: The kind of row it returns.
    record: ClassVar[type[Record]] = Judgment
    #: The names in `extra` of its rows; an input column with such a name is renamed.
    columns: ClassVar[tuple[str, ...]] = ()

    name: str
    #: What it needs from a backend; set on the object if its options decide.
    wants: frozenset[type]
    #: The columns that its prompt names; every row is checked for them before anything is asked.
    prompt_columns: PromptColumns | None = None
    #: The prompt that it fills; None if it sends only the text of the subject.
    prompt: Prompt | None = None
    #: Below this answer_mass a row is `off_answer`; None if it does not ask for options.
    min_answer_mass: float | None = None

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes the question: prompt hash, samples, seed, scale."""

    def check(self, subject: Subject) -> None:  # noqa: B027  (most take every subject)
        """Refuse a subject that cannot be asked about, before the first paid call."""

    @abstractmethod
    def questions(self, subject: Subject) -> Sequence[Question]:
        """Everything to ask about one pair or item."""

    def plain_hashes(self, subject: Subject) -> PlainHashes | None:
        """The hashes of `questions` if they are plain: one question for each order, no slots.

        For questions that were answered: building them takes longer than hashing their words. None:
        they are taken from `questions`.
        """
        return None

    @abstractmethod
    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Record]:
        """The rows of this subject from its replies (without `raw`), in the order of `questions`.

        Most protocols return one row; one that asks per criterion returns one for each. A row is ok
        only if every reply it needs is ok. Otherwise it has the worst status and no number. The
        runner fills in judge, fingerprint, tokens and cost.
        """

    def judge_plain(self, replies: Sequence[PlainReply]) -> dict[str, Any] | None:
        """`judge` for replies that are ok and are log probabilities: the columns of the one row
        that are not empty, without those of the subject. None where this needs `judge`.

        For a million replies of a resumed run; the same numbers to the last bit.
        """
        return None

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        """The status of one reply on its own, and the reason. A run is stopped if all its first
        replies are unusable for one reason."""
        return reply.status, reply.error

    def pair(self, subject: Subject) -> Pair:
        """The subject, which must be a pair."""
        if not isinstance(subject, Pair):
            raise ArgumentError("subject", subject, f"{self.name} compares pairs; give Pair rows")
        return subject

    def item(self, subject: Subject) -> Item:
        """The subject, which must be a single response."""
        if not isinstance(subject, Item):
            remedy = f"{self.name} scores single responses; give Item rows"
            raise ArgumentError("subject", subject, remedy)
        return subject


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A backend asked by a protocol, `repeats` times; that is not part of the fingerprint.

    The repeats are numbered from `first_repeat`: another number is another call in a store.
    """

    backend: Backend
    protocol: JudgeProtocol
    fingerprint_parts: Mapping[str, Any]
    repeats: int = 1
    first_repeat: int = 0

    @property
    def repeat_numbers(self) -> range:
        return range(self.first_repeat, self.first_repeat + self.repeats)

    @property
    def is_repeated(self) -> bool:
        """Whether its rows state their repeat."""
        return self.repeats > 1 or self.first_repeat > 0

    @cached_property
    def fingerprint(self) -> str:
        return sha256_json(self.fingerprint_parts)
