"""The last line of a verb is the command that comes next; it can be typed as it is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click
import polars as pl
import pytest

from adjudge.cli.app import build, run

ROOT = Path(__file__).parents[3]
JUDGE = "simulated:accuracy=0.85,noise=0.3"
IN_FILE = "simulated:accuracy=0.85,position_bias=0,noise=0.3,seed=0"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        from example_data import write_examples
    finally:
        sys.path.remove(str(ROOT / "examples"))
    write_examples(folder)
    pl.read_csv(folder / "answers.csv").drop("human").write_csv(folder / "unlabelled.csv")
    person = pl.DataFrame({"id": ["small-1", "large-1"], "label": [1, 0]})
    person.write_csv(folder / "by_hand.csv")
    # Three classes, of which the judge never says one; then with a label in every row.
    classes = pl.DataFrame({"id": range(4), "judge": list("aabb"), "human": ["a", "b", "c", None]})
    classes.write_csv(folder / "classes.csv")
    classes.head(3).write_csv(folder / "all_classes.csv")
    few = {"id": range(4), "judge": [1, 1, 0, 1], "human": [1, 0, 1, None]}
    pl.DataFrame(few).write_csv(folder / "few.csv")
    bare = {"id": range(4), "judge": [1, 1, 0, 1], "human": [None] * 4}
    pl.DataFrame(bare).write_csv(folder / "bare.csv")
    # A judge whose doubt has nothing to do with its errors.
    coins = [(i * 7919 % 101) / 101 for i in range(200)]
    weak = {
        "id": range(200),
        "p_a": [0.51 + coin / 2.1 for coin in coins],
        "label": list("AB") * 100,
    }
    pl.DataFrame(weak).write_csv(folder / "weak.csv")
    rows = {"id": range(40), "label": list("AABB") * 10}
    two = [pl.DataFrame({**rows, "judge": judge, "p_a": p}) for judge, p in
           (("old", [0.9, 0.2, 0.3, 0.1] * 10), ("new", [0.9, 0.8, 0.3, 0.6] * 10))]  # fmt: skip
    pl.concat(two).write_csv(folder / "two.csv")
    battles = pl.read_csv(folder / "battles.csv").drop("human_pref")
    fresh = pl.col("model_a", "model_b").replace("model-03", "fresh")
    battles.with_columns(fresh).write_csv(folder / "fresh.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["judge", "pairs.jsonl", "--judge", JUDGE, "-o", "judged.jsonl", "--json"]) == 0
        new = ["judge", "new_pairs.jsonl", "--judge", JUDGE, "-o", "my new.jsonl", "--json"]
        assert run(new) == 0
        assert run(["calibrate", "judged.jsonl", "-o", "policy.json", "--json"]) == 0
        select = ["select", "my new.jsonl", "--policy", "policy.json", "-o", "selected.csv"]
        assert run(select) == 0
    return folder


@pytest.fixture
def examples(written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(written)
    monkeypatch.setenv("KEY", "a secret of 22 letters")
    return written


def next_command(capsys: pytest.CaptureFixture[str], line: str) -> str:
    """The command that this one ends with; it is checked to be complete."""
    capsys.readouterr()
    run(shlex.split(line))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("next: adjudge ")
    command = last.removeprefix("next: adjudge ").partition(" (")[0]
    for part in command.split(" && adjudge "):
        _parse(build(), shlex.split(part))
    return command


def _parse(root: click.Group, words: list[str]) -> None:
    """Refuses an unknown verb or option, and a missing argument."""
    command: click.Command | None = root
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(click.Context(command), name)
    assert command is not None
    context = command.make_context(name, words)
    context.close()


@pytest.mark.parametrize(
    ("line", "follows"),
    [
        (
            f"judge pairs.jsonl --judge {JUDGE} -o judged.jsonl",
            "calibrate judged.jsonl --alpha 0.1 -o policy.json",
        ),
        (
            f"judge new_pairs.jsonl --judge {JUDGE} -o 'my new.jsonl'",
            "plan labels 'my new.jsonl' --write-ids to_label.csv && "
            "adjudge label new_pairs.jsonl --plan to_label.csv -o labels.csv",
        ),
        (
            f"judge new_pairs.jsonl --judge {JUDGE} --dry-run",
            f"judge new_pairs.jsonl --judge {JUDGE} -o judgments.jsonl",
        ),
        ("convert promptfoo.json", "estimate promptfoo.json"),
        ("estimate bare.csv", "plan labels bare.csv --write-ids to_label.csv"),
        ("estimate classes.csv", "plan labels classes.csv --write-ids to_label.csv"),
        ("estimate all_classes.csv", "estimate all_classes.csv -o estimate.json"),
        (
            "estimate few.csv",
            "plan rate few.csv --width 0.1 --write-ids to_label.csv",
        ),
        ("calibrate judged.jsonl", "calibrate judged.jsonl -o policy.json"),
        (
            "calibrate judged.jsonl -o policy.json",
            "select NEW --policy policy.json -o selected.csv",
        ),
        (
            f"calibrate judged.jsonl --judge {IN_FILE} -o policy.json",
            f"select NEW --policy policy.json --judge {IN_FILE} -o selected.csv",
        ),
        (
            "calibrate judged.jsonl --alpha 0.001 --column label=label",
            "plan selection judged.jsonl --alpha 0.001 --column label=label",
        ),
        (
            "select 'my new.jsonl' --policy policy.json",
            "select 'my new.jsonl' --policy policy.json -o selected.csv",
        ),
        (
            "select 'my new.jsonl' --policy policy.json -o s.csv --pairs new_pairs.jsonl",
            "label new_pairs.jsonl --abstentions s.csv -o labels.csv",
        ),
        (
            "select 'my new.jsonl' --policy policy.json -o s.csv",
            "view s.csv --only abstained",
        ),
        (
            "evaluate weak.csv --splits 20 --errors wrong.csv --explain",
            "view wrong.csv",
        ),
        (
            "compare two.csv --judges -o comparison.json",
            "view two.csv",
        ),
        (
            "monitor draw selected.csv --audit-rate 0.5 --secret-env KEY -o drawn.csv",
            "label ROWS --plan drawn.csv -o labels.csv",
        ),
        (
            "evaluate judged.jsonl --splits 20 --explain",
            "evaluate judged.jsonl --splits 20 --errors disagreements.csv",
        ),
        (
            "evaluate judged.jsonl --splits 20 --errors disagreements.csv",
            "calibrate judged.jsonl --alpha 0.1 -o policy.json",
        ),
        (
            "estimate answers.csv --labels-are-random --explain",
            "estimate answers.csv --labels-are-random -o estimate.json",
        ),
        ("estimate answers.csv -o here.json", "report ."),
        (
            "plan rate answers.csv --width 0.0001 --write-ids ids.csv",
            "plan labels answers.csv --write-ids to_label.csv",
        ),
        ("plan labels 'my new.jsonl'", "plan labels 'my new.jsonl' --write-ids to_label.csv"),
        (
            "plan labels 'my new.jsonl' --write-ids ids.csv",
            "label ROWS --plan ids.csv -o labels.csv",
        ),
        ("label new_pairs.jsonl --export-only -o l.csv", "label new_pairs.jsonl -o l.csv"),
        ("diagnose bias judged.jsonl", "diagnose bias judged.jsonl -o bias.json"),
        ("diagnose transitivity tournaments.csv -o sub/cycles.json", "report sub"),
        ("rank battles.csv -o board.json", "report ."),
        (
            "anchors make battles.csv --replicates 5",
            "anchors make battles.csv --replicates 5 -o anchors.json",
        ),
        (
            "anchors make battles.csv --replicates 5 -o 'my anchors.json'",
            "anchors place NEW_BATTLES --anchors 'my anchors.json'",
        ),
        (
            "anchors place fresh.csv --anchors 'my anchors.json' --alpha 0.4",
            "anchors place fresh.csv --anchors 'my anchors.json' --alpha 0.4 -o leaderboard.json",
        ),
        (
            "compare answers.csv --a small --b large",
            "compare answers.csv --a small --b large -o comparison.json",
        ),
        (
            "compare unlabelled.csv",
            "abtest unlabelled.csv --a small --b large --write-ids to_label.csv",
        ),
        (
            "abtest unlabelled.csv --a small --b large --labels by_hand.csv --write-ids ids.csv",
            "label ROWS --plan ids.csv -o new_labels.csv",
        ),
    ],
)
def test_the_command_that_comes_next(
    examples: Path, capsys: pytest.CaptureFixture[str], line: str, follows: str
) -> None:
    (examples / "sub").mkdir(exist_ok=True)
    assert next_command(capsys, line) == follows


@pytest.mark.usefixtures("examples")
def test_json_has_no_next_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "judged.jsonl", "--json"]) == 0
    assert "next:" not in capsys.readouterr().out


def test_a_result_that_a_report_does_not_read_is_not_followed_by_a_report(
    examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rank", "battles.csv", "-o", "board.txt"]) == 0
    assert "next:" not in capsys.readouterr().out


def test_classes_are_not_followed_by_the_viewer_which_does_not_show_them(
    examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", "classes.csv", "--errors", "words.csv"]) == 0
    assert "next:" not in capsys.readouterr().out
