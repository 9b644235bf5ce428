"""Write docs/notebook.ipynb, executed, and docs/notebook.md, its text as a page of the site.

    python docs/make_notebook.py

A test runs it and compares the texts of the outputs, so that they stay what adjudge shows.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Text and code in turn, with a line #%% between them.
CELLS = """
# From a file to a report

This notebook goes from a file of pairs to a report. It runs in seconds, because the judge is
simulated and its errors are known. For a real judge, change `judge` (`"openai:gpt-4.1-mini"`,
`"anthropic:..."`, `"llamacpp:smollm2"`).

## The file

Each row has a prompt and two responses. `response_a` is from the new model and `response_b` from
the old one. People labelled 200 of the 500 pairs. The rows are in random order, so the labels are a
random sample.
#%%
import polars as pl

import adjudge
from adjudge.simulate.pairs import simulate_pairs

pairs = pl.DataFrame(
    [
        {
            "id": pair.id,
            "prompt": pair.prompt,
            "response_a": pair.response_a,
            "response_b": pair.response_b,
            "label": pair.label if n < 200 else None,
        }
        for n, pair in enumerate(simulate_pairs(500, seed=1))
    ]
)
pairs.write_ndjson("pairs.jsonl")
print(pairs["label"].value_counts(sort=True, name="pairs").rows())
#%%

## Ask the judge

Both orders are asked. Every reply is kept in the store, so that a stopped run resumes.
`progress=True` shows one line that is updated while the judge is asked.
#%%
judged = adjudge.judge_pairs(
    "pairs.jsonl",
    judge="simulated:accuracy=0.88,position_bias=0.3,noise=0.2,seed=1",
    store="replies.db",
    output="judgments.jsonl",
    progress=True,
)
judgments = judged.judgments
labelled = judgments.filter(pl.col("label").is_not_null())
unlabelled = judgments.filter(pl.col("label").is_null())
print(judged.summary.statuses)
numbers = pl.col("p_fwd", "p_rev", "p_a").round(3)
print(judgments.select("id", numbers, "verdict", "label").row(0, named=True))
#%%

## Which verdicts can I trust?

The policy accepts a verdict if its uncertainty is below a threshold. Averaged over calibration
sets, at most 10 % of the accepted verdicts are wrong. `policy.explain()` prints the other
[guarantees](guarantees.md).
#%%
policy = adjudge.calibrate(labelled, alpha=0.1)
policy
#%%

The other 300 pairs have no labels. The policy accepts most of their verdicts; people decide the
rest.
#%%
selection = adjudge.select(unlabelled, policy)
selection
#%%

## What number can I report?

How often does the new model win? The judge's own rate includes its errors. The corrected rate uses
the labels to remove them.
#%%
wins = judgments.select(
    judge=(pl.col("verdict") == "A").cast(int),
    human=(pl.col("label") == "A").cast(int),
)
rate = adjudge.estimate(wins, labels_are_random=True)
rate
#%%

## Where does the judge fail?

The simulated judge prefers the first position. The diagnosis measures it.
#%%
bias = adjudge.diagnose_bias(judgments)
bias
#%%

## One file to send

Results in a folder become one HTML page that needs no network.
#%%
from pathlib import Path

folder = Path("results")
folder.mkdir(exist_ok=True)
results = {
    "judging": judged.summary,
    "policy": policy,
    "selection": selection.summary,
    "estimate": rate,
    "bias": bias,
}
for name, result in results.items():
    (folder / f"{name}.json").write_text(result.to_json(), encoding="utf-8")
adjudge.write_report(folder, "report.html").as_posix()
#%%

Every result also has `to_frame()`, `to_dict()`, `plot()` and, for a terminal, `print(result)`. The
[tour](tour.md) has the same chain on the command line.
"""
_DOWNLOAD = (
    "\n\n[The notebook](notebook.ipynb) shows tables and pictures; here results are text.\n\n## "
)
DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


def run_cells(cells: list[str]) -> list[tuple[str, dict[str, str]]]:
    """Run the code cells in an empty folder: what each prints, and the value it ends with."""
    names: dict[str, Any] = {}
    outputs = []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for source in cells:
                printed = io.StringIO()
                tree = ast.parse(source)
                last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
                with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                    exec(compile(tree, "cell", "exec"), names)  # noqa: S102
                    value = _value_of(last, names)
                outputs.append((printed.getvalue(), value))
        finally:
            os.chdir(before)
    return outputs


def _value_of(last: ast.stmt | None, names: dict[str, Any]) -> dict[str, str]:
    """What a notebook shows of the last expression: as text, and as HTML if it has that."""
    if not isinstance(last, ast.Expr):
        return {}
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    if value is None:
        return {}
    html = getattr(value, "_repr_html_", None)
    return {"text/plain": repr(value)} if html is None else {
        "text/html": html(), "text/plain": str(value),
    }  # fmt: skip


def render() -> dict[str, str]:
    """Both files by name."""
    parts = [part.strip("\n") for part in CELLS.split("#%%\n")]
    outputs = run_cells(parts[1::2])
    cells: list[dict[str, Any]] = []
    page = ["<!-- Made by docs/make_notebook.py from the notebook. -->"]
    for n, text in enumerate(parts):
        if n % 2 == 0:
            cells.append({"cell_type": "markdown", "id": f"text-{n}", "metadata": {}})
            cells[-1]["source"] = _lines(text)
            page.append(text if n else text.replace("\n\n## ", _DOWNLOAD, 1))
            continue
        printed, value = outputs[n // 2]
        cells.append(
            {
                "cell_type": "code",
                "execution_count": n // 2 + 1,
                "id": f"code-{n}",
                "metadata": {},
                "outputs": _outputs(printed, value, n // 2 + 1),
                "source": _lines(text),
            }
        )
        page.append(f"```py\n{text}\n```")
        if shown := printed + value.get("text/plain", ""):
            page.append(f"```text\n{shown.strip()}\n```")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return {
        "notebook.ipynb": json.dumps(notebook, ensure_ascii=False, indent=1) + "\n",
        "notebook.md": "\n\n".join(page) + "\n",
    }


def _outputs(printed: str, value: dict[str, str], count: int) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed)})
    if value:
        data = {kind: _lines(text) for kind, text in value.items()}
        result = {"data": data, "execution_count": count, "metadata": {}}
        outputs.append({**result, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for name, content in render().items():
        (HERE / name).write_text(content, encoding="utf-8")
