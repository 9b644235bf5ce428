"""What was not tested is said: in CI a skip is a failure, elsewhere it is named at the end.

A test skips where a program or package is missing (a browser, torch, weights and no network). That
must not pass for a passed test.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import pytest
from _pytest.doctest import DoctestModule

IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
ROOT = Path(__file__).parent
NEED_TORCH = [
    str(path.relative_to(ROOT))
    for path in sorted((ROOT / "src/adjudge/judges/backends").glob("*.py"))
    if "\nimport torch\n" in path.read_text(encoding="utf-8")
]
# Their doctests cannot even be collected without torch; in CI that is an error like any other.
collect_ignore = [] if find_spec("torch") or IN_CI else NEED_TORCH
# These import the tools they are for, which `make hosts` installs; they have no doctests.
collect_ignore_glob = [
    "src/adjudge/integrations/inspect.py",
    "src/adjudge/integrations/deepeval.py",
]


# Thousands of collected tests live to the end: the garbage collector need not look at them.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """A file without a prompt has no doctest: pytest need not import it and look at its names.

    Packages are imported before their files: pytest gives a package each file that it imports as
    an attribute, also in place of a function of that name.
    """
    collectors = yield
    is_plain = file_path.suffix == ".py" and file_path.name != "__init__.py"
    if is_plain and b">>>" not in file_path.read_bytes():
        return [one for one in collectors if not isinstance(one, DoctestModule)]
    return collectors


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def refuse_skip(report: Report) -> Report:
    if report.skipped and IN_CI:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped in CI: {skip_reason(report)}"
    return report


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The words of a skip, without the place it was raised at."""
    where = report.longrepr
    words = where[2] if isinstance(where, tuple) else str(where)
    return words.removeprefix("Skipped: ")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return refuse_skip((yield))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(skip_reason(report) for report in terminalreporter.stats.get("skipped", []))
    for path in collect_ignore:
        reasons[f"torch is not installed: doctests of {path}"] += 1
    if reasons:
        terminalreporter.section("NOT TESTED on this machine", sep="!", red=True, bold=True)
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count} skipped: {reason}", red=True)
