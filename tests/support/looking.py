"""Images with known answers, drawn here, and a judge that really looks at them.

A shape fills its bounding box: a square all of it, a circle pi / 4, a triangle half. A chart
has as many dark columns as bars. The judge finds the images in a request by their places among its
texts, decodes their bytes and answers from the pixels alone.
"""

from __future__ import annotations

import base64
import io
import math
import re
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

SHAPES = {"square": 1.0, "circle": math.pi / 4, "triangle": 0.5}
_SIZE = 96


def draw_shape(kind: str, *, form: str = "PNG", size: int = _SIZE) -> bytes:
    """The bytes of a black shape on white."""
    image = Image.new("RGB", (size, size), "white")
    pen = ImageDraw.Draw(image)
    low, high = size // 6, size - size // 6
    if kind == "square":
        pen.rectangle((low, low, high, high), fill="black")
    elif kind == "circle":
        pen.ellipse((low, low, high, high), fill="black")
    else:
        pen.polygon([(low, high), (high, high), (size // 2, low)], fill="black")
    return _bytes(image, form)


def draw_bars(heights: list[int], *, form: str = "PNG") -> bytes:
    """The bytes of a bar chart; each height is a share of 100."""
    image = Image.new("RGB", (40 * len(heights) + 20, 120), "white")
    pen = ImageDraw.Draw(image)
    for at, height in enumerate(heights):
        pen.rectangle((20 + 40 * at, 110 - height, 40 + 40 * at, 110), fill="black")
    return _bytes(image, form)


def _bytes(image: Image.Image, form: str) -> bytes:
    written = io.BytesIO()
    image.save(written, form)
    return written.getvalue()


def shape_of(content: bytes) -> str:
    """The shape that an image shows, by how much of its box is black."""
    black = _black(content)
    rows, columns = black.any(axis=1), black.any(axis=0)
    fill = black.sum() / (rows.sum() * columns.sum())
    return min(SHAPES, key=lambda kind: abs(SHAPES[kind] - fill))


def count_bars(content: bytes) -> int:
    """The number of bars of a chart: how often a black column follows a white one."""
    columns = _black(content).any(axis=0).astype(int)
    return int((np.diff(columns) > 0).sum())


def _black(content: bytes) -> np.ndarray[Any, Any]:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("L")) < 128


def parts_asked(body: dict[str, Any]) -> list[str | tuple[str, bytes]]:
    """The texts and images (type, bytes) of a request's user messages, in reading order."""
    parts: list[str | tuple[str, bytes]] = []
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        content = message["content"]
        for part in [content] if isinstance(content, str) else content:
            if isinstance(part, str):
                parts.append(part)
            elif part["type"] == "text":
                parts.append(part["text"])
            elif part["type"] == "image_url":
                head, data = part["image_url"]["url"].split(";base64,")
                parts.append((head.removeprefix("data:"), base64.b64decode(data, validate=True)))
            else:
                source = part["source"]
                assert (part["type"], source["type"]) == ("image", "base64")
                parts.append((source["media_type"], base64.b64decode(source["data"])))
    return parts


def sections(body: dict[str, Any]) -> dict[str, list[str | bytes]]:
    """What stands under [Question], in answer A and in answer B of a request about a pair."""
    found: dict[str, list[str | bytes]] = {"question": [], "A": [], "B": [], "": []}
    place = ""
    marks = {"[Question]": "question", "[Answer A begins]": "A", "[Answer B begins]": "B"}
    marks |= {"[Answer A ends]": "", "[Answer B ends]": ""}
    for part in parts_asked(body):
        if not isinstance(part, str):
            found[place].append(part[1])
            continue
        for piece in re.split("(" + "|".join(map(re.escape, marks)) + ")", part):
            if piece in marks:
                place = marks[piece]
            elif piece.strip():
                found[place].append(piece.strip())
    return found


def look(body: dict[str, Any]) -> float:
    """P(A): the answer that draws the shape asked for, or counts the bars of the question."""
    found = sections(body)
    return {(True, False): 0.95, (False, True): 0.05}.get(
        (_is_right(found, "A"), _is_right(found, "B")), 0.5
    )


def _is_right(found: dict[str, list[str | bytes]], answer: str) -> bool:
    asked = " ".join(part for part in found["question"] if isinstance(part, str))
    charts = [part for part in found["question"] if isinstance(part, bytes)]
    for part in found[answer]:
        if isinstance(part, bytes):
            return f"Draw a {shape_of(part)}" in asked
        if charts:
            return part == f"{count_bars(charts[0])} bars"
    return False
