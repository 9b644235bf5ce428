"""The files of a folder that a report uses: results, pairs and judgments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from adjudge.data import read_grades, read_items, read_judgments, read_pairs, sniff
from adjudge.data.conversion import read_public
from adjudge.data.formats import NATIVE, kinds_of
from adjudge.data.grades import are_grades
from adjudge.data.tables import parse_table
from adjudge.data.writing import read_with_fields
from adjudge.errors import AdjudgeError, ArgumentError, DataError, NotAResultError
from adjudge.policy.result import Policy
from adjudge.present.result import COMMAND, DIGEST, Result, digest_of
from adjudge.selection.verifying import check_policy
from adjudge.store.interface import DEFAULT_STORE, scheme_of

_TABLES = (".jsonl", ".csv", ".parquet", ".gz", ".ndjson", ".tsv")
#: A report shows ten pairs; a larger file is not read for them.
_LARGEST_TABLE = 200 * 1024 * 1024
_PAIR = ("id", "prompt", "response_a", "response_b")
_ITEM = ("id", "prompt", "response")
#: `steps` is the run of an agent, of which a step is a part.
_WITH_ITEM = ("reference", "context", "steps")


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """One result, the file it came from, and the command that made it, if the file names one.

    A file `with_digest` was not edited since it was written. `copies` are files of the same result.
    """

    path: Path
    result: Result
    command: str | None = None
    with_digest: bool = True
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Folder:
    """The results of a folder, the texts of its pairs and items, its judgments and grades, and the
    files left out.

    `tables` are the files that texts and verdicts come from, `store` has the judge's replies.
    `damaged` are files of results that cannot be shown as they are; `skipped` those of others.
    """

    path: Path
    files: tuple[ResultFile, ...]
    tables: tuple[str, ...] = ()
    pairs: pl.DataFrame | None = None
    judgments: tuple[pl.DataFrame, ...] = ()
    items: pl.DataFrame | None = None
    grades: tuple[pl.DataFrame, ...] = ()
    store: str | Path | None = None
    damaged: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)


def read_folder(path: str | Path, *, store: str | Path | None = None) -> Folder:
    """Read a folder. A file that is damaged or not ours is left out with its reason.

    `store` is where the judge's replies are, if not in the folder's own adjudge.db.
    """
    path = Path(path)
    if store is None and (path / DEFAULT_STORE).is_file():
        store = path / DEFAULT_STORE
    if store is not None and scheme_of(store) is None and not Path(store).is_file():
        raise DataError(store, "no such file", remedy="check --store")
    if not path.is_dir():
        raise DataError(path, "is not a folder", remedy="give the folder adjudge wrote into")
    files: dict[str, ResultFile] = {}
    damaged: dict[str, str] = {}
    skipped: dict[str, str] = {}
    tables: list[Path] = []
    for entry in sorted(path.iterdir()):
        if entry.suffix == ".json":
            try:
                result, fields = read_with_fields(entry)
                if isinstance(result, Policy):
                    check_policy(result, source=entry)
                file = ResultFile(
                    path=entry,
                    result=result,
                    command=fields.get(COMMAND),
                    with_digest=DIGEST in fields,
                )
                digest = digest_of(fields)
                if (first := files.get(digest)) is not None:
                    file = replace(first, copies=(*first.copies, entry.name))
                files[digest] = file
            except (NotAResultError, ArgumentError) as error:
                skipped[entry.name] = _reason(error, entry)
            except AdjudgeError as error:
                damaged[entry.name] = _reason(error, entry)
        elif entry.suffix in _TABLES:
            tables.append(entry)
    if not files:
        unread = next((f" that can be read ({name}: {why})" for name, why in damaged.items()), "")
        raise DataError(
            path,
            f"holds no result of adjudge{unread}",
            remedy="write results there with -o FILE.json",
        )
    frames: dict[str, list[pl.DataFrame]] = defaultdict(list)
    shown: list[str] = []
    for entry in tables:
        try:
            for kind, frame in _read_table(entry):
                frames[kind].append(frame)
                shown.append(entry.name)
        except AdjudgeError as error:
            skipped[entry.name] = _reason(error, entry)
    return Folder(
        path=path,
        files=tuple(files.values()),
        tables=tuple(shown),
        pairs=_texts(frames["pairs"]),
        judgments=tuple(frames["judgments"]),
        items=_texts(frames["items"]),
        grades=tuple(frames["grades"]),
        store=store,
        damaged=damaged,
        skipped=skipped,
    )


def _texts(frames: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
    """All texts, once for each id."""
    if not frames:
        return None
    return pl.concat(frames, how="diagonal_relaxed").unique("id", keep="first")


def _reason(error: AdjudgeError, path: Path) -> str:
    """The message without the path, because the file's name is shown with it."""
    return str(error).removeprefix(str(path)).lstrip(":, ")


def _read_table(path: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    """The kind of a table and its rows; nothing if a report does not use it."""
    if path.stat().st_size > _LARGEST_TABLE:
        raise DataError(path, "too large to be read for a report")
    table = parse_table(path)
    columns = set(table.frame.columns)
    format = sniff(table)
    kinds = kinds_of(format)
    published = format is not None and format not in NATIVE
    if set(_PAIR) <= columns or "pairs" in kinds:
        pairs = read_public(table, kind="pairs").frame if published else read_pairs(table)
        yield "pairs", pairs.select(_PAIR)
    elif set(_ITEM) <= columns or "items" in kinds:
        items = read_public(table, kind="items").frame if published else read_items(table)
        yield "items", items.select(*_ITEM, *(c for c in _WITH_ITEM if c in items.columns))
    elif {"id", "status"} <= columns and are_grades(columns):
        yield "grades", read_grades(table)
    elif {"id", "judge", "status"} <= columns and columns & {"p_a", "p_fwd"}:
        yield "judgments", read_judgments(table)
