"""A judge server for tests: OpenAI- and Anthropic-compatible, run as a process of its own.

    python tests/support/judge_server.py --port 0        prints "ready PORT" when it listens

It answers /v1/chat/completions, /v1/messages, /v1/files and the batches of both services. Good
answers depend on the request's messages alone, so that two runs give the same output. How it
misbehaves is a script:

    POST /control/script {"rules": [{"contains": "pair 7", "steps": ["429:0.2", "ok"]}],
                          "default": ["ok"], "latency_s": 0.0, "named": {"model": "m-2024"}}

The first rule whose text stands in a message of the request applies; each request takes the
rule's next step for that very content, and the last step goes on. A step is a name or
name:argument; see ERRORS and `act`; `mode:NAME` is one of the table in hostile_modes.py,
`habit:NAME` one of habits.py. `look` answers from the images of the request (looking.py),
`echo_images` rejects it and sends it back in its error.
GET /control/log tells what arrived, GET /control/counts how often each content did, POST
/control/reset forgets it all.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import math
import socket
import struct
import time
from collections import Counter
from email.utils import formatdate
from functools import cache
from typing import Any

from aiohttp import web
from habits import habit_answer
from hostile_modes import EDITS, MESSAGE_EDITS, MODES, Asked, edit, edited, filled
from looking import look

TOKENS_A, TOKENS_B = ("A", " A", "A."), ("B", " B", "(B")
OTHERS = ("The", "Both", "I", "Answer", "**", "\n", "C", "It", "Neither", "As", "Based", "1", "Yes")
ERRORS = {
    "400": (400, "Invalid value: 'foo'", "invalid_value"),
    "400_logprobs": (400, "logprobs are not supported by this model", "unsupported_parameter"),
    "403_logprobs": (403, "You are not allowed to request logprobs from this model.", None),
    "400_top_logprobs": (400, "top_logprobs must be at most 5, got 20", "invalid_value"),
    "400_max_tokens": (
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "unsupported_parameter",
    ),
    "400_schema": (400, "response_format json_schema is not supported", "invalid_request_error"),
    "400_temperature": (
        400,
        "Unsupported value: 'temperature' does not support this value. Only the default (1).",
        "unsupported_value",
    ),
    "400_context": (
        400,
        "This model's maximum context length is 8192 tokens. Your messages have 9000.",
        "context_length_exceeded",
    ),
    "400_filter": (400, "The response was filtered by the content policy", "content_filter"),
    "400_prompt": (400, "Your prompt breaks our usage policy", "invalid_prompt"),
    "401": (401, "Incorrect API key provided: KEY. Find yours in your account.", "invalid_api_key"),
    "402": (402, "Insufficient credits", "payment_required"),
    "404": (404, "The model `nope` does not exist", "model_not_found"),
    "422": (422, "Unprocessable", "unprocessable"),
    "500": (500, "Internal error", "server_error"),
    "502": (502, "Bad gateway", "server_error"),
    "503": (503, "Overloaded, try later", "overloaded"),
    "529": (529, "Overloaded", "overloaded_error"),
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
}


class State:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.rules: list[dict[str, Any]] = []
        self.default: list[str] = ["ok"]
        self.latency_s = 0.0
        self.taken: Counter[tuple[int, str]] = Counter()
        self.counts: Counter[str] = Counter()
        self.log: list[dict[str, Any]] = []
        self.keep_log = True
        self.in_flight = 0
        self.most_in_flight = 0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.polls_needed = 1
        self.batch_faults: list[str] = []
        self.results_host = ""
        self.cached: set[str] = set()
        self.named: dict[str, str] | list[dict[str, str]] = {}
        self.batch_key = "no-key-was-set"

    def names(self) -> dict[str, str]:
        """What every answer says of its server; a list is used up in turn, to its last entry."""
        if isinstance(self.named, dict):
            return self.named
        return self.named.pop(0) if len(self.named) > 1 else self.named[0]

    def next_step(self, content: str, key: str) -> str:
        number, steps = next(
            (
                (i, rule["steps"])
                for i, rule in enumerate(self.rules)
                if rule["contains"] in content
            ),
            (-1, self.default),
        )
        at = self.taken[number, key]
        self.taken[number, key] += 1
        return str(steps[min(at, len(steps) - 1)])


STATE = State()


def preference(key: str) -> float:
    """P(A) in (0.02, 0.98), from the content alone."""
    return 0.02 + 0.96 * int(key[:8], 16) / 0xFFFFFFFF


def top_logprobs(p_a: float, kind: str, options_are_digits: bool) -> list[dict[str, Any]]:
    mass = 0.9
    if kind == "no_letters":
        weights = [(token, mass / 2 ** (i + 1)) for i, token in enumerate(OTHERS)]
    elif options_are_digits:
        shares = [math.exp(-abs(i - 1 - 4 * p_a)) for i in range(1, 6)]
        weights = [(str(i + 1), mass * s / sum(shares)) for i, s in enumerate(shares)]
        weights += [(token, 0.05 / 2 ** (i + 1)) for i, token in enumerate(OTHERS[:5])]
    else:
        split = (0.7, 0.2, 0.1)
        weights = [(t, mass * p_a * w) for t, w in zip(TOKENS_A, split, strict=True)]
        if kind != "one_letter":
            weights += [(t, mass * (1 - p_a) * w) for t, w in zip(TOKENS_B, split, strict=True)]
        weights += [(token, 0.05 / 2 ** (i + 1)) for i, token in enumerate(OTHERS)]
    if kind == "post_sampling":
        top = max(weights, key=lambda pair: pair[1])[0]
        rows = [(token, 0.0 if token == top else -9999.0) for token, _ in weights]
    else:
        rows = [(token, math.log(weight)) for token, weight in weights]
    rows.sort(key=lambda pair: -pair[1])
    return [{"token": t, "logprob": v, "bytes": list(t.encode())} for t, v in rows[:20]]


def chat_answer(body: dict[str, Any], key: str, step: str) -> dict[str, Any]:
    kind, _, argument = step.partition(":")
    if kind == "habit":
        plain = chat_answer(body, key, "ok")
        return habit_answer(argument, key, plain, logprobs=bool(body.get("logprobs")))
    p_a = look(body) if kind == "look" else preference(key)
    if kind == "another" and int(key[:2], 16) < 256 * float(argument):
        p_a = 1 - p_a  # another model under the same name: it decides this share otherwise
    text: str | None = "A" if p_a > 0.5 else "B"
    if kind == "text":
        text = argument
    elif kind == "empty":
        text = ""
    elif kind == "refusal":
        text = None
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if kind == "refusal":
        message["refusal"] = argument or "I'm sorry, I can't help with that."
    finish = "content_filter" if kind == "content_filter" else "stop"
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
    wanted = body.get("logprobs") and kind not in ("no_logprobs", "empty", "refusal")
    if wanted:
        digits = "1 to 5" in json.dumps(body["messages"])
        top = top_logprobs(p_a, kind, digits)
        if kind == "nan":
            top[0]["logprob"] = math.nan
        if kind == "mass":
            top = [{**row, "logprob": -0.1} for row in top]
        if kind == "no_top":
            top = []
        if kind == "odd_tokens":
            odd_tokens: list[object] = [{}, [], None, 7, True]
            top = [{"token": token, "logprob": -3.0} for token in odd_tokens]
        first = {"token": text, "logprob": -0.1, "bytes": [65], "top_logprobs": top}
        choice["logprobs"] = {"content": [first], "refusal": None}
    elif body.get("logprobs"):
        choice["logprobs"] = None
    words = sum(len(str(m["content"]).split()) for m in body["messages"])
    prompt = json.dumps(body["messages"])
    cached = {"prompt_tokens_details": {"cached_tokens": words}} if prompt in STATE.cached else {}
    STATE.cached.add(prompt)
    return {
        "id": f"chatcmpl-{key[:12]}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", ""),
        "choices": [choice],
        "usage": {
            "prompt_tokens": words,
            "completion_tokens": 1,
            "total_tokens": words + 1,
            **cached,
        },
        **STATE.names(),
    }


def unmarked(value: Any) -> Any:
    """The same messages as single strings, as they are without marks for the cache."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(part, dict) and "text" in part for part in value)
    ):
        return "".join(part["text"] for part in value)
    if isinstance(value, dict):
        return {name: unmarked(inner) for name, inner in value.items()}
    return list(map(unmarked, value)) if isinstance(value, list) else value


def cache_counts(body: dict[str, Any]) -> dict[str, int]:
    """Tokens (characters / 4) that marked messages had in the cache, or have there now."""
    messages = [{"content": body.get("system", "")}, *body["messages"]]
    text = ""
    marked = read = 0
    for message in messages:
        blocks = message["content"]
        for block in blocks if isinstance(blocks, list) else [{"text": blocks}]:
            text += block.get("text", "")
            if "cache_control" in block:
                marked = len(text) // 4
                read = marked if text in STATE.cached else read
                STATE.cached.add(text)
    written = {"cache_read_input_tokens": read, "cache_creation_input_tokens": marked - read}
    return {"input_tokens": 40 + len(text) // 4 - marked, **written}


def anthropic_answer(body: dict[str, Any], key: str, step: str) -> dict[str, Any]:
    kind, _, argument = step.partition(":")
    p_a = look(body) if kind == "look" else preference(key)
    text = {"text": argument, "empty": ""}.get(kind, "A" if p_a > 0.5 else "B")
    refused = kind == "refusal"
    return {
        "id": f"msg_{key[:12]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [] if refused or kind == "empty" else [{"type": "text", "text": text}],
        "stop_reason": "refusal" if refused else "end_turn",
        "usage": {**cache_counts(body), "output_tokens": 1},
        **STATE.names(),
    }


def error_body(step: str, key: str) -> tuple[int, dict[str, Any]]:
    status, words, code = ERRORS[step]
    return status, {
        "error": {"message": words.replace("KEY", key), "type": code, "code": code, "param": None}
    }


async def answer(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    messages = body.get("messages", [])
    content = "\n".join(str(m.get("content")) for m in messages) + str(body.get("system", ""))
    key = hashlib.sha256(json.dumps(unmarked([messages, body.get("system")])).encode()).hexdigest()
    STATE.counts[key] += 1
    STATE.in_flight += 1
    STATE.most_in_flight = max(STATE.most_in_flight, STATE.in_flight)
    step = STATE.next_step(content, key)
    if STATE.keep_log:
        STATE.log.append(
            {
                "path": request.path,
                "body": body,
                "step": step,
                "at": time.time(),
                "in_flight": STATE.in_flight,
                "has_key": has_key(request),
            }
        )
    try:
        if STATE.latency_s:
            await asyncio.sleep(STATE.latency_s)
        return await act(request, body, key, step)
    finally:
        STATE.in_flight -= 1


@cache
def packed_blanks() -> bytes:
    """40 MB of blanks in a few kilobytes."""
    return gzip.compress(b" " * (40 << 20), compresslevel=1)


def sent_key(request: web.Request) -> str:
    return request.headers.get("x-api-key") or request.headers.get("Authorization", "")[7:]


def has_key(request: web.Request) -> bool:
    return bool(sent_key(request))


async def act(
    request: web.Request, body: dict[str, Any], key: str, step: str
) -> web.StreamResponse:
    kind, _, argument = step.partition(":")
    make = anthropic_answer if request.path.endswith("/messages") else chat_answer
    if kind == "mode":
        asked = Asked(request, make(body, key, "ok"), sent_key(request))
        return await MODES[argument].act(asked)
    if kind == "edit":
        asked = Asked(request, make(body, key, "ok"), sent_key(request))
        return await edited(*MESSAGE_EDITS[argument][:2])(asked)
    if kind == "429":
        headers = {"Retry-After": argument} if argument else {}
        return web.json_response(
            {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}},
            status=429,
            headers=headers,
        )
    if kind == "429date":
        when = formatdate(time.time() + float(argument or 1), usegmt=True)
        return web.json_response({"error": {}}, status=429, headers={"Retry-After": when})
    if kind == "wrapped429":
        return web.json_response({"error": {"message": "upstream busy", "code": 429}})
    if kind == "hang":
        await asyncio.sleep(float(argument or 3600))
    if kind == "reset":
        assert request.transport is not None
        sock = request.transport.get_extra_info("socket")
        # Linger 0 makes the kernel send RST instead of FIN.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
        return web.Response()
    if kind in ("truncated", "unfinished"):
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [{"mess')
        if kind == "unfinished":
            await asyncio.sleep(3600)
        assert request.transport is not None
        request.transport.close()
        return response
    if kind == "invalid_json":
        return web.Response(text='{"choices": [', content_type="application/json")
    if kind == "html":
        return web.Response(text="<html>502 Bad Gateway</html>", status=int(argument or 200))
    if kind == "gzip_bomb":
        return web.Response(body=packed_blanks(), headers={"Content-Encoding": "gzip"})
    if kind == "no_choices":
        return web.json_response({"choices": []})
    if kind == "list":
        return web.json_response([1, 2])
    if kind == "redirect":
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})
    if kind == "needs_completion_tokens" and "max_tokens" in body:
        kind = "400_max_tokens"
    if kind == "needs_few_logprobs" and body.get("top_logprobs", 0) > 5:
        kind = "400_top_logprobs"
    if kind == "needs_no_schema" and "response_format" in body:
        kind = "400_schema"
    if kind == "needs_no_temperature" and "temperature" in body:
        kind = "400_temperature"
    if kind == "echo_images":
        error = {"message": "bad image", "input": body["messages"]}
        return web.json_response({"error": error}, status=400)
    if kind in ERRORS:
        status, payload = error_body(kind, sent_key(request))
        return web.json_response(payload, status=status)
    return web.json_response(make(body, key, step))


# --- files and batches -----------------------------------------------------------------------


async def upload(request: web.Request) -> web.Response:
    STATE.log.append({"path": request.path, "at": time.time()})
    content, purpose = b"", ""
    async for part in await request.multipart():
        if part.name == "file":  # type: ignore[union-attr]  # nested multipart is not sent
            content = await part.read(decode=False)  # type: ignore[union-attr]  # as above
        elif part.name == "purpose":  # type: ignore[union-attr]  # as above
            purpose = await part.text()  # type: ignore[union-attr]  # as above
    file_id = f"file-{len(STATE.files) + 1}"
    STATE.files[file_id] = content
    return web.json_response({"id": file_id, "object": "file", "purpose": purpose})


async def download(request: web.Request) -> web.Response:
    content = STATE.files.get(request.match_info["id"])
    if content is None:
        return web.json_response({"error": {"message": "No such File object"}}, status=404)
    return web.Response(body=content, content_type="application/octet-stream")


async def create_batch(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    STATE.log.append({"path": request.path, "body": body, "at": time.time()})
    if STATE.batch_faults:
        fault = STATE.batch_faults.pop(0)
        if fault == "lost_answer":
            register(body)
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
    return web.json_response(register(body))


def register(body: dict[str, Any]) -> dict[str, Any]:
    batch_id = f"batch_{len(STATE.batches) + 1}"
    batch = {
        "id": batch_id,
        "object": "batch",
        "status": "validating",
        "polls": 0,
        "endpoint": body["endpoint"],
        "input_file_id": body["input_file_id"],
        "metadata": body.get("metadata") or {},
        "output_file_id": None,
        "error_file_id": None,
        "request_counts": {"total": 0, "completed": 0, "failed": 0},
    }
    STATE.batches[batch_id] = batch
    return batch


def batch_body(body: dict[str, Any], key: str, step: str) -> Any:
    kind, _, name = step.partition(":")
    if kind != "mode":
        return chat_answer(body, key, step)
    path, value, *_ = EDITS[name]
    changed = edit(chat_answer(body, key, "ok"), path, value)
    return json.loads(filled(changed, STATE.batch_key))


def batch_call(body: dict[str, Any]) -> tuple[str, str]:
    """The key of one call in a batch, which is counted, and the script's step for it."""
    messages = body["messages"]
    content = "\n".join(str(m["content"]) for m in messages) + str(body.get("system", ""))
    key = hashlib.sha256(json.dumps(unmarked([messages, body.get("system")])).encode()).hexdigest()
    STATE.counts[key] += 1
    return key, STATE.next_step(content, key)


def work_off(batch: dict[str, Any]) -> None:
    good, bad = [], []
    for line in STATE.files[batch["input_file_id"]].decode().splitlines():
        call = json.loads(line)
        body = call["body"]
        key, step = batch_call(body)
        if step == "dropped":
            continue
        if step in ERRORS:
            status, payload = error_body(step, "")
            bad.append(
                {
                    "custom_id": call["custom_id"],
                    "error": None,
                    "response": {"status_code": status, "body": payload},
                }
            )
        elif step == "expired":
            bad.append(
                {
                    "custom_id": call["custom_id"],
                    "response": None,
                    "error": {"code": "batch_expired", "message": "expired"},
                }
            )
        else:
            good.append(
                {
                    "custom_id": call["custom_id"],
                    "error": None,
                    "response": {"status_code": 200, "body": batch_body(body, key, step)},
                }
            )
    good.reverse()  # OpenAI promises no order
    for name, rows in (("output_file_id", good), ("error_file_id", bad)):
        if rows:
            file_id = f"file-{len(STATE.files) + 1}"
            STATE.files[file_id] = "".join(json.dumps(row) + "\n" for row in rows).encode()
            batch[name] = file_id
    batch["request_counts"] = {
        "total": len(good) + len(bad),
        "completed": len(good),
        "failed": len(bad),
    }


async def show_batch(request: web.Request) -> web.Response:
    batch = STATE.batches.get(request.match_info["id"])
    STATE.log.append({"path": request.path, "at": time.time()})
    if batch is None:
        return web.json_response({"error": {"message": "No batch with that id"}}, status=404)
    batch["polls"] += 1
    if batch["polls"] >= STATE.polls_needed and batch["status"] in ("validating", "in_progress"):
        batch["status"] = "failed" if "batch_failed" in STATE.batch_faults else "completed"
        if batch["status"] == "completed":
            work_off(batch)
        else:
            batch["errors"] = {"data": [{"message": "Enqueued token limit reached", "line": None}]}
    elif batch["status"] == "validating":
        batch["status"] = "in_progress"
    return web.json_response(batch)


async def list_batches(request: web.Request) -> web.Response:
    newest = list(reversed(STATE.batches.values()))
    return web.json_response({"object": "list", "data": newest, "has_more": False})


async def create_message_batch(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    STATE.log.append({"path": request.path, "body": body, "at": time.time()})
    fault = STATE.batch_faults.pop(0) if STATE.batch_faults else "none"
    if fault == "lost_request":
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    batch_id = f"msgbatch_{len(STATE.batches) + 1}"
    batch = {
        "id": batch_id,
        "type": "message_batch",
        "processing_status": "in_progress",
        "request_counts": dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0)
        | {"processing": len(body["requests"])},
        "results_url": None,
        "requests": body["requests"],
        "polls": 0,
    }
    STATE.batches[batch_id] = batch
    if fault == "lost_answer":
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    return web.json_response(message_batch(batch))


def message_batch(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if name not in ("requests", "polls")}


def answer_messages(batch: dict[str, Any]) -> None:
    """The results of a batch: what happened to each call, in another order than it was sent."""
    lines = []
    for call in batch["requests"]:
        key, step = batch_call(call["params"])
        if step == "dropped":
            continue
        if step in ERRORS:
            error = error_body(step, "")[1]["error"]
            result = {"type": "errored", "error": {"type": "error", "error": error}}
        elif step in ("expired", "canceled"):
            result = {"type": step}
        else:
            message = anthropic_answer(call["params"], key, step)
            result = {"type": "succeeded", "message": message}
        lines.append({"custom_id": call["custom_id"], "result": result})
    lines.reverse()
    batch["request_counts"]["processing"] = 0
    for line in lines:
        batch["request_counts"][line["result"]["type"]] += 1
    STATE.files[batch["id"]] = "".join(json.dumps(line) + "\n" for line in lines).encode()


async def show_message_batch(request: web.Request) -> web.Response:
    batch = STATE.batches.get(request.match_info["id"])
    STATE.log.append({"path": request.path, "at": time.time()})
    if batch is None:
        return web.json_response({"error": {"message": "No such batch"}}, status=404)
    batch["polls"] += 1
    if batch["polls"] >= STATE.polls_needed and batch["processing_status"] == "in_progress":
        batch["processing_status"] = "ended"
        host = STATE.results_host or str(request.url.origin())
        batch["results_url"] = f"{host}{request.path}/results"
        answer_messages(batch)
    return web.json_response(message_batch(batch))


async def list_message_batches(request: web.Request) -> web.Response:
    newest = list(reversed(STATE.batches.values()))
    if after := request.query.get("after_id"):
        newest = newest[[batch["id"] for batch in newest].index(after) + 1 :]
    limit = int(request.query["limit"])
    data = [message_batch(batch) for batch in newest[:limit]]
    return web.json_response({"data": data, "has_more": len(newest) > limit})


# --- control ---------------------------------------------------------------------------------


async def steal(request: web.Request) -> web.Response:
    STATE.log.append({"path": request.path, "at": time.time(), "has_key": has_key(request)})
    return web.json_response({})


async def set_script(request: web.Request) -> web.Response:
    script = await request.json()
    for name, value in script.items():
        if not hasattr(STATE, name):
            return web.json_response({"error": f"no setting {name}"}, status=400)
        setattr(STATE, name, value)
    return web.json_response({})


async def show_log(_: web.Request) -> web.Response:
    return web.json_response(STATE.log)


async def show_counts(_: web.Request) -> web.Response:
    return web.json_response(
        {
            "requests": sum(STATE.counts.values()),
            "contents": len(STATE.counts),
            "most_per_content": max(STATE.counts.values(), default=0),
            "most_in_flight": STATE.most_in_flight,
        }
    )


async def reset(_: web.Request) -> web.Response:
    STATE.reset()
    return web.json_response({})


def make_app() -> web.Application:
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_post("/v1/messages", answer)
    app.router.add_post("/v1/messages/batches", create_message_batch)
    app.router.add_get("/v1/messages/batches", list_message_batches)
    app.router.add_get("/v1/messages/batches/{id}", show_message_batch)
    app.router.add_get("/v1/messages/batches/{id}/results", download)
    app.router.add_post("/v1/files", upload)
    app.router.add_get("/v1/files/{id}/content", download)
    app.router.add_post("/v1/batches", create_batch)
    app.router.add_get("/v1/batches", list_batches)
    app.router.add_get("/v1/batches/{id}", show_batch)
    app.router.add_route("*", "/steal", steal)
    app.router.add_post("/control/script", set_script)
    app.router.add_get("/control/log", show_log)
    app.router.add_get("/control/counts", show_counts)
    app.router.add_post("/control/reset", reset)
    return app


async def serve(port: int) -> None:
    runner = web.AppRunner(make_app(), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    listening = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]  # started
    print(f"ready {listening}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(serve(parser.parse_args().port))
