"""Malformed files for every verb that reads one, by seed and number; what must hold of each case.

A case is a command, one of the files it reads, and an attack on that file: its records (types,
gaps, columns called like ours), its bytes (encodings, cuts, damage) or its path (folder, link,
pipe, an odd name). `make_case(seed, number)` is always the same case; `python fuzzing.py SEED
NUMBER` runs it and shows what happens, `python fuzzing.py SEED FIRST:LAST` what breaks.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import re
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
from fuzz_attacks import BYTES, PATHS, RECORDS, Records, damage, write_records
from fuzz_commands import CASCADE, COMMANDS, JUDGE, TABLES, write_valid

from adjudge.cli import run
from adjudge.present.text import safe

#: A case that takes longer hangs: on a pipe nobody writes to, or in a loop.
SECONDS = 20


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


def make_case(seed: int, number: int) -> Case:
    """The case of that number; every command has its turn."""
    rng = random.Random(f"{seed}/{number}")
    command = COMMANDS[number % len(COMMANDS)]
    target = rng.choice(places_in(command))
    pool = list(PATHS) if rng.random() < 0.1 else list(BYTES)
    attacks = [rng.choice(pool)]
    if target in TABLES and rng.random() < 0.7:
        attacks = [rng.choice(list(RECORDS)) for _ in range(rng.choice((1, 1, 2)))]
        attacks += [rng.choice(pool)] if rng.random() < 0.15 else []
    return Case(seed, number, command, target, tuple(attacks))


def places_in(command: str) -> list[str]:
    """The files that a command reads."""
    return re.findall(r"{(\w+)}", command.replace("{out}", ""))


def attack(case: Case, valid: Path, folder: Path) -> Path:
    """The attacked copy of a valid file, in `folder`, and so the path to give to the command."""
    rng = random.Random(f"{case.seed}/{case.number}/attack")
    path = folder / valid.name
    if valid.is_dir():
        shutil.copytree(valid, path)
        inner = path / "policy.json"
        for name in case.attacks:
            inner = PATHS[name](inner, rng) if name in PATHS else damage(inner, name, rng)
        return path
    shutil.copy(valid, path)
    records = [name for name in case.attacks if name in RECORDS]
    if records:
        rows: Records = [json.loads(line) for line in path.read_text().splitlines()]
        for name in records:
            rows = RECORDS[name](rows, rng) if rows else rows
        path.unlink()
        path = write_records(rows, path.with_suffix(""), rng)
    for name in case.attacks:
        if name in BYTES:
            path = damage(path, name, rng)
        elif name in PATHS:
            path = PATHS[name](path, rng)
    return path


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


def arguments_of(command: str, paths: Mapping[str, Path], folder: Path) -> list[str]:
    """The command with these paths in its places, writing into `folder`."""
    places = {**{name: str(path) for name, path in paths.items()}, "out": str(folder / "out")}
    names = {"JUDGE": JUDGE, "CASCADE": CASCADE}
    return [names.get(part, part).format(**places) for part in command.split()]


def run_case(case: Case, files: Mapping[str, Path], folder: Path) -> str:
    """Run it in `folder`: its exit code and last remark. AssertionError where a rule is broken."""
    folder.mkdir()
    given = attack(case, files[case.target], folder)
    return run_checked(case.command, {**files, case.target: given}, folder)


def run_on_records(
    command: str, target: str, values: Mapping[str, Any], files: Mapping[str, Path], folder: Path
) -> str | None:
    """Run a command with these values in every row of a file; what breaks, if anything does."""
    folder.mkdir()
    given = folder / f"{target}.jsonl"
    rows = [json.loads(line) for line in files[target].read_text().splitlines()]
    given.write_text("".join(json.dumps({**row, **values}) + "\n" for row in rows))
    try:
        run_checked(command, {**files, target: given}, folder)
    except (Exception, pl.exceptions.PanicException) as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    return None


def run_checked(command: str, paths: Mapping[str, Path], folder: Path) -> str:
    """Run a command on files in `folder` and hold what it does against the rules."""
    before = _fingerprint(folder)
    arguments = arguments_of(command, paths, folder)
    out, err = io.StringIO(), io.StringIO()
    with _within(SECONDS), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    check(code, out.getvalue(), err.getvalue(), as_json="--json" in arguments, paths=paths)
    after = _fingerprint(folder)
    assert before.items() <= after.items(), "a file that was only to be read has changed"
    made = after.keys() - before.keys()
    strange = [path for path in made if not Path(path).name.startswith("out")]
    assert not strange, f"left behind: {strange}"
    if code == 1:
        left = [path for path in made if not path.endswith(_STORE)]
        assert not left, f"could not run, yet wrote {left}"
    return f"exit {code}: {err.getvalue().strip().splitlines()[-1:]}"


#: Replies are kept whatever comes after; a store may be left with its journal.
_STORE = (".db", ".db-wal", ".db-shm")


def check(code: int, out: str, err: str, *, as_json: bool, paths: Mapping[str, Path]) -> None:
    """The rules: exit 0 to 3; of exit 1 one line with place and remedy; JSON without NaN."""
    assert code in (0, 1, 2, 3), f"exit code {code}"
    told = out + err
    assert "Traceback" not in told, told
    assert told == safe(told), f"a control code came through: {told!r}"
    if code == 1:
        assert out == "", f"exit 1, and on standard output: {out[:200]}"
        errors = [line for line in err.splitlines() if line.startswith("adjudge")]
        assert len(errors) == 1, f"not one line: {err}"
        assert err.endswith(errors[0] + "\n"), f"the error is not the last line: {err}"
        assert len(errors[0]) < 1200, f"too long to read: {errors[0]}"
        named = any(_shown(path.stem) in errors[0] for path in paths.values())
        assert named or _ARGUMENT.match(errors[0]), (
            f"names neither the file nor the argument: {errors[0]}"
        )
        remedy = re.search(r"; [^;].*$|=.*: .+$", errors[0])
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
            except (Exception, pl.exceptions.PanicException) as error:
                broken[str(case)] = f"{type(error).__name__}: {str(error)[:300]}"
    return broken


def main(seed: int, numbers: str) -> None:
    """Run a case, or all from the first to the last number, and print what breaks."""
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as place:
        files = write_valid(Path(place))
        first, several, last = numbers.partition(":")
        if several:
            for name, problem in run_cases(seed, range(int(first), int(last)), files).items():
                print(f"{name}\n    {problem}")
            return
        case = make_case(seed, int(first))
        print(case)
        try:
            print(run_case(case, files, Path(place) / "case"))
        except AssertionError:
            traceback.print_exc()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
