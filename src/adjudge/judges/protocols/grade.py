"""One answer, pass or fail: against a rubric, with a reference or context if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from adjudge.data.rows import human_share
from adjudge.errors import DataError
from adjudge.judges.criteria import Criterion, check_criteria, criteria_settings, our_criteria
from adjudge.judges.interface import Prompt, Question
from adjudge.judges.prompting import Part, Value, as_parts, builtin_prompt, write_value
from adjudge.judges.protocols._choices import BOUNDED, ChoiceProtocol, describe_drawn
from adjudge.records import Grade, Item, Reply, Subject
from adjudge.statistics.entropy import entropy_of

#: Letters, because each is one token of every vocabulary and does not begin a usual first word of a
#: reply, as A (an article), Y (Yes) and N (No, Not) do.
PASS = "P"  # noqa: S105  (a letter)
FAIL = "F"
#: Columns of an item that are shown to a judge if they are filled, with their titles.
MATERIAL = {"context": "Context", "reference": "Reference answer"}
_OPTIONAL = ("prompt", "criterion", "definition", "material")


class GradeProtocol(ChoiceProtocol):
    """Asks once whether an answer passes; p_pass is P(P) among the two letters P and F.

    judge is 1 above one half and 0 below; at exactly one half there is no verdict. Doubt is the
    entropy of p_pass. Several criteria are one rubric: an answer must meet all of them. With
    `samples` the letter is drawn that often and p_pass is (r + 1/2) / (k + 1). With `reason` the
    judge writes its reasons first. The item's column human is kept, as 0, 1 or a share of people.

    >>> item = Item(id="1", prompt="2+2?", response="4", extra={"human": "pass"})
    >>> reply = Reply(status="ok", logprobs={"P": -0.1, "F": -2.4})
    >>> row = GradeProtocol().judge(item, [reply])[0]
    >>> row.judge, round(row.p_pass, 4), round(row.uncertainty, 4), row.human
    (1, 0.9089, 0.3051, 1.0)
    """

    name = "grade"
    options = (
        *("criteria", "prompt", "reason", "samples", "max_tokens", "min_answer_mass"),
        "demonstrations",
    )
    columns = ("samples",)
    subjects = "items"
    record = Grade

    def __init__(
        self,
        *,
        criteria: Sequence[Criterion] | None = None,
        prompt: Prompt | None = None,
        reason: bool = False,
        demonstrations: Iterable[Item] = (),
        **how: Any,
    ) -> None:
        self.criteria = check_criteria(our_criteria("correct") if criteria is None else criteria)
        self.use_prompt(
            prompt or builtin_prompt("grade_reason" if reason else "grade"),
            required=("response",),
            optional=_OPTIONAL,
        )
        if "tie" in self.prompt.answer:
            remedy = "remove the line: an answer passes or fails"
            raise DataError(self.prompt.name, "declares a tie", remedy=remedy)
        self.ask_for((PASS, FAIL), reason=reason, **how)
        options = {0.0: FAIL, 1.0: PASS, None: None}
        items = map(self.item, demonstrations)
        self.demonstrate([(i, self._values(i), options.get(human_of(i))) for i in items])

    def settings(self) -> Mapping[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "criteria": criteria_settings(self.criteria),
            **self.asking.settings(),
            **self.demonstration_settings(),
        }

    def check(self, subject: Subject) -> None:
        human_of(self.item(subject))

    def questions(self, subject: Subject) -> Sequence[Question]:
        item = self.item(subject)
        self.demonstrations.refuse(item)
        return self.choice_questions(self._values(item))

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Grade]:
        item = self.item(subject)
        answer = self.asking.read(replies)
        p_pass = None if answer.shares is None else answer.shares[PASS]
        verdict: Literal[0, 1] | None = None
        if p_pass is not None and p_pass != 0.5:
            verdict = 1 if p_pass > 0.5 else 0
        detail = answer.detail
        extra = {}
        if answer.drawn is not None:
            detail = detail or f"sampled: {describe_drawn(answer.drawn)}"
            extra = {"samples": dict(answer.drawn)}
        elif answer.status == "censored":
            detail = detail or BOUNDED
        return [
            Grade(
                id=item.id,
                judge_name="",
                protocol=self.name,
                status=answer.status,
                p_pass=p_pass,
                judge=verdict,
                uncertainty=None if p_pass is None else entropy_of(p_pass),
                human=human_of(item),
                answer_mass=answer.answer_mass,
                detail=detail,
                extra=extra,
            )
        ]

    def _values(self, item: Item) -> dict[str, Value]:
        material: list[Part] = []
        for name, title in MATERIAL.items():
            value = item.extra.get(name)
            if value is not None and str(value).strip():
                shown = as_parts(write_value(value))
                material += [f"\n[{title} begins]\n", *shown, f"\n[{title} ends]\n"]
        if len(self.criteria) == 1:
            definition = self.criteria[0].in_full
        else:
            definition = "\n".join(criterion.describe() for criterion in self.criteria)
        return {
            **self.shown(item),
            "material": material,
            "criterion": " and ".join(criterion.name for criterion in self.criteria),
            "definition": definition,
        }


def human_of(item: Item) -> float | None:
    """The share of people who passed it; None without a label."""
    value = item.extra.get("human")
    try:
        return human_share(value)
    except ValueError:
        problem = f"{str(value)[:40]!r} is neither pass nor fail"
        remedy = "give 1 or 0 (pass or fail), a share of people, or leave it empty"
        raise DataError(f"item {item.id!r}", problem, column="human", remedy=remedy) from None
