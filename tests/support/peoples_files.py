"""Files as people have them: each with the command that takes it to a result."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import polars as pl
import pytest

ROWS = 80
_JUDGE = "judge {} --judge simulated:accuracy=0.9,seed=1 --store s.db -o judged.jsonl"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _pairs(**names: str) -> pl.DataFrame:
    texts = {
        "prompt": [f"Question {i}; really?" for i in range(ROWS)],
        "response_a": [f"Answer {i}" for i in range(ROWS)],
        "response_b": [f"Another answer {i}" for i in range(ROWS)],
    }
    return pl.DataFrame({names[ours]: values for ours, values in texts.items()})


def _grades(yes: Any, no: Any) -> tuple[list[Any], list[Any]]:
    """A judge that is mostly right, and people who labelled half of the rows."""
    rng = _rng()
    people = rng.random(ROWS) < 0.6
    judge = people ^ (rng.random(ROWS) < 0.15)
    said = [yes if one else no for one in judge]
    return said, [(yes if one else no) if i % 2 else None for i, one in enumerate(people)]


def semicolons(folder: Path) -> Path:
    """Excel where numbers have commas."""
    p = _rng().beta(4, 1, ROWS).round(3)
    label = np.where(_rng().random(ROWS) < p, "A", "B")
    lines = [f"{i};{str(one).replace('.', ',')};{label[i]}" for i, one in enumerate(p)]
    return _write(folder / "semicolons.csv", "ID;prob_a;Label\r\n" + "\r\n".join(lines))


def bom(folder: Path) -> Path:
    judge, human = _grades("Yes", "No")
    lines = [f"{j},{h or ''}" for j, h in zip(judge, human, strict=True)]
    return _write(folder / "bom.csv", "\ufeffJudge Verdict,Human Label\n" + "\n".join(lines))


def other_names(folder: Path) -> Path:
    frame = _pairs(prompt="instruction", response_a="output_1", response_b="output_2")
    frame.write_csv(folder / "names.csv")
    return folder / "names.csv"


def one_and_two(folder: Path) -> Path:
    frame = _pairs(prompt="question", response_a="answer_a", response_b="answer_b")
    labelled = frame.with_columns(preference=pl.Series(1 + _rng().integers(0, 2, ROWS)))
    labelled.write_csv(folder / "one_and_two.csv", separator="\t")
    return folder / "one_and_two.csv"


def chosen_rejected(folder: Path) -> Path:
    frame = _pairs(prompt="prompt", response_a="chosen", response_b="rejected")
    frame.write_parquet(folder / "preferences.parquet")
    return folder / "preferences.parquet"


def excel(folder: Path) -> Path:
    pytest.importorskip("fastexcel")
    judge, human = _grades("pass", "fail")
    rows = [["Question", "Judge", "Human"]]
    rows += [[f"Q{i} & more", j, h] for i, (j, h) in enumerate(zip(judge, human, strict=True))]
    return write_workbook(folder / "grades.xlsx", rows)


def model_names(folder: Path) -> Path:
    rng = _rng()
    rows = []
    for _ in range(200):
        one, other = rng.choice(["gpt-4o", "claude", "llama"], 2, replace=False)
        winner = str(rng.choice([min(one, other), max(one, other), "Tie"], p=[0.6, 0.3, 0.1]))
        rows.append({"model_1": str(one), "model_2": str(other), "winner": winner})
    pl.DataFrame(rows).write_csv(folder / "arena.csv")
    return folder / "arena.csv"


def gaps(folder: Path) -> Path:
    judge, human = _grades(1, 0)
    words = ["NaN", "N/A", "null", " ", "#N/A"]
    lines = [
        f"r{i},{'NaN' if i == 3 else j},{words[i % 5] if h is None else h}"
        for i, (j, h) in enumerate(zip(judge, human, strict=True))
    ]
    return _write(folder / "gaps.csv", "id,judge,human\n" + "\n".join(lines))


def decimals(folder: Path) -> Path:
    rng = _rng()
    frame = pl.DataFrame(
        {
            "question": [f"Q{i}" for i in range(250)],
            "answer": [f"A{i}" for i in range(250)],
            "score": rng.uniform(1, 5, 250),
            "human_score": rng.integers(1, 6, 250),
        }
    )
    frame.write_csv(folder / "likert.csv")
    return folder / "likert.csv"


def json_object(folder: Path) -> Path:
    p = _rng().random(ROWS).round(4).tolist()
    rows = [
        {"id": str(i), "p_a": one, "label": "A" if one > 0.3 else "B"} for i, one in enumerate(p)
    ]
    run = {"run": 7, "settings": {"model": "m"}, "results": rows}
    return _write(folder / "run.json", json.dumps(run, indent=2))


def saved_dataset(folder: Path) -> Path:
    """As `Dataset.save_to_disk` of Hugging Face leaves it, in two shards."""
    saved = folder / "saved"
    saved.mkdir()
    said = [{"role": "user", "content": "Say hi"}]
    frame = pl.DataFrame(
        {
            "prompt": [said] * ROWS,
            "chosen": [[*said, {"role": "assistant", "content": f"hi {i}"}] for i in range(ROWS)],
            "rejected": [[*said, {"role": "assistant", "content": f"no {i}"}] for i in range(ROWS)],
        }
    )
    names = [f"data-0000{k}-of-00002.arrow" for k in range(2)]
    for name, part in zip(names, (frame[: ROWS // 2], frame[ROWS // 2 :]), strict=True):
        part.write_ipc_stream(saved / name)
    state = {"_data_files": [{"filename": name} for name in names], "_split": None}
    _write(saved / "state.json", json.dumps(state))
    _write(saved / "dataset_info.json", "{}")
    return saved


def gzipped(folder: Path) -> Path:
    frame = _pairs(prompt="query", response_a="response_1", response_b="response_2")
    frame = frame.with_columns(
        uid=pl.format("u{}", pl.int_range(pl.len())),
        winner=pl.Series(_rng().choice(["left", "RIGHT"], ROWS)),
    )
    path = folder / "pairs.jsonl.gz"
    path.write_bytes(gzip.compress(frame.write_ndjson().encode()))
    return path


#: The twelve files, and the one command for each.
FILES: dict[Callable[[Path], Path], str] = {
    semicolons: "calibrate {} --alpha 0.3",
    bom: "estimate {}",
    other_names: _JUDGE,
    one_and_two: _JUDGE,
    chosen_rejected: _JUDGE,
    excel: "estimate {}",
    model_names: "rank {} --replicates 10",
    gaps: "estimate {}",
    decimals: "diagnose scores {} --splits 2",
    json_object: "evaluate {} --splits 5",
    saved_dataset: _JUDGE,
    gzipped: _JUDGE,
}


def write_workbook(path: Path, rows: list[list[Any]]) -> Path:
    """An Excel workbook as Excel writes it: texts of the first column shared, all others inline."""
    shared = list(dict.fromkeys(str(row[0]) for row in rows))
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = []
        for at, value in enumerate(row):
            place = f'r="{chr(65 + at)}{number}"'
            if value is None:
                continue
            if at == 0:
                cells.append(f'<c {place} t="s"><v>{shared.index(str(value))}</v></c>')
            elif isinstance(value, bool):
                cells.append(f'<c {place} t="b"><v>{int(value)}</v></c>')
            elif isinstance(value, (int, float)):
                cells.append(f"<c {place}><v>{value}</v></c>")
            else:
                cells.append(f'<c {place} t="inlineStr"><is><t>{escape(value)}</t></is></c>')
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    texts = "".join(f"<si><t>{escape(text)}</t></si>" for text in shared)
    parts = {
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        f'relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Data" sheetId="1" r:id="rId7"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/'
        'package/2006/relationships"><Relationship Id="rId7" Type="worksheet" '
        'Target="worksheets/data.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}">{texts}</sst>',
        "xl/worksheets/data.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}'
        "</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, _HEAD + text)
    return path


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path
