"""Options of reading verbs that contradict themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.cli import run


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
