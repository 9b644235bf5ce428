"""The bytes of images: checked when a file is read, found again by their SHA-256.

A file of rows names an image; a table, a prompt and a store have only its hash. A folder of the
user has for each hash a link to the image's file, or the bytes themselves if they were in the rows
or came from a URL. Bytes are read when they are needed, compared with their hash, and never kept.
"""

from __future__ import annotations

import base64
import binascii
import errno
import hashlib
import os
import secrets
import shutil
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException, IncompleteRead
from io import BytesIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adjudge.present.text import safe
from adjudge.records import Image

#: The largest image that the services of judges take.
LARGEST = 5 << 20
#: The maximum number of images in one text.
MOST = 20
_KINDS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_TYPES = ("image/png", "image/jpeg", "image/gif", "image/gif")
_HEAD = 16
_PATIENCE_S = 30.0
_PIECE = 1 << 16
#: Hosts at private addresses that images are fetched from, separated by commas.
_HOSTS = "ADJUDGE_IMAGE_HOSTS"
_SCALE = "scale the image down"
#: On a page, the longer side of an image has at most so many pixels.
_MOST_PIXELS = 1000
_AGAIN = "put it back, and read the rows that name its file again"


class NotTextError(ValueError):
    """A part of a text that cannot be shown to a judge; the error has the reason and the remedy."""

    def __init__(self, problem: str, remedy: str = "give text, or text and images") -> None:
        super().__init__(safe(" ".join(problem.split())))
        self.remedy = remedy


class ImageError(NotTextError):
    """An image that is missing, too large or unreadable."""


def media_type(content: bytes) -> str | None:
    """The type of an image by its first bytes; None if no judge takes it.

    >>> media_type(b"GIF89a..."), media_type(b"RIFF....WEBPVP8 "), media_type(b"<svg>")
    ('image/gif', 'image/webp', None)
    """
    for begin, kind in zip(_KINDS, _TYPES, strict=True):
        if content.startswith(begin):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def keep_file(path: Path, shown: str) -> str:
    """The hash of an image's file, which has this name from now on; `shown` is for errors."""
    try:
        if not path.is_file():  # a pipe would never end
            raise FileNotFoundError(errno.ENOENT, "is not there")
        size = path.stat().st_size
        with path.open("rb") as file:
            _check(file.read(_HEAD), size, shown)
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        problem = f"the image {shown} cannot be read: {path} {error.strerror}"
        raise ImageError(problem, "put the file there, or correct the path") from None
    place = _place(sha256)
    target = path.absolute()
    if not place.is_symlink() and place.is_file():
        return sha256
    if not place.is_symlink() or place.readlink() != target:
        with _swapping(place) as new:
            try:
                new.symlink_to(target)
            except OSError:  # a system without links
                shutil.copyfile(target, new)
    return sha256


def keep_bytes(content: bytes, shown: str) -> str:
    """The hash of an image's bytes, which are written to the folder of images."""
    _check(content[:_HEAD], len(content), shown)
    sha256 = hashlib.sha256(content).hexdigest()
    place = _place(sha256)
    if place.is_symlink() or not place.is_file() or place.stat().st_size != len(content):
        with _swapping(place) as new:
            new.write_bytes(content)
    return sha256


def keep_data(uri: str) -> str:
    """The hash of the image in a data URI."""
    head, _, content = uri.partition(",")
    shown = f"{head[:40]},..."
    remedy = "write it as data:image/png;base64,... or as a path"
    if not head.endswith(";base64"):
        raise ImageError(f"the image {shown} is not base64", remedy)
    if len(content) > 4 * LARGEST // 3 + 4:
        raise _too_large(shown, 3 * len(content) // 4)
    try:
        return keep_bytes(base64.b64decode(content, validate=True), shown)
    except binascii.Error:
        raise ImageError(f"the image {shown} is not valid base64", remedy) from None


def fetched(url: str) -> str | None:
    """The hash of the image that was fetched from a URL before; None if it was not."""
    note = _note(url)
    return note.read_text() if note.is_file() else None


def fetch(url: str) -> str:
    """The hash of the image at a URL, asked for once. Only for users who said so."""
    known = fetched(url)
    if known is not None and _place(known).is_file():
        return known
    try:
        content = _download(url)
    except ImageError:
        raise
    except (OSError, ValueError, HTTPException) as error:
        why = getattr(error, "reason", None) or error
        remedy = "check the address, or save the image next to the file and give its path"
        raise ImageError(f"the image {url} cannot be fetched: {why}", remedy) from None
    sha256 = keep_bytes(content, url)
    with _swapping(_note(url)) as new:
        new.write_text(sha256)
    return sha256


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to the addresses that a row can name, and to no other."""

    def redirect_request(self, *received: Any) -> urllib.request.Request | None:
        _check_url(received[-1])
        return super().redirect_request(*received)


def _download(url: str) -> bytes:
    """What a URL answers, up to what is too large. A broken answer raises."""
    _check_url(url)
    ends = time.monotonic() + _PATIENCE_S
    content = bytearray()
    with urllib.request.build_opener(_Redirects).open(url, timeout=_PATIENCE_S) as answer:
        while len(content) <= LARGEST and (piece := answer.read1(_PIECE)):
            content += piece
            if time.monotonic() > ends:
                raise TimeoutError(f"no end after {_PATIENCE_S:.0f} seconds")
        if not piece and answer.length:
            raise IncompleteRead(bytes(content), answer.length)
    return bytes(content)


def _check_url(url: str) -> None:
    """Refuse an address of this machine or a private network: a model can have written the row."""
    address = urlsplit(url)
    host = address.hostname or ""
    if address.scheme not in ("http", "https") or not host:
        raise ImageError(f"the image {url} is not at an http address", "save it next to the file")
    if host in os.environ.get(_HOSTS, "").split(","):
        return
    try:
        addresses = {ip_address(each[4][0]) for each in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return  # a proxy can know it; without one the request fails
    if any(not ip.is_global for ip in addresses):
        problem = f"the image {url} is at a private address"
        remedy = f"save it next to the file, or trust the host: {_HOSTS}={host}"
        raise ImageError(problem, remedy)


def read_image(sha256: str, alt: str = "") -> bytes:
    """The bytes of an image, compared with their hash. Raises ImageError if they are not there."""
    try:
        with _place(sha256).open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError:
        raise _gone(sha256, alt) from None
    if hashlib.sha256(content).hexdigest() != sha256:
        problem = f"the image {alt} has changed since the rows were read ({sha256[:12]})"
        raise ImageError(problem, _AGAIN)
    return content


def size_of(image: Image) -> tuple[int, int] | None:
    """Width and height in pixels; None if the file is not there, or is broken."""
    from PIL import Image as Pillow

    try:
        with Pillow.open(_place(image.sha256 or "")) as drawn:
            return drawn.size
    except (OSError, ValueError, SyntaxError, Pillow.DecompressionBombError):
        return None


def check_kept(sha256: str, alt: str = "") -> None:
    """Raise ImageError if an image's file is not there."""
    if not _place(sha256).is_file():
        raise _gone(sha256, alt)


def _gone(sha256: str, alt: str) -> ImageError:
    place = _place(sha256)
    where = place.readlink() if place.is_symlink() else place
    return ImageError(f"the image {alt} is not there: {where}", _AGAIN)


def data_uri(content: bytes) -> str:
    """An image as a data URI."""
    return f"data:{media_type(content)};base64,{base64.b64encode(content).decode('ascii')}"


def show_image(image: Image) -> tuple[str | None, str]:
    """An image for a page as a data URI, drawn anew with few pixels; or None, and why."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    if image.sha256 is None:
        return None, "it was not fetched"
    try:
        content = read_image(image.sha256, image.name)
        with Pillow.open(BytesIO(content)) as drawn:
            drawn.thumbnail((_MOST_PIXELS, _MOST_PIXELS))
            upright = ImageOps.exif_transpose(drawn)
            plain = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
        small = BytesIO()
        # A photograph is smaller as a JPEG, a chart as a PNG.
        if plain.mode == "RGB" and media_type(content) in ("image/jpeg", "image/webp"):
            plain.save(small, "JPEG", quality=85)
        else:
            plain.save(small, "PNG")
    except ImageError as error:
        return None, str(error)
    except (OSError, ValueError, SyntaxError, Pillow.DecompressionBombError):
        return None, "it cannot be read"
    return data_uri(small.getvalue()), ""


def _check(head: bytes, size: int, shown: str) -> None:
    if media_type(head) is None:
        remedy = "save it as one of them"
        raise ImageError(f"the image {shown} is not a PNG, JPEG, GIF or WebP", remedy)
    if size > LARGEST:
        raise _too_large(shown, size)


def _too_large(shown: str, size: int) -> ImageError:
    large = f"{size / 1e6:.1f} MB of {LARGEST / 1e6:.1f} MB"
    return ImageError(f"the image {shown} is too large ({large})", _SCALE)


def _folder() -> Path:
    if given := os.environ.get("ADJUDGE_IMAGES"):
        return Path(given)
    from platformdirs import user_data_path  # a machine that only runs a model has not got it

    return user_data_path("adjudge", appauthor=False) / "images"


@contextmanager
def _swapping(place: Path) -> Iterator[Path]:
    """A new path that becomes `place`. A link there is replaced, never the file that it leads to.

    Nothing is synced: bytes are compared with their hash whenever they are read.
    """
    new = place.with_name(f".{secrets.token_hex(8)}")
    try:
        folder = place.parent
        for made in (folder.parent, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield new
        new.replace(place)
    except OSError as error:
        problem = f"images cannot be kept in {_folder()}: {error.strerror}"
        raise ImageError(problem, "name another folder in ADJUDGE_IMAGES") from None
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _place(sha256: str) -> Path:
    return _folder() / sha256[:2] / sha256


def _note(url: str) -> Path:
    return _folder() / "urls" / hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()
