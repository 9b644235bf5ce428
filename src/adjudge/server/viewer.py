"""Open the viewer: from the options of a verb, or in a notebook."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from pathlib import Path
from queue import Queue
from typing import Any, Unpack

from adjudge.data import sniff
from adjudge.data.formats import kinds_of
from adjudge.data.source import Reading, typed_again
from adjudge.data.tables import TableLike
from adjudge.data.writing import read_result
from adjudge.errors import AdjudgeError, ArgumentError, DataError, NotAResultError
from adjudge.policy.result import Policy
from adjudge.present.text import left_out
from adjudge.server.running import serve
from adjudge.server.view_page import ViewPage, view_app
from adjudge.server.view_reading import read_viewing
from adjudge.server.viewing import ALPHA, CHIPS, ONLY
from adjudge.store import Store, StorePlace, use_store
from adjudge.store.interface import DEFAULT_STORE, check_place
from adjudge.validation import unit

_TABLES = (".jsonl", ".csv", ".parquet", ".gz")
_SECONDS = 30.0


def open_view(
    rows: Sequence[TableLike],
    *,
    labels: TableLike | None = None,
    policy: Policy | str | Path | None = None,
    pairs: TableLike | None = None,
    judges: Sequence[str] = (),
    store: StorePlace = DEFAULT_STORE,
    only: str | None = None,
    blind: bool = False,
    alpha: float = ALPHA,
    seed: int = 0,
    announce: Callable[[str], None] | None = None,
    **reading: Unpack[Reading],
) -> ViewPage:
    """Read judged rows for the viewer: verdicts, doubt and labels of one or several judges.

    Args:
        rows: Judgments or grades, several files of the same rows (before and after), or a folder
            with rows, labels and a policy. Pairs or items without a verdict open too.
        labels: Human labels by id, for rows without a label.
        policy: The policy that calibrate wrote. Without it, a threshold is calibrated on the labels
            at alpha.
        pairs: Rows with the texts, joined by id: pairs or items.
        judges: Name of a judge; repeatable. Names in the rows, or columns of verdicts. Default: all
            judges in the rows.
        store: Store of the judge's replies, and of second opinions. A file or postgresql://...
        only: Show only these rows first: disagreements, doubtful, accepted, abstained, flips,
            false_pass, false_fail, unlabelled, or a status such as unparsed.
        blind: Hide what judges and people said of a row until the reader has decided.
        alpha: Error level of the threshold, if there is no policy.
        seed: Seed of which answer is left when a row is read blind.
        announce: Called with what was left out, as text.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> page = open_view([{"id": [1, 2], "p_a": [0.9, 0.8], "label": ["A", "B"]}], store=None)
    >>> page.listing({"only": "wrong"})["n"]
    1
    """
    say = announce or (lambda text: None)
    unit(alpha, "alpha")
    if not isinstance(store, Store):
        check_place(store)
    if "://" in str(store):
        # A server that cannot be reached is named here, not at the first row.
        with use_store(store, readonly=True):
            pass
    tables = list(rows)
    if len(tables) == 1 and isinstance(tables[0], str | Path) and Path(tables[0]).is_dir():
        folder = Path(tables[0])
        tables, others = _in_folder(folder, say)
        labels = labels if labels is not None else others["labels"]
        pairs = pairs if pairs is not None else others["texts"]
        policy = policy if policy is not None else others["policy"]
        if store == DEFAULT_STORE:
            store = folder / DEFAULT_STORE
    viewing = read_viewing(
        tables,
        labels=labels,
        policy=policy,
        pairs=pairs,
        judges=[judges] if isinstance(judges, str) else judges,
        alpha=alpha,
        **reading,
    )
    # The first order is sorted with the reading: the first page is there without waiting.
    viewing.listed(viewing.usual, viewing.matching({}))
    for line in left_out(viewing.dropped):
        say(f"{viewing.name}: {line}")
    first = {"blind": "1"} if blind else {}
    if only is not None:
        first["only"] = ".".join(
            _chip(word, set(viewing.chips(viewing.usual.judge))) for word in only.split(",")
        )
    typed = _typed(tables, labels, reading)
    return ViewPage(viewing, store=store, first=first, typed=typed, seed=seed)


def _chip(word: str, here: set[str]) -> str:
    key = word.strip().replace("-", "_")
    key = ONLY.get(key, key)
    if key not in CHIPS and key not in here:
        words = ["disagreements", *(name for name in CHIPS if name != "wrong")]
        raise ArgumentError("only", word, f"use {', '.join(words)} or a status of the rows")
    return key


def _in_folder(folder: Path, say: Callable[[str], None]) -> tuple[list[TableLike], dict[str, Any]]:
    """The judged rows of a folder, and its labels, texts and policy, the first of each."""
    rows: list[TableLike] = []
    decided: list[TableLike] = []
    others: dict[str, Any] = {"labels": None, "texts": None, "policy": None}
    for entry in sorted(folder.iterdir()):
        place = None
        try:
            if entry.suffix == ".json" or entry.suffix in _TABLES:
                place = _place_of(entry)
        except AdjudgeError as error:
            say(f"not shown: {error}")
            continue
        if place == "rows":
            rows.append(entry)
        elif place == "decisions":
            decided.append(entry)
        elif place is not None and others[place] is None:
            others[place] = entry
        elif place is not None or entry.suffix in _TABLES:
            say(f"not shown: {entry.name}")
    # The rows that select wrote are the judged rows again, with what was accepted.
    rows = decided[:1] or rows
    if decided:
        others["policy"] = None
    if not rows and others["texts"] is not None:
        rows = [others["texts"]]
        others["texts"] = None
    if not rows:
        raise DataError(folder, "has no judged rows", remedy="write them there: adjudge judge -o")
    return rows, others


def _place_of(path: Path) -> str | None:
    """What a file of a folder is for the viewer."""
    if path.suffix == ".json":
        with suppress(NotAResultError):  # the log of another tool
            return "policy" if isinstance(read_result(path), Policy) else None
    kinds = kinds_of(sniff(path))
    for place, wanted in _PLACES.items():
        if kinds & wanted:
            return place
    return None


_PLACES = {
    "decisions": {"decisions"},
    "rows": {"judgments", "grades", "binary"},
    "labels": {"labels"},
    "texts": {"pairs", "items"},
}


def _typed(rows: Sequence[TableLike], labels: Any, reading: Reading) -> str:
    """The rows and their options as `calibrate` takes them on the command line."""
    if len(rows) != 1 or not isinstance(rows[0], str | Path):
        return "JUDGMENTS"
    words = [str(rows[0])]
    if isinstance(labels, str | Path):
        words += ["--labels", str(labels)]
    return shlex.join([*words, *typed_again(reading)])


class LocalView:
    """A viewer that runs next to a notebook: its `address`, until it is closed."""

    def __init__(self, page: ViewPage, port: int) -> None:
        self._over = threading.Event()
        self._begun: Queue[str | BaseException] = Queue()
        self._thread = threading.Thread(target=self._serve, args=(page, port), daemon=True)
        self._thread.start()
        begun = self._begun.get(timeout=_SECONDS)
        if isinstance(begun, BaseException):
            raise begun
        #: Where the page is, on this machine alone.
        self.address = begun

    def _serve(self, page: ViewPage, port: int) -> None:
        try:
            serve(
                partial(view_app, page), host="127.0.0.1", port=port, token=None,
                ready=self._begun.put, is_over=self._over.is_set,
            )  # fmt: skip
        except BaseException as error:  # raised again in the caller's thread
            self._begun.put(error)

    def close(self) -> None:
        """Stop the viewer."""
        self._over.set()
        self._thread.join(_SECONDS)

    def __repr__(self) -> str:
        return f"viewer: {self.address}"

    def _repr_html_(self) -> str:
        link = escape(self.address)
        return f'<a href="{link}" target="_blank" rel="noopener">Open the viewer: {link}</a>'


def view(*rows: TableLike, port: int = 0, **options: Any) -> LocalView:
    """Open the viewer from Python and return its link; options as in `open_view`.

    The page is on this machine alone, and closes with the process or by `close`.

    >>> page = view({"id": [1, 2], "p_a": [0.9, 0.8], "label": ["A", "B"]}, store=None)
    >>> page.address.startswith("http://127.0.0.1:")
    True
    >>> page.close()
    """
    return LocalView(open_view(list(rows), **options), port)
