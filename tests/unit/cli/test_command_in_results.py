"""Result files name the command that made them: without secrets, and not as part of the result."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.cli.output import command_line, running
from adjudge.data import read_result, write_result
from adjudge.errors import DataError
from adjudge.report import render_report
from adjudge.selection import calibrate, read_policy, verify_policy
from adjudge.simulate.pairs import two_order_judge


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(two_order_judge(200, skill=2.0, seed=0))
    frame.write_csv("my rows.csv")
    assert run(["calibrate", "my rows.csv", "--alpha", "0.2", "-o", "policy.json"]) == 0
    options = ["--policy", "policy.json", "--summary", "a selection.json"]
    assert run(["select", "my rows.csv", *options]) == 0
    return tmp_path


COMMANDS = [
    "adjudge calibrate 'my rows.csv' --alpha 0.2 -o policy.json",
    "adjudge select 'my rows.csv' --policy policy.json --summary 'a selection.json'",
]


def test_a_command_is_in_the_file_and_not_in_the_result(folder: Path) -> None:
    policy = json.loads((folder / "policy.json").read_text())
    assert policy["command"] == COMMANDS[0]
    assert json.loads((folder / "a selection.json").read_text())["command"] == COMMANDS[1]
    assert read_policy("policy.json") == calibrate("my rows.csv", alpha=0.2)
    assert "command" not in read_policy("policy.json").to_dict()


def test_no_digest_covers_the_command(folder: Path) -> None:
    policy = json.loads((folder / "policy.json").read_text())
    without = {name: value for name, value in policy.items() if name != "command"}
    for edited in (policy | {"command": "adjudge something else"}, without):
        (folder / "policy.json").write_text(json.dumps(edited))
        assert verify_policy("policy.json").intact
        assert read_policy("policy.json").digest == policy["digest"]
    (folder / "policy.json").write_text(json.dumps(policy | {"command": ["adjudge"]}))
    with pytest.raises(DataError, match=r"policy\.json: field command is not text"):
        read_result("policy.json")
    (folder / "policy.json").write_text(json.dumps(policy | {"alpha": 0.3}))
    assert not verify_policy("policy.json").intact


@pytest.mark.parametrize("format", ["html", "md"])
def test_the_report_lists_commands_in_order_then_files(folder: Path, format: str) -> None:
    page = render_report(folder, format=format).replace("&#x27;", "'")
    block = "\n".join(COMMANDS)
    opened, closed = ('tabindex="0">', "</pre>") if format == "html" else ("```sh\n", "\n```")
    assert f"{opened}{block}{closed}" in page
    assert page.rindex(COMMANDS[1]) < page.rindex("my rows.csv")
    assert (
        json.loads(render_report(folder, format="json"))["commands"]["policy.json"] == (COMMANDS[0])
    )


def test_what_someone_wrote_into_a_command_does_nothing_when_pasted(folder: Path) -> None:
    for name, command in {
        "policy.json": "adjudge report .; `x`\n$(y)",
        "a selection.json": "x",
    }.items():
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(content | {"command": command}))
    page = render_report(folder, format="md")
    assert "adjudge report '.;' '`x`' '$(y)'\n```" in page
    assert "- without a command: a selection.json" in page


def test_a_result_of_python_has_no_command(folder: Path) -> None:
    write_result(calibrate("my rows.csv", alpha=0.2), "policy.json")
    assert "command" not in json.loads((folder / "policy.json").read_text())
    assert "- without a command: policy.json" in render_report(folder, format="md")


def test_secrets_are_not_in_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "hunter2hunter2")
    monkeypatch.setenv("MY_KEY", "")
    given = [
        "judge", "a/my pairs.csv", "--api-key-env", "MY_KEY", "--api-key-env=itself",
        "--store", "postgresql://me:se/cr@t@db/x?password=hush&schema=a",
        "--base-url=https://me:pw@host/v1?key=hush",
        "--extra-body", '{"api": "hush"}', "--extra-body={hush}",
        "--judge", "openai:sk-abcdefghijkl", "--prompt", "hunter2hunter2.txt",
    ]  # fmt: skip
    with running(given):
        line = command_line()
    assert shlex.split(line or "") == [
        "adjudge", "judge", "a/my pairs.csv", "--api-key-env", "MY_KEY",
        "--api-key-env=...", "--store", "postgresql://db/x?schema=a", "--base-url=https://host/v1",
        "--extra-body", "...", "--extra-body=...", "--judge", "openai:[redacted]",
        "--prompt", "[redacted].txt",
    ]  # fmt: skip
    assert command_line() is None


def test_a_command_of_any_bytes_and_length_can_be_written_and_read(folder: Path) -> None:
    odd = ["policy", "\udcff\x1b[31m\n", *["file"] * 10_000]
    with running(odd):
        write_result(read_policy("policy.json"), "odd.json", command=command_line())
    assert read_result("odd.json") == read_policy("policy.json")
    command = json.loads((folder / "odd.json").read_text())["command"]
    assert "\x1b" not in command
    assert command.endswith(" ...")
