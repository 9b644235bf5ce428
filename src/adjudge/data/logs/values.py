"""Shared code of several logs: grades, texts, human answers, and why a grader failed."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from adjudge.data.columns import input_name
from adjudge.data.conversations import from_text, from_value
from adjudge.data.formats import OUTSIDE, Converter, Row, UnusableRow
from adjudge.data.json_files import Record
from adjudge.data.parts import write_json
from adjudge.data.rows import FROM_JUDGE, add_absent
from adjudge.data.tables import Table
from adjudge.images import ImageError, NotTextError
from adjudge.records import ABSTAINED, STATUSES, Status

#: Words of tools and people for passed, partly passed and failed.
_WORDS = {
    **dict.fromkeys(("c", "correct", "pass", "passed", "yes", "y", "true", "good"), 1.0),
    **dict.fromkeys(("p", "partial", "partially correct"), 0.5),
    **dict.fromkeys(("i", "incorrect", "fail", "failed", "no", "n", "false", "bad"), 0.0),
}
_NOTHING = ("", "nan", "none", "null", "n/a", "na")
_UNREADABLE = re.compile(r"\bpars|json|not found in model output|invalid .*verdict", re.IGNORECASE)
_LONGEST_DETAIL = 500


def read_share(value: Any) -> float:
    """A grade as a share in [0, 1]: a number, true or false, or one of the usual words.

    >>> [read_share(value) for value in (True, 0.9, "I", "yes", "0.5")]
    [1.0, 0.9, 0.0, 1.0, 0.5]
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            value = float(word)
        except ValueError:
            raise UnusableRow("a grade other than pass and fail") from None
    if not isinstance(value, (bool, int, float)):
        raise UnusableRow("a grade that is neither a number nor a word")
    if not 0 <= value <= 1:
        raise UnusableRow(OUTSIDE)
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether there is no value: nothing, NaN, or a word for it.

    >>> [is_missing(value) for value in (None, float("nan"), " NaN", 0, False)]
    [True, True, True, False, False]
    """
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None or (isinstance(value, float) and math.isnan(value))


def failure(reason: object) -> Record:
    """The status of a failed grader, and its reason.

    >>> failure("reply could not be parsed")["status"], failure("timeout")["status"]
    ('unparsed', 'error')
    """
    text = str(reason)
    status: Status = "unparsed" if _UNREADABLE.search(text) else "error"
    return {"status": status, "detail": text[:_LONGEST_DETAIL]}


#: What our scorers and our webhook explain if they give no verdict: the status of a judge that
#: failed, or why the policy did not accept what the judge said.
_ABSTENTION = re.compile(rf"^{ABSTAINED}: (?:status (?P<status>\w+)$)?")


def abstention(explanation: object) -> Record | None:
    """The status of an answer to which a policy of ours gave no verdict; None for other answers.

    >>> abstention("abstained: too uncertain; the refused verdict is pass")["status"]
    'abstained'
    >>> abstention("abstained: status unparsed")["status"], abstention("pass: accepted by scope")
    ('unparsed', None)
    """
    text = str(explanation)
    match = _ABSTENTION.match(text)
    if match is None:
        return None
    status = match["status"] if match["status"] in STATUSES else ABSTAINED
    return {"status": status, "detail": text[:_LONGEST_DETAIL]}


def as_written(value: Any) -> str | None:
    """A prompt or an answer as text: messages as a conversation, parts, anything else as JSON."""
    if value is None:
        return None
    try:
        try:
            written = from_text(value) if isinstance(value, str) else from_value(value)
        except ImageError:
            raise
        except NotTextError:
            written = None
        return write_json(value) if written is None else written
    except ImageError as error:
        raise UnusableRow(str(error)) from None


def only_text(value: Any) -> str | None:
    """As `as_written`; an object with one text, such as {"question": ...}, is that text.

    >>> only_text({"question": "2+2?"}), only_text({"a": 1, "b": 2})
    ('2+2?', '{"a": 1, "b": 2}')
    """
    if isinstance(value, Mapping) and len(value) == 1:
        return as_written(next(iter(value.values())))
    return as_written(value)


def hash_of(value: Any) -> str:
    """A stable short hash of any JSON value, to see which rows are about the same."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def name_in(value: Any) -> str | None:
    """A name, or a number as a name; None if there is none."""
    return None if is_missing(value) else as_written(value)


def object_in(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def list_in(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def plain_columns(*sources: Any, taken: Collection[str]) -> Record:
    """The plain values of these objects as columns; one whose name is taken becomes input_NAME.

    >>> plain_columns({"topic": "maths", "human": 1, "_own": 2, "deep": {}}, taken=["human"])
    {'topic': 'maths', 'input_human': 1}
    """
    columns: Record = {}
    for source in sources:
        for key, value in object_in(source).items():
            if str(key).startswith("_") or not isinstance(value, (str, bool, int, float)):
                continue
            name = str(key)
            if isinstance(value, str) and value.startswith("data:image/"):
                value = as_written(value)
            columns[input_name(name, taken) if name in taken else name] = value
    return columns


def refuse(problem: str, column: str, remedy: str, row: Row) -> Iterator[Record | UnusableRow]:
    """Reads a file of a known tool that does not have what is needed: what to export instead."""
    raise row.error(problem, column, remedy)


#: The columns of a grade in order; columns of the log come after them.
COLUMNS = (
    *("id", "prompt_id", "metric", "judge_name", "protocol", "status"),
    *("judge", "p_pass", "judge_score", "uncertainty"),
    *("human", "human_overall", "rater", "labelled_by", "started_from"),
    *("model", "detail", "reason", "cost", "latency_s", "prompt", "response", "reference"),
)
#: Columns about the judge, not about the answer.
_JUDGES = {
    *COLUMNS[COLUMNS.index("metric") : COLUMNS.index("human")],
    *("detail", "reason", "cost", "latency_s"),
}


def scored(score: Any) -> Record:
    """The grade of a tool that gives a score and no verdict."""
    return {"status": "ok", "p_pass": read_share(score)}


def decided(passed: bool, score: Any, threshold: Any = None) -> Record:
    """The grade of a tool that gives pass or fail, with its score and threshold if it has them.

    The doubt is one minus the distance of the score from the threshold.

    >>> decided(True, 0.75, 0.5)
    {'status': 'ok', 'judge': 1, 'judge_score': 0.75, 'uncertainty': 0.75}
    """
    cut = float(threshold) if _is_number(threshold) else 0.5
    is_share = _is_number(score) and (0 <= score <= 1 or _is_number(threshold))
    # Without a threshold the distance is unknown.
    share = float(score) if is_share else float(passed)
    return {
        "status": "ok",
        "judge": int(passed),
        "judge_score": share,
        "uncertainty": round(1 - abs(share - cut), 12),
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not is_missing(value) and abs(value) < math.inf


def label_of(share: float | None, rater: object = None, *, from_judge: bool = False) -> Record:
    """The human label of a row, and whether it started from the judge's answer."""
    if share is None:
        return {}
    return {
        "human": share,
        "rater": None if rater is None else str(rater),
        "labelled_by": "person",
        "started_from": "judge" if from_judge else None,
    }


def graded_items(grades: Converter, row: Row) -> Iterator[Record | UnusableRow]:
    """The graded answers, once each, to be judged again; human labels stay.

    A label stays if it is the same for all metrics: then it is about the answer.
    """
    first: Record | None = None
    labels = set()
    if row.context.human_metrics is None:
        # Whose a score is does not matter for its text.
        row = replace(row, context=replace(row.context, human_metrics={}))
    for grade in grades(row):
        if isinstance(grade, UnusableRow):
            continue
        first = first or {k: v for k, v in grade.items() if k not in _JUDGES}
        labels.add(grade.get("human"))
    if first is None:
        raise UnusableRow("no graded answer")
    if not first.get("prompt") or not first.get("response"):
        raise UnusableRow("no text of the prompt or the answer")
    labels.discard(None)
    yield {**first, "human": labels.pop() if len(labels) == 1 else None}


def read_log_grades(table: Table) -> pl.DataFrame:
    """Converted grades as one frame: our columns first, without empty columns.

    If an id is repeated with the same judge and metric (a test that was run twice), the later ones
    become id#2, id#3 ...; they share a `prompt_id`.
    """
    frame = add_absent(table.frame, ("status", "human"))
    empty = [c for c in frame.columns if c != "human" and frame[c].null_count() == frame.height]
    frame = frame.drop(empty)
    key = [c for c in ("id", "judge_name", "protocol") if c in frame.columns]
    place = pl.int_range(1, pl.len() + 1).over(key)
    again = pl.when(place > 1).then(pl.format("{}#{}", "id", place)).otherwise(pl.col("id"))
    first = [c for c in COLUMNS if c in frame.columns]
    return frame.with_columns(again.alias("id")).select(*first, pl.exclude(first))


def identify(metric: str, judge: object) -> Mapping[str, str]:
    """The metric and the judge; a metric counts as a protocol."""
    return {"metric": metric, "judge_name": str(judge or metric), "protocol": metric}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of a person or the judge; a judge can give its confidence (`score`)."""

    value: Any
    who: str | None = None
    score: float | None = None
    #: Whether a person started from the judge's answer.
    from_judge: bool = False
    #: What the person wrote with it.
    comment: str | None = None


def people_label(
    answers: Sequence[Answer], read: Callable[[Any], Any], column: str
) -> tuple[Record, list[UnusableRow]]:
    """The majority of human answers as the label in `column`, and why others are not counted.

    Answers that started from the judge's answer count only if all did.

    >>> answers = [Answer(value=value, who="ann") for value in (1, 1, 0)]
    >>> people_label(answers, read_share, "human")[0]
    {'human': 1.0, 'rater': 'ann', 'labelled_by': 'person', 'started_from': None}
    """
    filled = [answer for answer in answers if not is_missing(answer.value)]
    independent = [answer for answer in filled if not answer.from_judge]
    used = independent or filled
    reasons = [UnusableRow(FROM_JUDGE)] * (len(filled) - len(used))
    try:
        votes = Counter(read(answer.value) for answer in used).most_common(2)
    except UnusableRow as reason:
        return {}, [*reasons, reason]
    if not votes:
        return {}, reasons
    if len(votes) == 2 and votes[0][1] == votes[1][1]:
        return {}, [*reasons, UnusableRow("raters without a majority")]
    raters = {answer.who for answer in used}
    rater = raters.pop() if len(raters) == 1 else None
    label = label_of(votes[0][0], rater, from_judge=not independent)
    return {column if key == "human" else key: value for key, value in label.items()}, reasons
