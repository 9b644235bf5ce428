"""The frame of the command line: exit codes and one-line errors."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import adjudge
from adjudge.cli import all_verbs, main, run
from adjudge.cli.verb import Verb


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == adjudge.__version__


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    for verb in all_verbs():
        assert verb.split()[0] in told


@pytest.mark.parametrize("arguments", [[], ["plan"]])
def test_without_a_verb_the_help_is_printed_and_the_exit_is_1(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--help"]) == 0
    help_text = capsys.readouterr().out
    assert run(arguments) == 1
    assert capsys.readouterr() == ("", help_text)


@pytest.mark.parametrize("arguments", [["nonsense"], ["judge"], ["judge", "--no-such-option"]])
def test_a_usage_error_is_one_line_and_exit_1(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.strip().splitlines()) == 1
    assert "--help" in told.err


def test_a_verb_typed_wrong_is_answered_with_the_right_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["jugde"]) == 1
    assert capsys.readouterr().err.strip().endswith("Did you mean 'judge'; see adjudge --help")


def test_an_error_that_quotes_line_ends_is_still_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["rank", "no such\nfile\r\n.csv"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["rank", "absent.jsonl"], ["evaluate", "absent.jsonl"], ["diagnose", "bias", "absent.jsonl"]],
)
def test_a_picture_that_cannot_be_saved_is_refused_before_the_work(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    # The file of data does not exist: were it read first, the error would name it.
    assert run([*arguments, "--plot", "x.gif"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.strip().splitlines()) == 1
    assert "x.gif" in told.err
    assert "end the name in .png, .svg or .pdf" in told.err


def test_no_verb_writes_over_what_it_reads_or_over_another_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    battles = tmp_path / "battles.csv"
    battles.write_text("model_a,model_b,winner\nx,y,model_a\n")
    (tmp_path / "link.csv").symlink_to(battles)
    for arguments in (
        ["rank", str(battles), "-o", str(tmp_path / "link.csv")],
        ["rank", str(battles), "-o", str(tmp_path / "x.png"), "--plot", str(tmp_path / "x.png")],
        ["plan", "battles", str(battles), "--budget", "1", "--write-rows", str(battles)],
        ["monitor", "renew", "x", "--state", "s", "--policy", str(battles), "-o", str(battles)],
        ["monitor", "recalibrate", "x", "--state", str(battles), "-o", str(battles)],
        ["gate", "x", "--card", str(battles), "--at-least", "0.5", "-o", str(battles)],
    ):
        assert run(arguments) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert "give another file: this one is" in told.err
    assert battles.read_text() == "model_a,model_b,winner\nx,y,model_a\n"
    assert not (tmp_path / "x.png").exists()


def test_a_dash_is_standard_input_and_never_the_name_of_an_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    battles = "x,y,model_a\ny,x,model_a\nx,z,model_a\nz,x,model_a\n" * 100
    rows = f"model_a,model_b,winner\n{battles}"

    def pipe(*arguments: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
        return run([*arguments])

    assert pipe("rank", "-", "--replicates", "20", "-o", "board.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_battles"] == 400
    assert json.loads(Path("board.json").read_text())["command"].startswith("adjudge rank -")
    assert pipe("rank", "-", "-o", "-") == 1
    assert "name a file; --json prints the result" in capsys.readouterr().err
    assert pipe("calibrate", "-", "--labels", "-") == 1
    assert "'-': standard input can be only one of these files" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["board.json"]


def test_a_reader_that_has_enough_ends_the_program_quietly(tmp_path: Path) -> None:
    battles = tmp_path / "battles.csv"
    rows = [f"m{n},m{n + 1},model_a\nm{n + 1},m{n},model_a\n" for n in range(3)]
    battles.write_text("model_a,model_b,winner\n" + "".join(rows) * 100)
    for arguments in (["--help"], ["rank", str(battles), "--replicates", "20"]):
        program = subprocess.Popen(
            [sys.executable, "-m", "adjudge", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()  # before the first line is printed
        told = program.stderr.read().decode()
        program.stderr.close()
        assert program.wait() in (0, 1)
        assert "Traceback" not in told
        assert "Broken pipe" not in told
        assert "BrokenPipe" not in told


def test_an_output_that_was_closed_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)  # as `adjudge ... >&-` leaves it
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code in (0, 1)


def test_control_c_is_one_line_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("adjudge.ranking.rank", interrupted)
    usual = signal.getsignal(signal.SIGINT)
    try:
        assert run(["rank", "battles.csv"]) == 1
        signal.raise_signal(signal.SIGINT)  # another one, while it ends, changes nothing
    finally:
        signal.signal(signal.SIGINT, usual)
    assert capsys.readouterr().err == "adjudge: stopped\n"


def test_a_pipe_as_input_is_refused_in_one_line() -> None:
    piped = subprocess.run(
        [sys.executable, "-m", "adjudge", "rank", "/dev/stdin"], input=b"a,b\n", capture_output=True
    )
    assert piped.returncode == 1
    told = "adjudge: /dev/stdin: is a pipe and can be read only once; write it into a file first\n"
    assert piped.stderr.decode() == told


@pytest.mark.parametrize("verb", all_verbs().values(), ids=lambda verb: verb.name)
def test_every_verb_and_option_explains_itself(verb: Verb) -> None:
    assert verb.summary
    for option in verb.parameters.values():
        text = option.help or ""
        assert text, option.name
        # What only Python takes is not for the first sentence about an argument.
        assert not re.search(r"\bNone\b|\b(?:array|frame|iterable)s?\b", text), option.name
    assert set(verb.main.split()) <= set(verb.parameters)


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "adjudge", "--version"], capture_output=True)
    assert done.returncode == 0


@pytest.mark.parametrize("line", ["label pairs.csv", "view rows.csv", "serve --policy p.json"])
def test_pages_name_the_package_that_they_lack(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "adjudge.cli.page.find_spec", lambda name: None if name == "jinja2" else True
    )
    more = ["--judge", "simulated:accuracy=0.9"] if line.startswith("serve") else []
    assert run([*line.split(), *more]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("adjudge: jinja2 not installed; ")
    assert "server" in error
