"""What one verdict is about: a conversation, one of its turns, an agent's run, or a step of it.

A turn is a message of the assistant, judged with all that came before. A step of a run is such a
message with the results of the tools that it called. Turns and steps become rows of their own, with
the id ID#NUMBER. Their errors are alike, so the rows of one conversation are one cluster: they
share a `prompt_id`. Labels of the whole are not labels of its turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adjudge.data.columns import input_name
from adjudge.data.conversations import ASSISTANTS, CALL, TOOLS, Turn, plain, turns_of, write_turns
from adjudge.data.parts import flatten, unflatten
from adjudge.errors import ArgumentError, DataError
from adjudge.present.text import count
from adjudge.records import Item, Pair, Subject
from adjudge.validation import count as check_count
from adjudge.validation import one_of

UNITS = ("conversation", "turn", "run", "step")
#: The longest message of a run, and the longest run, that a judge sees, in characters.
STEP_LIMIT, RUN_LIMIT = 4_000, 60_000
#: What the verdict of a row is about, if not a whole response.
JUDGED_AS = "judged_as"
#: How many characters of a row the judge was not shown.
CUT_CHARACTERS = "cut_characters"
#: Columns with people's word on the whole.
_OF_PEOPLE = frozenset({"human", "label", "human_score", "best", "rater", "labelled_by"})
_ONE_SIDE = "turn that only one response has"


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came before an answer, and its turns; `parts` are where each of its units is."""

    opening: list[Turn]
    said: list[Turn]
    parts: list[slice]


@dataclass(slots=True)
class Units:
    """Splits rows into what one verdict is about, and counts what it left out.

    `step_limit` and `run_limit` bound what is shown of a run; None shows all of it.

    >>> talk = "[user]\\nHi\\n\\n[assistant]\\nYes?\\n\\n[user]\\n2+2?\\n\\n[assistant]\\n4"
    >>> item = Item(id="x", prompt="A talk.", response=talk)
    >>> [(turn.id, turn.response) for turn in Units("turn").split(item)]
    [('x#1', 'Yes?'), ('x#2', '4')]
    """

    name: str = "conversation"
    step_limit: int | None = None
    run_limit: int | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    _cut: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        one_of(self.name, UNITS, "unit")
        for option in ("step_limit", "run_limit"):
            limit = getattr(self, option)
            if limit is not None and not self._of_run:
                raise ArgumentError(option, limit, "it needs --unit run or step (unit=)")
            if limit is not None:
                check_count(limit, option, least=100)
        if self.step_limit and self.run_limit and self.run_limit < self.step_limit:
            remedy = f"give at least the {self.step_limit} of step_limit"
            raise ArgumentError("run_limit", self.run_limit, remedy)

    @classmethod
    def for_judge(cls, name: str, step_limit: int | None, run_limit: int | None) -> Units:
        """Units whose runs are bounded: by the usual limits, unless the caller gives others."""
        units = cls(name, step_limit, run_limit)
        if not units._of_run:
            return units
        run_limit = run_limit or max(RUN_LIMIT, step_limit or 0)
        return cls(name, step_limit or min(STEP_LIMIT, run_limit), run_limit)

    @property
    def notes(self) -> Iterator[str]:
        """What the rows do not have, in words."""
        if rows := self._cut["rows"]:
            cut = count(self._cut["characters"], "character")
            most = f"--step-limit {self.step_limit} --run-limit {self.run_limit}"
            shortened = count(rows, "row is", "rows are")
            yield f"{shortened} shortened for the judge by {cut} ({CUT_CHARACTERS}): {most}"
        if labels := self._cut["labels"]:
            of = count(labels, "label of a whole", "labels of wholes")
            yield f"{of}: not used, because a {self.name} needs its own"

    def split(self, subject: Subject, *, source: str = "rows", row: int = 1) -> list[Subject]:
        """The subjects that the judge, or a person, is asked about instead of this one."""
        if self.name == "conversation":
            return [subject]
        if self.numbered:
            self._cut["labels"] += _is_labelled(subject)
        try:
            if isinstance(subject, Item):
                return list(self._of_item(subject))
            return list(self._of_pair(subject))
        except _NoTurnError as error:
            remedy = "give messages with roles: user, assistant, tool"
            raise DataError(
                source, str(error), row=row, column=error.column, remedy=remedy
            ) from None

    @property
    def numbered(self) -> bool:
        """Whether a row becomes several, each with a number."""
        return self.name in ("turn", "step")

    @property
    def _of_run(self) -> bool:
        return self.name in ("run", "step")

    def _of_item(self, item: Item) -> Iterator[Item]:
        steps = item.extra.get("steps") if self._of_run else None
        if isinstance(steps, str) and turns_of(steps):
            answer = self._answer("", steps, "steps")
        else:
            answer = self._answer(item.prompt, item.response, "response")
        for number, part in enumerate(answer.parts, 1):
            before, cut_before = self._bound(answer.said[: part.start])
            said = answer.said[part]
            shown, cut = self._bound(said)
            columns = self._columns(item, number, said, cut_before + cut)
            yield replace(
                item,
                id=f"{item.id}#{number}" if self.numbered else item.id,
                prompt=_written([*answer.opening, *before]),
                response=_written(shown),
                doc_id=item.doc_id or item.id if self.numbered else item.doc_id,
                extra=columns,
            )

    def _of_pair(self, pair: Pair) -> Iterator[Pair]:
        if self.name == "step":
            remedy = "steps of two runs do not correspond: use --unit run, or single answers"
            raise ArgumentError("unit", "step", remedy)
        a, b = (
            self._answer(pair.prompt, response, name)
            for name, response in (("response_a", pair.response_a), ("response_b", pair.response_b))
        )
        turns_a = [*a.opening, *a.said]
        turns_b = [*b.opening, *b.said]
        self.dropped[_ONE_SIDE] += abs(len(a.parts) - len(b.parts))
        for number, (part_a, part_b) in enumerate(zip(a.parts, b.parts, strict=False), 1):
            end_a = len(a.opening) + part_a.stop
            end_b = len(b.opening) + part_b.stop
            # What both sides have in common is the prompt.
            shared = _shared(turns_a[: end_a - 1], turns_b[: end_b - 1])
            shown_a, cut_a = self._bound(turns_a[shared:end_a])
            shown_b, cut_b = self._bound(turns_b[shared:end_b])
            yield replace(
                pair,
                id=f"{pair.id}#{number}" if self.numbered else pair.id,
                prompt=_written(turns_a[:shared]),
                response_a=_written(shown_a),
                response_b=_written(shown_b),
                label=None if self.numbered else pair.label,
                prompt_id=pair.prompt_id or pair.id if self.numbered else pair.prompt_id,
                extra=self._columns(pair, number, a.said[part_a], cut_a + cut_b),
            )

    def _answer(self, prompt: str, response: str, column: str) -> _Answer:
        """The turns of an answer; without a prompt, those before the first of the assistant are."""
        opening = turns_of(prompt) or [Turn("user", flatten(prompt, plain))]
        opening = opening if prompt.strip() else []
        said = turns_of(response) or [Turn("assistant", flatten(response))]
        if [turn.text for turn in said[: len(opening)]] == [turn.text for turn in opening]:
            opening = []
        at = [place for place, turn in enumerate(said) if turn.role in ASSISTANTS]
        if not at:
            raise _NoTurnError(column, said)
        if not opening:
            # Who is judged can speak first: such a greeting answers nothing.
            first = next((place for place in at if place), 0)
            opening, said = said[:first], said[first:]
            at = [place - first for place in at if place >= first]
        if self.name == "run":
            return _Answer(opening, said, [slice(0, len(said))])
        if self.name == "turn":
            return _Answer(opening, said, [slice(place, place + 1) for place in at])
        return _Answer(opening, said, [slice(place, _end_of_step(said, place)) for place in at])

    def _columns(self, subject: Subject, number: int, said: Sequence[Turn], cut: int) -> Any:
        """The columns of a unit: those of its row, and what it is."""
        ours: dict[str, Any] = {JUDGED_AS: self.name}
        extra = dict(subject.extra)
        if self._of_run:
            ours[CUT_CHARACTERS] = cut
            self._cut["rows"] += cut > 0
            self._cut["characters"] += cut
            extra.pop("steps", None)  # the run itself
        if self.numbered:
            first = said[0]
            ours |= {"conversation_id": subject.id, self.name: number}
            ours["role"] = first.name or first.role
            if isinstance(subject, Item):
                ours["prompt_id"] = extra.pop("prompt_id", None) or subject.id
            extra = {name: value for name, value in extra.items() if name not in _OF_PEOPLE}
        if self.name == "step":
            tools = [name for turn in said for name, _ in CALL.findall(turn.text)]
            ours["tool"] = ", ".join(dict.fromkeys(tools)) or None
            ours["tool_failed"] = int(any(turn.failed for turn in said))
        named = {*extra, *ours}
        renamed = {input_name(n, named) if n in ours else n: value for n, value in extra.items()}
        return {**renamed, **ours}

    def _bound(self, turns: Sequence[Turn]) -> tuple[list[Turn], int]:
        """The turns within the limits, and how many characters are cut; both ends are kept."""
        if self.step_limit is None or self.run_limit is None:
            return list(turns), 0
        shown = [turn._replace(text=_shorten(turn.text, self.step_limit)) for turn in turns]
        cut = sum(
            len(long.text) - self.step_limit for long in turns if len(long.text) > self.step_limit
        )
        first, last, left = 0, len(shown), self.run_limit
        while first < last:
            latest = len(shown) - last <= first  # the latest messages matter most
            left -= len(shown[last - 1 if latest else first].text)
            if left < 0:
                break
            last -= latest
            first += not latest
        if first == last:
            return shown, cut
        lost = sum(min(len(turn.text), self.step_limit) for turn in turns[first:last])
        words = f"[{count(last - first, 'message')} cut: {lost:,} characters]"
        if first:
            before = shown[first - 1]
            kept = [*shown[: first - 1], before._replace(text=f"{before.text}\n\n{words}")]
            return [*kept, *shown[last:]], cut + lost
        after = shown[last]
        return [after._replace(text=f"{words}\n\n{after.text}"), *shown[last + 1 :]], cut + lost


class _NoTurnError(ValueError):
    """An answer in which nobody speaks who is judged."""

    def __init__(self, column: str, said: Sequence[Turn]) -> None:
        roles = ", ".join(dict.fromkeys(turn.role for turn in said))
        super().__init__(f"has no turn of an assistant: its {len(said)} turns are by {roles}")
        self.column = column


def prompt_and_response(text: str) -> tuple[str, str] | None:
    """A conversation as a prompt and a response, which begins with the first answer to it.

    >>> prompt_and_response("[user]\\n2+2?\\n\\n[assistant]\\n4")
    ('2+2?', '4')
    >>> prompt_and_response("[user]\\n2+2?") is None
    True
    """
    try:
        whole = Units("run")._answer("", text, "messages")
    except _NoTurnError:
        return None
    return (_written(whole.opening), _written(whole.said)) if whole.opening else None


def split_all(subjects: Iterable[Subject], units: Units, source: str) -> Iterator[Subject]:
    """The units of all subjects, whose rows are numbered from 1."""
    for row, subject in enumerate(subjects, 1):
        yield from units.split(subject, source=source, row=row)


def conversation_of(subject: Subject) -> str:
    """The conversation that a subject is a part of; a subject of its own is one."""
    return str(subject.extra.get("conversation_id") or subject.id)


def _is_labelled(subject: Subject) -> bool:
    known: Mapping[str, Any] = subject.extra
    own = subject.label if isinstance(subject, Pair) else None
    return own is not None or any(known.get(name) is not None for name in ("human", "human_score"))


def _end_of_step(said: Sequence[Turn], place: int) -> int:
    """Where a step ends: after the results of the tools that it called."""
    end = place + 1
    while end < len(said) and said[end].role in TOOLS:
        end += 1
    return end


def _shared(a: Sequence[Turn], b: Sequence[Turn]) -> int:
    """How many turns two answers have in common at their start."""
    together = (n for n, (one, other) in enumerate(zip(a, b, strict=False)) if one != other)
    return next(together, min(len(a), len(b)))


def _shorten(text: str, limit: int) -> str:
    """A text within a limit: its start and its end, and how much is missing between them."""
    if len(text) <= limit:
        return text
    end = limit // 3
    lost = len(text) - limit
    return f"{text[: limit - end]}\n[{lost:,} characters cut]\n{text[len(text) - end :]}"


def _written(turns: Sequence[Turn]) -> str:
    """Turns as text: a single one that calls no tool is its words alone."""
    if len(turns) == 1 and not turns[0].failed and not CALL.search(turns[0].text):
        return unflatten(turns[0].text)
    return write_turns(turns)
