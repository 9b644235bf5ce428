"""Direct scoring of one response, 1 to 5 per criterion (diagnosis paper, section 3.2 and A)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.judges.answers import CUT_OFF, Asking, reason, worst
from adjudge.judges.columns import PromptColumns
from adjudge.judges.criteria import SUMMARY, Criterion, check_criteria
from adjudge.judges.interface import Data, JudgeProtocol, Prompt, Question
from adjudge.judges.parsing import parse_score, unread
from adjudge.judges.prompting import builtin_prompt, check_prompt, fill
from adjudge.judges.verdicts import WHOLE
from adjudge.records import MEASURED, Reply, Score, Status, Subject

LOW, HIGH = 1, 5
DIGITS = tuple(str(score) for score in range(LOW, HIGH + 1))
WORDS = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "excellent"}
_SCORE_TOKENS = 12
_FILLED = ("prompt", "response", "criterion", "definition")


class Likert(JudgeProtocol):
    """One row per criterion: a score from 1 to 5, with the probability of each where there is one.

    With log probabilities one question per criterion is asked: score_probs is the softmax over
    the five digits and judge_score the likeliest of them. With `samples` the number is written
    that often (once: at temperature 0, as in the paper); judge_score is the mean of the readable
    ones, all of them are kept in `extra`, and score_probs stays empty: a few draws are no
    distribution.

    >>> from adjudge.records import Item, Reply
    >>> item = Item(id="1", prompt="article", response="summary")
    >>> one = Likert(criteria=SUMMARY[:1])
    >>> reply = Reply(status="ok", logprobs={d: -abs(int(d) - 4.0) for d in "12345"})
    >>> row = one.judge(item, [reply])[0]
    >>> row.criterion, row.judge_score, [round(p, 2) for p in row.score_probs]
    ('coherence', 4.0, [0.03, 0.07, 0.19, 0.52, 0.19])
    """

    name = "likert"
    prompt: Prompt
    options = ("criteria", "prompt", "samples", "max_tokens", "min_answer_mass")
    columns = ("repeats",)
    subjects = "items"
    record = Score

    def __init__(
        self,
        *,
        criteria: Sequence[Criterion] = SUMMARY,
        samples: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        min_answer_mass: float | None = None,
        prompt: Prompt | None = None,
    ) -> None:
        self.criteria = check_criteria(criteria)
        self.samples = samples
        if temperature is None:
            temperature = 0.0 if samples == 1 else 1.0
        self.prompt = check_prompt(
            prompt or builtin_prompt("likert"),
            required=("prompt", "response", "criterion"),
            optional=("definition",),
        )
        self.prompt_columns: PromptColumns = PromptColumns(self.prompt, _FILLED)
        self._asking = Asking(
            DIGITS,
            prompt=self.prompt,
            samples=samples,
            max_tokens=max_tokens,
            temperature=temperature,
            usual_tokens=_SCORE_TOKENS,
            min_answer_mass=min_answer_mass,
        )
        self._want = self._asking.want
        self.wants = frozenset({type(self._want)})
        self.min_answer_mass = self._asking.min_answer_mass

    def settings(self) -> Mapping[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "criteria": {criterion.name: criterion.settings() for criterion in self.criteria},
            "scale": [LOW, HIGH],
            **self._asking.settings(),
        }

    def questions(self, subject: Subject) -> Sequence[Question]:
        item = self.item(subject)
        asked = []
        for criterion in self.criteria:
            messages = fill(
                self.prompt,
                {
                    **self.prompt_columns.values(item),
                    "prompt": Data(item.prompt),
                    "response": Data(item.response),
                    "criterion": criterion.name,
                    "definition": criterion.definition,
                },
            )
            asked += [
                Question(messages, self._want, repeat=repeat, slot=criterion.name)
                for repeat in range(self.samples or 1)
            ]
        return asked

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Score]:
        item, k = self.item(subject), self.samples or 1
        rows = []
        for number, criterion in enumerate(self.criteria):
            own = replies[number * k : (number + 1) * k]
            read = self._from_samples(own, criterion) if self.samples else self._from_digits(own)
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
            return self._asking.status_of(reply)
        read = self._from_samples([reply], self.criteria[0])
        return read["status"], read["detail"]

    def _from_digits(self, replies: Sequence[Reply]) -> dict[str, Any]:
        answer = self._asking.read(replies)
        shares = answer.shares
        read: dict[str, Any] = {"status": answer.status, "answer_mass": answer.answer_mass}
        if shares is None:
            return {**read, "detail": answer.detail}
        top = max(shares.values())
        likeliest = [digit for digit in DIGITS if shares[digit] == top]
        if len(likeliest) > 1:
            return {**read, "status": "unparsed", "detail": "two scores are equally likely"}
        bounded = ", ".join(sorted(replies[0].censored))
        return {
            **read,
            "judge_score": float(likeliest[0]),
            "score_probs": tuple(shares[digit] for digit in DIGITS),
            "detail": f"bounded by the k-th log probability: {bounded}" if bounded else None,
        }

    def _score(self, reply: Reply, criterion: Criterion) -> int | None:
        """The score that is written, as the prompt declares; not where the reply was cut off."""
        if reply.status not in MEASURED or reply.cut_off:
            return None
        if self._asking.format != WHOLE:
            return int(self._asking.option_of(reply) or 0) or None
        return parse_score(reply.text, low=LOW, high=HIGH, criterion=criterion.name, words=WORDS)

    def _from_samples(self, replies: Sequence[Reply], criterion: Criterion) -> dict[str, Any]:
        if any(reply.status == "error" for reply in replies):
            return {"status": "error", "detail": reason(replies, "error")}
        scores = [self._score(reply, criterion) for reply in replies]
        readable = [score for score in scores if score is not None]
        extra = {"repeats": scores} if len(scores) > 1 else {}
        if not readable:
            status = worst(unread(r.text) if r.status in MEASURED else r.status for r in replies)
            words = CUT_OFF if replies[0].cut_off else f"no whole number from {LOW} to {HIGH}"
            why = reason(replies, status) or words
            return {"status": status, "detail": why, "extra": extra}
        detail = f"mean of {len(readable)} of {len(scores)} samples" if len(scores) > 1 else None
        mean = math.fsum(readable) / len(readable)
        return {"status": "ok", "judge_score": mean, "detail": detail, "extra": extra}
