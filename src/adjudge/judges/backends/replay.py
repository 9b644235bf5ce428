"""`replay:FILE`: a judge that answers from earlier replies and makes no calls.

The file is a table of one of three kinds. *Replies*: id and, if needed, order ("ab", "ba"), slot
and repeat, then the measurement: logprobs {"A": .., "B": ..}, or p (the probability of letter A in
that order), or text, or mean_logprob. *Judgments*: id, p_fwd and p_rev, both about response_a.
*Grades*: id and p_pass. A call that the file does not have is an `error` row; nothing is guessed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adjudge.data import iter_rows
from adjudge.errors import DataError, JudgeRefusedError
from adjudge.judges.interface import Backend, Choice, Likelihood, Question, Reasoned, Text
from adjudge.judges.weights import file_sha256
from adjudge.records import MEASURED, STATUSES, Reply, Subject

#: exp of this is exactly 0 in double precision, and JSON can store it.
_LOG_OF_ZERO = -10_000.0
_Key = tuple[str, str | None, str, int]


class ReplayBackend(Backend):
    """Answers looked up by id, order, slot and repeat."""

    example = "replay:FILE"
    free = True
    knows_subject = True
    takes_images = True  # it does not look at them
    wants: frozenset[type] = frozenset({Choice, Reasoned, Text, Likelihood})

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = f"replay:{self.path.name}"
        if self.path.is_dir():
            raise DataError(path, "is a folder", remedy="name one file in it")
        if not self.path.is_file():
            raise DataError(path, "no such file", remedy="give a file of replies or judgments")
        self._sha256 = file_sha256(self.path)
        self._replies: dict[_Key, dict[str, Any]] = {}

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "replay", "weights_sha256": self._sha256}

    async def start(self) -> None:
        judges: set[str] = set()
        for row, record in enumerate(iter_rows(self.path), start=1):
            judges.add(str(record.get("judge")))
            if record.get("id") in (None, ""):
                raise self._refuse("is missing", row, "id", "fill it")
            for key, reply in self._read(record, row):
                if key in self._replies:
                    each = "keep one row per id, order, slot and repeat"
                    remedy = "keep the rows of one judge" if len(judges) > 1 else each
                    raise self._refuse(f"id {key[0]!r} has this call twice", row, None, remedy)
                self._replies[key] = reply

    async def close(self) -> None:
        self._replies.clear()

    async def ask(self, question: Question) -> Reply:
        raise JudgeRefusedError(f"{self.name} answers by id; ask it through judge_pairs")

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        key = (subject.id, question.order, question.slot, question.repeat)
        earlier = self._replies.get(key)
        if earlier is not None:
            return Reply(**earlier)
        words = f"{self.path.name} has no reply for id {subject.id!r}"
        for name in ("order", "slot", "repeat"):
            value = getattr(question, name)
            words += f", {name} {value}" if value else ""
        return Reply(status="error", error=words)

    def _read(self, record: Mapping[str, Any], row: int) -> list[tuple[_Key, dict[str, Any]]]:
        name = str(record["id"])
        status = record.get("status") or "ok"
        if "p_fwd" in record or "p_rev" in record:
            p_fwd = self._number(record, "p_fwd", row)
            p_rev = self._number(record, "p_rev", row)
            shown_second = None if p_rev is None else 1 - p_rev
            return [
                ((name, order, "", 0), self._reply(p, status, record, row))
                for order, p in (("ab", p_fwd), ("ba", shown_second))
            ]
        if "p_pass" in record:
            p = self._number(record, "p_pass", row)
            reply = self._reply(p, status, record, row, letters=("P", "F"))
            return [((name, None, "", 0), reply)]
        repeat = self._whole(record, "repeat", row) or 0
        key = (name, record.get("order"), str(record.get("slot") or ""), repeat)
        return [(key, self._reply(self._number(record, "p", row), status, record, row))]

    def _reply(
        self,
        p: float | None,
        status: str,
        record: Mapping[str, Any],
        row: int,
        letters: tuple[str, str] = ("A", "B"),
    ) -> dict[str, Any]:
        if status not in STATUSES:
            remedy = "use one of " + ", ".join(STATUSES)
            raise self._refuse(f"status {status!r} is not known", row, "status", remedy)
        reply: dict[str, Any] = {"status": status, "error": record.get("detail")}
        if status not in MEASURED:
            return reply
        logprobs = self._logprobs(record, row)
        if logprobs is None and p is not None:
            logprobs = dict(zip(letters, (_log(p), _log(1 - p)), strict=True))
        text = record.get("text")
        mean = self._number(record, "mean_logprob", row, probability=False)
        if logprobs is None and text is None and mean is None:
            return {"status": "error", "error": f"{self.path.name}, row {row}: no measurement"}
        return reply | {
            "logprobs": logprobs,
            "text": text,
            "mean_logprob": mean,
            "prompt_tokens": self._whole(record, "prompt_tokens", row),
            "completion_tokens": self._whole(record, "completion_tokens", row),
        }

    def _number(
        self, record: Mapping[str, Any], column: str, row: int, *, probability: bool = True
    ) -> float | None:
        value = record.get(column)
        if value is None or value == "":
            return None
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not (0 <= number <= 1 if probability else math.isfinite(number)):
            kind = "probability" if probability else "number"
            remedy = "give numbers in [0, 1]" if probability else "give finite numbers"
            raise self._refuse(f"{value!r} is not a {kind}", row, column, remedy)
        return number

    def _whole(self, record: Mapping[str, Any], column: str, row: int) -> int | None:
        value = record.get(column)
        try:
            return None if value is None or value == "" else int(value)
        except (TypeError, ValueError, OverflowError):
            raise self._refuse("is not a whole number", row, column, "count from 0") from None

    def _logprobs(self, record: Mapping[str, Any], row: int) -> dict[str, float] | None:
        value = record.get("logprobs")
        try:
            named = json.loads(value) if isinstance(value, str) and value else value
            if named is None or named == "":
                return None
            # Tables have null for columns that only other rows use.
            return {name: float(log) for name, log in named.items() if log is not None}
        except (AttributeError, TypeError, ValueError, RecursionError):
            words = "is not an object of numbers"
            raise self._refuse(words, row, "logprobs", 'write {"A": -0.1}') from None

    def _refuse(self, problem: str, row: int, column: str | None, remedy: str) -> DataError:
        return DataError(self.path, problem, row=row, column=column, remedy=remedy)


def _log(p: float) -> float:
    return math.log(p) if p > 0 else _LOG_OF_ZERO
