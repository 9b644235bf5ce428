"""Rows of the viewer as the page shows them: an entry of the list, one row with all about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.conversations import Turn, turns_of
from adjudge.data.judgments import WORDS
from adjudge.data.parts import shown_words, unflatten
from adjudge.data.shown import hash_texts
from adjudge.data.steps.labels import BROUGHT, LABELS_OF
from adjudge.errors import AdjudgeError
from adjudge.judges.transcript import describe_reply, read_replies
from adjudge.policy.result import Policy
from adjudge.present.text import count
from adjudge.records import MEASURED, Item, Order, Pair, Subject
from adjudge.rendering import ANSWERS, HEADINGS, render_response
from adjudge.server.labelling import LabelKind
from adjudge.server.pages import asked, likely, stage
from adjudge.server.viewing import Curve, JudgeRows, Viewing
from adjudge.store import StorePlace
from adjudge.store.tables import LabelEvent

_LONGEST_TITLE = 160
_AROUND = 40
#: A column with a longer value explains something.
_LONGEST_WORD = 80
#: A reply of more characters than this has a reason.
_ONE_WORD = 20
#: Marks of errors on the axis of doubt; more would be one red bar.
_MOST_MARKS = 150
#: Columns of a judge's rows that have a separate place on the page.
_SHOWN = {
    *(
        "id",
        "label",
        "human",
        "judge",
        "protocol",
        "status",
        "detail",
        "p_fwd",
        "p_rev",
        "p_a",
        "verdict",
    ),
    *("uncertainty", "accepted", "verdict_fwd", "verdict_rev", "judge_fingerprint", "p_tie"),
    *(*BROUGHT, LABELS_OF),
}


class RowPages:
    """Makes what is shown of rows; `store` has replies of the judge, if it is given."""

    def __init__(self, viewing: Viewing, store: StorePlace) -> None:
        self.viewing = viewing
        self.ends = WORDS[viewing.about]
        self._store = store

    def entry(self, at: int, judge: str, *, find: str = "", hidden: bool = False) -> dict[str, Any]:
        """A row of the list. Of a hidden row only the title and the id."""
        title = self._title(at)
        row: dict[str, Any] = {
            "id": self.viewing.items["id"][at],
            "title": title,
            "snippet": self._snippet(at, find, title),
            "hidden": hidden,
        }
        if not hidden:
            row["label"] = self.viewing.judges[judge].labels[at]
            row["said"] = self.said(self.viewing.judges[judge], at)
        return row

    def said(self, judge: JudgeRows, at: int) -> dict[str, Any]:
        """What one judge said: the places of its dots, and words for people who cannot see them."""
        row = judge.frame.row(at, named=True)
        marks = {key: bool(mark[at]) for key, mark in judge.marks.items()}
        first, second, p = row["p_fwd"], row["p_rev"], row["p_a"]
        if first is None and second is None:
            first = p
        against = ""
        if marks["wrong"]:
            false = f"false {row['verdict']}"
            against = "against people" if self.viewing.about == "pairs" else false
        failed = row["status"] is not None and row["status"] not in MEASURED
        state = [f"no verdict: {row['status']}"] if failed else []
        state += ["flips"] if marks["flips"] else []
        if "accepted" in marks and not failed and row["status"] is not None:
            state.append("accepted" if marks["accepted"] else "to people")
        end, other = self.ends
        shares = [first, second] if second is not None else [first]
        shown = [
            1 - share if row["verdict"] == other else share for share in shares if share is not None
        ]
        numbers = " and ".join(map(likely, shown)) if judge.has_doubt else ""
        words = "no verdict"
        if row["p_fwd"] is not None and second is not None:
            words = f"A shown first: {likely(first)} for {end}; "
            words += f"B shown first: {likely(second)} for {end}"
        elif p is not None:
            words = f"{likely(p)} for {end}" if judge.has_doubt else f"{row['verdict']}"
        return {
            **{name: row.get(name) for name in ("verdict", "detail", "label")},
            **{name: marks[name] for name in ("wrong", "flips")},
            "judge": judge.name,
            "first": first,
            "second": second,
            "p": p,
            "words": words,
            "against": against,
            "state": ", ".join(state),
            "numbers": numbers,
            "doubt": _number(row["uncertainty"]) or 0.0,
            "status": row["status"] or "not judged",
        }

    def undecided(self, at: int, kind: LabelKind, order: Order | None) -> dict[str, Any]:
        """A row before the decision: its texts alone, the sides of a pair in this order."""
        shown = stage(kind.texts(self._subject(at), order))
        if not self.has_texts:
            shown["answers"] = []
        return {**self.entry(at, "", hidden=True), "shown_order": order, **shown}

    def one(self, at: int, judge: str, opinions: Sequence[LabelEvent]) -> dict[str, Any]:
        """A row with all that judges and people said."""
        rows = self.viewing.judges[judge]
        row = self.entry(at, judge)
        said = row["said"]
        pills = dict(zip(("response_a", "response_b"), self.ends, strict=True))
        pair = self.viewing.about == "pairs"
        answers = []
        for name, heading in ANSWERS.items():
            if (text := self._text(at, name)) is None:
                continue
            end = pills.get(name, said["verdict"])
            sure = None
            if said["verdict"] == end and said["p"] is not None:
                share = said["p"] if end == self.ends[0] else 1 - said["p"]
                words = likely(share) if rows.has_doubt else ""
                sure = words if pair else f"{end} {words}".strip()
                sure = sure or str(end)
            picked = pair and row["label"] == end
            answers.append(
                {"heading": heading, "text": render_response(text), "judge": sure, "picked": picked}
            )
        replies, why = self._replies(at)
        texts = {name: self._text(at, name) for name in HEADINGS}
        columns = self._columns(at, rows)
        return {
            **row,
            "judge": judge,
            "asked": asked(texts),
            "answers": answers,
            "orders": pair and rows.has_doubt,
            "judges": [self.said(each, at) for each in self.viewing.judges.values()],
            "doubt": self._doubt(at, rows),
            "labels": self._labels(at, rows, opinions),
            "columns": columns,
            "explained": any(len(value) > _LONGEST_WORD for _, value in columns),
            "replies": replies,
            "no_replies": why,
            "reasons": any(len(reply["wrote"] or "") > _ONE_WORD for reply in replies),
        }

    def _text(self, at: int, column: str) -> str | None:
        if column not in self.viewing.items.columns:
            return None
        value = self.viewing.items[column][at]
        return None if value is None else str(value)

    def _subject(self, at: int) -> Subject:
        """The pair or the answer of a row."""
        texts = {name: self._text(at, name) or "" for name in (*HEADINGS, *ANSWERS)}
        name = self.viewing.items["id"][at]
        if self.viewing.about == "grades":
            shown = {key: texts[key] for key in ("reference", "context") if texts[key].strip()}
            return Item(id=name, prompt=texts["prompt"], response=texts["response"], extra=shown)
        return Pair(
            id=name,
            prompt=texts["prompt"],
            response_a=texts["response_a"],
            response_b=texts["response_b"],
            label=self.viewing.items["label"][at],  # a simulated judge knows it
        )

    @property
    def has_texts(self) -> bool:
        """Whether there is something to decide about."""
        return any(name in self.viewing.items.columns for name in ANSWERS)

    def shown_texts(self, at: int) -> str | None:
        """The hashes of the texts of a row, as a label keeps them."""
        return hash_texts({name: self._text(at, name) for name in (*HEADINGS, *ANSWERS)})

    def _title(self, at: int) -> str:
        names = ("prompt", "response", "response_a")
        text = next((text for name in names if (text := self._text(at, name) or "").strip()), "")
        if turns := turns_of(text):
            # All turns of a conversation begin alike: the title is what is said in this one.
            said = self._text(at, "response") or turns[-1].text
            text = unflatten((turns_of(said) or [Turn("", said)])[0].text)
        words = " ".join(shown_words(text)[: 4 * _LONGEST_TITLE].split())
        return words[:_LONGEST_TITLE] or f"row {self.viewing.items['id'][at]}"

    def _snippet(self, at: int, find: str, title: str) -> str:
        """The place of a word that was searched for, if the title does not show it."""
        words = find.strip().lower()
        if not words or words in title.lower():
            return ""
        for name in self.viewing.texts:
            text = shown_words(self._text(at, name) or "")
            place = text.lower().find(words)
            if place >= 0:
                around = text[max(0, place - _AROUND) : place + len(words) + _AROUND]
                return f"…{' '.join(around.split())}…"
        return ""

    def _doubt(self, at: int, rows: JudgeRows) -> dict[str, Any]:
        """The place of a row's doubt among the labelled rows."""
        curve = rows.curve_of(at)
        why = "No verdict in one of the orders: no doubt, and never accepted."
        doubt: dict[str, Any] = {
            "place": _number(rows.place[at]) if rows.has_doubt else None,
            "value": _number(rows.doubt[at]),
            "why": why if rows.has_doubt else rows.why,
            "scale": count(rows.n_doubts, "row"),
            "link": curve is not None,
            "errors": "",
            **dict.fromkeys(("limit", "rug", "accepted", "alpha")),
        }
        if rows.policy is not None and "accepted" in rows.marks:
            doubt["accepted"] = bool(rows.marks["accepted"][at])
            doubt["alpha"] = rows.policy.alpha
        if curve is not None:
            doubt["scale"] = count(len(curve), "labelled row") + where(rows.policy, curve)
            doubt["rug"] = thin(curve.errors_at)
            doubt["errors"] = count(len(curve.errors_at), "error")
            if curve.group.feasible:
                doubt["limit"] = curve.group.n_accepted / curve.group.n_calibration
        return doubt

    def _labels(
        self, at: int, rows: JudgeRows, opinions: Sequence[LabelEvent]
    ) -> list[dict[str, Any]]:
        """Every label of the row: each rater's, or the one of the file; then those of the store."""
        labels = []
        name = self.viewing.items["id"][at]
        raters = self.viewing.raters
        for given in () if raters is None else raters.filter(pl.col("id") == name).to_dicts():
            if given["label"] is not None:
                origin = [
                    given.get("rater") or "rater not recorded",
                    _drawn(given.get("sampled_by")),
                ]
                labels.append({"label": given["label"], "words": ", ".join(filter(None, origin)),
                               "comment": given.get("comment")})  # fmt: skip
        label = rows.labels[at]
        if label is not None and not any(given["label"] == label for given in labels):
            row = self.viewing.items.row(at, named=True)
            origin = ["the label in the file", row.get("rater"), _drawn(row.get("sampled_by"))]
            words = ", ".join(str(word) for word in origin if word)
            labels.insert(0, {"label": label, "words": words, "comment": row.get("comment")})
        labels += [
            {
                "label": event.label,
                "words": f"{event.rater}, {_drawn(event.sampled_by)}, in the store",
                "comment": event.comment,
            }
            for event in opinions
            if event.label is not None
        ]
        return labels

    def _columns(self, at: int, rows: JudgeRows) -> list[tuple[str, Any]]:
        """What else the file says of this row: a judge's explanation, the model, the category."""
        columns = {**self.viewing.items.row(at, named=True), **rows.frame.row(at, named=True)}
        hidden = {*_SHOWN, *HEADINGS, *ANSWERS}
        return [
            (name, render_response(str(value)))
            for name, value in columns.items()
            if name not in hidden and not name.startswith("__") and str(value or "").strip()
        ]

    def _replies(self, at: int) -> tuple[list[dict[str, Any]], str]:
        """What was asked and written, from the store; nothing, and why."""
        if self._store is None:
            return [], "The words are in the store of the judge's replies: add --store FILE."
        subject = self._subject(at)
        try:
            read = read_replies(subject.id, store=self._store, pairs=[subject], limit=None)
        except AdjudgeError as error:
            return [], f"The words are not shown: {error}"
        answered = []
        for reply in read.replies:
            order = {"ab": "A shown first", "ba": "B shown first"}.get(reply.order or "", "")
            heading = " · ".join(filter(None, (reply.judge, reply.protocol, order, reply.slot)))
            answered.append({"heading": heading, "facts": " · ".join(describe_reply(reply)),
                          "wrote": reply.text, "asked": reply.asked})  # fmt: skip
        none = "" if answered else "The store has no reply about this row."
        return answered, ". ".join(read.notes) or none


def where(policy: Policy | None, curve: Curve) -> str:
    """The group of rows that a curve is of; nothing if there is one rule for all."""
    if policy is None or policy.by is None:
        return ""
    return f" where {policy.by} is {curve.group.group}"


def thin(values: np.ndarray[Any, Any]) -> list[float]:
    """At most as many values as can be answered apart, evenly chosen."""
    if len(values) > _MOST_MARKS:
        values = values[np.linspace(0, len(values) - 1, _MOST_MARKS).astype(int)]
    return [float(value) for value in values]


def _drawn(way: str | None) -> str:
    return f"sampled_by {way}" if way else ""


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
