"""What must hold of every damaged file: `report` names it or shows it, nobody obeys it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from shown_estimation import ESTIMATE
from tampering import Damage
from tries import tried

from adjudge.data import write_result
from adjudge.data.tables import TableLike
from adjudge.errors import AdjudgeError
from adjudge.policy.result import Policy
from adjudge.report import read_folder, write_report
from adjudge.selection import read_policy, select, verify_policy


def check_report(folder: Path, damages: Iterable[Damage], *, format: str) -> int:
    """A report of these files and a good one shows the good one and names or shows all others.

    Returns how many files were taken as valid.
    """
    write_result(ESTIMATE, folder / "good.json")
    files = {f"file{at}.json": one for at, one in enumerate(damages)}
    for name, one in files.items():
        (folder / name).write_bytes(one.text)
    tried(len(files))
    held = read_folder(folder)
    shown = {name for file in held.files for name in (file.path.name, *file.copies)}
    assert "good.json" in shown
    assert shown | set(held.damaged) | set(held.skipped) == {*files, "good.json"}
    for reason in (*held.damaged.values(), *held.skipped.values()):
        assert "\n" not in reason
        assert len(reason) < 600
    page = folder / "out" / "report"
    write_report(held, page, format=format)
    text = page.read_text(encoding="utf-8").replace("\\", "")
    assert str(ESTIMATE).splitlines()[0].strip()[:40] in text
    # A file that is no result of ours is named in the terminal, not on the page.
    other = shown | set(held.skipped)
    missing = [files[name].name for name in files if name not in text and name not in other]
    assert not missing
    return len(shown) - 1


def check_policy_file(path: Path, one: Damage, policy: Policy, new: TableLike) -> bool:
    """A damaged policy is refused in one line, or accepts what its own numbers say.

    Returns whether it was obeyed. With the digest that the original had, only a file with the
    content of the original is.
    """
    tried()
    path.write_bytes(one.text)
    judge = None if policy.jury or policy.cascade else policy.judges[0]
    if _refusal(lambda: read_policy(path)) is not None:
        _refusal(lambda: _not_intact(path))
        return False
    again = read_policy(path)
    assert verify_policy(path).intact
    if not one.name.endswith("new digest") and policy.digest is not None:
        assert again == policy
    _refusal(lambda: select(new, again, judge=judge))
    return True


def _not_intact(path: Path) -> None:
    assert not verify_policy(path).intact


def _refusal(act: Callable[[], object]) -> str | None:
    """What adjudge refused it with, in one line; None where it did not."""
    try:
        act()
    except AdjudgeError as error:
        reason = str(error)
    else:
        return None
    assert "\n" not in reason
    return reason
