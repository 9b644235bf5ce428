"""The two halves of asking and what passes between them.

A *protocol* turns a pair into questions and their replies into a judgment. A *backend* carries one
question to a model and brings one reply back. Neither knows the other; the runner and the store
are between them, so that every reply is kept before anything is made of it.

A new one is a class made from `Backend` or `JudgeProtocol` and one line in judges/spec.py, or an
entry point of a package of its own. The attributes of the class say what it can do; nobody asks for
its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from adjudge.errors import ArgumentError
from adjudge.judges.flow import IDLE, Pace, ServerLoad
from adjudge.records import Grade, Item, Judgment, Order, Pair, Reply, Score, Status, Subject

if TYPE_CHECKING:
    from adjudge.judges.columns import PromptColumns

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
        return "".join([part if isinstance(part, str) else part.text for part in self.parts])


@dataclass(frozen=True, slots=True)
class Choice:
    """Wanted: the probability of each option as the next token ("A"/"B", "1".."5")."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reasoned:
    """Wanted: reasoning in words that ends in an option, and each option's probability there.

    `format` says how the option is written (see `parsing.locate_option`). A reply in which it
    cannot be located has its text alone.
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
#: What a protocol makes of replies: a row about a pair, a score, a grade.
Record = Judgment | Score | Grade


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


#: What is wanted of every question, and for each order the role and text of each message.
PlainWords = tuple[Want, Sequence[tuple[Order, Sequence[str]]]]


class Backend(ABC):
    """A way to reach a model. One file each in judges/backends/."""

    #: What users type, for messages.
    example: ClassVar[str] = "BACKEND:MODEL"
    #: The options of `judge_pairs` that the constructor takes: base_url, timeout ...
    options: ClassVar[tuple[str, ...]] = ()
    #: Whether a model has to be named after the colon.
    needs_model: ClassVar[bool] = True
    #: It runs on the user's own machine: no charge.
    free: ClassVar[bool] = False
    #: It runs the model in this process, on a GPU where there is one: a cluster gives it one.
    uses_gpu: ClassVar[bool] = False
    #: Environment variables that it reads besides its key's: workers elsewhere get them too.
    variables: ClassVar[tuple[str, ...]] = ()
    #: It answers from the subject itself (its id, its label), not from the words, by `ask_about`.
    #: Only judges that are no judges do: one with a known truth, one that replays old replies.
    knows_subject: ClassVar[bool] = False
    #: Whether questions can be sent together and collected later, by `open_batches`; and what a
    #: token costs then, as a share of its usual price.
    batches: ClassVar[bool] = False
    batch_price: ClassVar[float] = 1.0

    #: What users type and what is in the `judge` column, e.g. "openai:gpt-4.1-mini".
    name: str
    #: The kinds of question it can answer.
    wants: frozenset[type]
    #: How many calls the runner may have under way at once unless the user says otherwise.
    concurrency: int = 8

    @classmethod
    def parse(cls, model: str, **options: Any) -> Self:
        """The backend that "NAME:model" with these options means."""
        make: Callable[..., Self] = cls
        return make(model, **options)

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """The parts of the judge fingerprint that this backend knows, secrets never among them.

        Complete before `start`, but for the route: a dry run names the judge without loading it.
        """

    def routes(self, wants: frozenset[type]) -> tuple[str, ...]:
        """The ways in which it may ask such questions, where the server decides; usually none.

        A route changes numbers (all log probabilities or only the likeliest), so it is a part of
        the fingerprint, known once `find_route` has asked.
        """
        return ()

    async def find_route(self, question: Question) -> str | None:
        """Ask one question of the run to see which route the server allows, and keep to it.

        Its reply is kept for `ask`. None where the reply is an error, which shows nothing.
        """
        return None

    def take_route(self, route: str | None) -> None:  # noqa: B027  (most have no routes)
        """Keep to the route of earlier replies; None: they are older than routes."""

    def remarks(self) -> Sequence[str]:
        """What whoever reads the run's summary should know of how its questions were asked."""
        return ()

    def secrets(self) -> Sequence[str]:
        """What must be struck out of every reply before it is kept: the key it uses."""
        return ()

    async def start(self) -> None:  # noqa: B027  (nothing to load is a fine start)
        """Load weights, open connections. Called once in the event loop before the first ask."""

    @abstractmethod
    async def ask(self, question: Question) -> Reply:
        """One question, one reply. Transient trouble is retried inside, then given as a status.

        Raises JudgeRefusedError only for what no further question could survive.
        """

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        """One question about a subject, for a backend that knows it; others see the words alone."""
        return await self.ask(question)

    def keep_pace(self, pace: Pace | None) -> bool:
        """Take a turn of `pace` before every request (None: send at once), if it can do so.

        For a backend that may send several requests for one question. False: it does not, and the
        runner takes one turn for each question.
        """
        return False

    def load(self) -> ServerLoad:
        """What the server says of its load, for whoever watches the run."""
        return IDLE

    def open_batches(self, folder: Path) -> Batches:
        """Questions sent together; what is under way is kept in `folder`."""
        raise ArgumentError("batch", self.name, "this judge has no batches; leave it out")

    async def close(self) -> None:  # noqa: B027  (as for `start`)
        """Free what `start` took."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """How far the batches are."""

    batches: int
    ended: int
    calls: int
    answered: int


@dataclass(frozen=True, slots=True)
class BatchCall:
    """One call: its key, what is wanted, and whatever the caller needs to know it again."""

    key: str
    want: Want
    meta: Mapping[str, Any]


class Batches(Protocol):
    """A batch service in use: entered, sent to, collected from. It outlives the process."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    def pending(self) -> set[str]:
        """The keys of all calls under way."""

    async def submit(self, calls: Iterable[tuple[str, Question, Mapping[str, Any]]]) -> int:
        """Send calls (key, question, meta) that are not under way yet; how many were sent."""

    def collect(
        self,
        *,
        poll_s: float,
        on_poll: Callable[[BatchProgress], None] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> AsyncIterator[tuple[BatchCall, Reply]]:
        """Every call under way with its reply, as batches end; until `stopped` says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file: its name, its text with {placeholders}, and the SHA-256 of the text.

    `answer` is what its section ``--- answer ---`` declares of the reply: `format`, `tie`.
    """

    name: str
    text: str
    sha256: str
    answer: Mapping[str, str] = field(default_factory=dict, hash=False)


class JudgeProtocol(ABC):
    """A way of asking. One file each in judges/protocols/."""

    #: The options of `judge_pairs` that the constructor takes: samples, prompt, criteria ...
    options: ClassVar[tuple[str, ...]] = ()
    #: Options that would make no sense here, and why.
    unfit_options: ClassVar[Mapping[str, str]] = {}
    #: What it is asked about: pairs of responses, or single responses.
    subjects: ClassVar[Literal["pairs", "items"]] = "pairs"
    #: A protocol about pairs that can be given single responses too: all models answering one
    #: document then meet each other.
    tournaments: ClassVar[bool] = False
    #: The kind of row it gives.
    record: ClassVar[type[Record]] = Judgment
    #: What it puts into `extra` of its rows; a column of the input of such a name is renamed.
    columns: ClassVar[tuple[str, ...]] = ()

    name: str
    #: What it needs of a backend; that of an object, where its options decide.
    wants: frozenset[type]
    #: The columns that its prompt names; every row is checked for them before anything is asked.
    prompt_columns: PromptColumns | None = None
    #: The prompt that it fills; None where the words asked are those of the subject alone.
    prompt: Prompt | None = None
    #: Below this answer_mass a row of it is `off_answer`; None where it asks for no options.
    min_answer_mass: float | None = None

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """All that changes what is asked: prompt hash, samples, seed, scale."""

    def check(self, subject: Subject) -> None:  # noqa: B027  (most take every subject)
        """Refuse a subject that cannot be asked about, before any is paid for."""

    @abstractmethod
    def questions(self, subject: Subject) -> Sequence[Question]:
        """Everything to ask about one pair or item."""

    def plain_words(self, subject: Subject) -> PlainWords | None:
        """The words of `questions` where they are plain: one question for each order, no slots.

        Building questions takes longer than hashing their words, and a question that was answered
        is only hashed. None: they are taken from `questions`.
        """
        return None

    @abstractmethod
    def judge(
        self, subject: Subject, replies: Sequence[Reply]
    ) -> Sequence[Judgment | Score | Grade]:
        """The rows that the replies, in the order of `questions`, give for this subject.

        The replies come from the store, where `raw` stays: what a row needs is in the others.

        Most protocols give one row; one that asks per criterion gives one for each. A row is ok
        only when every reply it needs is; otherwise it has the worst status and no number. The
        runner fills in judge, fingerprint, tokens and cost.
        """

    def judge_plain(
        self, replies: Sequence[tuple[Mapping[str, Any], float | None]]
    ) -> dict[str, Any] | None:
        """`judge` for replies that are ok and are log probabilities, of which each comes with its
        answer mass: the columns of the one row that are not empty, without those of the subject.

        None where this needs `judge`, as it does for most protocols. It is for the million replies
        of a run that is resumed, and gives the same numbers to the last bit.
        """
        return None

    def factors(self) -> Mapping[str, int]:
        """What multiplies the calls of one subject, by name: criteria, samples."""
        return {}

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        """What one reply is worth on its own, and why: a run whose first replies are all
        worthless for one reason is stopped."""
        return reply.status, reply.error

    def pair(self, subject: Subject) -> Pair:
        """The subject, which must be a pair."""
        if not isinstance(subject, Pair):
            raise ArgumentError("subject", subject, f"{self.name} compares pairs; give Pair rows")
        return subject

    def item(self, subject: Subject) -> Item:
        """The subject, which must be a single response."""
        if not isinstance(subject, Item):
            raise ArgumentError(
                "subject", subject, f"{self.name} scores single responses; give Item rows"
            )
        return subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A backend asked by a protocol: one row of the judgments file per subject and repeat.

    `repeats`: how often everything is asked. It changes no answer, so it is no part of the
    fingerprint.
    """

    backend: Backend
    protocol: JudgeProtocol
    fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1
