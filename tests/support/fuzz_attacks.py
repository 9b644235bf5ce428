"""Attacks on a file: on its records, its bytes or its path, each drawn from a seeded generator."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

#: Columns that some verb reads, writes or works with.
OURS = (
    *("id", "prompt", "response", "response_a", "response_b", "model", "model_a", "model_b"),
    *("label", "prompt_id", "doc_id", "judge", "protocol", "status", "p_fwd", "p_rev", "p_a"),
    *("uncertainty", "verdict", "judge_fingerprint", "tokens", "cost", "detail", "accepted"),
    *("reason", "error", "sampled_by", "sampling_probability", "raters", "labels", "rater"),
    *("shown_order", "human", "human_score", "human_scores", "judge_score", "score_probs"),
    *("criterion", "order", "repeat", "winner", "human_pref", "score_a", "score_b", "scores_a"),
    *("set_low", "set_high", "set_size", "advice", "calibrated", "_row", "__label", "__row"),
    *("__verdict", "__cluster", "__by", "input_verdict", "length_a", "extra", "repeats", "cluster"),
    *("verdict_fwd", "verdict_rev", "judge_pref", "language", "topic", "", " id", "id_right"),
    *("drawn", "drawn_at", "audit_rate", "judge_verdict", "learned_doubt", "input_drawn", "cut"),
)
ODD: tuple[Any, ...] = (
    *(None, "", " ", True, False, 0, 1, -1, 7, 2**31, 2**63, -(2**70), 10**400, 0.5, -0.0, 1e308),
    *(5e-324, math.nan, math.inf, -math.inf, "nan", "NaN", "inf", "null", "N/A", "0.5", "1", "1e3"),
    *("A", "B", "tie", "C", "true", "ok", "vanished", "2024-05-01", "2024-05-01T00:00:00Z", "1,5"),
    *([], [1, 2], [0.2, None], ["x", 1], [[]], {}, {"a": 1}, {"": None}, {"a": {"b": [1]}}),
    *(
        "=1+1",
        "@SUM(A1)",
        "-1.5",
        "'",
        '"',
        'a"b',
        "a,b;c\td",
        "a\nb",
        "a\r\nb",
        "\x00",
        "\x1b[31m",
    ),
    *("\u202eabc", "\ud83d\ude00", "\ufeff", "e\u0301", "x" * 5000, "{response_a}", "<|im_end|>"),
)


#: One value of every type that a column can hold.
VALUES: Mapping[str, Any] = {
    "int": 7,
    "float": 0.25,
    "bool": True,
    "str": "x",
    "list": [1, 2],
    "dict": {"a": 1},
    "null": None,
}

Records = list[dict[str, Any]]
Random = random.Random


def _column(records: Records, rng: Random) -> str:
    return rng.choice(list(records[0])) if records and records[0] else "id"


def _one_value(records: Records, rng: Random) -> Records:
    rng.choice(records)[_column(records, rng)] = rng.choice(ODD)
    return records


def _whole_column(records: Records, rng: Random) -> Records:
    name, value = _column(records, rng), rng.choice(ODD)
    return [{**record, name: value} for record in records]


def _mixed_column(records: Records, rng: Random) -> Records:
    name = _column(records, rng)
    return [{**record, name: rng.choice(ODD)} for record in records]


def _our_column(records: Records, rng: Random) -> Records:
    """A column called like one of ours, of one odd value or of many."""
    name, value, mixed = rng.choice(OURS), rng.choice(ODD), rng.random() < 0.3
    return [{**record, name: rng.choice(ODD) if mixed else value} for record in records]


def _as_text(records: Records, rng: Random) -> Records:
    name = _column(records, rng)
    return [{**record, name: f" {record.get(name)}"} for record in records]


def _no_column(records: Records, rng: Random) -> Records:
    name = _column(records, rng)
    return [{key: value for key, value in record.items() if key != name} for record in records]


def _renamed(records: Records, rng: Random) -> Records:
    name = _column(records, rng)
    new = rng.choice((name.upper(), f" {name}", f"{name}\u200b", f"\ufeff{name}", rng.choice(OURS)))
    return [
        {new if key == name else key: value for key, value in record.items()} for record in records
    ]


def _repeated(records: Records, rng: Random) -> Records:
    return [*records, dict(rng.choice(records))]


def _ragged(records: Records, rng: Random) -> Records:
    return [
        {key: value for key, value in record.items() if rng.random() < 0.9} for record in records
    ]


RECORDS: Mapping[str, Callable[[Records, Random], Records]] = {
    "one value": _one_value,
    "a whole column": _whole_column,
    "a mixed column": _mixed_column,
    "a column called like ours": _our_column,
    "another column called like ours": _our_column,
    "values as text": _as_text,
    "a column left out": _no_column,
    "a column renamed": _renamed,
    "an id twice": _repeated,
    "gaps": _ragged,
    "one row": lambda records, rng: records[:1],
    "no rows": lambda records, rng: [],
    "rows shuffled": lambda records, rng: rng.sample(records, len(records)),
    "empty objects": lambda records, rng: [{} for _ in records],
}


def _flip(data: bytes, rng: Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 5, 50))):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def _insert(*pieces: bytes) -> Callable[[bytes, Random], bytes]:
    def put(data: bytes, rng: Random) -> bytes:
        at = rng.randrange(len(data))
        return data[:at] + rng.choice(pieces) + data[at:]

    return put


def _deep(data: bytes, rng: Random) -> bytes:
    depth = rng.choice((50, 2_000, 100_000))
    return data + b'{"id": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"


ARCHIVES = (b"PK\x03\x04", b"BZh", b"SQLite format 3\x00", b"ARROW1", b"%PDF-1.7\n")
OTHER_JSON = (
    *(b"null", b"[]", b"{}", b"[[]]", b"[1, 2]", b'"text"', b"NaN", b"{}\n{}\n", b"[{}]", b"1e999"),
)
BYTES: Mapping[str, Callable[[bytes, Random], bytes]] = {
    "cut": lambda data, rng: data[: rng.randrange(len(data))],
    "flipped bytes": _flip,
    "a byte order mark": lambda data, rng: b"\xef\xbb\xbf" + data,
    "two byte order marks": lambda data, rng: b"\xef\xbb\xbf\xef\xbb\xbf" + data,
    "UTF-16": lambda data, rng: data.decode(errors="replace").encode("utf-16"),
    "UTF-16 without a mark": lambda data, rng: data.decode(errors="replace").encode("utf-16-le"),
    "UTF-32": lambda data, rng: data.decode(errors="replace").encode("utf-32"),
    "Latin-1": _insert("né".encode("latin-1"), b"\x80\x9f"),
    "NUL": _insert(b"\x00", b"\x00" * 999),
    "garbage": lambda data, rng: rng.randbytes(rng.choice((1, 10, 3000))),
    "garbage inside": _insert(b"\xff\xfe\xfd", b"\x1f\x8b\x08", b"PAR1"),
    "nothing": lambda data, rng: b"",
    "white space": lambda data, rng: b" \t\r\n\n",
    "packed": lambda data, rng: gzip.compress(data, mtime=0),
    "packed twice": lambda data, rng: gzip.compress(gzip.compress(data, mtime=0), mtime=0),
    "packed and cut": lambda data, rng: gzip.compress(data, mtime=0)[: rng.randrange(2, 200)],
    "packed and damaged": lambda data, rng: _flip(gzip.compress(data, mtime=0), rng),
    "CRLF": lambda data, rng: data.replace(b"\n", b"\r\n"),
    "CR alone": lambda data, rng: data.replace(b"\n", b"\r"),
    "mixed line ends": lambda data, rng: data.replace(b"\n", b"\r\n", 3).replace(b"\n", b"\n\n", 9),
    "quotes": _insert(b'"', b'""', b'\\"', b"'"),
    "brackets": _insert(b"[", b"]", b"{", b"}", b",", b":", b"\n", b"\\u"),
    "a long line": _insert(b"x" * 3_000_000),
    "a deep object": _deep,
    "other JSON": lambda data, rng: rng.choice(OTHER_JSON),
    "an archive": lambda data, rng: rng.choice(ARCHIVES) + data,
    "a header alone": lambda data, rng: data.split(b"\n", 1)[0],
    "a header twice": lambda data, rng: data.replace(b",", b",id,id,", 1),
    "a line twice": lambda data, rng: data.split(b"\n", 1)[0] + b"\n" + data,
}  # fmt: skip


def _to_folder(path: Path, rng: Random) -> Path:
    path.unlink()
    path.mkdir()
    return path


def _to_link(path: Path, rng: Random) -> Path:
    link = path.with_name("link" + path.suffix)
    link.symlink_to(path)
    return link


def _to_loop(path: Path, rng: Random) -> Path:
    link = path.with_name("loop" + path.suffix)
    link.symlink_to(link)
    return link


def _to_nowhere(path: Path, rng: Random) -> Path:
    link = path.with_name("dangling" + path.suffix)
    link.symlink_to(path.with_name("gone"))
    return link


def _to_pipe(path: Path, rng: Random) -> Path:
    path.unlink()
    os.mkfifo(path)
    return path


def _under(path: Path, rng: Random) -> Path:
    return path / "inside"


def _odd_name(path: Path, rng: Random) -> Path:
    odd = rng.choice(
        ("\x1b[31mred", "a\nb", "\u202etxt", "[bold]x", "sp ace;&|", "é", "-x", "%s{}")
    )
    return path.rename(path.with_name(odd + path.suffix))


def _long_name(path: Path, rng: Random) -> Path:
    return path.with_name("n" * 300 + path.suffix)


PATHS: Mapping[str, Callable[[Path, Random], Path]] = {
    "a folder": _to_folder,
    "a link": _to_link,
    "a link to itself": _to_loop,
    "a link to nothing": _to_nowhere,
    "a pipe": _to_pipe,
    "a path below a file": _under,
    "an odd name": _odd_name,
    "a name too long": _long_name,
    "a missing file": lambda path, rng: path.with_name("missing" + path.suffix),
    "a device": lambda path, rng: Path(rng.choice(("/dev/null", "/dev/zero"))),
}


def damage(path: Path, name: str, rng: Random) -> Path:
    path.write_bytes(BYTES[name](path.read_bytes() or b"\n", rng))
    return path


def write_records(rows: Records, stem: Path, rng: Random) -> Path:
    """The records as JSON lines, a JSON array, CSV, TSV or Parquet, as a careless program would."""
    kind = rng.choice(("jsonl", "jsonl", "json", "csv", "csv", "tsv", "parquet"))
    path = stem.with_suffix(f".{kind}")
    if kind == "parquet":
        try:
            pl.DataFrame(rows, strict=False, infer_schema_length=None).write_parquet(path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, OverflowError,
                UnicodeError, ValueError):  # fmt: skip
            kind, path = "jsonl", stem.with_suffix(".jsonl")
    if kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind in ("csv", "tsv"):
        separator = "," if kind == "csv" else "\t"
        names = list(dict.fromkeys(name for row in rows for name in row))
        lines: list[list[Any]] = [list(names)]
        lines += [[row.get(name) for name in names] for row in rows]
        quoted = rng.random() < 0.8
        text = "".join(
            separator.join(_field(value, separator, quoted) for value in line) + "\n"
            for line in lines
        )
        path.write_text(text, errors="replace")
    return path


def _field(value: Any, separator: str, quoted: bool) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    if quoted and any(mark in text for mark in (separator, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text
