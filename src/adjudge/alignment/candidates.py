"""What the search tries: demonstrations, reasons first, and rewrites that another model proposes.

A proposer is asked through the ordinary runner, so that its replies are stored, resumed and
limited like those of a judge. What it is shown is data, and a rewrite that copies it is rejected.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.alignment.parts import Labelled, texts_of
from adjudge.errors import AdjudgeError
from adjudge.judges.interface import Data, JudgeProtocol, Message, Prompt, Question, Text
from adjudge.judges.judge import parse_protocol
from adjudge.judges.prompting import Part, builtin_prompt, make_prompt
from adjudge.records import Grade, Item, Reply, Subject

#: Words in a row that a rewrite can share with a row that was shown.
_COPIED = 8
_SHOWN = 6
_LONGEST_CASE = 1_500
_LONGEST_PROMPT = 20_000
_REWRITE_TOKENS = 2_000
_MARKED = re.compile(r"<prompt>\n?(.*?)\n?</prompt>", re.DOTALL)
_SECTION = re.compile(r"^--- *answer *---", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way of asking: a prompt, rows shown before the question, reasons first or not.

    Two candidates are equal if they ask the same questions.
    """

    name: str
    prompt: Prompt
    demonstrations: tuple[Subject, ...] = ()
    reason: bool = False

    @property
    def _key(self) -> tuple[object, ...]:
        return self.prompt.sha256, self.reason, *(subject.id for subject in self.demonstrations)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def protocol(self, name: str, options: Mapping[str, Any]) -> JudgeProtocol:
        """The protocol that asks in this way."""
        return parse_protocol(
            name,
            prompt=self.prompt,
            reason=self.reason or None,
            demonstrations=list(self.demonstrations) or None,
            **options,
        )


@dataclass(frozen=True)
class Mistake:
    """A row on which the judge was wrong, and how sure it was."""

    row: Labelled
    verdict: str | None
    doubt: float


def show_mistakes(own: Candidate, mistakes: Sequence[Mistake]) -> list[Candidate]:
    """Candidates with 2 and 4 demonstrations: the surest mistakes, as many of each label."""
    if own.reason:
        return []
    candidates = []
    for number in (2, 4):
        rows = _balanced([mistake.row for mistake in mistakes], number)
        if len(rows) == number:
            shown = tuple(row.subject for row in rows)
            name = f"{own.name} with {number} demonstrations"
            candidates.append(Candidate(name, own.prompt, shown))
    return candidates


def _balanced(rows: Sequence[Labelled], number: int) -> list[Labelled]:
    by_label: dict[str, list[Labelled]] = {}
    for row in rows:
        by_label.setdefault(row.label, []).append(row)
    ranked = sorted(by_label.values(), key=len)
    chosen = [row for listed in ranked for row in listed[: number // 2]]
    rest = [row for row in rows if row not in chosen]
    return sorted([*chosen, *rest][:number], key=lambda row: row.cluster)


def reason_first(own: Candidate, protocol: str, *, builtin: bool) -> list[Candidate]:
    """The candidate that writes reasons first; only the built-in prompts have both forms."""
    if not builtin or own.reason:
        return []
    return [Candidate("reasons first", builtin_prompt(f"{protocol}_reason"), reason=True)]


class Rewriting(JudgeProtocol):
    """Asks a model to rewrite a prompt. The row's `text` is what it wrote."""

    name = "rewrite"
    subjects = "items"
    record = Grade
    columns = ("text",)
    wants = frozenset({Text})

    def __init__(self, current: Prompt, cases: Mapping[str, Sequence[Mistake]]) -> None:
        self._current = current
        self._cases = cases

    def settings(self) -> Mapping[str, Any]:
        return {"prompt_sha256": self._current.sha256, "max_tokens": _REWRITE_TOKENS}

    def questions(self, subject: Subject) -> Sequence[Question]:
        item = self.item(subject)
        parts: list[Part] = [
            "A language model judges answers with the prompt below. People disagreed with its "
            "verdicts in the cases that follow. Rewrite the prompt so that the judge agrees with "
            "people on cases like these, and on others.\n\n"
            "Rules: keep every placeholder in braces exactly as it is; keep the lines that begin "
            "with --- ; keep how the reply must be written; state general criteria; do not quote "
            "or describe the cases.\n\n[Prompt begins]\n",
            Data(self._current.text),
            "\n[Prompt ends]\n",
        ]
        for number, mistake in enumerate(self._cases[item.id], start=1):
            parts += [f"\n[Case {number} begins]\n", Data(_describe(mistake)), "\n[Case ends]\n"]
        parts.append("\nReply with the new prompt between <prompt> and </prompt>, nothing else.")
        want = Text(_REWRITE_TOKENS, temperature=1.0)
        return [Question((Message("user", tuple(parts)),), want, slot=item.id)]

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Grade]:
        reply = replies[0]
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


def _describe(mistake: Mistake) -> str:
    titles = {"prompt": "Question", "response": "Answer", "response_a": "A", "response_b": "B"}
    texts = texts_of(mistake.row.subject).items()
    lines = [f"{titles[name]}: {text[:_LONGEST_CASE]}" for name, text in texts]
    return "\n".join([*lines, f"Judge: {mistake.verdict}", f"People: {mistake.row.label}"])


def rewrite_requests(
    mistakes: Sequence[Mistake], number: int, *, stage: str
) -> tuple[list[Item], dict[str, list[Mistake]]]:
    """The requests of one round, each with other cases. The cases are chosen by hash.

    A resumed run then asks the same questions.
    """
    items, cases = [], {}
    for at in range(number):
        name = f"rewrite {stage}.{at + 1}"
        ordered = sorted(mistakes[: 4 * _SHOWN], key=lambda case: _rank(name, case.row.subject))
        items.append(Item(id=name, prompt=name, response=""))
        cases[name] = ordered[:_SHOWN]
    return items, cases


def _rank(name: str, subject: Subject) -> bytes:
    return hashlib.sha256(f"{name}\0{subject.prompt}".encode("utf-8", "surrogatepass")).digest()


def read_rewrite(
    name: str,
    text: str | None,
    current: Candidate,
    cases: Iterable[Mistake],
) -> Candidate | str:
    """The candidate in a reply, or why there is none."""
    marked = _MARKED.findall(text or "")
    if not marked:
        return "the reply has no text between <prompt> and </prompt>"
    body: str = marked[-1]  # a model that thinks first can write drafts
    if len(body) > _LONGEST_PROMPT:
        return f"the prompt is longer than {_LONGEST_PROMPT:,} characters"
    if _SECTION.search(body):
        return "it declares how the reply is written, which stays as it is"
    if copied := _copies(body, current.prompt.text, cases):
        return f"it copies a case: {copied!r}"
    declared = "".join(f"{key}: {value}\n" for key, value in current.prompt.answer.items())
    whole = body + (f"\n--- answer ---\n{declared}" if declared else "")
    try:
        return Candidate(name, make_prompt(f"{name}.txt", whole), reason=current.reason)
    except AdjudgeError as error:
        return str(error)


def _copies(body: str, current: str, cases: Iterable[Mistake]) -> str | None:
    """Words in a row that the rewrite shares with a case and that the prompt did not have."""
    rewritten = _runs(body) - _runs(current)
    for case in cases:
        shared = rewritten & _runs(_describe(case))
        if shared:
            return " ".join(min(shared))
    return None


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + _COPIED]) for at in range(len(words) - _COPIED + 1)}
