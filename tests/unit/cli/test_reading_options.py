"""Options of reading verbs that contradict themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.cli import run


@pytest.mark.attack("options")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--column", "judge=a", "--column", "judge=b"], "judge is named twice: choose one"),
        (["--labels-as", "1=1,1=0"], "give 1 one meaning"),
        (["--labels-as", "x=1,X=0"], "give X one meaning"),
        (["--labels-as", "1=1=1"], "write THEIRS=OURS"),
    ],
)
def test_the_last_one_does_not_win(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "grades.csv"
    rows.write_text("id,judge,human,a,b\n1,1,1,0,1\n2,0,,1,0\n")
    assert run(["estimate", str(rows), "--labels-are-random", *options]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.attack("options")
@pytest.mark.parametrize(
    ("command", "rows", "message"),
    [
        (
            ["calibrate", "rows.csv", "--labels-as", "yes=Q,no=B"],
            "id,p_a,label\n1,0.9,no\n2,0.3,yes\n",
            "rows.csv, row 2, column label: 'Q' is not known; --labels-as says 'yes=Q': use A, B",
        ),
        (
            ["calibrate", "rows.csv", "--labels-as", "oui=Q,non=fail"],
            "id,judge,human,uncertainty\n1,yes,oui,0.1\n2,no,non,0.2\n",
            "rows.csv, row 1, column human: 'Q' is neither pass nor fail; --labels-as says 'oui=Q'",
        ),
        (
            ["rank", "rows.csv", "--verdict", "robot", "--labels-as", "up=A,down=Q"],
            "model_a,model_b,winner,robot\nx,y,model_a,up\nx,y,model_b,down\n",
            "rows.csv, row 2, column robot: 'Q' is not known; --labels-as says 'down=Q': use A, B",
        ),
        (
            ["rank", "rows.csv", "--verdict", "robot"],
            "model_a,model_b,winner,robot\nx,y,model_a,up\nx,y,model_b,A\n",
            "rows.csv, row 1, column robot: 'up' is not known; use A, B, tie or the winner's name",
        ),
    ],
)
def test_an_error_of_labels_as_names_file_row_and_option(
    command: list[str],
    rows: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(rows)
    assert run(command) == 1
    assert message in capsys.readouterr().err
