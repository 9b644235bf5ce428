"""Choices among a few options, asked about one answer, or about two answers in both orders.

- *By log probabilities*: the softmax over the options alone. It is read at the first token or, if
  the judge reasons first, at the token of the verdict.
- *By samples*: k written answers. Each option's share is (r + 1/m) / (k + 1) with m options. It is
  never 0 or 1, because k answers cannot show certainty. Unreadable answers are counted.

If the probability of all spellings of the options (`answer_mass`) is known and below
`min_answer_mass`, the judge was about to write something else: `off_answer`, without a number. A
truncated answer has none either, because the missing part could contradict it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.errors import ArgumentError, DataError
from adjudge.judges.interface import (
    Choice,
    JudgeProtocol,
    Message,
    Prompt,
    Question,
    Reasoned,
    Text,
)
from adjudge.judges.parsing import WHOLE, check_format, locate_option, unread, write_option
from adjudge.judges.prompting import PromptColumns, Value, as_value, check_prompt, fill
from adjudge.judges.subjects import texts_of
from adjudge.present.text import percent, safe
from adjudge.records import (
    MEASURED,
    MIN_ANSWER_MASS,
    STATUSES,
    Judgment,
    Order,
    Pair,
    Reply,
    Status,
    Subject,
)
from adjudge.statistics.entropy import entropy_of, mean_of_orders, verdict
from adjudge.validation import count, non_negative, one_of, unit

#: Enough for a letter with a few words around it, too small for an essay.
LETTER_TOKENS = 16
#: Enough to reason about two answers.
REASON_TOKENS = 1024
#: Why a truncated answer is not read.
CUT_OFF = "truncated at max_tokens; raise --max-tokens"
#: What a probability is if a server lists only the most likely tokens.
BOUNDED = "bounded by the k-th log probability"
PLACEHOLDERS = ("prompt", "response_a", "response_b")
LETTERS = ("A", "B")
BOTH_ORDERS: tuple[Order, ...] = ("ab", "ba")
#: From ok to the worst.
_SEVERITY = ("ok", "censored", "off_answer", "unparsed", "no_logprobs", "refused", "error")


def worst(statuses: Iterable[Status]) -> Status:
    """The status that decides a row: the one furthest from ok.

    >>> worst(["ok", "unparsed", "censored"])
    'unparsed'
    """
    return max(statuses, key=_SEVERITY.index)


def reason(replies: Iterable[Reply], status: Status) -> str | None:
    """The reason of the first reply with this status."""
    return next((r.error for r in replies if r.status == status and r.error), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """Each option's share, or why it is missing. `drawn` counts written answers."""

    status: Status
    shares: Mapping[str, float] | None = None
    answer_mass: float | None = None
    detail: str | None = None
    drawn: Mapping[str, int] | None = None


class Asking:
    """How a choice among `options` is asked for, and how its replies are read.

    `samples` is the number of written answers, for judges without log probabilities. With `reason`
    the judge writes its reasons before the option, in the `format` that the prompt declares.
    """

    def __init__(
        self,
        options: tuple[str, ...],
        *,
        prompt: Prompt,
        reason: bool = False,
        samples: int | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        usual_tokens: int = LETTER_TOKENS,
        min_answer_mass: float | None = None,
    ) -> None:
        self.options = options
        self.samples = samples
        self.repeats = 1 if samples is None else count(samples, "samples", least=1)
        limit = MIN_ANSWER_MASS if min_answer_mass is None else min_answer_mass
        self.min_answer_mass = unit(limit, "min_answer_mass")
        self.format = _format(prompt, reason, options[0])
        reasons = self.format != WHOLE
        if temperature is None:
            temperature = 1.0 if samples is not None else 0.0
        if non_negative(temperature, "temperature") == 0 and self.repeats > 1:
            remedy = "samples at temperature 0 are all the same; give a temperature above 0"
            raise ArgumentError("temperature", 0, remedy)
        usual = REASON_TOKENS if reasons else usual_tokens
        tokens = usual if max_tokens is None else count(max_tokens, "max_tokens", least=1)
        self.want: Choice | Reasoned | Text
        if samples is not None:
            self.want = Text(tokens, temperature)
        elif reasons:
            self.want = Reasoned(options, self.format, tokens, temperature)
        elif max_tokens is not None:
            remedy = "only written answers have a maximum length: add --reason or --samples"
            raise ArgumentError("max_tokens", max_tokens, remedy)
        else:
            self.want = Choice(options)

    def settings(self) -> dict[str, Any]:
        """The settings that change the replies, for the fingerprint. Defaults add nothing."""
        if isinstance(self.want, Choice):
            return {}
        return {
            **({"samples": self.samples} if self.samples is not None else {}),
            **({"answer_format": self.format} if self.format != WHOLE else {}),
            "temperature": self.want.temperature,
            "max_tokens": self.want.max_tokens,
        }

    def read(self, replies: Sequence[Reply]) -> Answer:
        """The answer that the replies to one choice give together."""
        if isinstance(self.want, Text):
            return self._from_texts(replies)
        return self._from_logprobs(replies[0])

    def _from_logprobs(self, reply: Reply) -> Answer:
        if reply.status not in MEASURED:
            return Answer(reply.status, detail=reply.error)
        if reply.counts is not None:
            return self._shares({name: int(reply.counts.get(name, 0)) for name in self.options})
        logprobs = reply.logprobs
        # A reasoned reply has log probabilities only if the backend located the verdict.
        unread_text = logprobs is None or reply.cut_off
        if isinstance(self.want, Reasoned) and unread_text and self.option_of(reply) is None:
            return Answer(self._unlocated_status(reply), detail=self._unlocated(reply))
        if logprobs is None or any(option not in logprobs for option in self.options):
            missing = reply.error or f"the reply has no log probability of {self._named}"
            if isinstance(self.want, Reasoned):
                missing = "no log probabilities at the verdict; add --samples 10"
            return Answer("no_logprobs", detail=missing)
        mass = reply.answer_mass
        if mass is not None and mass < self.min_answer_mass:
            return Answer("off_answer", answer_mass=mass, detail=self._off_answer(reply, mass))
        shares = softmax({option: logprobs[option] for option in self.options})
        if shares is None:
            detail = f"the log probabilities of {self._named} are not numbers"
            return Answer("error", detail=detail)
        # If one option has only a bound, the shares are bounds too, whatever the backend's status.
        status: Status = "censored" if reply.censored else reply.status
        return Answer(status, shares, answer_mass=mass)

    def _from_texts(self, replies: Sequence[Reply]) -> Answer:
        if any(reply.status == "error" for reply in replies):
            # A missing answer can still be asked for; a share without it would differ.
            return Answer("error", detail=reason(replies, "error"))
        options = [self.option_of(r) if r.status in MEASURED else None for r in replies]
        pairs = zip(options, replies, strict=True)
        tally = Counter(option or self._unlocated_status(reply) for option, reply in pairs)
        drawn = dict(sorted(tally.items()))
        if any(options):
            return self._shares(drawn)
        status = worst(map(self._unlocated_status, replies))
        first = next(r for r in replies if self._unlocated_status(r) == status)
        detail = reason(replies, status) or self._unlocated(first)
        return Answer(status, detail=detail, drawn=drawn)

    def option_of(self, reply: Reply) -> str | None:
        """The option in a written reply; None if it has no option or was truncated."""
        place = locate_option(reply.text, self.options, self.format)
        return None if place is None or reply.cut_off else place.option

    def _unlocated_status(self, reply: Reply) -> Status:
        return unread(reply.text) if reply.status in MEASURED else reply.status

    def _shares(self, drawn: Mapping[str, int]) -> Answer:
        readable = sum(drawn.get(option, 0) for option in self.options)
        if readable == 0:
            return Answer("unparsed", detail=f"no sample is {self._named}", drawn=drawn)
        m = len(self.options)
        shares = {o: smoothed_share(drawn.get(o, 0), readable, m) for o in self.options}
        return Answer("ok", shares, drawn=drawn)

    @property
    def _named(self) -> str:
        *most, last = self.options
        return f"{', '.join(most)} or {last}"

    def _unlocated(self, reply: Reply) -> str:
        if reply.cut_off:
            return CUT_OFF
        if self.format == WHOLE:
            return f"the reply is not {self._named} alone; it begins {_quote(reply.text)}"
        written = write_option(self.options[0], self.format)
        end = _quote(reply.text, end=True)
        return f"no single verdict written as {written}; the reply ends {end}"

    def _off_answer(self, reply: Reply, mass: float) -> str:
        least = "" if reply.exact_mass else "at least "
        held = f"{' and '.join(self.options)} hold {least}{percent(mass)} of the probability"
        limit = f"below {percent(self.min_answer_mass)}"
        if isinstance(self.want, Reasoned):
            return f"{held} at the verdict, {limit}; ask with --samples 10"
        begins = f"; the reply begins {_quote(reply.text)}" if reply.text else ""
        return f"{held}, {limit}{begins}; ask with --reason, or --samples 10"


def softmax(logprobs: Mapping[str, float]) -> dict[str, float] | None:
    """exp(l) / sum exp(l), without overflow; None if a value is not a number.

    >>> softmax({"A": 0.0, "B": -9999.0}), softmax({"A": -0.1, "B": -0.1})
    ({'A': 1.0, 'B': 0.0}, {'A': 0.5, 'B': 0.5})
    """
    top = max(logprobs.values())
    weights = {name: math.exp(value - top) for name, value in logprobs.items()}
    total = math.fsum(weights.values())
    if not math.isfinite(total):
        return None
    return {name: weight / total for name, weight in weights.items()}


def smoothed_share(wins: int, drawn: int, options: int = 2) -> float:
    """(r + 1/m) / (k + 1): for two options (r + 1/2) / (k + 1).

    >>> smoothed_share(5, 5), smoothed_share(0, 5)
    (0.9166666666666666, 0.08333333333333333)
    """
    return (wins + 1 / options) / (drawn + 1)


def _format(prompt: Prompt, reason: bool, first: str) -> str:
    """How the option is written: as the prompt declares, alone if it declares nothing."""
    declared = prompt.answer.get("format")
    declared = WHOLE if declared is None else check_format(declared, first)
    if reason and declared == WHOLE:
        remedy = (
            "say in the prompt how the verdict is written after the reasons: end the file with the "
            f"lines '--- answer ---' and 'format: [[{first}]]'"
        )
        raise ArgumentError("reason", prompt.name, remedy)
    return declared


def _quote(text: str | None, *, end: bool = False) -> str:
    line = " ".join((text or "").split())
    return repr(safe(line[-40:] if end else line[:40]))


def seeded_order(pair_id: str, seed: int) -> Order:
    """One order per pair, like a coin flip, and always the same for the same seed.

    >>> [seeded_order(str(i), 0) for i in range(6)]
    ['ba', 'ba', 'ba', 'ab', 'ba', 'ba']
    """
    drawn = hashlib.sha256(f"{seed}\0{pair_id}".encode("utf-8", "surrogatepass")).digest()
    return "ab" if drawn[0] & 1 else "ba"


def shown_texts(subject: Subject, order: Order = "ab") -> dict[str, Value]:
    """The prompt and what is judged, as shown in this order ("ba": response_b as A)."""
    texts = texts_of(subject)
    if order == "ba":
        a = texts["response_a"]
        b = texts["response_b"]
        texts |= {"response_a": b, "response_b": a}
    return {name: as_value(text) for name, text in texts.items()}


def letter_shown(pair: Pair, order: Order) -> str:
    """The letter under which the better response is shown."""
    return "A" if (pair.label == "A") == (order == "ab") else "B"


def judgment(pair: Pair, protocol: str, status: Status, **fields: Any) -> Judgment:
    """A row about a pair; the runner fills in the judge."""
    return Judgment(
        id=pair.id, judge="", protocol=protocol, status=status, label=pair.label, **fields
    )


class Orders:
    """The orders in which a pair is asked: both, a fixed one, or one drawn for each pair.

    >>> Orders("ba").settings(), Orders("random", seed=1).settings()
    ({'orders': ['ba']}, {'orders': 'random', 'seed': 1})
    """

    CHOICES = ("both", "ab", "ba", "random")

    def __init__(self, choice: str = "both", *, seed: int = 0) -> None:
        self.choice = one_of(choice, self.CHOICES, "order")
        self.seed = count(seed, "seed")
        self._fixed = tuple(fixed for fixed in BOTH_ORDERS if choice in ("both", fixed))

    def of(self, pair: Pair) -> tuple[Order, ...]:
        """The orders to ask for this pair."""
        if self.choice == "random":
            return (seeded_order(pair.id, self.seed),)
        return self._fixed

    def settings(self) -> dict[str, Any]:
        if self.choice == "random":
            return {"orders": "random", "seed": self.seed}
        return {"orders": list(self._fixed)}


class Demonstrations:
    """Labelled subjects that a judge is shown; one that is also judged is refused."""

    def __init__(self, subjects: Iterable[Subject]) -> None:
        listed = list(subjects)
        self._ids = frozenset(subject.id for subject in listed)
        self._contents = frozenset(map(content_of, listed))

    def refuse(self, subject: Subject) -> None:
        """Refuse a subject with the id or the texts of a demonstration."""
        same = "id" if subject.id in self._ids else ""
        if self._contents and content_of(subject) in self._contents:
            same = "text"
        if same:
            noun = "pair" if isinstance(subject, Pair) else "item"
            problem = f"{noun} {subject.id!r} is both judged and a demonstration (same {same})"
            remedy = f"take demonstrations from {noun}s that are neither calibration nor test"
            raise DataError("demonstrations", problem, remedy=remedy)


def content_of(subject: Subject) -> frozenset[str]:
    """The texts of a subject; a swapped pair has the same texts."""
    return frozenset(f"{name[0]}{text}" for name, text in texts_of(subject).items())


def digest_of(messages: Iterable[Message]) -> str:
    digest = hashlib.sha256()
    for message in messages:
        words = "".join(f"{text}\0" for text in message.hashed)
        digest.update(words.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class PromptProtocol(JudgeProtocol):
    """A protocol that fills a prompt."""

    prompt: Prompt
    prompt_columns: PromptColumns

    def use_prompt(
        self, prompt: Prompt, *, required: Sequence[str], optional: Sequence[str] = ()
    ) -> None:
        """Fill this prompt; names other than these are columns of the row."""
        self.prompt = check_prompt(prompt, required=required, optional=optional)
        self.prompt_columns = PromptColumns(prompt, (*required, *optional))

    def shown(self, subject: Subject, order: Order = "ab") -> dict[str, Value]:
        """The texts of a subject, with the columns that the prompt names."""
        return {**self.prompt_columns.values(subject, order), **shown_texts(subject, order)}


class ChoiceProtocol(PromptProtocol):
    """A protocol that asks for one of a few options. Call `use_prompt`, then `ask_for`.

    After `demonstrate`, every question begins with questions of the same form and their answers.
    """

    asking: Asking
    #: The demonstrations as turns of a conversation, with the system message.
    opening: tuple[Message, ...] = ()
    demonstrations = Demonstrations(())

    def ask_for(self, options: tuple[str, ...], **how: Any) -> None:
        """Ask for one of these options, in the way that `Asking` explains."""
        self.asking = Asking(options, prompt=self.prompt, **how)
        self.wants = frozenset({type(self.asking.want)})
        self.min_answer_mass = self.asking.min_answer_mass

    def demonstrate(self, shown: Sequence[tuple[Subject, Mapping[str, Value], str | None]]) -> None:
        """Show these subjects before every question: each with its values and its option."""
        if not shown:
            return
        if unlabelled := [subject.id for subject, _, option in shown if option is None]:
            problem = f"{unlabelled[0]!r} has no label that can be shown ({len(unlabelled)} rows)"
            remedy = "leave out ties and rows without a label"
            raise DataError("demonstrations", problem, remedy=remedy)
        if isinstance(self.asking.want, Reasoned) or self.asking.format != WHOLE:
            remedy = "leave out --reason: the answers that are shown have no reasons"
            raise ArgumentError("demonstrations", f"{len(shown)} rows", remedy)
        self.demonstrations = Demonstrations(subject for subject, _, _ in shown)
        self.opening = self.turns((values, option) for _, values, option in shown if option)

    def turns(self, shown: Iterable[tuple[Mapping[str, Value], str]]) -> tuple[Message, ...]:
        """The system message, then each question with its answer, in the form of the question."""
        messages: list[Message] = []
        for values, option in shown:
            filled = fill(self.prompt, values)
            messages += [m for m in filled if m.role != "system" or not messages]
            written = write_option(option, self.asking.format)
            messages.append(Message("assistant", (written,)))
        return tuple(messages)

    def demonstration_settings(self) -> dict[str, Any]:
        return {"demonstrations_sha256": digest_of(self.opening)} if self.opening else {}

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        answer = self.asking.read([reply])
        return answer.status, answer.detail

    def choice_questions(
        self,
        values: Mapping[str, Value],
        *,
        opening: tuple[Message, ...] = (),
        order: Order | None = None,
        slot: str = "",
    ) -> list[Question]:
        """The prompt with these values, once for each sample."""
        messages = fill(self.prompt, values)
        opening = opening or self.opening
        if opening:
            messages = (*opening, *(m for m in messages if m.role != "system"))
        return [
            Question(
                messages,
                self.asking.want,
                order=order,
                repeat=repeat,
                slot=slot,
                asked=self.asking.repeats,
                opening=len(opening),
            )
            for repeat in range(self.asking.repeats)
        ]


class LetterProtocol(ChoiceProtocol):
    """Asks for the letter of the better response in each order; `how` is that of `Asking`."""

    def __init__(
        self,
        prompt: Prompt,
        *,
        required: Sequence[str] = PLACEHOLDERS,
        optional: Sequence[str] = (),
        order: str = "both",
        seed: int = 0,
        demonstrations: Iterable[Pair] = (),
        **how: Any,
    ) -> None:
        self.use_prompt(prompt, required=required, optional=optional)
        self.orders = Orders(order, seed=seed)
        tie = prompt.answer.get("tie")
        self.ask_for(LETTERS if tie is None else (*LETTERS, tie), **how)
        self.demonstrate([self._shown(self.pair(pair)) for pair in demonstrations])

    def _shown(self, pair: Pair) -> tuple[Pair, Mapping[str, Value], str | None]:
        order = seeded_order(pair.prompt, 0)
        letter = letter_shown(pair, order) if pair.label in ("A", "B") else None
        return pair, self.shown(pair, order), letter

    def settings(self) -> Mapping[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            **self.orders.settings(),
            **self.asking.settings(),
            **self.demonstration_settings(),
        }

    def letter_questions(
        self, pair: Pair, *, values: Mapping[str, Value] | None = None, slot: str = ""
    ) -> list[Question]:
        """The questions of each order, one for each sample, with more `values`."""
        self.demonstrations.refuse(pair)
        asked: list[Question] = []
        for order in self.orders.of(pair):
            shown = {**self.shown(pair, order), **(values or {})}
            asked += self.choice_questions(shown, order=order, slot=slot)
        return asked

    def read_letters(
        self,
        pair: Pair,
        replies: Sequence[Reply],
        protocol: str,
        extra: Mapping[str, Any] | None = None,
    ) -> Judgment:
        """The row from the replies to `letter_questions`: ok only if each order is ok.

        p_a is the mean of both orders. With one order it is that order's probability, including the
        position bias; `order` then names it, and p_fwd and p_rev stay empty.
        """
        k = self.asking.repeats
        orders = self.orders.of(pair)
        answers = {
            order: self.asking.read(replies[at * k : (at + 1) * k])
            for at, order in enumerate(orders)
        }
        columns = dict(extra or {})
        samples = {order: dict(answer.drawn or {}) for order, answer in answers.items()}
        sampled = any(answer.drawn is not None for answer in answers.values())
        if sampled:
            columns["samples"] = samples
        if len(orders) == 1:
            columns["order"] = orders[0]
        status = worst([answer.status for answer in answers.values()])
        mass = smallest_mass(answers.values())
        if status not in MEASURED or any(answer.shares is None for answer in answers.values()):
            detail = next(a.detail for a in answers.values() if a.status == status)
            return judgment(pair, protocol, status, answer_mass=mass, detail=detail, extra=columns)
        preferred = []
        ties = []
        for order, answer in answers.items():
            shares = answer.shares or {}
            tie = [shares[letter] for letter in self.asking.options[2:]]
            preferred.append(shares["A" if order == "ab" else "B"] + sum(tie) / 2)
            ties += tie
        p_a = mean_of_orders(*preferred) if len(preferred) == 2 else preferred[0]
        p_tie = sum(ties) / len(ties) if ties else None
        drawn = [f"{order} {describe_drawn(texts)}" for order, texts in samples.items()]
        censored = [order for order in orders if answers[order].status == "censored"]
        words = f"{BOUNDED}: {', '.join(censored)}" if censored else None
        words = f"sampled: {', '.join(drawn)}" if sampled else words
        by_order = dict(zip(("p_fwd", "p_rev"), preferred, strict=True)) if len(orders) == 2 else {}
        return judgment(
            pair,
            protocol,
            status,
            **by_order,
            p_a=p_a,
            p_tie=p_tie,
            uncertainty=entropy_of(p_a),
            verdict=verdict(p_a, p_tie),
            answer_mass=mass,
            detail=words,
            extra=columns,
        )


def smallest_mass(answers: Iterable[Answer]) -> float | None:
    masses = [answer.answer_mass for answer in answers if answer.answer_mass is not None]
    return min(masses, default=None)


def describe_drawn(drawn: Mapping[str, int]) -> str:
    """How many of the samples could be read."""
    total = sum(drawn.values())
    unreadable = sum(drawn.get(status, 0) for status in STATUSES)
    return f"{total - unreadable} of {total} readable"
