"""Write the table of docs/reliability.md from what `make crash` and `make fuzz` counted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"


def table() -> str:
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from tries import KEPT, LINES

    runs = json.loads(KEPT.read_text())
    lines = ["| attack | tried | failed | tests |", "|---|---|---|---|"]
    for line, attack in LINES.items():
        counts = [
            (Path(file).name, *sums[line])
            for files in runs.values()
            for file, sums in files.items()
            if line in sums
        ]
        tried, failed = sum(n for _, n, _ in counts), sum(n for *_, n in counts)
        tests = ", ".join(f"`{name}`" for name in sorted({name for name, *_ in counts}))
        lines.append(f"| {attack} | {tried:,} | {failed:,} | {tests} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page())
