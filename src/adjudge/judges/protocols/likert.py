"""Direct scoring of one response, 1 to 5 or so per criterion (diagnosis paper, 3.2 and A)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.errors import ArgumentError
from adjudge.judges.criteria import (
    Criterion,
    check_criteria,
    check_scale,
    criteria_settings,
    our_criteria,
    write_scale,
)
from adjudge.judges.interface import Prompt, Question
from adjudge.judges.parsing import WHOLE, parse_score, unread
from adjudge.judges.prompting import Value, builtin_prompt
from adjudge.judges.protocols._choices import BOUNDED, CUT_OFF, ChoiceProtocol, reason, worst
from adjudge.records import MEASURED, Reply, Score, Status, Subject

#: The paper's scale, and what its prompt calls the five scores.
USUAL = (1, 5)
WORDS = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "excellent"}
_SCORE_TOKENS = 12


class Likert(ChoiceProtocol):
    """One row per criterion: a score on `scale`, with the probability of each score if available.

    With log probabilities one question per criterion is asked: score_probs is the softmax over the
    digits and judge_score the most likely of them. That needs scores of one token each; from 10 on
    scores are written, with `samples`. With `samples` the number is written that often (once: at
    temperature 0, as in the paper). judge_score is the mean of the readable ones, all of them are
    kept in `extra`, and score_probs stays empty: a few samples are not a distribution.

    >>> from adjudge.records import Item, Reply
    >>> item = Item(id="1", prompt="article", response="summary")
    >>> one = Likert(criteria=our_criteria("summary")[:1])
    >>> reply = Reply(status="ok", logprobs={d: -abs(int(d) - 4.0) for d in "12345"})
    >>> row = one.judge(item, [reply])[0]
    >>> row.criterion, row.judge_score, [round(p, 2) for p in row.score_probs]
    ('coherence', 4.0, [0.03, 0.07, 0.19, 0.52, 0.19])
    """

    name = "likert"
    options = ("criteria", "scale", "prompt", "samples", "max_tokens", "min_answer_mass")
    columns = ("repeats",)
    subjects = "items"
    record = Score

    def __init__(
        self,
        *,
        criteria: Sequence[Criterion] | None = None,
        scale: tuple[int, int] = USUAL,
        samples: int | None = None,
        prompt: Prompt | None = None,
        **how: Any,
    ) -> None:
        self.scale = low, high = check_scale(scale)
        self.criteria = check_criteria(our_criteria("summary") if criteria is None else criteria)
        for criterion in self.criteria:
            for score in criterion.anchors:
                if not low <= score <= high:
                    remedy = f"{criterion.name} describes a score of {score}, which is not on it"
                    raise ArgumentError("scale", write_scale(scale), remedy)
        self.samples = samples
        if samples is None and high > 9:
            remedy = f"{high} is not one token: add --samples 1, so that scores are written"
            raise ArgumentError("scale", write_scale(scale), remedy)
        self.use_prompt(
            prompt or builtin_prompt("likert" if self.scale == USUAL else "likert_scale"),
            required=("prompt", "response", "criterion"),
            optional=("definition", "low", "high"),
        )
        how = {"temperature": 0.0 if samples == 1 else 1.0, **how}
        scores = tuple(map(str, range(low, high + 1)))
        self.ask_for(scores, samples=samples, usual_tokens=_SCORE_TOKENS, **how)

    def settings(self) -> Mapping[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "criteria": criteria_settings(self.criteria),
            "scale": list(self.scale),
            **self.asking.settings(),
        }

    def questions(self, subject: Subject) -> Sequence[Question]:
        item = self.item(subject)
        low, high = self.scale
        asked: list[Question] = []
        for criterion in self.criteria:
            values: dict[str, Value] = {
                **self.shown(item),
                "criterion": criterion.name,
                "definition": criterion.in_full,
                "low": str(low),
                "high": str(high),
            }
            asked += self.choice_questions(values, slot=criterion.name)
        return asked

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Score]:
        item = self.item(subject)
        k = self.samples or 1
        rows = []
        for number, criterion in enumerate(self.criteria):
            criterion_replies = replies[number * k : (number + 1) * k]
            read = (
                self._from_samples(criterion_replies, criterion)
                if self.samples
                else self._from_digits(criterion_replies)
            )
            rows.append(
                Score(
                    id=item.id,
                    doc_id=item.doc_id or item.id,
                    model=item.model,
                    criterion=criterion.name,
                    judge="",
                    protocol=self.name,
                    **read,
                )
            )
        return rows

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        if self.samples is None:
            return super().status_of(reply)
        read = self._from_samples([reply], self.criteria[0])
        return read["status"], read["detail"]

    def _from_digits(self, replies: Sequence[Reply]) -> dict[str, Any]:
        answer = self.asking.read(replies)
        shares = answer.shares
        read: dict[str, Any] = {"status": answer.status, "answer_mass": answer.answer_mass}
        if shares is None:
            return {**read, "detail": answer.detail}
        top = max(shares.values())
        likeliest = [score for score in self.asking.options if shares[score] == top]
        if len(likeliest) > 1:
            return {**read, "status": "unparsed", "detail": "two scores are equally likely"}
        bounded = ", ".join(sorted(replies[0].censored))
        return {
            **read,
            "judge_score": float(likeliest[0]),
            "score_probs": tuple(shares[score] for score in self.asking.options),
            "detail": f"{BOUNDED}: {bounded}" if bounded else None,
        }

    def _score(self, reply: Reply, criterion: Criterion) -> int | None:
        """The written score, in the declared format; None if the reply was truncated."""
        if reply.status not in MEASURED or reply.cut_off:
            return None
        if self.asking.format != WHOLE:
            written = self.asking.option_of(reply)
            return None if written is None else int(written)
        low, high = self.scale
        words = WORDS if self.scale == USUAL else None
        return parse_score(reply.text, low=low, high=high, criterion=criterion.name, words=words)

    def _from_samples(self, replies: Sequence[Reply], criterion: Criterion) -> dict[str, Any]:
        if any(reply.status == "error" for reply in replies):
            return {"status": "error", "detail": reason(replies, "error")}
        scores = [self._score(reply, criterion) for reply in replies]
        readable = [score for score in scores if score is not None]
        extra = {"repeats": scores} if len(scores) > 1 else {}
        if not readable:
            status = worst(unread(r.text) if r.status in MEASURED else r.status for r in replies)
            low, high = self.scale
            words = CUT_OFF if replies[0].cut_off else f"no whole number from {low} to {high}"
            why = reason(replies, status) or words
            return {"status": status, "detail": why, "extra": extra}
        detail = f"mean of {len(readable)} of {len(scores)} samples" if len(scores) > 1 else None
        mean = math.fsum(readable) / len(readable)
        return {"status": "ok", "judge_score": mean, "detail": detail, "extra": extra}
