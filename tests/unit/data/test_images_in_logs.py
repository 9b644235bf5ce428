"""Images in the logs of other tools: named by their bytes, in no table that is written."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from looking import draw_shape, shape_of

from adjudge.data import read_public
from adjudge.data.parts import images_of, parts_of
from adjudge.images import read_image

LOGS = Path(__file__).parents[2] / "fixtures" / "runner_logs"
URI = "data:image/png;base64," + base64.b64encode(draw_shape("triangle")).decode()
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": URI}},
]


def shapes(text: str) -> list[str]:
    return [shape_of(read_image(image.sha256 or "")) for image in images_of(text)]


def changed(tmp_path: Path, name: str, change: Any) -> Path:
    """A log with its first record changed."""
    text = (LOGS / name).read_text()
    path = tmp_path / name
    if name.endswith(".jsonl"):
        first, *rest = map(json.loads, text.splitlines())
        change(first)
        path.write_text("".join(json.dumps(record) + "\n" for record in (first, *rest)))
    else:
        log = json.loads(text)
        change(log)
        path.write_text(json.dumps(log))
    return path


def promptfoo(record: dict[str, Any]) -> None:
    # As promptfoo 0.123 writes them: the messages as JSON in a string, the image in a variable too.
    record["prompt"]["raw"] = json.dumps([{"role": "user", "content": PARTS}])
    record.setdefault("vars", {})["image"] = URI


def inspect(log: dict[str, Any]) -> None:
    sample = log["samples"][0]
    image = {"type": "image", "image": "attachment://a1", "detail": "auto"}
    sample["attachments"] = {"a1": URI}
    sample["input"] = [{"role": "user", "content": [PARTS[0], image]}]
    sample["output"]["choices"][0]["message"]["content"] = [{"type": "text", "text": "4"}, image]


def langsmith(rows: list[dict[str, Any]]) -> None:
    for row in rows[:1]:
        row["example"]["inputs"] = {"messages": [{"role": "user", "content": PARTS}]}
        row["run"]["outputs"] = {"answer": "A triangle", "chart": URI}


@pytest.mark.parametrize(
    ("name", "change", "answers"),
    [
        ("promptfoo.jsonl", promptfoo, 0),
        ("inspect.json", inspect, 1),
        ("langsmith.json", langsmith, 1),
    ],
)
@pytest.mark.parametrize("kind", ["grades", "items"])
def test_the_images_of_a_log_are_read(
    tmp_path: Path, name: str, change: Any, answers: int, kind: Any
) -> None:
    table = read_public(changed(tmp_path, name, change), kind=kind, human_metrics={})
    row = table.frame.row(0, named=True)
    assert shapes(row["prompt"]) == ["triangle"]
    assert str(parts_of(row["prompt"])[0]).startswith("What is this?")
    assert shapes(row["response"]) == ["triangle"] * answers
    assert "base64" not in table.frame.write_ndjson()
    if name == "promptfoo.jsonl":
        assert shapes(row["image"]) == ["triangle"]


def test_a_row_of_a_log_with_a_broken_image_is_counted(tmp_path: Path) -> None:
    def broken(log: dict[str, Any]) -> None:
        inspect(log)
        log["samples"][0]["attachments"] = {"a1": "data:image/png;base64,aGVsbG8gd29ybGQh"}

    whole = read_public(LOGS / "inspect.json", kind="grades").frame
    table = read_public(changed(tmp_path, "inspect.json", broken), kind="grades")
    reason = "the image data:image/png;base64,... is not a PNG, JPEG, GIF or WebP"
    assert table.dropped[reason] > 0
    assert table.frame.height < whole.height
