"""Malformed files for every verb that reads one, by seed and number; what must hold of each case.

A case is a command, one of the files it reads, and an attack on that file: its records (types,
gaps, columns called like ours), its bytes (encodings, cuts, damage) or its path (folder, link,
pipe, an odd name). `make_case(seed, number)` is always the same case; `python fuzzing.py SEED
[NUMBER]` runs one, or as many as it takes to see a failure.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import math
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from adjudge.cli import run
from adjudge.io import write_result, write_rows
from adjudge.judges.judging import judge_pairs
from adjudge.ranking import make_anchors
from adjudge.selection import calibrate, select
from adjudge.simulate.battles import simulate_battles
from adjudge.simulate.binary import BinaryModel, binary_rows
from adjudge.simulate.pairs import simulate_pairs
from adjudge.simulate.scores import simulate_scores
from adjudge.simulate.tournaments import simulate_tournaments

JUDGE = "simulated:accuracy=0.85,position_bias=0.05,noise=0.3,seed=1"
#: A case that takes longer hangs: on a pipe nobody writes to, or in a loop.
SECONDS = 20

#: Every command that reads files: {name} is a file of `write_valid`, {out} a path to write to.
#: No server starts: `label` only exports, and `serve` is given a judge its policy was not made for.
COMMANDS: tuple[str, ...] = (
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.csv --summary {out}.json",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.jsonl --protocol likelihood",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.parquet --protocol verbalized",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.csv --protocol rubric",
    "judge {pairs} --judge JUDGE --store {out}.db --json --protocol criterion"
    " --criteria {criteria}",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.tsv --protocol annotators"
    " --demonstrations {demonstrations}",
    "judge {items} --judge JUDGE --store {out}.db -o {out}.parquet --protocol likert",
    "judge {pairs} --judge JUDGE --prompt {prompt} --prices {prices} --dry-run --json",
    "judge {pairs} --judge replay:{replies} --store {out}.db -o {out}.jsonl.gz",
    "calibrate {judgments} --json -o {out}.json",
    "calibrate {judgments} --labels {labels} --by topic --cluster prompt_id",
    "select {judgments} --policy {policy} -o {out}.csv --json",
    "select {judgments} --policy {policy} -o {out}.jsonl --summary {out}.json",
    "evaluate {judgments} --splits 2 --json",
    "evaluate {judgments} --labels {labels} --splits 2",
    "estimate {answers} --json",
    "estimate {answers} --labels {grades} --by model --cluster prompt_id",
    "plan rate {answers} --width 0.9 --write-ids {out}.csv --json",
    "plan selection {half} --cluster none --repeats 2 --write-ids {out}.csv --json",
    "plan battles {battles} --budget 3 --judged {judged} --write-rows {out}.csv --json",
    "diagnose transitivity {tournaments} --replicates 2 --json",
    "diagnose scores {scores} --splits 1 --write-sets {out}.csv --families {families} --json",
    "diagnose bias {judgments} --pairs {pairs} --labels {labels} --json",
    "diagnose bias {battles} --families {families}",
    "rank {battles} --replicates 2 --json",
    "rank {battles} --replicates 2 --save-anchors {out}.json",
    "rank {newcomers} --anchors {anchors} --json",
    "label {pairs} --export-only --store {out}.db --import {labels} -o {out}.csv --json",
    "label {pairs} --export-only --store {out}.db --plan {plan} -o {out}.jsonl",
    "label {pairs} --export-only --store {out}.db --abstentions {decided} --json",
    "serve --policy {policy} --judge simulated:accuracy=0.6,seed=9 --port 0",
    "report {results} --json",
    "reproduce scope --data mt-bench={judgments} --sample 20 --splits 2 --json",
    "reproduce reporting {answers} --splits 2 --json",
    "reproduce soft-elo {battles} --splits 1 --replicates 2 --json",
)
#: Verbs that take no file of the user's.
READS_NOTHING = ("demo", "models list", "models pull")

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


@dataclass(frozen=True)
class Case:
    """A command, the file of it that is attacked, and by what; `number` under `seed` makes it."""

    seed: int
    number: int
    command: str
    target: str
    attacks: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"seed {self.seed}, case {self.number}: {self.command} | {self.target}: "
            + ", ".join(self.attacks)
        )


def write_valid(folder: Path) -> dict[str, Path]:
    """A small valid file for every name in COMMANDS."""
    subjects = simulate_pairs(210, seed=1)
    everything = [
        {"id": p.id, "prompt": p.prompt, "response_a": p.response_a, "response_b": p.response_b,
         "label": p.label, "prompt_id": f"q{n // 2}", "topic": "xy"[n % 2], "note": "n"}
        for n, p in enumerate(subjects)
    ]  # fmt: skip
    pairs, others = everything[:60], everything[60:]
    items = [
        {"id": p.id, "prompt": p.prompt, "response": p.response_a, "model": "m"}
        for p in subjects[:8]
    ]
    judgments = folder / "judgments.jsonl"
    judge_pairs(pl.DataFrame(pairs), judge=JUDGE, output=judgments, store=None)
    half = [{**p, "label": p["label"] if n < 30 else None} for n, p in enumerate(others)]
    policy = calibrate(judgments, alpha=0.12)
    battles = simulate_battles(models=5, battles=60, seed=1).frame
    answers = binary_rows(
        {name: BinaryModel(rate=0.6, specificity=0.8, sensitivity=0.9) for name in ("m", "n")},
        prompts=60,
        labels=60,
        seed=1,
    ).drop("truth")
    tables: dict[str, Any] = {
        "pairs": pairs,
        "items": items,
        "demonstrations": others[:50],
        "half": judge_pairs(pl.DataFrame(half), judge=JUDGE, store=None).judgments,
        "labels": [{"id": p["id"], "label": p["label"], "rater": "r", "sampled_by": "random"}
                   for p in pairs],
        "replies": [{"id": p["id"], "p_fwd": 0.9, "p_rev": 0.8} for p in pairs],
        "answers": answers,
        "grades": answers.filter(pl.col("human").is_not_null()).select("id", "human"),
        "tournaments": simulate_tournaments(documents=6, models=4, seed=1).frame,
        "scores": simulate_scores(documents=12, models=3, seed=1).frame,
        "battles": battles,
        "judged": battles.head(10),
        "newcomers": battles.with_columns(pl.col("model_a").replace("model-0", "new")),
        "plan": [{"id": p["id"], "sampled_by": "plan", "sampling_probability": 0.5}
                 for p in pairs[:9]],
        "decided": select(judgments, policy).rows,
    }  # fmt: skip
    files = {"judgments": judgments}
    for name, rows in tables.items():
        files[name] = write_rows(rows, folder / f"{name}.jsonl")
    files["policy"] = write_result(policy, folder / "policy.json")
    files["anchors"] = write_result(make_anchors(battles), folder / "anchors.json")
    for name, held in {
        "criteria": {"clarity": "is it clear", "truth": {"definition": "is it true"}},
        "families": {"model-0": "f", "model-1": "f", "model-2": "g"},
        "prices": {"simulated": {"prompt": 1.0, "completion": 2.0}},
    }.items():
        files[name] = folder / f"{name}.json"
        files[name].write_text(json.dumps(held))
    files["prompt"] = folder / "prompt.txt"
    files["prompt"].write_text("Which is better?\n{prompt}\nA: {response_a}\nB: {response_b}\n")
    files["results"] = folder / "results"
    files["results"].mkdir()
    shutil.copy(files["policy"], files["results"] / "policy.json")
    return files


def make_case(seed: int, number: int) -> Case:
    """The case of that number; every command has its turn."""
    rng = random.Random(f"{seed}/{number}")
    command = COMMANDS[number % len(COMMANDS)]
    target = rng.choice(re.findall(r"{(\w+)}", command.replace("{out}", "")))
    pool = list(PATHS) if rng.random() < 0.1 else list(BYTES)
    attacks = [rng.choice(pool)]
    if target not in _NOT_TABLES and rng.random() < 0.7:
        attacks = [rng.choice(list(RECORDS)) for _ in range(rng.choice((1, 1, 2)))]
        attacks += [rng.choice(pool)] if rng.random() < 0.15 else []
    return Case(seed, number, command, target, tuple(attacks))


#: Files that are no tables; their fields are the business of the tests of results and criteria.
_NOT_TABLES = frozenset(
    {"policy", "anchors", "criteria", "families", "prices", "prompt", "results"}
)

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
    "other JSON": lambda data, rng: rng.choice(
        (b"null", b"[]", b"{}", b"[[]]", b"[1, 2]", b'"text"', b"NaN", b"{}\n{}\n", b"[{}]", b"1e999")
    ),
    "an archive": lambda data, rng: rng.choice((b"PK\x03\x04", b"BZh", b"SQLite format 3\x00")) + data,
    "a header alone": lambda data, rng: data.split(b"\n", 1)[0],
    "a header twice": lambda data, rng: data.split(b"\n", 1)[0].replace(b",", b",id,id,") + b"\n" + data,
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


def attack(case: Case, valid: Path, folder: Path) -> Path:
    """The attacked copy of a valid file, in `folder`, and so the path to give to the command."""
    rng = random.Random(f"{case.seed}/{case.number}/attack")
    path = folder / valid.name
    if valid.is_dir():
        shutil.copytree(valid, path)
        inner = path / "policy.json"
        for name in case.attacks:
            inner = PATHS[name](inner, rng) if name in PATHS else _damage(inner, name, rng)
        return path
    shutil.copy(valid, path)
    records = [name for name in case.attacks if name in RECORDS]
    if records:
        rows: Records = [json.loads(line) for line in path.read_text().splitlines()]
        for name in records:
            rows = RECORDS[name](rows, rng) if rows else rows
        path.unlink()
        path = _write(rows, path.with_suffix(""), rng)
    for name in case.attacks:
        if name in BYTES:
            path = _damage(path, name, rng)
        elif name in PATHS:
            path = PATHS[name](path, rng)
    return path


def _damage(path: Path, name: str, rng: Random) -> Path:
    path.write_bytes(BYTES[name](path.read_bytes() or b"\n", rng))
    return path


def _write(rows: Records, stem: Path, rng: Random) -> Path:
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
        lines = [names, *([row.get(name) for name in names] for row in rows)]
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


@contextlib.contextmanager
def _within(seconds: int) -> Iterator[None]:
    def give_up(*_: object) -> NoReturn:
        raise AssertionError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_case(case: Case, files: Mapping[str, Path], folder: Path) -> str:
    """Run it in `folder`; what it did ("exit 1: the line"). AssertionError where a rule is broken."""
    folder.mkdir(exist_ok=True)
    given = attack(case, files[case.target], folder)
    before = _fingerprint(folder)
    paths = {**files, case.target: given}
    arguments = [
        part.replace("JUDGE", JUDGE)
        .replace("{out}", str(folder / "out"))
        .format(**{name: str(path) for name, path in paths.items()})
        if part not in ("-", "{}")
        else part
        for part in case.command.split()
    ]
    out, err = io.StringIO(), io.StringIO()
    with _within(SECONDS), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    check(code, out.getvalue(), err.getvalue(), as_json="--json" in arguments, paths=paths)
    after = _fingerprint(folder)
    assert before.items() <= after.items(), "a file that was only to be read has changed"
    strange = [p for p in after.keys() - before.keys() if not Path(p).name.startswith("out")]
    assert not strange, f"left behind: {strange}"
    if code == 1:
        left = [p for p in after.keys() - before.keys() if not p.endswith(_STORE)]
        assert not left, f"could not run, yet wrote {left}"
    return f"exit {code}: {err.getvalue().strip().splitlines()[-1:] or ['']}"


#: Replies are kept whatever comes after; a store may be left with its journal.
_STORE = (".db", ".db-wal", ".db-shm")


def check(code: int, out: str, err: str, *, as_json: bool, paths: Mapping[str, Path]) -> None:
    """The rules: exit 0, 1 or 2; of exit 1 one line with place and remedy; JSON without NaN."""
    assert code in (0, 1, 2), f"exit code {code}"
    told = out + err
    assert "Traceback" not in told, told
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told), repr(
        told
    )
    if code == 1:
        assert out == "", f"exit 1, and on standard output: {out[:200]}"
        errors = [line for line in err.splitlines() if line.startswith("adjudge")]
        assert len(errors) == 1, f"not one line: {err}"
        assert err.endswith(errors[0] + "\n"), f"the error is not the last line: {err}"
        assert len(errors[0]) < 1200, f"too long to read: {errors[0]}"
        named = any(_shown(path.name) in errors[0] for path in paths.values())
        named = named or _ARGUMENT.match(errors[0])
        assert named, f"names neither the file nor the argument: {errors[0]}"
        remedy = re.search(r"; [^;]+$|=.*: .+$", errors[0])
        assert remedy, f"no remedy: {errors[0]}"
    elif as_json:
        json.loads(out, parse_constant=_no_constant)


#: "alpha = 2: ...", "battles: ...", "the policy was made for ...": what was given, not its file.
_ARGUMENT = re.compile(
    r"adjudge: (.+ = .+: |(battles|demonstrations|items|pool|rows)\b.*: |.*the (policy|anchors) )"
)


def _no_constant(name: str) -> NoReturn:
    raise AssertionError(f"JSON holds {name}")


def _shown(name: str) -> str:
    from adjudge._text import safe

    return safe(name).replace("\n", "\\n")[:60]


def _fingerprint(folder: Path) -> dict[str, str]:
    """Every file below a folder and what it holds."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        for path in sorted(folder.rglob("*"))
    }


def run_cases(seed: int, numbers: Sequence[int], files: Mapping[str, Path]) -> dict[str, str]:
    """What broke, by case."""
    broken = {}
    for number in numbers:
        case = make_case(seed, number)
        with tempfile.TemporaryDirectory() as folder:
            try:
                run_case(case, files, Path(folder) / "case")
            except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001
                broken[str(case)] = f"{type(error).__name__}: {str(error)[:300]}"
    return broken


if __name__ == "__main__":
    import traceback
    import warnings

    warnings.simplefilter("error")
    seed = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        known = write_valid(Path(place))
        if len(sys.argv) == 3 and ":" not in sys.argv[2]:
            case = make_case(seed, int(sys.argv[2]))
            print(case)
            try:
                print(run_case(case, known, Path(place) / "case"))
            except BaseException:
                traceback.print_exc()
        else:
            low, _, high = (sys.argv[2] if len(sys.argv) == 3 else "0:300").partition(":")
            for name, problem in run_cases(seed, range(int(low), int(high)), known).items():
                print(name, "\n   ", problem)
