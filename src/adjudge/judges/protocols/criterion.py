"""Pairwise comparison on one criterion at a time, for tournaments (diagnosis paper, 3.1 and A)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.judges.criteria import Criterion, check_criteria, criteria_settings, our_criteria
from adjudge.judges.interface import Prompt, Question
from adjudge.judges.prompting import builtin_prompt
from adjudge.judges.protocols._choices import PLACEHOLDERS, LetterProtocol
from adjudge.records import Judgment, Reply, Subject


class ByCriterion(LetterProtocol):
    """One row per pair and criterion: which response is better in it, asked in both orders.

    With log probabilities p_a is their softmax as in `preference`. With `samples` = k each order is
    asked k times and p_a is the mean of the smoothed shares; the samples are in `extra`. `order` is
    as in `preference`; the paper asks one order three times: order "ab", repeats 3. Rows have
    doc_id, model_a, model_b and criterion, so that the file is a tournament file. Their protocol is
    "criterion:NAME", since one pair has several rows.

    >>> from adjudge.records import Pair
    >>> [q.slot for q in ByCriterion(criteria=our_criteria("summary")[:2]).questions(
    ...     Pair(id="1", prompt="p", response_a="x", response_b="y"))]
    ['coherence', 'coherence', 'consistency', 'consistency']
    """

    name = "criterion"
    options = (
        *("criteria", "prompt", "reason", "samples", "max_tokens", "min_answer_mass"),
        *("order", "seed"),
    )
    columns = ("criterion", "samples", "order")
    tournaments = True

    def __init__(
        self,
        *,
        criteria: Sequence[Criterion] | None = None,
        prompt: Prompt | None = None,
        reason: bool = False,
        **how: Any,
    ) -> None:
        self.criteria = check_criteria(our_criteria("summary") if criteria is None else criteria)
        super().__init__(
            prompt or builtin_prompt("criterion_reason" if reason else "criterion"),
            required=(*PLACEHOLDERS, "criterion"),
            optional=("definition",),
            reason=reason,
            **how,
        )

    def settings(self) -> Mapping[str, Any]:
        criteria = criteria_settings(self.criteria)
        return {**super().settings(), "criteria": criteria}

    def questions(self, subject: Subject) -> Sequence[Question]:
        pair = self.pair(subject)
        asked: list[Question] = []
        for criterion in self.criteria:
            values = {"criterion": criterion.name, "definition": criterion.definition}
            asked += self.letter_questions(pair, values=values, slot=criterion.name)
        return asked

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = self.pair(subject)
        k = len(replies) // len(self.criteria)
        rows = []
        for number, criterion in enumerate(self.criteria):
            extra = {
                "doc_id": pair.extra.get("doc_id") or pair.prompt_id or pair.id,
                "criterion": criterion.name,
            }
            protocol = f"{self.name}:{criterion.name}"
            criterion_replies = replies[number * k : (number + 1) * k]
            rows.append(self.read_letters(pair, criterion_replies, protocol, extra))
        return rows
