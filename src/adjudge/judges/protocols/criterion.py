"""Pairwise comparison on one criterion at a time, for tournaments (diagnosis paper, 3.1 and A)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from adjudge.errors import DataError
from adjudge.judges.criteria import SUMMARY, Criterion, checked_criteria
from adjudge.judges.interface import Prompt, Question
from adjudge.judges.prompting import builtin_prompt, check_prompt
from adjudge.judges.protocols._pairwise import Asking
from adjudge.judges.protocols.preference import PLACEHOLDERS, as_pair, judgment_of
from adjudge.records import Item, Judgment, Pair, Reply


class ByCriterion:
    """One row per pair and criterion: which response is better in it, asked in both orders.

    With log probabilities p_a is their softmax as in `preference`. With `samples` = k each order
    is asked k times (the paper asks k = 3 times) and p_a is the mean of the smoothed shares; what
    was drawn stands in `extra`. Rows carry doc_id, model_a, model_b and criterion, so that the
    file is a tournament file; their protocol reads "criterion:NAME", since one pair has several.

    >>> [q.slot for q in ByCriterion(criteria=SUMMARY[:2]).questions(
    ...     Pair(id="1", prompt="p", response_a="x", response_b="y"))]
    ['coherence', 'coherence', 'consistency', 'consistency']
    """

    name = "criterion"

    def __init__(
        self,
        *,
        criteria: Sequence[Criterion] = SUMMARY,
        samples: int | None = None,
        temperature: float = 1.0,
        max_tokens: int | None = None,
        prompt: Prompt | None = None,
    ) -> None:
        self.criteria = checked_criteria(criteria)
        self.asking = Asking(
            check_prompt(
                prompt or builtin_prompt("criterion"),
                required=(*PLACEHOLDERS, "criterion"),
                optional=("definition",),
            ),
            samples=samples,
            temperature=temperature,
            max_tokens=max_tokens,
        )

    @property
    def wants(self) -> frozenset[type]:
        """Choice, or Text when the letters are sampled."""
        return self.asking.wants

    def settings(self) -> Mapping[str, Any]:
        criteria = {criterion.name: criterion.settings() for criterion in self.criteria}
        return {**self.asking.settings(), "criteria": criteria}

    def questions(self, subject: Pair | Item) -> Sequence[Question]:
        pair = as_pair(subject, self.name)
        asked: list[Question] = []
        for criterion in self.criteria:
            values = {"criterion": criterion.name, "definition": criterion.definition}
            asked += self.asking.questions(pair, values=values, slot=criterion.name)
        return asked

    def judge(self, subject: Pair | Item, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = as_pair(subject, self.name)
        k = 2 * self.asking.per_order
        rows = []
        for number, criterion in enumerate(self.criteria):
            orders = self.asking.read(replies[number * k : (number + 1) * k])
            extra = {
                "doc_id": pair.extra.get("doc_id") or pair.prompt_id or pair.id,
                "criterion": criterion.name,
            }
            protocol = f"{self.name}:{criterion.name}"
            rows.append(judgment_of(pair, protocol, orders["ab"], orders["ba"], extra))
        return rows


def tournament_pairs(items: Iterable[Item]) -> Iterator[Pair]:
    """All pairs of models per document, in the order in which they come.

    >>> items = [Item(id=m, prompt="p", response=m, doc_id="d", model=m) for m in "xyz"]
    >>> [pair.id for pair in tournament_pairs(items)]
    ['d/x/y', 'd/x/z', 'd/y/z']
    """
    documents: dict[str, list[Item]] = {}
    for row, item in enumerate(items, start=1):
        if item.doc_id is None or item.model is None:
            raise DataError(
                "items",
                "a tournament needs to know document and model",
                row=row,
                column="doc_id" if item.doc_id is None else "model",
                remedy="name both in every row",
            )
        entered = documents.setdefault(item.doc_id, [])
        if any(other.model == item.model for other in entered):
            raise DataError(
                "items",
                f"{item.model!r} answers {item.doc_id!r} twice",
                row=row,
                column="model",
                remedy="keep one response per document and model",
            )
        if entered and entered[0].prompt != item.prompt:
            raise DataError(
                "items",
                f"the prompt of {item.doc_id!r} differs from its first row",
                row=row,
                column="prompt",
                remedy="give one prompt per document",
            )
        entered.append(item)
    for doc_id, entered in documents.items():
        for one, other in combinations(entered, 2):
            yield Pair(
                id=f"{doc_id}/{one.model}/{other.model}",
                prompt=one.prompt,
                response_a=one.response,
                response_b=other.response,
                model_a=one.model,
                model_b=other.model,
                prompt_id=doc_id,
                extra={"doc_id": doc_id},
            )
