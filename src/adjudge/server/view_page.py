"""The viewer: a page over judged rows, and the calls by which it filters, reads and labels them.

The server renders what is shown, so what is hidden from a reader who decides blind is never sent.
Everything chosen is in the page's address behind `#`, which no server sees.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from fastapi import FastAPI, Request
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse, StreamingResponse

from adjudge.data.shown import compare_texts
from adjudge.errors import ArgumentError
from adjudge.present.text import count
from adjudge.records import Order
from adjudge.rendering import text_styles
from adjudge.server.guard import Guard
from adjudge.server.label_page import Click, Nonce, RowId
from adjudge.server.labelling import GRADES, PAIRS, side_first
from adjudge.server.pages import (
    guard_page,
    macros,
    page_app,
    page_style,
    read_static,
    templates,
)
from adjudge.server.view_panels import compare_panel, threshold_panel
from adjudge.server.view_rows import RowPages
from adjudge.server.viewing import FALSE, ORDERS, TELLING, Choice, Viewing
from adjudge.store import Store, StorePlace, use_store
from adjudge.store.labels import LONGEST_COMMENT, LabelBook
from adjudge.store.tables import LabelEvent
from adjudge.validation import BoolArray, IntArray

PAGE_ROWS = 50
#: Rows of a page that opens without a server.
STATIC_ROWS = 300
#: Rows of one piece of a download: a download of a million is never in memory.
_BATCH = 10_000
_LONGEST_SEARCH = 200
_LONGEST_NAME = 80
#: Readers whose screens are remembered.
_READERS = 1_000
#: Added to a rater's name. The first label of that rater stays what it was, next to this one.
BLIND = "second opinion"
NOT_BLIND = "verdict seen"


class Opinion(Click):
    """A second opinion on one row: a side of a pair, pass or fail."""

    reader: Nonce
    side: Annotated[str, Field(pattern=r"^(left|right|tie|pass|fail)$")]


class TakeBack(BaseModel):
    """The request to undo a second opinion."""

    model_config = ConfigDict(extra="forbid")
    reader: Nonce
    id: RowId
    nonce: Nonce


class Readers:
    """Which rows each reader has seen with verdicts, and decided; the oldest are forgotten."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, tuple[set[int], dict[int, str]]] = OrderedDict()
        self._lock = Lock()

    def of(self, reader: str) -> tuple[set[int], dict[int, str]]:
        """The rows seen, and the rater's name by decided row."""
        reader = reader[:_LONGEST_NAME]
        with self._lock:
            rows = self._rows.setdefault(reader, (set(), {}))
            self._rows.move_to_end(reader)
            while len(self._rows) > _READERS:
                self._rows.popitem(last=False)
            return rows


class ViewPage:
    """What the calls of the page answer."""

    def __init__(
        self,
        viewing: Viewing,
        *,
        store: StorePlace,
        first: Mapping[str, str] | None = None,
        typed: str = "JUDGMENTS",
        seed: int = 0,
    ) -> None:
        self.viewing = viewing
        self.store = store
        self.first = dict(first or {})
        self.typed = typed
        self.seed = seed
        self.kind = PAIRS if viewing.about == "pairs" else GRADES
        self.readers = Readers()

    @property
    def pages(self) -> RowPages:
        """With the replies of the store, if it exists by now."""
        return RowPages(self.viewing, self.store if _exists(self.store) else None)

    def choice(self, asked: Mapping[str, str]) -> Choice:
        """The choice that an address describes; what it does not know is left out."""
        usual = self.viewing.usual
        judge = asked.get("judge", "")
        order = asked.get("order", "")
        groups = {key[3:]: value for key, value in asked.items() if key.startswith("by.") and value}
        only = asked.get("only", "").split(".")
        if asked.get("blind"):
            only = [TELLING.get(key, key) for key in only]
        elif self.viewing.about == "grades":
            only = [word for key in only for word in (FALSE if key == "wrong" else (key,))]
        return Choice(
            judge=judge if judge in self.viewing.judges else usual.judge,
            only=tuple(dict.fromkeys(filter(None, only))),
            groups=groups,
            find=asked.get("find", "")[:_LONGEST_SEARCH],
            order=order if order in self.viewing.orders else usual.order,
        )

    def listing(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The rows page: chips, numbers, a part of the list, and one row."""
        choice = self.choice(asked)
        reader = asked.get("reader", "")
        masks = self.viewing.masks(choice)
        mask = self.viewing.matching(masks)
        listed = self.viewing.listed(choice, mask)
        row, at, start = self._place(asked, listed)
        shown = listed[start : start + PAGE_ROWS]
        page = self._summary(choice, mask)
        page |= {"at": at, "start": start, "blind": bool(asked.get("blind"))}
        page |= {"before": max(0, start - PAGE_ROWS), "end": start + len(shown)}
        page["rows"] = [self.entry(int(position), choice, asked) for position in shown]
        page["row"] = None if row is None else self.viewing.items["id"][row]
        page["hidden"] = row is not None and self.hides(row, asked)
        page["can_label"] = self.pages.has_texts
        page["chips"] = self._chips(choice, masks, blind=page["blind"])
        page["groups"] = self._groups(choice, masks)
        parts = macros("rows.html")
        answer = {part: getattr(parts, part)(page) for part in ("chips", "tally", "items", "foot")}
        answer |= {name: page[name] for name in ("row", "at", "start", "n")}
        answer |= {"bar": "", "one": ""}
        if row is not None:
            answer["bar"] = parts.bar(page)
            answer["one"] = self._one(row, choice.judge, asked)
        names = {"judges": list(self.viewing.judges), "orders": self.viewing.orders}
        self._note_seen(reader, [*map(int, shown), *([] if row is None else [row])], asked)
        chosen = {"judge": choice.judge, "order": choice.order, "only": ".".join(choice.only)}
        return {**answer, **names, **chosen}

    def _place(
        self, asked: Mapping[str, str], listed: IntArray
    ) -> tuple[int | None, int | None, int]:
        """The row to show, its place in the list, and where the shown part of the list starts."""
        start = _whole(asked.get("start"), 0)
        start = min(start, max(0, len(listed) - 1)) // PAGE_ROWS * PAGE_ROWS
        row = self.viewing.position(asked["row"]) if asked.get("row") else None
        if row is None:
            # The reader goes to the next row, or arrives: by its place in the list.
            at = min(_whole(asked.get("at"), start), len(listed) - 1)
            if at < 0 or (asked.get("narrow") and "at" not in asked):
                return None, None, start
            row = int(listed[at])
            return row, at, at // PAGE_ROWS * PAGE_ROWS
        places = np.flatnonzero(listed == row)
        if not len(places):
            return row, None, start
        at = int(places[0])
        return (
            row,
            at,
            start if asked.get("start") else at // PAGE_ROWS * PAGE_ROWS,
        )

    def order_for(self, reader: str, row: str) -> Order | None:
        """Which response of a pair is left, for a reader who decides."""
        return side_first(self.seed, reader, row) if self.kind is PAIRS else None

    def hides(self, at: int, asked: Mapping[str, str]) -> bool:
        """Whether this reader must not know yet what judges and people say of a row."""
        _, decided = self.readers.of(asked.get("reader", ""))
        opinion = asked.get("opinion") and asked.get("row") == self.viewing.items["id"][at]
        return bool(opinion) or (bool(asked.get("blind")) and at not in decided)

    def entry(self, at: int, choice: Choice, asked: Mapping[str, str]) -> dict[str, Any]:
        hidden = self.hides(at, asked)
        return self.pages.entry(at, choice.judge, find=choice.find, hidden=hidden)

    def _note_seen(self, reader: str, rows: list[int], asked: Mapping[str, str]) -> None:
        if reader:
            seen, _ = self.readers.of(reader)
            seen.update(at for at in rows if not self.hides(at, asked))

    def _one(self, at: int, judge: str, asked: Mapping[str, str]) -> Markup:
        parts = macros("row.html")
        reader = asked.get("reader", "")
        seen, decided = self.readers.of(reader)
        if self.hides(at, asked):
            order = self.order_for(reader, self.viewing.items["id"][at])
            row = self.pages.undecided(at, self.kind, order)
            row |= {"seen": at in seen, "blind": bool(asked.get("blind"))}
            return Markup(parts.undecided(row, Markup(self.kind.choices), LONGEST_COMMENT))  # noqa: S704
        opinions = self.opinions(at)
        row = self.pages.one(at, judge, opinions)
        mine = [event.label for event in opinions if event.rater == decided.get(at)]
        row["decided"] = mine[-1] if mine else None
        return Markup(parts.one(row, self.pages.ends))  # noqa: S704  # a template, which escapes

    def _chips(
        self, choice: Choice, masks: Mapping[str, BoolArray], *, blind: bool
    ) -> list[dict[str, Any]]:
        marks = self.viewing.judges[choice.judge].marks
        chips = []
        for key, (name, kind) in self.viewing.chips(choice.judge, blind=blind).items():
            n = int((self.viewing.matching(masks, kind) & marks[key]).sum())
            chips.append({"key": key, "name": name, "on": key in choice.only, "count": n})
        return chips

    def _groups(self, choice: Choice, masks: Mapping[str, BoolArray]) -> list[dict[str, Any]]:
        groups = []
        for column, (codes, names) in self.viewing.groups.items():
            others = self.viewing.matching(masks, f"by.{column}")
            counts = np.bincount(codes[others], minlength=len(names))
            options = sorted(zip(names, map(int, counts), strict=True))
            chosen = choice.groups.get(column, "")
            groups.append({"name": column, "chosen": chosen, "options": options})
        return groups

    def _summary(self, choice: Choice, mask: BoolArray) -> dict[str, Any]:
        """The numbers above the list, of the rows in it."""
        marks = self.viewing.judges[choice.judge].marks
        wrong = mask & marks["wrong"]
        others = mask & (marks["agree"] | marks["tie"])
        summary: dict[str, Any] = {"total": self.viewing.items.height, "n": int(mask.sum())}
        summary |= {"n_wrong": int(wrong.sum()), "n_labelled": int((wrong | others).sum())}
        summary |= {"n_accepted": None, "n_accepted_wrong": None}
        if "accepted" in marks:
            summary["n_accepted"] = int((mask & marks["accepted"]).sum())
            summary["n_accepted_wrong"] = int((wrong & marks["accepted"]).sum())
        chosen = bool(self.viewing.masks(choice))
        return {**summary, "chosen": chosen, "order": choice.order, "ends": self.pages.ends}

    def threshold(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The threshold page."""
        choice = self.choice(asked)
        cut = _whole(asked.get("cut"), -1)
        width = min(max(_whole(asked.get("width"), 700), 280), 1200)
        typed = self.typed
        policy = self.viewing.judges[choice.judge].policy
        if policy is not None and policy.by is not None:
            typed += f" --by {shlex.quote(policy.by)}"
        if len(self.viewing.judges) > 1:
            typed += f" --judge {shlex.quote(self.viewing.judges[choice.judge].frame['judge'][0])}"
        panel = threshold_panel(self.pages, choice, None if cut < 0 else cut, width, typed)
        edge = panel.get("edge", [])
        panel["edge"] = [
            (heading, [self.entry(at, choice, asked) for at in positions])
            for heading, positions in edge
        ]
        self._note_seen(
            asked.get("reader", ""), [at for _, positions in edge for at in positions], asked
        )
        html = templates().get_template("threshold.html").render(panel=panel, ends=self.pages.ends)
        return {"html": html, "judge": choice.judge, "judges": list(self.viewing.judges)}

    def compare(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The page of two judges."""
        choice = self.choice(asked)
        sides = (asked.get(name, "") for name in ("before", "after", "way"))
        page = compare_panel(self.viewing, choice, *sides)
        rows = []
        shown = []
        for first, judge, second, other, way, css in page["changes"]:
            hidden = [self.hides(at, asked) for at in (first, second)]
            if any(hidden) and not page["of_judges"]:
                # Where the verdict itself has changed, the list would tell it.
                continue
            before = self.pages.entry(first, judge, hidden=hidden[0])
            after = self.pages.entry(second, other, hidden=hidden[1])
            rows.append({"before": before, "after": after, "judge": other, "way": way, "css": css})
            shown += [first, second]
        self._note_seen(asked.get("reader", ""), shown, asked)
        unread = len(page["changes"]) - len(rows)
        page = {**page, "rows": rows, "unread": unread, "ends": self.pages.ends}
        html = templates().get_template("compare.html").render(page=page)
        return {"html": html, "judge": choice.judge, "judges": list(self.viewing.judges)}

    def opinions(self, at: int) -> list[LabelEvent]:
        """The labels of one row in the store: those of its id that are about its texts."""
        if not _exists(self.store):
            return []
        name = self.viewing.items["id"][at]
        here = self.pages.shown_texts(at)
        with use_store(self.store, readonly=True) as store:
            answers = LabelBook(store, self.kind.labels).answers()
        same = [event for event in answers if event.subject_id == name]
        return [e for e in same if compare_texts(e.shown_texts, here) in (None, "same")]

    def decide(self, opinion: Opinion) -> dict[str, Any]:
        """Keep a second opinion as a separate label; nothing is overwritten."""
        at = self.viewing.position(opinion.id)
        if at is None or not self.pages.has_texts:
            raise ArgumentError("id", opinion.id, "no such row with texts on this page")
        order = self.order_for(opinion.reader, opinion.id)
        if opinion.shown_order != order:
            raise ArgumentError("shown_order", opinion.shown_order, "reload the page")
        label = self.kind.label_of(opinion.side, order)
        seen, decided = self.readers.of(opinion.reader)
        rater = f"{opinion.rater.strip()} ({NOT_BLIND if at in seen else BLIND})"
        with use_store(self.store) as store:
            LabelBook(store, self.kind.labels).add(
                nonce=opinion.nonce, rater=rater, subject_id=opinion.id, label=label,
                shown_order=order, sampled_by="browsed", comment=opinion.comment,
                shown_texts=self.pages.shown_texts(at),
            )  # fmt: skip
        decided[at] = rater
        return {"label": label, "blind": at not in seen}

    def undo(self, request: TakeBack) -> dict[str, Any]:
        """Take back this reader's opinion on a row, if it is that rater's last one."""
        at = self.viewing.position(request.id)
        _, decided = self.readers.of(request.reader)
        rater = decided.get(-1 if at is None else at)
        if rater is None:
            raise ArgumentError("id", request.id, "there is nothing to undo on this row")
        with use_store(self.store) as store:
            book = LabelBook(store, self.kind.labels)
            last = book.answers(rater)[-1:]
            if not last or last[0].subject_id != request.id:
                raise ArgumentError("id", request.id, "only the last opinion can be undone")
            book.undo(nonce=request.nonce, rater=rater)
        decided.pop(-1 if at is None else at, None)
        return {"undone": request.id, "comment": last[0].comment}

    def export(self, asked: Mapping[str, str]) -> Iterator[pl.DataFrame]:
        """The rows chosen, in pieces that open again; of hidden rows the texts alone."""
        choice = self.choice(asked)
        listed = self.viewing.listed(choice, self.viewing.matching(self.viewing.masks(choice)))
        if asked.get("blind"):
            # What is hidden on the page is not in a file of its rows either.
            frame = self.viewing.items.select(self.viewing.texts)
        else:
            frame = self.viewing.table(choice.judge)
        for start in range(0, max(1, len(listed)), _BATCH):
            yield frame[listed[start : start + _BATCH]]

    def static(self, asked: Mapping[str, str], limit: int = STATIC_ROWS) -> str:
        """A page of the first rows chosen that opens without a server and runs nothing."""
        choice = self.choice(asked)
        mask = self.viewing.matching(self.viewing.masks(choice))
        listed = self.viewing.listed(choice, mask)
        pages = self.pages
        rows = []
        for at in map(int, listed[:limit]):
            if self.hides(at, asked):
                order = self.order_for(asked.get("reader", ""), self.viewing.items["id"][at])
                row = pages.undecided(at, self.kind, order)
            else:
                row = pages.one(at, choice.judge, self.opinions(at))
                row["doubt"]["link"] = False
            rows.append({**row, "decided": None, "snippet": ""})
        self._note_seen(asked.get("reader", ""), [int(at) for at in listed[:limit]], asked)
        style = page_style() + read_static("view.css").decode() + text_styles()
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        page = self._summary(choice, mask)
        page |= {"name": self.viewing.name, "judge": choice.judge, "rows": rows}
        page["blind"] = bool(asked.get("blind"))
        words = [
            name
            for key, (name, _) in self.viewing.chips(choice.judge, blind=page["blind"]).items()
            if key in choice.only
        ]
        words += [f"{column} {value}" for column, value in choice.groups.items()]
        words += [f"with “{choice.find}”"] if choice.find else []
        heading = f"{count(len(listed), 'row')}{': ' if words else ''}{', '.join(words)}"
        tally = Markup(macros("rows.html").tally(page))  # noqa: S704  # a template
        return templates().get_template("static.html").render(
            page=page, style=Markup(style), style_hash=digest, heading=heading, tally=tally,  # noqa: S704
            order=ORDERS[choice.order],
        )  # fmt: skip


def view_app(page: ViewPage, *, host: str, port: int, token: str | None = None) -> Guard:
    """The ASGI application of the viewer, behind its guard."""
    app = page_app("view", first=page.first)
    _add_calls(app, page)
    return guard_page(app, host=host, port=port, token=token)


def _add_calls(app: FastAPI, page: ViewPage) -> None:
    @app.get("/api/file")
    def file(request: Request) -> StreamingResponse:
        pieces = (piece.write_ndjson() for piece in page.export(request.query_params))
        return StreamingResponse(pieces, media_type="application/jsonl")

    @app.get("/api/page")
    def static(request: Request) -> HTMLResponse:
        return HTMLResponse(page.static(request.query_params))

    @app.get("/api/{name}")
    def shown(name: Literal["rows", "threshold", "compare"], request: Request) -> dict[str, Any]:
        calls = {"rows": page.listing, "threshold": page.threshold, "compare": page.compare}
        return calls[name](request.query_params)

    @app.post("/api/opinion")
    def opinion(sent: Opinion) -> dict[str, Any]:
        return page.decide(sent)

    @app.post("/api/undo")
    def undo(sent: TakeBack) -> dict[str, Any]:
        return page.undo(sent)


def _exists(store: StorePlace) -> bool:
    """Whether there is a store to read: a file that does not exist yet is none."""
    if store is None or isinstance(store, Store):
        return store is not None
    return "://" in str(store) or Path(store).is_file()


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else default
