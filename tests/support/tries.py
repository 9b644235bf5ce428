"""How often each attack of docs/reliability.md is tried, and how often it succeeds.

A test with `@pytest.mark.attack(LINE)` is one try, or as many as it counts with `tried`. With
`--tries RUN` the sums of the files that ran are kept in docs/tries.json, by run.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

KEPT = Path(__file__).parents[2] / "docs" / "tries.json"

#: What is attacked, by the name that tests use.
LINES = {
    "status": "rows with a failed, unknown or misspelled status",
    "rules": "every rule about rows broken in every verb that reads rows, in spellings by seed",
    "words": "words such as error or timeout in a judge's column",
    "repeats": "rows that are in a file again, with the same or with other content",
    "options": "options that contradict themselves: `--labels-as 1=1,1=0`, a column named twice",
    "log status": "samples of other tools' logs that were cancelled, invalid, skipped or failed",
    "two models": "a server that answers as another model in mid-run or after a kill",
    "rows that do not count": "audits of refused verdicts, rows without a fingerprint,"
    " ids above 2^53, empty labels, labels of no row",
    "decisions": "one id with other texts at the service and its webhook",
    "before asking": "a fault in a command or a service, detected before the first call to a judge",
    "stores": "connection strings that are not URLs, as the name of a store",
    "keys": "keys and passwords in options, bodies and database errors",
    "headers": "epochs, surrogates and probabilities that no log or sample has",
    "groups": "groups of `estimate --by` in one table: seconds and memory",
    "archives": "archives and workbooks that decompress to gigabytes",
    "framing": "Transfer-Encoding with Content-Length, bytes that are not HTTP",
    "connections": "1,000 connections and slow clients at `serve` and `label`",
    "other sites": "CSRF and DNS rebinding: foreign Host headers, origins, forms and pages",
    "policies": "edited and mixed policies, cascades and learned doubts among them",
    "results": "damaged result files in a report",
    "monitors": "two checks of one monitor at once, on a file and on a store; a check killed",
    "commits": "PostgreSQL killed in mid-commit, commits cut before or after confirmation",
    "postgres": "processes on one PostgreSQL store killed, the server restarted",
    "kills": "`kill -9` of one, two or four processes on one SQLite store",
    "labels": "`kill -9` of `label` and `serve` while people and clients are answered",
    "signals": "Ctrl-C and SIGTERM while a judge is asked",
    "disks": "full disks and folders without write permission: report, policy, labels, store",
    "clocks": "the clock set back or forward: claims, audits",
    "workbooks": "hostile workbooks (.xlsx)",
    "pull": "`models pull`: wrong hash, half a wheel, a second index, a slow mirror",
    "modes": "what is written where, with which modes",
    "network": "commands that open a connection nobody asked for",
    "damaged stores": "stores that are truncated, or have flipped bits or pages of noise",
    "files": "malformed files in every command that reads one",
    "columns": "a column with the name of any of ours, in every table",
    "logs": "logs of other tools with any value in any place",
    "pipes": "standard output closed before the first line",
    "same bytes": "hash seeds, thread counts and row orders",
    "texts": "scripts, links and control codes as texts on a page",
}

_counted = 0


def tried(times: int = 1) -> None:
    """Count tries of the test that is running."""
    global _counted
    _counted += times


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tries", metavar="RUN", help="keep the tries of each attack under this name")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "attack(line): a try of a line of docs/reliability.md")
    run = config.getoption("--tries")
    if run and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Sums(run), "sums")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    global _counted
    report = yield
    if call.when == "call":
        lines = [mark.args[0] for mark in item.iter_markers("attack")]
        report.user_properties.append(("tries", [lines, _counted or 1]))
    _counted = 0
    return report


class Sums:
    """The tries of one run, from the reports of all its workers."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.tries: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.failures: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties: dict[str, Any] = dict(report.user_properties)
        if "tries" in properties and report.when == "call" and not report.skipped:
            lines, times = properties["tries"]
            for line in lines:
                file = report.nodeid.partition("::")[0]
                self.tries[file][line] += times
                self.failures[f"{file} {line}"] += report.failed

    def pytest_sessionfinish(self) -> None:
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        sums = kept.setdefault(self.run, {})
        for file, tries in self.tries.items():
            sums[file] = {line: [n, self.failures[f"{file} {line}"]] for line, n in tries.items()}
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
