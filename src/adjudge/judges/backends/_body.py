"""Read the body of an answer: decompressed, up to a maximum size.

The size is checked before decoding: a verdict needs kilobytes, a server can send gigabytes, and a
few kilobytes can decompress to gigabytes.
"""

from __future__ import annotations

import zlib
from typing import IO, Any

import aiohttp

#: The compressions that are accepted in requests and can be read.
PACKINGS = ("gzip", "deflate")


class PackingError(Exception):
    """A body that cannot be decompressed."""


async def read_body(
    response: aiohttp.ClientResponse, largest: int, sink: IO[bytes] | None
) -> tuple[bytes, bool]:
    """The body, decompressed (empty if it went to `sink`), and whether it is complete.

    Reading stops at the maximum size, and the connection is closed.
    """
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    length = response.content_length
    if packing == "identity" and sink is None and length is not None and length <= largest:
        return await response.read(), True
    if packing not in ("identity", *PACKINGS):
        raise PackingError(f"the answer is compressed as {packing[:40]!r}, which was not requested")
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
        raise PackingError("the compressed answer ends early")
    return bytes(body), True


def _unpack(unpacked: Any, block: bytes, most: int) -> bytes:
    if unpacked is None:
        return block
    try:
        piece: bytes = unpacked.decompress(block, most)
    except zlib.error as error:
        raise PackingError(f"the answer cannot be decompressed ({error})") from None
    return piece


def too_large_words(largest: int) -> str:
    """The error text of an answer that was too large to read.

    >>> too_large_words(3 << 19)
    'an answer of more than 1.5 MiB; --max-reply SIZE allows more'
    """
    unit, name = (1 << 20, "MiB") if largest >= 1 << 20 else (1 << 10, "KiB")
    return f"an answer of more than {largest / unit:.4g} {name}; --max-reply SIZE allows more"
