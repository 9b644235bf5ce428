"""Read the store: what was asked, what the judge wrote, and the status of each reply.

A store does not keep the texts that were judged. With the file of pairs a question is made again by
the protocol of the run, and shown if it has the hash of what was sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from adjudge.errors import AdjudgeError
from adjudge.judges.criteria import Criterion
from adjudge.judges.interface import Data, JudgeProtocol, Message, Prompt
from adjudge.judges.judge import PROTOCOLS, question_hash
from adjudge.judges.prompting import Value, fill, placeholders
from adjudge.judges.protocols._choices import shown_texts, softmax
from adjudge.judges.subjects import Subjects, SubjectSource
from adjudge.present.blocks import Block, Heading, Headline, Note, notes_of
from adjudge.present.result import Check, Count, Proportion, Result, at_most, frozen, plain
from adjudge.present.text import count, percent
from adjudge.records import MEASURED, MIN_ANSWER_MASS, STATUSES, Reply, Status, Subject
from adjudge.store import store_name, use_store
from adjudge.store.interface import DEFAULT_STORE, StorePlace
from adjudge.store.tables import Call, KnownJudge, KnownPrompt
from adjudge.validation import count as check_count
from adjudge.validation import one_of, unit

_NO_DEMONSTRATIONS = "demonstrations are not shown: add --demonstrations FILE, as in the run"
NO_TEXTS = "the store does not keep the judged texts: add --pairs FILE to see the questions"
#: Fields of a stored reply that are shown unchanged.
_AS_STORED = (
    *("text", "cut_off", "answer_mass", "exact_mass", "mean_logprob"),
    *("prompt_tokens", "completion_tokens", "server", "served_model"),
)


@dataclass(frozen=True, kw_only=True)
class AskedMessage:
    """One message of a question as it was sent."""

    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class JudgeReply:
    """One call: the question and the reply.

    `status` is that of the reply alone, as in rows of judgments; `detail` explains it.
    `probabilities` are those of the options alone, which add up to 1; those in `bounded` are upper
    bounds. `answer_mass` is the probability of all options among everything the judge could have
    written; it is a lower bound unless `exact_mass`. `asked` needs the texts, which no store keeps.
    It is None if the texts are not those that were sent.
    """

    id: str
    judge: str
    protocol: str
    order: str | None
    repeat: Count
    slot: str
    status: str
    detail: str | None = None
    text: str | None = None
    cut_off: bool = False
    probabilities: Mapping[str, Proportion] | None = None
    bounded: tuple[str, ...] = ()
    answer_mass: Proportion | None = None
    exact_mass: bool = False
    mean_logprob: float | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    server: str | None = None
    served_model: str | None = None
    created_at: str | None = None
    prompt: str | None = None
    asked: tuple[AskedMessage, ...] | None = None
    raw: str | None = None


@frozen
class Replies(Result):
    """Replies in a store: the first `shown` of `matching`, oldest first.

    `statuses` counts all that match. A call that was repeated has its latest reply here.
    """

    kind: ClassVar[str] = "replies"
    rows_in: ClassVar[str] = "replies"
    checks: ClassVar[tuple[Check, ...]] = (at_most("shown", "matching"),)

    store: str
    matching: Count
    shown: Count
    statuses: Mapping[str, Count]
    replies: tuple[JudgeReply, ...]
    notes: tuple[str, ...] = ()

    def view(self) -> list[Block]:
        blocks: list[Block] = [self._headline()]
        for reply in self.replies:
            blocks += [Heading(_place(reply)), Note(describe_reply(reply))]
            for message in reply.asked or ():
                blocks.append(Note([f"asked, {message.role}:", *message.text.splitlines()]))
            if reply.text is not None:
                blocks.append(Note(["wrote:", *(reply.text.splitlines() or ["(nothing)"])]))
            if reply.raw is not None:
                blocks.append(Note(["the server's answer:", reply.raw]))
        return blocks + notes_of(self.notes)

    def _headline(self) -> Headline:
        if not self.matching:
            action = "Check --store and the other options."
            return Headline(f"{self.store}: no matching reply", action, tone="bad")
        by_status = ", ".join(f"{n:,} {name}" for name, n in self.statuses.items())
        text = f"{self.store}: {count(self.matching, 'reply', 'replies')}, {by_status}"
        more = f"The first {self.shown:,} are shown; --limit N shows more."
        return Headline(text, more if self.matching > self.shown else "")


def read_replies(
    row_id: str | Collection[str] | None = None,
    *,
    store: StorePlace = DEFAULT_STORE,
    status: str | None = None,
    judge: str | None = None,
    protocol: str | None = None,
    pairs: SubjectSource | None = None,
    demonstrations: SubjectSource | None = None,
    columns: Mapping[str, str] | None = None,
    raw: bool = False,
    limit: int | None = 20,
    min_answer_mass: float | None = None,
) -> Replies:
    """What a judge wrote about one row, some or all: the latest reply of each call.

    The store has the reply as it came; whether it is `off_answer` or `unparsed` depends on how it
    is read. It is read as the protocol of its run reads it. A row of judgments has the worst status
    of its replies; here each of its two orders has its own status.

    Args:
        row_id: Only this row. A list of ids gives all these rows. Default: all rows.
        store: Store of the judge's replies. A file, a URL, or an open store.
        status: Only replies with this status: ok, off_answer, unparsed ... It is the status of the
            one reply.
        judge: Only replies of this judge.
        protocol: Only replies by this protocol.
        pairs: The rows that were judged, to show the questions. With their texts, `asked` is the
            question as it was sent.
        demonstrations: The labelled pairs that annotators were shown, as given to the run.
        columns: Columns with other names, ours to yours, e.g. {"response_a": "left"}.
        raw: Also show the server's complete answer.
        limit: Maximum number of replies to show. None returns all.
        min_answer_mass: Minimum probability of the answer letters; below it a row is off_answer.
            Default: 0.1.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> from adjudge.judges.judging import judge_pairs
    >>> from adjudge.store import open_store
    >>> store = open_store(None)
    >>> run = judge_pairs(simulate_pairs(3, seed=1), judge="simulated:", store=store)
    >>> replies = read_replies(store=store, limit=1)
    >>> replies.matching, replies.statuses, replies.replies[0].order
    (6, {'ok': 6}, 'ab')
    """
    if status is not None:
        one_of(status, STATUSES, "status")
    most = None if limit is None else check_count(limit, "limit", least=1)
    least = MIN_ANSWER_MASS if min_answer_mass is None else unit(min_answer_mass, "min_answer_mass")
    statuses: Counter[str] = Counter()
    replies: list[JudgeReply] = []
    asked: list[tuple[Call, _Question]] = []
    shown = () if demonstrations is None else tuple(Subjects(demonstrations).read())
    with use_store(store, readonly=True) as opened:
        prompts = opened.prompts()
        make = partial(_Question, least=least, demonstrations=shown)
        questions = {key: make(known, prompts) for key, known in opened.judges().items()}
        for call in opened.calls([row_id] if isinstance(row_id, str) else row_id):
            nameless = KnownJudge(call.judge_fingerprint, "", {})
            question = questions.get(call.judge_fingerprint) or make(nameless, {})
            if judge not in (None, question.judge) or protocol not in (None, question.protocol):
                continue
            status_read, detail = question.worth(call.reply)
            if status in (None, status_read):
                statuses[status_read] += 1
                if most is None or len(replies) < most:
                    replies.append(_reply(call, question, status_read, detail, raw=raw))
                    asked.append((call, question))
        name = store_name(store) or "memory"
    notes: tuple[str, ...] = (NO_TEXTS,) if replies else ()
    if pairs is not None:
        asker = next((question.asker for _, question in asked if question.asker), None)
        wanted = {reply.id for reply in replies}
        read = Subjects(pairs, protocol=asker, columns=columns).read()
        texts = {subject.id: subject for subject in read if subject.id in wanted}
        replies = [
            replace(reply, asked=question.fill(texts[reply.id], call))
            if reply.id in texts
            else reply
            for reply, (call, question) in zip(replies, asked, strict=True)
        ]
        missing = sum(reply.id not in texts for reply in replies)
        other = sum(reply.asked is None for reply in replies) - missing
        bare = any(not question.complete and question.needs_demonstrations for _, question in asked)
        counts = {
            f"{missing:,} of the replies are about rows that are not in --pairs": missing,
            f"{other:,} questions are not shown: other texts than these were sent": other,
            _NO_DEMONSTRATIONS: bare,
        }
        notes = tuple(words for words, number in counts.items() if number)
    return Replies(
        store=name,
        matching=statuses.total(),
        shown=len(replies),
        statuses={name: statuses[name] for name in STATUSES if statuses[name]},
        replies=tuple(replies),
        notes=notes,
    )


class _Question:
    """How the calls of one judge were asked, from the data in the store."""

    def __init__(
        self,
        known: KnownJudge,
        prompts: Mapping[str, KnownPrompt],
        *,
        least: float,
        demonstrations: Sequence[Subject],
    ) -> None:
        self.judge = known.judge
        self.protocol = known.protocol
        named = {name.partition("protocol.")[2]: value for name, value in known.parts.items()}
        self._settings = {name: value for name, value in named.items() if name}
        sha256 = str(self._settings.get("prompt_sha256"))
        stored = prompts.get(sha256)
        self.prompt = None if stored is None else Prompt(sha256=sha256, **stored._asdict())
        self._least = least
        self.asker = self._make(demonstrations)
        #: Whether it asks as the run did: a protocol made in Python can have other settings.
        self.complete = self.asker is not None and plain(self.asker.settings()) == self._settings
        self.worth = self._by_mass if self.asker is None else self.asker.status_of
        #: Whether it shows labelled pairs, which no store keeps.
        self.needs_demonstrations = "demonstrations" in self._settings

    def _make(self, demonstrations: Sequence[Subject]) -> JudgeProtocol | None:
        """The protocol; None if it needs data that no store keeps, or is not installed."""
        settings = self._settings
        orders = settings.get("orders", ["ab", "ba"])
        try:
            kind = PROTOCOLS.load(self.protocol)
            criteria = []
            for name, stored in (settings.get("criteria") or {}).items():
                anchors = {int(score): words for score, words in stored["anchors"].items()}
                criteria.append(Criterion(name, stored["definition"], anchors))
            options = {
                **{name: settings.get(name) for name in ("max_tokens", "seed")},
                "prompt": self.prompt,
                "min_answer_mass": self._least,
                "criteria": criteria,
                "demonstrations": demonstrations,
                "scale": tuple(settings.get("scale", ())),
                "samples": settings.get("samples", 1 if settings.get("votes") == "text" else None),
                "order": settings.get("order", "random" if orders == "random" else None),
            }
            if len(orders) == 1:
                options["order"] = orders[0]
            return kind(**{k: v for k, v in options.items() if k in kind.options and v})
        except (AdjudgeError, KeyError, TypeError, ValueError):
            return None

    def _by_mass(self, reply: Reply) -> tuple[Status, str | None]:
        low = reply.answer_mass is not None and reply.answer_mass < self._least
        off = low and reply.status in MEASURED
        return ("off_answer" if off else reply.status), reply.error

    def fill(self, subject: Subject, call: Call) -> tuple[AskedMessage, ...] | None:
        """The question that was asked about this subject; None if its texts are not these.

        If the protocol cannot be made again, it is the prompt with the subject's texts.
        """
        messages: Sequence[Message] = ()
        if self.asker is not None and self.complete:
            questions = self.asker.questions(subject)
            each = 1 + max(question.repeat for question in questions)
            place = (call.order, call.slot, call.repeat % each)
            for question in questions:
                hashes = {question_hash(question), question_hash(question, subject)}
                if (question.order, question.slot, question.repeat) == place:
                    messages = question.messages if call.content_hash in hashes else ()
        elif self.prompt is not None:
            values: dict[str, Value] = {name: f"{{{name}}}" for name in placeholders(self.prompt)}
            values |= {name: Data(str(value)) for name, value in subject.extra.items()}
            messages = fill(self.prompt, values | shown_texts(subject, call.order or "ab"))
        return tuple(AskedMessage(role=m.role, text=m.text) for m in messages) or None


def _reply(
    call: Call, question: _Question, status: Status, detail: str | None, *, raw: bool
) -> JudgeReply:
    reply = call.reply
    return JudgeReply(
        id=call.subject_id,
        judge=question.judge,
        protocol=question.protocol,
        order=call.order,
        repeat=call.repeat,
        slot=call.slot,
        status=status,
        detail=detail,
        probabilities=None if not reply.logprobs else softmax(reply.logprobs),
        bounded=tuple(sorted(reply.censored)),
        **{name: getattr(reply, name) for name in _AS_STORED},
        created_at=call.created_at,
        prompt=None if question.prompt is None else question.prompt.name,
        raw=reply.raw if raw else None,
    )


def _place(reply: JudgeReply) -> str:
    order = f"order {reply.order}" if reply.order else ""
    repeat = f"repeat {reply.repeat}" if reply.repeat else ""
    parts = (reply.id, reply.judge, reply.protocol, order, reply.slot, repeat)
    return ", ".join(filter(None, parts))


def describe_reply(reply: JudgeReply) -> list[str]:
    """The status of a reply and its numbers, a line each."""
    lines = [f"{reply.status}: {reply.detail}" if reply.detail else reply.status]
    if reply.probabilities is not None:
        bounds = f" ({', '.join(reply.bounded)} at most)" if reply.bounded else ""
        shares = ", ".join(f"{name} {percent(p)}" for name, p in reply.probabilities.items())
        lines.append(f"of the letters asked for: {shares}{bounds}")
    if reply.answer_mass is not None:
        least = "" if reply.exact_mass else "at least "
        lines.append(f"the letters hold {least}{percent(reply.answer_mass)} of the probability")
    if reply.mean_logprob is not None:
        lines.append(f"mean log probability of the response {reply.mean_logprob:.4f}")
    prompt = reply.prompt and f"prompt {reply.prompt}"
    tokens = None
    if reply.completion_tokens is not None:
        end = ", cut off" if reply.cut_off else ""
        read = f"{reply.prompt_tokens or 0:,} tokens read"
        tokens = f"{read}, {reply.completion_tokens:,} written{end}"
    facts = (reply.created_at, reply.server, reply.served_model, prompt, tokens)
    return [*lines, *filter(None, [" · ".join(filter(None, facts))])]
