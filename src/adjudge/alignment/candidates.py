"""What the search tries: demonstrations, reasons first, and rewrites that another model proposes.

A proposer is asked through the ordinary runner, so that its replies are stored, resumed and
limited like those of a judge. What it is shown is data, and a rewrite that copies it is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjudge.alignment.parts import Labelled
from adjudge.errors import AdjudgeError
from adjudge.hashing import content_hash
from adjudge.judges.interface import Data, JudgeProtocol, Prompt, Question, Text
from adjudge.judges.prompting import Part, Value, builtin_prompt, fill, make_prompt
from adjudge.judges.subjects import texts_of
from adjudge.records import Grade, Item, Reply, Subject

#: Words in a row that a rewrite can share with a row that was shown.
_COPIED = 8
_SHOWN = 6
_LONGEST_CASE = 1_500
_LONGEST_PROMPT = 20_000
_REWRITE_TOKENS = 2_000
_MARKED = re.compile(r"<prompt>\n?(.*?)\n?</prompt>", re.DOTALL)
_SECTION = re.compile(r"^--- *answer *---", re.MULTILINE)
_TITLES = {"prompt": "Question", "response": "Answer", "response_a": "A", "response_b": "B"}


#: The name of the user's own prompt.
OWN = "own"


@dataclass(frozen=True)
class Candidate:
    """One way of asking: a prompt, rows shown before the question, reasons first or not.

    Within a search a name stands for one way.
    """

    name: str
    prompt: Prompt = field(compare=False)
    demonstrations: tuple[Subject, ...] = field(default=(), compare=False)
    reason: bool = field(default=False, compare=False)

    @property
    def way(self) -> str:
        """What the judge is asked, spaces aside: two candidates can be the same."""
        shown = [str(texts_of(subject)) for subject in self.demonstrations]
        words = [self.prompt.text.split(), sorted(self.prompt.answer.items()), shown, self.reason]
        return content_hash([str(part) for part in words])


@dataclass(frozen=True)
class Mistake:
    """A row on which the judge was wrong, and its verdict."""

    row: Labelled
    verdict: str

    def __str__(self) -> str:
        texts = [
            f"{_TITLES[name]}: {text[:_LONGEST_CASE]}" for name, text in self.row.texts.items()
        ]
        return "\n".join([*texts, f"Judge: {self.verdict}", f"People: {self.row.label}"])


def show_mistakes(own: Candidate, mistakes: Sequence[Mistake]) -> list[Candidate]:
    """Candidates with 2 and 4 demonstrations: the first mistakes, as many of each label."""
    by_label: dict[str, list[Labelled]] = {}
    for mistake in mistakes:
        by_label.setdefault(mistake.row.label, []).append(mistake.row)
    candidates = []
    for number in (2, 4):
        balanced = [row for rows in by_label.values() for row in rows[: number // 2]]
        rest = [mistake.row for mistake in mistakes if mistake.row not in balanced]
        rows = sorted([*balanced, *rest][:number], key=lambda row: row.question)
        if len(rows) == number and not own.reason:
            name = f"{own.name} with {number} demonstrations"
            candidates.append(Candidate(name, own.prompt, tuple(row.subject for row in rows)))
    return candidates


class Rewriting(JudgeProtocol):
    """Asks a model to rewrite a prompt, in requests with other cases each.

    The cases are of the first mistakes, chosen by hash, so that a resumed run asks the same. The
    row's `text` is what the model wrote.
    """

    name = "rewrite"
    subjects = "items"
    record = Grade
    columns = ("text",)
    wants = frozenset({Text})

    def __init__(
        self, current: Candidate, mistakes: Sequence[Mistake], *, number: int, stage: int
    ) -> None:
        self._current = current
        self._cases: dict[str, list[Mistake]] = {}
        for name in (f"rewrite {stage}.{at + 1}" for at in range(number)):
            ranks = [content_hash([name, case.row.question]) for case in mistakes[: 4 * _SHOWN]]
            chosen = sorted(range(len(ranks)), key=ranks.__getitem__)[:_SHOWN]
            self._cases[name] = [mistakes[at] for at in chosen]
        self.items = [Item(id=name, prompt=name, response="") for name in self._cases]

    def settings(self) -> Mapping[str, Any]:
        return {"prompt_sha256": self._current.prompt.sha256, "max_tokens": _REWRITE_TOKENS}

    def questions(self, subject: Subject) -> Sequence[Question]:
        cases: list[Part] = []
        for number, mistake in enumerate(self._cases[subject.id], start=1):
            cases += [f"\n[Case {number} begins]\n", Data(str(mistake)), "\n[Case ends]\n"]
        values: dict[str, Value] = {"current": Data(self._current.prompt.text), "cases": cases}
        want = Text(_REWRITE_TOKENS, temperature=1.0)
        return [Question(fill(builtin_prompt("rewrite"), values), want, slot=subject.id)]

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Grade]:
        [reply] = replies
        return [
            Grade(
                id=subject.id,
                judge_name="",
                protocol=self.name,
                status=reply.status,
                detail=reply.error,
                extra={"text": None if reply.cut_off else reply.text},
            )
        ]

    def read(self, name: str, text: str | None) -> Candidate | str:
        """The candidate in a reply, or why there is none."""
        marked = _MARKED.findall(text or "")
        if not marked:
            return "the reply has no text between <prompt> and </prompt>"
        body: str = marked[-1]  # a model that thinks first can write drafts
        if len(body) > _LONGEST_PROMPT:
            return f"the prompt is longer than {_LONGEST_PROMPT:,} characters"
        if _SECTION.search(body):
            return "it declares how the reply is written, which stays as it is"
        copied = _runs(body) - _runs(self._current.prompt.text)
        copied &= {run for case in self._cases[name] for run in _runs(str(case))}
        if copied:
            return f"it copies a case: {' '.join(min(copied))!r}"
        try:
            prompt = make_prompt(f"{name}.txt", with_answer(body, self._current.prompt))
        except AdjudgeError as error:
            return str(error)
        return Candidate(name, prompt, reason=self._current.reason)


def with_answer(body: str, prompt: Prompt) -> str:
    """The text of a prompt file, with what the prompt declares about the reply."""
    declared = "".join(f"{key}: {value}\n" for key, value in prompt.answer.items())
    return body + (f"\n--- answer ---\n{declared}" if declared else "")


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + _COPIED]) for at in range(len(words) - _COPIED + 1)}
