"""The body of an answer: unpacked, and read no further than it may be large.

Before anything is decoded: a verdict needs kilobytes, a server can send gigabytes, and a few
kilobytes can unpack to gigabytes.
"""

from __future__ import annotations

import zlib
from typing import IO, Any

import aiohttp

#: How an answer may be packed: what we ask for, and understand.
PACKINGS = ("gzip", "deflate")


class PackingError(Exception):
    """A body that does not come out of its packing."""


async def read_body(
    response: aiohttp.ClientResponse, largest: int, sink: IO[bytes] | None
) -> tuple[bytes, bool]:
    """The body, unpacked (nothing when it went to `sink`), and whether that is all of it.

    What is too large is read no further, and its connection closed.
    """
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    length = response.content_length
    if packing == "identity" and sink is None and length is not None and length <= largest:
        return await response.read(), True
    if packing not in ("identity", *PACKINGS):
        raise PackingError(f"the answer is packed as {packing[:40]!r}, which was not asked for")
    unpacked = None if packing == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)
    if sink is not None:
        sink.seek(0)
        sink.truncate()
    body, size = bytearray(), 0
    async for block in response.content.iter_any():
        piece = _unpack(unpacked, block, largest + 1 - size)
        size += len(piece)
        if size > largest:
            response.close()
            return bytes(body + piece)[:largest], False
        if sink is None:
            body += piece
        else:
            sink.write(piece)
    if unpacked is not None and not unpacked.eof:
        raise PackingError("the answer ends in the middle of its packing")
    return bytes(body), True


def _unpack(unpacked: Any, block: bytes, most: int) -> bytes:
    if unpacked is None:
        return block
    try:
        piece: bytes = unpacked.decompress(block, most)
    except zlib.error as error:
        raise PackingError(f"the answer cannot be unpacked ({error})") from None
    return piece


def too_large_words(largest: int) -> str:
    """What is said of an answer that was not read to its end.

    >>> too_large_words(3 << 19)
    'an answer of more than 1.5 MiB; --max-reply SIZE allows more'
    """
    unit, name = (1 << 20, "MiB") if largest >= 1 << 20 else (1 << 10, "KiB")
    return f"an answer of more than {largest / unit:.4g} {name}; --max-reply SIZE allows more"
