"""How a judge's server can misbehave: a table of named modes, each with the status a row must get.

The server (judge_server.py) acts by it on a step `mode:NAME`; the tests read from it what an honest
row says. `MODES` is for chat completions, one by one; those in `EDITS` are good answers with
something changed, and so are tried in batches too; `MESSAGE_EDITS` are for Anthropic's messages.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import gzip
import json
import re
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from aiohttp import web

Answer = dict[str, Any]
#: Where redirects would lead, and the key with them: another host name, where the server listens.
ELSEWHERE = "http://localhost:{port}/steal"


@dataclass(frozen=True)
class Asked:
    """One request: what a good server would have answered, and the key that came with it."""

    request: web.Request
    answer: Answer
    key: str


Act = Callable[[Asked], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Mode:
    """A misdeed, the status of its row, and what stands in the row's detail."""

    act: Act
    status: str
    says: str = ""


# --- answers with a body ---------------------------------------------------------------------


def send(
    body: bytes | Callable[[Asked], bytes], code: int = 200, headers: dict[str, str] | None = None
) -> Act:
    """A whole answer with this body."""

    async def act(asked: Asked) -> web.StreamResponse:
        content = body if isinstance(body, bytes) else body(asked)
        return web.Response(body=content, status=code, headers=headers)

    return act


def good(asked: Asked) -> bytes:
    return json.dumps(asked.answer).encode()


def said(code: int, words: str = "No.") -> Act:
    """An error as OpenAI writes it."""
    return send(json.dumps({"error": {"message": words}}).encode(), code)


def redirect(code: int, place: str) -> Act:
    async def act(asked: Asked) -> web.StreamResponse:
        location = place.replace("{port}", asked.request.host.rpartition(":")[2])
        return web.Response(status=code, headers={"Location": location})

    return act


async def echo_in_headers(asked: Asked) -> web.StreamResponse:
    echoed = {"X-Echo": asked.key, "Set-Cookie": f"key={asked.key}; ;;=", "Server": asked.key}
    return web.Response(body=good(asked), headers=echoed, reason=asked.key)


@cache
def bomb(packing: str) -> bytes:
    """24 MB of blanks in 24 kilobytes."""
    blanks = b" " * (24 << 20)
    return gzip.compress(blanks, 1) if packing == "gzip" else zlib.compress(blanks, 1)


# --- answers below HTTP ----------------------------------------------------------------------


def wire(*parts: bytes | float) -> Act:
    """Bytes on the wire as they are, with pauses; then the connection is closed."""

    async def act(asked: Asked) -> web.StreamResponse:
        transport = asked.request.transport
        assert transport is not None
        for part in parts:
            if transport.is_closing():
                break
            if isinstance(part, bytes):
                transport.write(part)
            else:
                await asyncio.sleep(part)
        transport.close()
        return web.Response()

    return act


async def answer_twice(asked: Asked) -> web.StreamResponse:
    """A good answer and another that nobody asked for, in one piece.

    Sent a moment later, on a connection that is in use again, no client could tell it apart.
    """
    content = good(asked)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content)
    return await wire(head + content + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")(asked)


def endless(start: bytes, again: bytes, pause_s: float = 0.0) -> Act:
    """A start, and then the same for ever, or until the other side has enough."""

    async def act(asked: Asked) -> web.StreamResponse:
        transport = asked.request.transport
        assert transport is not None
        transport.write(start)
        while not transport.is_closing():
            if transport.get_write_buffer_size() < 1 << 20:
                transport.write(again)
            await asyncio.sleep(pause_s)
        return web.Response()

    return act


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


# --- good answers with one thing changed -----------------------------------------------------


def edit(answer: Answer, path: str, value: object) -> Answer:
    """The answer with what stands at `path` replaced; `...` removes it."""
    changed: Any = copy.deepcopy(answer)
    at = changed
    *way, last = [int(name) if name.isdigit() else name for name in path.split("/")]
    for name in way:
        at = at[name]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return dict(changed)


def nested(depth: int) -> object:
    inner: object = "x"
    for _ in range(depth):
        inner = [inner]
    return inner


TOP = "choices/0/logprobs/content/0/top_logprobs"
MEGABYTES = "m" * (3 << 20)
HALF = "half \ud800 a character"
#: Name -> (path, value, status, words). `KEY` in a value stands for the key that was sent.
EDITS: dict[str, tuple[str, object, str, str]] = {
    # the shape
    "no_choices": ("choices", ..., "error", "has no message"),
    "choices_null": ("choices", None, "error", "has no message"),
    "choices_empty": ("choices", [], "error", "has no message"),
    "choices_text": ("choices", "A", "error", "has no message"),
    "choices_object": ("choices", {"0": {}}, "error", "has no message"),
    "choice_text": ("choices/0", "A", "error", "has no message"),
    "choice_list": ("choices/0", [1], "error", "has no message"),
    "no_message": ("choices/0/message", ..., "error", "has no message"),
    "message_text": ("choices/0/message", "A", "error", "has no message"),
    "message_list": ("choices/0/message", ["A"], "error", "has no message"),
    # the text
    "content_number": ("choices/0/message/content", 7, "error", "text is 7, not text"),
    "content_bool": ("choices/0/message/content", True, "error", "text is True"),
    "content_list": ("choices/0/message/content", [{"text": "A"}], "error", "text is a list"),
    "content_object": ("choices/0/message/content", {"text": "A"}, "error", "text is an object"),
    "content_nan": ("choices/0/message/content", float("nan"), "error", "text is nan"),
    "content_nul": ("choices/0/message/content", "A\0B", "error", "NUL character"),
    "content_half": ("choices/0/message/content", HALF, "error", "half a character"),
    "content_large": ("choices/0/message/content", MEGABYTES, "error", "--max-reply"),
    "content_deep": ("choices/0/message/content", nested(150), "error", "text is a list"),
    "content_ansi": ("choices/0/message/content", "\x1b[2J\u202eA", "ok", ""),
    "refusal_object": ("choices/0/message/refusal", {"x": 1}, "refused", "content filter"),
    "refusal_number": ("choices/0/message/refusal", 7, "refused", "content filter"),
    "refusal_half": ("choices/0/message/refusal", HALF, "refused", "half ? a character"),
    "refusal_nul": ("choices/0/message/refusal", "n\0o", "refused", "n\ufffdo"),
    "refusal_long": ("choices/0/message/refusal", "no " * 9999, "refused", "no no no"),
    "finish_object": ("choices/0/finish_reason", {"a": 1}, "ok", ""),
    "finish_filter": ("choices/0/finish_reason", "content_filter", "refused", "content filter"),
    "finish_large": ("choices/0/finish_reason", MEGABYTES, "error", "--max-reply"),
    # the log probabilities
    "logprobs_null": ("choices/0/logprobs", None, "no_logprobs", "no log probabilities"),
    "logprobs_text": ("choices/0/logprobs", "A", "no_logprobs", "no log probabilities"),
    "logprobs_empty": ("choices/0/logprobs/content", [], "no_logprobs", "no log probabilities"),
    "logprobs_number": ("choices/0/logprobs/content", 7, "no_logprobs", "no log probabilities"),
    "top_empty": (TOP, [], "no_logprobs", "no log probabilities"),
    "top_text": (TOP, "AB", "error", "top_logprobs are not"),
    "top_number": (TOP, 7, "error", "top_logprobs are not"),
    "top_object": (TOP, {"A": -0.1, "B": -2.0}, "error", "top_logprobs are not"),
    "top_of_numbers": (TOP, [1, 2], "error", "top_logprobs are not"),
    "top_of_nulls": (TOP, [None], "error", "top_logprobs are not"),
    "token_missing": (f"{TOP}/0/token", ..., "error", "top_logprobs are not"),
    "token_object": (f"{TOP}/0/token", {}, "error", "top_logprobs are not"),
    "token_number": (f"{TOP}/0/token", 7, "error", "top_logprobs are not"),
    "token_half": (f"{TOP}/9/token", HALF, "ok", ""),
    "logprob_missing": (f"{TOP}/0/logprob", ..., "error", "top_logprobs are not"),
    "logprob_null": (f"{TOP}/0/logprob", None, "error", "top_logprobs are not"),
    "logprob_text": (f"{TOP}/0/logprob", "-0.5", "error", "top_logprobs are not"),
    "logprob_bool": (f"{TOP}/0/logprob", True, "error", "top_logprobs are not"),
    "logprob_list": (f"{TOP}/0/logprob", [-0.5], "error", "top_logprobs are not"),
    "logprob_nan": (f"{TOP}/0/logprob", float("nan"), "error", "not valid for tokens"),
    "logprob_infinite": (f"{TOP}/0/logprob", float("inf"), "error", "not valid for tokens"),
    "logprob_positive": (f"{TOP}/0/logprob", 3.0, "error", "not valid for tokens"),
    "logprob_huge": (f"{TOP}/0/logprob", -(10**400), "error", "top_logprobs are not"),
    "logprob_deep": (f"{TOP}/0/logprob", nested(150), "error", "top_logprobs are not"),
    # the counts of tokens
    "usage_null": ("usage", None, "ok", ""),
    "usage_text": ("usage", "many", "ok", ""),
    "usage_list": ("usage", [1, 2], "ok", ""),
    "tokens_null": ("usage/prompt_tokens", None, "ok", ""),
    "tokens_63_bits": ("usage/prompt_tokens", 2**63, "error", "prompt_tokens is a number of 64"),
    "tokens_just_below": ("usage/prompt_tokens", 2**63 - 1, "error", "not a count of tokens"),
    "tokens_1300_bits": ("usage/completion_tokens", 10**400, "error", "a number of 1329 bits"),
    "tokens_negative": ("usage/completion_tokens", -1, "error", "completion_tokens is -1"),
    "tokens_fraction": ("usage/prompt_tokens", 1.5, "error", "prompt_tokens is 1.5"),
    "tokens_nan": ("usage/prompt_tokens", float("nan"), "error", "prompt_tokens is nan"),
    "tokens_infinite": ("usage/prompt_tokens", float("inf"), "error", "prompt_tokens is inf"),
    "tokens_bool": ("usage/prompt_tokens", True, "error", "prompt_tokens is True"),
    "tokens_text": ("usage/prompt_tokens", "12", "error", "a text of 2 characters"),
    "tokens_object": ("usage/prompt_tokens", {"n": 1}, "error", "prompt_tokens is an object"),
    "tokens_list": ("usage/completion_tokens", [1], "error", "completion_tokens is a list"),
    # what is kept in the raw answer alone
    "id_object": ("id", {"a": []}, "ok", ""),
    "id_half": ("id", HALF, "ok", ""),
    "created_huge": ("created", 10**400, "ok", ""),
    "created_text": ("created", "yesterday", "ok", ""),
    "model_object": ("model", {"name": "m"}, "ok", ""),
    "model_large": ("model", MEGABYTES, "error", "--max-reply"),
    "fingerprint_object": ("system_fingerprint", {"a": 1}, "ok", ""),
    "fingerprint_nul": ("system_fingerprint", "\0", "ok", ""),
    "fingerprint_deep": ("system_fingerprint", nested(150), "ok", ""),
    "unknown_field": ("__proto__", {"constructor": "x"}, "ok", ""),
    # the key in what is kept
    "key_in_content": ("choices/0/message/content", "it is KEY", "ok", ""),
    "key_in_refusal": ("choices/0/message/refusal", "not with KEY", "refused", "[redacted]"),
    "key_in_finish": ("choices/0/finish_reason", "KEY", "ok", ""),
    "key_in_token": (f"{TOP}/0/token", "KEY", "ok", ""),
    "key_in_model": ("model", "KEY", "ok", ""),
    "key_in_id": ("id", "KEY", "ok", ""),
    "key_in_fingerprint": ("system_fingerprint", "KEY", "ok", ""),
    "key_in_unknown": ("extra", {"KEY": ["KEY"]}, "ok", ""),
    "key_escaped": ("system_fingerprint", "ESCAPED", "ok", ""),
    "key_escaped_in_content": ("choices/0/message/content", "ESCAPED", "ok", ""),
    "key_percent": ("system_fingerprint", "PERCENT", "ok", ""),
    "key_base64": ("system_fingerprint", "BASE64", "ok", ""),
    "key_base64_of_header": ("choices/0/message/content", "HEADER64", "ok", ""),
    "key_hex": ("system_fingerprint", "HEX", "ok", ""),
    "key_over_fields": ("zz", ["FIRST", {"b": "SECOND"}], "error", "a secret in pieces"),
    "key_by_letters": ("zz", ["LETTERS"], "error", "a secret in pieces"),
}


def filled(answer: Answer, key: str) -> bytes:
    """The answer as JSON, with the key in all its spellings where the table names one."""
    half = len(key) // 2
    words = {
        "ESCAPED": "".join(f"\\u{ord(letter):04x}" for letter in key),
        "PERCENT": quote(key, safe=""),
        "BASE64": base64.b64encode(key.encode()).decode(),
        "HEADER64": base64.b64encode(f"Bearer {key}".encode()).decode(),
        "HEX": key.encode().hex(),
        "FIRST": json.dumps(key[:half])[1:-1],
        "SECOND": json.dumps(key[half:])[1:-1],
        '"LETTERS"': ", ".join(map(json.dumps, key)),
        "KEY": json.dumps(key)[1:-1],
    }
    text = json.dumps(answer)
    return re.sub("|".join(words), lambda word: words[word.group()], text).encode()


def edited(path: str, value: object) -> Act:
    return send(lambda asked: filled(edit(asked.answer, path, value), asked.key))


#: The same for Anthropic's messages.
MESSAGE_EDITS: dict[str, tuple[str, object, str, str]] = {
    "no_content": ("content", ..., "error", "has no message"),
    "content_text": ("content", "A", "error", "has no message"),
    "content_number": ("content", 7, "error", "has no message"),
    "block_text": ("content/0", "A", "error", "has no message"),
    "block_without_type": ("content/0/type", ..., "error", "has no message"),
    "block_of_numbers": ("content/0/text", 7, "error", "has no message"),
    "block_null": ("content/0/text", None, "error", "has no message"),
    "block_half": ("content/0/text", HALF, "error", "half a character"),
    "block_nul": ("content/0/text", "\0A", "error", "NUL character"),
    "block_large": ("content/0/text", MEGABYTES, "error", "--max-reply"),
    "stop_object": ("stop_reason", {"a": 1}, "ok", ""),
    "stop_refusal": ("stop_reason", "refusal", "refused", "declined"),
    "usage_list": ("usage", [1], "ok", ""),
    "tokens_64_bits": ("usage/input_tokens", 2**63, "error", "prompt_tokens is a number of 64"),
    "tokens_negative": ("usage/output_tokens", -1, "error", "completion_tokens is -1"),
    "tokens_text": ("usage/output_tokens", "1", "error", "completion_tokens is a text"),
    "key_escaped": ("model", "ESCAPED", "ok", ""),
    "key_in_text": ("content/0/text", "A, says KEY", "unparsed", ""),
    "key_over_fields": ("zz", ["FIRST", "SECOND"], "error", "a secret in pieces"),
}

_CODES = {
    **dict.fromkeys((300, 303, 304, 305, 400, 401, 402, 403, 404, 405, 406, 407, 410), "error"),
    **dict.fromkeys((411, 412, 413, 414, 415, 417, 418, 421, 422, 423, 424, 426, 428), "error"),
    **dict.fromkeys((408, 409, 425, 429, 431, 451, 500, 501, 502, 503, 504, 505, 507), "error"),
    **dict.fromkeys((511, 520, 524, 529, 530, 599), "error"),
}
MODES: dict[str, Mode] = {
    # what the status line says
    **{
        f"status_{code}": Mode(said(code), status, f"HTTP {code}")
        for code, status in _CODES.items()
    },
    "status_204": Mode(send(b"", 204), "error", "not JSON"),
    "status_201_good": Mode(send(good, 201), "ok"),
    "status_999": Mode(
        wire(b"HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\n{}"), "error", "HTTP 999"
    ),
    "status_0": Mode(wire(b"HTTP/1.1 000 Odd\r\nContent-Length: 2\r\n\r\n{}"), "error"),
    "status_line_garbage": Mode(wire(b"SMTP ready\r\n\r\n"), "error", "connection broke"),
    "status_line_endless": Mode(endless(b"HTTP/1.1 200 ", b"O" * 65536), "error", "broke"),
    "continue_flood": Mode(wire(b"HTTP/1.1 100 Continue\r\n\r\n" * 500), "error"),
    "early_hints": Mode(wire(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), "error"),
    "switching": Mode(wire(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), "error"),
    # redirects: never followed, so the key stays here
    "redirect_301": Mode(redirect(301, ELSEWHERE), "error", "HTTP 301"),
    "redirect_302": Mode(redirect(302, "//evil.example/v1"), "error", "HTTP 302"),
    "redirect_307": Mode(redirect(307, ELSEWHERE), "error", "HTTP 307"),
    "redirect_308_file": Mode(redirect(308, "file:///etc/passwd"), "error", "308"),
    "redirect_self": Mode(redirect(302, "/v1/chat/completions"), "error", "302"),
    # errors of odd kinds
    "error_large": Mode(send(lambda _: b"no " * (10 << 20), 500), "error", "HTTP 500: no no no"),
    "error_deep": Mode(send(b'{"error": ' + b"[" * 900 + b"]" * 900 + b"}", 400), "error", "400"),
    "error_binary": Mode(send(bytes(range(256)) * 40, 502), "error", "HTTP 502"),
    "error_empty": Mode(send(b"", 500), "error", "no explanation"),
    "error_number": Mode(send(b"7", 500), "error", "HTTP 500"),
    "error_message_object": Mode(send(b'{"error": {"message": {"a": 1}}}', 400), "error", "400"),
    "error_ansi": Mode(said(422, "\x1b[2J\x1b]0;owned\x07\u202egone"), "error", "HTTP 422"),
    "error_key": Mode(
        send(lambda asked: filled({"error": {"message": "bad KEY, ESCAPED"}}, asked.key), 401),
        "error",
        "bad [redacted], [redacted]",
    ),
    "error_in_200": Mode(send(b'{"error": {"code": 404, "message": "gone"}}'), "error", "HTTP 404"),
    "error_code_huge": Mode(
        send(b'{"error": {"code": 1' + b"0" * 99 + b"}}"), "error", "no message"
    ),
    "error_filter": Mode(
        send(b'{"error": {"message": "x", "code": "content_filter"}}', 400), "refused", "HTTP 400"
    ),
    "retry_after_years": Mode(send(b"{}", 429, {"Retry-After": "9" * 20}), "error", "asks to wait"),
    "retry_after_odd": Mode(
        send(b"{}", 429, {"Retry-After": "Mon, 01 Jan 2026 00:00:00 +9999999999"}), "error", "429"
    ),
    "retry_after_negative": Mode(send(b"{}", 503, {"Retry-After": "-1e308"}), "error", "503"),
    # headers
    "cookies": Mode(send(good, 200, {"Set-Cookie": "a=b; Domain=evil.example; Path=/"}), "ok"),
    "cookie_odd": Mode(send(good, 200, {"Set-Cookie": '=;";\\;a b=c'}), "ok"),
    "header_key": Mode(echo_in_headers, "ok"),
    "type_html": Mode(send(good, 200, {"Content-Type": "text/html; charset=utf-16"}), "ok"),
    "type_odd": Mode(send(good, 200, {"Content-Type": "a/b; charset=no-such"}), "ok"),
    "header_long": Mode(wire(HEAD + b"X: " + b"x" * 100_000 + b"\r\n\r\n{}"), "error", "broke"),
    "headers_many": Mode(wire(HEAD + b"X-A: b\r\n" * 50_000 + b"\r\n{}"), "error", "broke"),
    "headers_endless": Mode(endless(HEAD, b"X-A: b\r\n" * 1000), "error"),
    "header_nul": Mode(wire(HEAD + b"X: a\0b\r\nContent-Length: 2\r\n\r\n{}"), "error"),
    "header_no_colon": Mode(wire(HEAD + b"no colon\r\n\r\n{}"), "error", "broke"),
    "lengths_two": Mode(
        wire(HEAD + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}"), "error", "broke"
    ),
    "length_negative": Mode(wire(HEAD + b"Content-Length: -5\r\n\r\n{}"), "error", "broke"),
    "length_text": Mode(wire(HEAD + b"Content-Length: many\r\n\r\n{}"), "error", "broke"),
    "length_huge": Mode(wire(HEAD + b"Content-Length: 99999999999\r\n\r\n{}"), "error", "broke"),
    "length_beyond_64_bits": Mode(
        wire(HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}"), "error", "broke"
    ),
    "length_too_short": Mode(
        wire(HEAD + b'Content-Length: 5\r\n\r\n{"choices": []}'), "error", "broke"
    ),
    "length_too_long": Mode(wire(HEAD + b"Content-Length: 500\r\n\r\n{}"), "error", "broke"),
    "length_and_chunks": Mode(
        wire(HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        "error",
    ),
    # the connection
    "closed": Mode(wire(), "error", "broke"),
    "half_a_head": Mode(wire(b"HTTP/1.1 200 OK\r\nContent-"), "error", "broke"),
    "half_a_body": Mode(
        wire(HEAD + b'Content-Length: 900\r\n\r\n{"choices": [{'), "error", "broke"
    ),
    "chunks_broken": Mode(
        wire(HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n"), "error", "broke"
    ),
    "chunk_size_huge": Mode(
        wire(HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}"), "error", "broke"
    ),
    "chunks_cut": Mode(wire(HEAD + b"Transfer-Encoding: chunked\r\n\r\n40\r\n{"), "error", "broke"),
    "more_than_was_asked": Mode(answer_twice, "ok"),
    "hang": Mode(wire(3600.0), "error", "no answer within"),
    "hang_in_head": Mode(wire(HEAD, 3600.0), "error", "no answer within"),
    "hang_in_body": Mode(
        wire(HEAD + b"Content-Length: 500\r\n\r\n{", 3600.0), "error", "no answer within"
    ),
    "drip": Mode(
        endless(HEAD + b"Content-Length: 9999\r\n\r\n", b" ", 0.05), "error", "no answer within"
    ),
    "endless_body": Mode(
        endless(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"
        ),
        "error",
        "--max-reply",
    ),
    "endless_until_closed": Mode(endless(HEAD + b"\r\n", b" " * 65536), "error", "--max-reply"),
    # the packing
    "gzip_good": Mode(
        send(lambda asked: gzip.compress(good(asked)), 200, {"Content-Encoding": "gzip"}), "ok"
    ),
    "deflate_good": Mode(
        send(lambda asked: zlib.compress(good(asked)), 200, {"Content-Encoding": "deflate"}), "ok"
    ),
    "gzip_bomb": Mode(
        send(lambda _: bomb("gzip"), 200, {"Content-Encoding": "gzip"}), "error", "--max-reply"
    ),
    "deflate_bomb": Mode(
        send(lambda _: bomb("zlib"), 200, {"Content-Encoding": "deflate"}), "error", "--max-reply"
    ),
    "gzip_bomb_in_error": Mode(
        send(lambda _: bomb("gzip"), 500, {"Content-Encoding": "gzip"}), "error", "HTTP 500"
    ),
    "gzip_in_gzip": Mode(
        send(lambda _: gzip.compress(bomb("gzip")), 200, {"Content-Encoding": "gzip"}),
        "error",
        "not UTF-8",
    ),
    "gzip_cut": Mode(
        send(lambda asked: gzip.compress(good(asked))[:-20], 200, {"Content-Encoding": "gzip"}),
        "error",
        "compressed answer ends early",
    ),
    "gzip_broken": Mode(
        send(b"\x1f\x8b\x08\0" + b"\xff" * 99, 200, {"Content-Encoding": "gzip"}),
        "error",
        "cannot be decompressed",
    ),
    "gzip_that_is_not": Mode(
        send(good, 200, {"Content-Encoding": "gzip"}), "error", "cannot be decompressed"
    ),
    "packing_unknown": Mode(
        send(good, 200, {"Content-Encoding": "br, x-evil"}), "error", "was not requested"
    ),
    # what is no JSON, or odd JSON
    "empty": Mode(send(b""), "error", "not JSON"),
    "blanks": Mode(send(b" \n"), "error", "not JSON"),
    "html": Mode(send(b"<html><body>Login</body></html>"), "error", "not JSON"),
    "events": Mode(send(b'data: {"choices": []}\n\ndata: [DONE]\n'), "error", "not JSON"),
    "cut": Mode(send(lambda asked: good(asked)[:-9]), "error", "not JSON"),
    "two_documents": Mode(send(lambda asked: good(asked) * 2), "error", "not JSON"),
    "single_quotes": Mode(send(b"{'choices': []}"), "error", "not JSON"),
    "comma_at_end": Mode(send(b'{"choices": [],}'), "error", "not JSON"),
    "list": Mode(send(b"[1, 2]"), "error", "has no message"),
    "text": Mode(send(b'"A"'), "error", "has no message"),
    "number": Mode(send(b"1e999"), "error", "has no message"),
    "null": Mode(send(b"null"), "error", "has no message"),
    "nan": Mode(send(b"NaN"), "error", "has no message"),
    "large": Mode(send(lambda _: b" " * (30 << 20)), "error", "--max-reply"),
    "deep": Mode(send(b"[" * 200_000), "error", "not JSON"),
    "deep_objects": Mode(send(b'{"a":' * 100_000), "error", "not JSON"),
    "digits": Mode(send(b'{"choices": 1' + b"0" * 100_000 + b"}"), "error"),
    "duplicate_keys": Mode(send(lambda asked: b'{"choices": [],' + good(asked)[1:]), "ok"),
    "utf_16": Mode(send(lambda asked: json.dumps(asked.answer).encode("utf-16")), "error", "UTF-8"),
    "utf_8_mark": Mode(send(lambda asked: b"\xef\xbb\xbf" + good(asked)), "error", "not JSON"),
    "utf_8_broken": Mode(
        send(lambda asked: good(asked).replace(b'"assistant"', b'"\xff\xfe"')), "error", "UTF-8"
    ),
    "nul_between": Mode(send(lambda asked: good(asked) + b"\0"), "error", "not JSON"),
    # good answers with one thing changed
    **{
        name: Mode(edited(path, value), status, says)
        for name, (path, value, status, says) in EDITS.items()
    },
}
