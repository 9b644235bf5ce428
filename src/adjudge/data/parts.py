"""A text as its parts: words and images, as chat messages have them.

A text without images is its words. A text with images is a JSON list, in which an image is named by
the SHA-256 of its bytes (`images` has the bytes):

    [{"type": "text", "text": "What is this?"}, {"type": "image", "sha256": "9f86d0...", "alt": "a.png"}]

So it stays text in every table, and its bytes are in none. An image that was read and not yet
`settled` has its path or URL instead of the hash.
"""  # noqa: E501  (one line of JSON)

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from adjudge.images import (
    MOST,
    ImageError,
    NotTextError,
    check_kept,
    fetch,
    fetched,
    keep_data,
    keep_file,
)
from adjudge.present.text import safe
from adjudge.records import Image

_WORDS = ("text", "input_text", "output_text")
_IMAGES = ("image", "image_url", "input_image")
#: How a text with images begins, and how a value can begin that is one.
IMAGES_BEGIN = '[{"type": "'
READABLE = ("[{", '["', '{"type"', "data:image/")
#: Around an image in a flat text: characters that no text has.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_NO_MARKS = {ord(_OPEN): "\ufffd", ord(_CLOSE): "\ufffd"}
#: What a cut leaves of a mark: its start before the words on the cut, or its end after them.
_HALF = re.compile(f"{_OPEN}[^\n{_CLOSE}]*|[^\n{_OPEN}]*{_CLOSE}")
_MARKED = re.compile(f"{_OPEN}([^\n{_OPEN}{_CLOSE}]*){_CLOSE}")
_HASH = re.compile(r"[0-9a-f]{64}")
_DATA = re.compile(r"(data:image/[\w.+-]+;base64,[A-Za-z0-9+/=]+)")
_WEB = ("http://", "https://")


Part = str | Image


def parts_of(text: str) -> list[Part]:
    """The parts of a text; the text itself if it has no image.

    >>> parts_of('[{"type": "text", "text": "a"}, {"type": "image", "path": "b.png"}]')
    ['a', Image(sha256=None, alt='', place='b.png')]
    >>> parts_of("plain"), parts_of('[{"type": "text", "text": "a"}]')
    (['plain'], ['[{"type": "text", "text": "a"}]'])
    """
    if text.startswith(IMAGES_BEGIN) and '"image"' in text:
        with suppress(ValueError, RecursionError):
            read = [_written(part) for part in json.loads(text)]
            parts = [part for part in read if part is not None]
            if len(parts) == len(read) and any(isinstance(part, Image) for part in parts):
                return parts
    return [text]


def _written(part: Any) -> Part | None:
    """A part as `write_parts` writes it."""
    if not isinstance(part, dict):
        return None
    kind, words, sha256 = (part.get(name) for name in ("type", "text", "sha256"))
    if kind == "text":
        return words if isinstance(words, str) else None
    place = part.get("path", part.get("url"))
    known = isinstance(sha256, str) and _HASH.fullmatch(sha256) is not None
    if kind != "image" or not (known or isinstance(place, str)):
        return None
    return Image(sha256 if known else None, str(part.get("alt") or ""), None if known else place)


def clean(text: str) -> str:
    """Text without marks of images."""
    return text.translate(_NO_MARKS) if _OPEN in text or _CLOSE in text else text


def mark(part: Part) -> str:
    """An image as a mark within a text; text without marks."""
    if isinstance(part, str):
        return clean(part)
    return f"{_OPEN}{json.dumps(_as_json(part))}{_CLOSE}"


def flatten(text: str, write: Callable[[str], str] = clean) -> str:
    """A text with its images as marks in it, for what cuts and joins texts; `write` writes the
    words between them.

    >>> text = write_parts(["a", Image(place="b.png"), "c"])
    >>> unflatten(flatten(text) + "d") == write_parts(["a", Image(place="b.png"), "cd"])
    True
    """
    return "".join(write(p) if isinstance(p, str) else mark(p) for p in parts_of(text))


def unflatten(text: str) -> str:
    """The text of a flat one; half a mark is dropped."""
    if _OPEN not in text and _CLOSE not in text:
        return text
    parts: list[Part] = []
    for at, piece in enumerate(_MARKED.split(text)):
        if at % 2 == 0:
            parts.append(_HALF.sub("", piece))
            continue
        part = _written(json.loads(piece))
        parts += [] if part is None else [part]
    return write_parts(parts)


def has_images(text: str) -> bool:
    """Whether a text has an image."""
    return text.startswith(IMAGES_BEGIN) and len(images_of(text)) > 0


def images_of(text: str) -> list[Image]:
    """The images of a text, in reading order."""
    return [part for part in parts_of(text) if isinstance(part, Image)]


def words_of(text: str) -> str:
    """The text with its images as words, which are the same for the same bytes."""
    return "".join(part if isinstance(part, str) else part.text for part in parts_of(text))


def shown_words(text: str) -> str:
    """The text for people where no image can be shown: each image is its name.

    >>> shown_words(write_parts(["See ", Image(place="a.png")]))
    'See [image a.png]'
    """
    parts = parts_of(text)
    return "".join(part if isinstance(part, str) else f"[image {part.name}]" for part in parts)


def write_parts(parts: Iterable[Part]) -> str:
    """The text of these parts; `parts_of` reads it.

    >>> write_parts(["a", "b"]), write_parts(["a", "b", Image(place="c.png")])
    ('ab', '[{"type": "text", "text": "ab"}, {"type": "image", "path": "c.png"}]')
    """
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part:
            joined.append(part)
    if not any(isinstance(part, Image) for part in joined):
        return "".join(part for part in joined if isinstance(part, str))
    return json.dumps([_as_json(part) for part in joined], ensure_ascii=False)


def _as_json(part: Part) -> dict[str, str]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    where = "sha256"
    if part.place is not None:
        where = "url" if part.place.startswith(_WEB) else "path"
    alt = {"alt": part.alt} if part.alt else {}
    return {"type": "image", where: part.place or part.sha256 or "", **alt}


def write_json(value: Any) -> str:
    """Any value as JSON, and the images that are data URIs in it as images.

    >>> write_json({"a": [1, None]})
    '{"a": [1, null]}'
    """
    pieces = _DATA.split(json.dumps(value, ensure_ascii=False, default=str))
    return write_parts(Image(keep_data(p)) if at % 2 else p for at, p in enumerate(pieces))


def are_parts(value: Any) -> bool:
    """Whether it is a part, or a list of parts, as chat messages have them.

    >>> are_parts([{"type": "text", "text": "Hi"}]), are_parts([{"type": "cat"}]), are_parts([])
    (True, False, False)
    """
    parts = value if isinstance(value, list) else [value]
    others = [part for part in parts if not isinstance(part, str)]
    kinds = [part.get("type") if isinstance(part, Mapping) else None for part in others]
    return bool(kinds) and all(kind in (*_WORDS, *_IMAGES) for kind in kinds)


def read_parts(value: Any) -> list[Part]:
    """The parts of a message's content: text, a part, or a list of both.

    The shapes are those of OpenAI, Anthropic, Inspect and LangSmith. A data URI becomes a hash
    here. Raises NotTextError for a sound, a file, or a part that has nothing.
    """
    listed = value if isinstance(value, list) else [value]
    parts: list[Part] = []
    for part in listed:
        parts += [*(["\n"] if parts else []), read_part(part)]
    return parts


def is_image(part: Any) -> bool:
    """Whether a part of a message is an image, in one of the usual shapes.

    >>> is_image({"type": "image_url"}), is_image("data:image/png;base64,"), is_image("x")
    (True, True, False)
    """
    if isinstance(part, str):
        return part.startswith("data:image/")
    return isinstance(part, Mapping) and part.get("type") in _IMAGES


def read_part(part: Any) -> Part:
    if isinstance(part, str):
        return Image(keep_data(part)) if part.startswith("data:image/") else part
    if not isinstance(part, Mapping):
        raise NotTextError(f"contains {type(part).__name__}, not text")
    kind = part.get("type") or "text"
    words = part.get("text")
    if kind in _WORDS and isinstance(words, str):
        return words
    if kind not in _IMAGES:
        raise NotTextError(f"contains a part of type {safe(str(kind))[:40]!r}, not text")
    return _read_image(part)


def _read_image(part: Mapping[str, Any]) -> Image:
    alt = str(part.get("alt") or "")
    source = part.get("source")
    inner = source if isinstance(source, Mapping) else part
    url = part.get("image_url")
    url = url.get("url") if isinstance(url, Mapping) else url
    data = inner.get("data") or part.get("base64")
    if isinstance(data, str):
        url = data if data.startswith("data:") else f"data:image;base64,{data}"
    places = [url, *(inner.get(name) for name in ("image", "path", "url"))]
    place = next((each for each in places if isinstance(each, str) and each), None)
    sha256 = part.get("sha256")
    if place is None and isinstance(sha256, str) and _HASH.fullmatch(sha256):
        return Image(sha256, alt)
    if place is None:
        raise NotTextError("contains an image without bytes", "give a path, a data URI or a URL")
    return Image(keep_data(place), alt) if place.startswith("data:") else Image(None, alt, place)


def settle(text: str, source: str, *, fetching: bool = False) -> str:
    """The text with every image named by its hash, its file checked: a path is beside `source`.

    A URL that was never fetched stays, unless `fetching`. Raises ImageError.
    """
    parts = parts_of(text)
    images = [part for part in parts if isinstance(part, Image)]
    if len(images) > MOST:
        raise ImageError(f"has {len(images)} images", f"give at most {MOST} in one text")
    if all(image.place is None for image in images):
        return text
    folder = Path(source).parent
    return write_parts(
        _settled(part, folder, fetching) if isinstance(part, Image) else part for part in parts
    )


def _settled(image: Image, folder: Path, fetching: bool) -> Image:
    place = image.place
    if place is None:
        return image
    if place.startswith(_WEB):
        sha256 = fetch(place) if fetching else fetched(place)
        return image if sha256 is None else Image(sha256, image.alt or place)
    path = PurePath(place)
    if path.is_absolute() or ".." in path.parts or "://" in place:
        # A row can be the answer of a model: it must not name any file of this machine.
        problem = f"the image {place[:200]} is not in the folder of the file"
        remedy = "copy or link it there, and give its path from there"
        raise ImageError(problem, remedy)
    return Image(keep_file(folder / path, place), image.alt or place)


def check_images(text: str) -> None:
    """Refuse an image that cannot be shown: a URL that was not fetched, or bytes that are gone."""
    for image in images_of(text):
        if image.sha256 is not None:
            check_kept(image.sha256, image.name)
        else:
            problem = f"the image {image.name} is a URL"
            remedy = "judge the rows with --fetch-images, or save the image next to them"
            raise ImageError(problem, remedy)
