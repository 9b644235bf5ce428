"""One self-contained report from a folder of results: HTML, Markdown or JSON.

A section for each question; then the pairs and answers a judge doubts most, and the rows that have
no number; last every setting, seed, version and fingerprint that a reader needs to run it again.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from adjudge.atomic import replacing
from adjudge.data import read_items, read_pairs
from adjudge.data.pairs import join_pairs
from adjudge.data.rows import add_absent
from adjudge.data.turns import JUDGED_AS
from adjudge.errors import DataError, StoreError
from adjudge.judges.transcript import JudgeReply, read_replies
from adjudge.policy.result import Policy
from adjudge.present.blocks import (
    Block,
    Columns,
    Commands,
    Document,
    Figure,
    Heading,
    Headline,
    Note,
    Part,
    Section,
    Sides,
    Table,
    notes_of,
    table_of,
)
from adjudge.present.kinds import SECTIONS
from adjudge.present.render.html import render_html
from adjudge.present.render.markdown import render_markdown
from adjudge.present.text import clip, count, group_name
from adjudge.records import MEASURED
from adjudge.rendering import ANSWERS, HEADINGS, render_response, text_styles
from adjudge.report.folder import Folder, ResultFile, read_folder
from adjudge.validation import one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

FORMATS = ("html", "md", "json")
_LONG_NAME = 24
#: Results of one section with pictures: a picture takes about 80 ms and 50 kB of the page.
MOST_WITH_PICTURES = 30
#: Seconds between two lines about the pictures.
ANNOUNCED_EVERY_S = 5.0


def build_document(
    folder: str | Path | Folder,
    *,
    title: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> Document:
    """The report of a folder, before it has a format: a section for each room with results."""
    results = _read(folder)
    drawing = _Drawing(announce)
    section_of = {kind: section for section, kinds in SECTIONS.items() for kind in kinds}
    order = {kind: at for at, kind in enumerate(section_of)}
    parts: dict[tuple[str, str], list[Part]] = {section: [] for section in SECTIONS}
    for file in sorted(results.files, key=lambda file: order.get(file.result.kind, len(order))):
        section = parts.setdefault(section_of.get(file.result.kind, file.result.section), [])
        blocks = [*file.result.view(), *_copies(file)]
        blocks = drawing.announced(blocks, before=len(section))
        section.append(Part(name=file.path.name, blocks=blocks))
    parts[section_of[Policy.kind]] += doubtful_part(results)
    if results.damaged:
        parts = {("damaged", "Damaged files"): [_damaged_part(results)], **parts}
    names = short_names(results)
    shown = [
        Section(key=key, title=heading, parts=rename(several, names))
        for (key, heading), several in parts.items()
        if several
    ]
    shown.append(appendix_section(results, names))
    return Document(title=title or "Judge report", subtitle=_subtitle(results), sections=shown)


class _Drawing:
    """Limits the pictures, and says how many are drawn: they take most of the time."""

    def __init__(self, announce: Callable[[str], None] | None) -> None:
        self._announce = announce or (lambda line: None)
        self._pictures = 0
        self._drawn = 0
        self._at = time.monotonic()

    def announced(self, blocks: Sequence[Block], *, before: int) -> list[Block]:
        """The blocks of a result; `before` it, the section has so many."""
        if before < MOST_WITH_PICTURES:
            return [
                self._counted(block) if isinstance(block, Figure) else block for block in blocks
            ]
        others = [block for block in blocks if not isinstance(block, Figure)]
        line = f"pictures are only in the first {MOST_WITH_PICTURES} results of a section; "
        line += "to see the others, report fewer files"
        return [*others, *notes_of([line] if before == MOST_WITH_PICTURES else [])]

    def _counted(self, picture: Figure) -> Figure:
        self._pictures += picture.on_page
        return replace(picture, draw=partial(self._draw, picture))

    def _draw(self, block: Figure) -> Drawing:
        if time.monotonic() - self._at >= ANNOUNCED_EVERY_S:
            self._at = time.monotonic()
            self._announce(f"{self._drawn:,} of {self._pictures:,} pictures drawn")
        self._drawn += 1
        return block.draw()


def _copies(file: ResultFile) -> list[Block]:
    """The note that other files have the same result: it is shown once."""
    return notes_of([f"the same result: {', '.join(file.copies)}"] if file.copies else [])


def short_names(folder: Folder) -> dict[str, str]:
    """Judges with long names, and what the report calls them; the appendix has the long ones.

    Two judges never get the same short name: both keep their own then.
    """
    full = {name for file in folder.files for name in _judges(file.result.to_dict())}
    short = {name: _short_name(name) for name in full}
    taken = Counter(short.values())
    names = {name: word for name, word in short.items() if name != word and taken[word] == 1}
    # A name can begin like another one.
    return dict(sorted(names.items(), key=lambda each: -len(each[0])))


def _short_name(name: str) -> str:
    """The backend of a judge with settings, else the last part of its model's name.

    >>> _short_name("simulated:accuracy=0.8,noise=0.3"), _short_name("openai:gpt-4.1-mini")
    ('simulated', 'openai:gpt-4.1-mini')
    >>> _short_name("llamacpp:/home/ann/models/judge-7b.gguf")
    'judge-7b'
    """
    if len(name) <= _LONG_NAME:
        return name
    backend, _, rest = name.partition(":")
    return backend if "=" in rest else rest.rpartition("/")[2].removesuffix(".gguf") or name


def _judges(value: object, field: str = "") -> Iterator[str]:
    """Every judge that a result names, in a field of that name."""
    if isinstance(value, str) and field in ("judge", "judges"):
        yield value
    listed = [(field, entry) for entry in value] if isinstance(value, list) else []
    for name, entry in value.items() if isinstance(value, dict) else listed:
        yield from _judges(entry, name)


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """Blocks with the short names of their judges; the texts of pairs stay as they are."""
    if isinstance(value, str):
        for name, short in names.items():
            value = value.replace(name, short)
        return value
    if isinstance(value, Sides):
        return replace(value, note=rename(value.note, names))
    if isinstance(value, (list, tuple)):
        return tuple(rename(entry, names) for entry in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **{name: rename(part, names) for name, part in parts.items()})
    return value


def render_report(
    folder: str | Path | Folder,
    *,
    format: str = "html",
    title: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> str:
    """The report as text in one of the formats: html, md or json."""
    one_of(format, FORMATS, "format")
    results = _read(folder)
    if format == "json":
        return _as_json(results)
    document = build_document(results, title=title, announce=announce)
    if format == "md":
        return render_markdown(document)
    return render_html(document, style=text_styles())


def format_named_by(path: str | Path) -> str:
    """The format of a report that the ending of a path names; for any other, a page."""
    ending = Path(path).suffix.removeprefix(".")
    return ending if ending in FORMATS else "html"


def write_report(
    folder: str | Path | Folder,
    path: str | Path,
    *,
    format: str | None = None,
    title: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> Path:
    """Write the report by atomic rename; returns its path.

    Args:
        folder: The folder the results were written into. Or what `read_folder` read.
        path: File of the report.
        format: html, md or json. Default: what the ending of the file names, else html.
        title: The report's title.
        announce: Called with the number of pictures drawn, every few seconds.
    """
    named = format or format_named_by(path)
    text = render_report(folder, format=named, title=title, announce=announce)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return Path(path)


def _read(folder: str | Path | Folder) -> Folder:
    return folder if isinstance(folder, Folder) else read_folder(folder)


def _damaged_part(folder: Folder) -> Part:
    """Files that could not be read come first: without a note, they would not be missed."""
    many = count(len(folder.damaged), "damaged file is", "damaged files are")
    finding = f"{many} not in this report: {', '.join(folder.damaged)}"
    action = "Write them again; nothing of them is shown below."
    table = Table(("file", "reason"), list(folder.damaged.items()), text_columns=2)
    return Part(name="Damaged files", blocks=[Headline(finding, action, tone="bad"), table])


def _subtitle(folder: Folder) -> str:
    # SOURCE_DATE_EPOCH is the usual way to ask for the same bytes again.
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    name = folder.path.resolve().name
    results = count(len(folder.files), "result")
    return f"{name}, {results}, made {at:%Y-%m-%d %H:%M} UTC"


def _as_json(folder: Folder) -> str:
    results = {file.path.name: file.result.to_dict() for file in folder.files}
    commands = {file.path.name: file.command for file in folder.files if file.command is not None}
    copies = {file.path.name: list(file.copies) for file in folder.files if file.copies}
    whole: dict[str, Any] = {
        "kind": "report",
        "results": results,
        "commands": commands,
        "copies": copies,
        "damaged": folder.damaged,
        "skipped": folder.skipped,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


_LIBRARIES = ("adjudge", "numpy", "scipy", "polars", "pydantic", "aiohttp", "matplotlib")
#: Longer values (rows, curves, calibration scores) are in the files themselves.
_LONGEST = 300


def appendix_section(folder: Folder, names: Mapping[str, str]) -> Section:
    """The commands, the files, then a folded table per result file, and the versions."""

    def table(columns: tuple[str, str], rows: Any, caption: str, detail: bool = False) -> Table:
        return Table(columns, list(rows), caption, text_columns=2, detail=detail)

    files = {file.path.name: file.result.kind.replace("_", " ") for file in folder.files}
    listed = files | dict.fromkeys(folder.tables, "rows")
    headline = Headline(
        f"{count(len(folder.files), 'result file')}, with every setting, seed and fingerprint.",
        "The same inputs, settings and versions give the same numbers.",
    )
    contents = table(("file", "content"), listed.items(), "Files")
    blocks: list[Block] = [headline, *_commands(folder), contents]
    if names:
        blocks.append(table(("judge", "called here"), names.items(), "Judges"))
    for file in folder.files:
        caption = f"{file.path.name} ({file.result.kind})"
        settings = _settings(file.result.to_dict())
        blocks.append(table(("setting", "value"), settings, caption, detail=True))
    versions = {"Python": platform.python_version()}
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    caption = "Versions that made this report"
    blocks.append(table(("software", "version"), versions.items(), caption, detail=True))
    parts = [Part(name="Settings", blocks=blocks)]
    return Section(key="appendix", title="To run it again", parts=parts)


def _commands(folder: Folder) -> list[Block]:
    """The commands in the order in which their files were written, and the files without one."""
    written = sorted(folder.files, key=lambda file: (file.path.stat().st_mtime_ns, file.path.name))
    lines = {file.path.name: _to_copy(file.command) for file in written}
    named = list(dict.fromkeys(line for line in lines.values() if line is not None))
    blocks: list[Block] = [Commands(named)] if named else []
    without = {
        "a command": [name for name, line in lines.items() if line is None],
        "a digest, so an edit is not noticed": [f.path.name for f in written if not f.with_digest],
    }
    notes = [f"without {what}: {', '.join(names)}" for what, names in without.items() if names]
    return blocks + notes_of(notes)


def _to_copy(command: str | None) -> str | None:
    """A command of ours as plain words: that field is not checked, so no operator of a shell that
    was written into it takes effect when it is pasted.

    >>> _to_copy("adjudge report . ; echo pasted"), _to_copy("echo pasted")
    ("adjudge report . ';' echo pasted", None)
    """
    try:
        words = shlex.split(command or "")
    except ValueError:
        return None
    return shlex.join(words) if words[:1] == ["adjudge"] else None


def _settings(values: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > _LONGEST:
            kind = f"{len(value):,} entries" if isinstance(value, (list, dict)) else "long text"
            text = f"({kind}; see the file)"
        rows.append((name, text))
    return rows


_MOST = 10
_LONGEST_TEXT = 600
_COLUMNS = (
    *("id", "judge", "protocol", "status", "uncertainty", "p_a", "p_pass", "verdict", "label"),
    *("detail", JUDGED_AS, "conversation_id"),
)
#: The row of the texts that a row is a part of.
_WHOLE = "__whole"
#: What was written about a row, by its id, judge and protocol.
Written = Mapping[tuple[str, str, str], Sequence[JudgeReply]]


def doubtful_part(folder: Folder) -> list[Part]:
    """The most doubtful pairs and answers, if the folder has their texts and verdicts; then
    rows without a number. Both with what the judge wrote, if its store is given."""
    blocks: list[Block] = []
    for noun, texts, frames in (
        ("pair", folder.pairs, folder.judgments),
        ("answer", folder.items, folder.grades),
    ):
        if frames:
            blocks += _doubtful(folder, _verdicts(folder, frames), texts, noun)
    return [Part(name="For people to decide", blocks=blocks)] if blocks else []


def _doubtful(
    folder: Folder, rows: pl.DataFrame, texts: pl.DataFrame | None, noun: str
) -> list[Block]:
    doubtful: list[dict[str, Any]] = []
    if texts is not None:
        doubtful = _most_doubtful(rows, texts)
    unmeasured = rows.filter(~pl.col("status").is_in(list(MEASURED)))
    failed = unmeasured.head(_MOST).to_dicts()
    written, trouble = _read_written(folder, [*doubtful, *failed])
    blocks: list[Block] = []
    if doubtful:
        many = count(len(doubtful), f"most doubtful {noun}")
        blocks.append(Heading(f"The {many}, most doubtful first"))
    blocks += [_sides(row, written) for row in doubtful]
    if failed:
        many = count(unmeasured.height, "row")
        blocks.append(Heading(f"{many} without a number, the first {len(failed)}"))
        columns: Columns[Mapping[str, Any]] = {
            "row": itemgetter("id"),
            "judge": lambda row: group_name(row["judge"], none=""),
            "status": itemgetter("status"),
            "why": lambda row: row.get("detail") or "",
            "the judge wrote": lambda row: "; ".join(_words(row, written)),
        }
        blocks.append(table_of(failed, columns, text_columns=len(columns)))
    if trouble is not None and blocks:
        blocks.append(Note([f"what the judge wrote is not shown: {trouble}"]))
    return blocks


def _most_doubtful(rows: pl.DataFrame, texts: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows with the most doubt and their texts: of a turn or a step, those of its part."""
    rows = add_absent(rows, [JUDGED_AS, "conversation_id"])
    is_part = pl.col(JUDGED_AS).is_in(["turn", "step"])
    whole = pl.when(is_part).then("conversation_id").otherwise("id").alias(_WHOLE)
    with_texts = pl.col(_WHOLE).is_in(texts["id"].implode())
    measured = rows.drop_nulls("uncertainty").with_columns(whole).filter(with_texts)
    ordered = measured.sort("uncertainty", descending=True, maintain_order=True)
    first = ordered.unique("id", keep="first", maintain_order=True).head(_MOST)
    shown = []
    for asked in first.partition_by(JUDGED_AS):
        needed = texts.filter(pl.col("id").is_in(asked[_WHOLE].implode()))
        read = read_items if "response" in texts.columns else read_pairs
        with suppress(DataError):  # the conversations changed after they were judged
            shown.append(join_pairs(asked, needed, texts.columns, read).drop_nulls("prompt"))
    joined = pl.concat([first.clear(), *shown], how="diagonal_relaxed")
    return joined.sort("uncertainty", descending=True, maintain_order=True).to_dicts()


def _read_written(folder: Folder, rows: Sequence[Mapping[str, Any]]) -> tuple[Written, str | None]:
    """The replies about these rows; none, with the reason, if the store cannot be read."""
    if folder.store is None or not rows:
        return {}, None
    written: dict[tuple[str, str, str], list[JudgeReply]] = defaultdict(list)
    try:
        stored = read_replies({row["id"] for row in rows}, store=folder.store, limit=None)
    except StoreError as error:
        return {}, str(error)
    for reply in stored.replies:
        written[reply.id, reply.judge, reply.protocol].append(reply)
    return written, None


def _words(row: Mapping[str, Any], written: Written) -> list[str]:
    """What the judge wrote about a row, a text for each order; samples of one order once."""
    protocol, _, criterion = row["protocol"].partition(":")
    texts: dict[str, str] = {}
    for reply in written.get((row["id"], row["judge"], protocol), ()):
        if reply.text and reply.slot in ("", criterion):
            where = f"order {reply.order}: " if reply.order else ""
            texts.setdefault(where, f"{where}{clip(reply.text, _LONGEST_TEXT)!r}")
    return list(texts.values())


def _verdicts(folder: Folder, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All verdicts; with policies, those of the judges and protocols they hold."""
    shown = [frame.select([c for c in _COLUMNS if c in frame.columns]) for frame in frames]
    rows = pl.concat(shown, how="diagonal_relaxed")
    policies = [file.result for file in folder.files if isinstance(file.result, Policy)]
    groups = [(group.judge, group.protocol) for policy in policies for group in policy.groups]
    schema = {"judge": pl.String, "protocol": pl.String}
    judges = pl.DataFrame(groups, schema=schema, orient="row")
    # Doubt asked in another way is on another scale. A jury has rows of its members alone.
    of_policies = rows.join(judges, on=["judge", "protocol"], how="semi", maintain_order="left")
    return of_policies if of_policies.height else rows


def _sides(row: Mapping[str, Any], written: Written) -> Sides:
    """Two answers side by side; one answer next to its reference and context."""
    note = _describe(row)
    if words := _words(row, written):
        note += f". It wrote: {'; '.join(words)}"
    answers = {
        heading: render_response(row[name])
        for name, heading in (ANSWERS | HEADINGS).items()
        if name != "prompt" and row.get(name) is not None
    }
    return Sides(
        id=row["id"],
        prompt=render_response(row["prompt"]),
        answers=answers,
        note=note,
    )


def _describe(row: Mapping[str, Any]) -> str:
    who = group_name(row["judge"], none="the judge")
    asked = group_name(row["protocol"], none="")
    if asked:
        who += f" ({asked})"
    name, p = ("p(pass)", row["p_pass"]) if "p_pass" in row else ("p(A)", row["p_a"])
    sure = "" if p is None else f"{name} = {p:.3f}, "
    text = f"{who} says {row['verdict'] or 'neither'}: {sure}doubt {row['uncertainty']:.3f}"
    label = row.get("label")
    return text if label is None else f"{text}; people say {label}"
