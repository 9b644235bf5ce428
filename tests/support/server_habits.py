"""Servers as they are: stubs of vLLM, SGLang, Ollama and others, in a process of its own.

    python tests/support/server_habits.py        prints "ready PORT" when it listens

Each habit is an address of its own, http://127.0.0.1:PORT/HABIT/v1, and one model stands behind all
of them: `first_token` gives the probability of every first token from the messages alone, so that a
test knows the numbers a good client must end with. Some letters are too unlikely to be among the
likeliest 20.

GET /HABIT/control/log tells what arrived, GET /HABIT/control/prefixes how much of the prompts a
cache of the last prompts would have known, POST /HABIT/control/reset forgets both; POST
/HABIT/control/become/OTHER is an update of the server, which has the other's habits from then on.
POST /HABIT/control/answer/PATH makes what is sent with it the answer to every request of that path,
until nothing is sent with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections import deque
from typing import Any

from aiohttp import web

#: The tokens of the model: letters in their spellings, then what else it may begin with.
LETTERS = {"A": 32, " A": 362, "(A": 4444, "A.": 32013, "B": 33, " B": 425, "(B": 5462, "B.": 33013}
OTHERS = {f"word{i}": 1000 + i for i in range(30)}
TOKENS = {**LETTERS, **OTHERS}
TEXTS = {number: text for text, number in TOKENS.items()}
#: What a server's cache remembers, in prompts.
_CACHED = 8

Body = dict[str, Any]


def share(text: str) -> float:
    """A number in (0, 1) from a text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def p_of_a(messages: list[dict[str, str]]) -> float:
    """P(A) among the letters: often so extreme that one letter is among no 20 likeliest tokens."""
    return 1 / (1 + math.exp(-16 * (share(json.dumps(messages)) - 0.5)))


def first_token(messages: list[dict[str, str]]) -> dict[str, float]:
    """The log probability of every first token."""
    p_a, split = p_of_a(messages), (0.7, 0.2, 0.07, 0.03)
    probabilities = {}
    for spelling, part in zip(("A", " A", "(A", "A."), split, strict=True):
        probabilities[spelling] = 0.8 * p_a * part
        probabilities[spelling.replace("A", "B")] = 0.8 * (1 - p_a) * part
    probabilities |= dict.fromkeys(OTHERS, 0.2 / len(OTHERS))
    return {token: math.log(value) for token, value in probabilities.items()}


def mean_logprob(messages: list[dict[str, str]], continuation: str) -> float:
    """What the model thinks of an answer: the mean over its tokens (characters)."""
    return -0.1 - 3 * share(json.dumps(messages) + continuation)


def likeliest(messages: list[dict[str, str]], number: int) -> list[tuple[str, float]]:
    ranked = sorted(first_token(messages).items(), key=lambda pair: -pair[1])
    return ranked[:number]


def alike(one: str, other: str) -> int:
    """How many characters two texts share from their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


class Habit:
    """A server: what arrived there, and a cache that counts what prompts share."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.log: list[Body] = []
        self.cache: deque[str] = deque(maxlen=_CACHED)
        self.characters = self.shared = 0

    def remember(self, prompt: str) -> None:
        self.characters += len(prompt)
        self.shared += max((alike(prompt, old) for old in self.cache), default=0)
        self.cache.append(prompt)


ANSWERS: dict[str, bytes] = {}
HABITS: dict[str, Habit] = {}
UPDATED: dict[str, str] = {}


def name_of(request: web.Request) -> str:
    name = request.match_info["habit"]
    return UPDATED.get(name, name)


def habit_of(request: web.Request) -> Habit:
    return HABITS.setdefault(request.match_info["habit"], Habit())


def refuse(status: int, message: str, **more: Any) -> web.Response:
    return web.json_response({"error": {"message": message, **more}}, status=status)


def completion(body: Body, top: list[tuple[str, float]], **more: Any) -> web.Response:
    """A chat completion whose first token has these alternatives."""
    text = max(first_token(body["messages"]).items(), key=lambda pair: pair[1])[0]
    entries = [{"token": token, "logprob": value, "bytes": None} for token, value in top]
    first = {"token": text, "logprob": dict(top).get(text, -0.5), "top_logprobs": entries}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "length",
        "logprobs": {"content": [first]} if body.get("logprobs") else None,
    }
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    return web.json_response({"id": "x", "choices": [choice], "usage": usage, **more})


# --- the habits ------------------------------------------------------------------------------


async def chat(request: web.Request) -> web.Response:
    name, body = name_of(request), await request.json()
    habit = habit_of(request)
    habit.log.append({"path": "chat", "key": request.headers.get("api-key"), **body})
    habit.remember("\n".join(message["content"] for message in body["messages"]))
    asked = int(body.get("top_logprobs", 0))
    top = likeliest(body["messages"], asked)
    if name == "busy" and len(habit.log) % 2:
        return web.json_response({"error": {"message": "slow down"}}, status=429,
                                 headers={"Retry-After": "0.01"})  # fmt: skip
    if name == "five" and asked > 5:
        words = f"Requested sample logprobs of {asked}, which is greater than max allowed: 5"
        return web.json_response({"object": "error", "message": words, "code": 400}, status=400)
    if name == "param":
        if "max_tokens" in body:
            return refuse(400, "Unsupported parameter.", param="max_tokens")
        if asked > 5:
            return refuse(400, "Invalid request.", param="top_logprobs")
    if name == "reasoning" and body.get("reasoning_effort") != "none" and body.get("logprobs"):
        return refuse(400, "logprobs are not supported with reasoning models.", param="logprobs")
    if name == "ollama" and "max_completion_tokens" in body:
        return refuse(400, "json: unknown field max_completion_tokens")
    if name == "ollama" and len(habit.log) == 3:
        return refuse(400, "the gateway prefers max_completion_tokens")
    if name == "openrouter":
        routing = body.get("provider", {})
        if routing.get("require_parameters") is not True:
            top = []  # an upstream that drops what it does not know
        return completion(body, top, provider=(routing.get("only") or ["Anyone"])[0])
    if name == "vllm" and body.get("logprob_token_ids"):
        if len(body["logprob_token_ids"]) > 128:
            return refuse(400, "logprob_token_ids takes at most 128 ids")
        logprobs = first_token(body["messages"])
        drawn = likeliest(body["messages"], 1)
        named = [(TEXTS[token], logprobs[TEXTS[token]]) for token in body["logprob_token_ids"]]
        return completion(body, list(dict([*drawn, *named]).items()))
    if name == "legacy":
        answer = completion(body, top)
        payload = json.loads(answer.body)  # type: ignore[arg-type]  # bytes: it was just made
        payload["choices"][0]["logprobs"] = {
            "tokens": [top[0][0]], "token_logprobs": [top[0][1]], "top_logprobs": [dict(top)],
        }  # fmt: skip
        return web.json_response(payload)
    return completion(body, top)


async def tokenize(request: web.Request) -> web.Response:
    """The longest token that the text goes on with, else one for the character."""
    name, body = name_of(request), await request.json()
    habit_of(request).log.append({"path": "tokenize", **body})
    if not name.startswith(("vllm", "sglang")):
        return web.json_response({"detail": "Not Found"}, status=404)
    if "messages" in body:
        if name == "sglang_old":
            return web.json_response({"detail": "prompt: Field required"}, status=422)
        prompt = json.dumps(body["messages"])
        tokens = [50_000 + ord(letter) for letter in prompt]
    else:
        rest, tokens = body["prompt"], []
        while rest:
            known = max((text for text in TOKENS if rest.startswith(text)), key=len, default="")
            tokens.append(TOKENS[known] if known else 50_000 + ord(rest[0]))
            rest = rest[len(known) or 1 :]
    return web.json_response({"tokens": tokens, "count": len(tokens), "max_model_len": 32768})


def read_tokens(tokens: list[int]) -> tuple[list[dict[str, str]], str]:
    """The messages, and what follows them, from the ids that `tokenize` gave."""
    text = "".join(TEXTS.get(token) or chr(token - 50_000) for token in tokens)
    messages, end = json.JSONDecoder().raw_decode(text)
    return messages, text[end:]


async def generate(request: web.Request) -> web.Response:
    """SGLang's own endpoint."""
    name, body = name_of(request), await request.json()
    habit_of(request).log.append({"path": "generate", **body})
    if not name.startswith("sglang"):
        return web.json_response({"detail": "Not Found"}, status=404)
    messages, tail = read_tokens(body["input_ids"])
    logprobs = first_token(messages)
    meta: Body = {"prompt_tokens": len(body["input_ids"]), "completion_tokens": 1}
    if tail:
        start = body["logprob_start_len"]
        scored = [[None, body["input_ids"][start], None]]
        scored += [[mean_logprob(messages, tail), token, None]
                   for token in body["input_ids"][start + 1 :]]  # fmt: skip
        meta["input_token_logprobs"] = scored
    elif body.get("token_ids_logprob"):
        ids = body["token_ids_logprob"]
        meta["output_token_ids_logprobs"] = [[[logprobs[TEXTS[i]], i, None] for i in ids]]
    return web.json_response({"text": likeliest(messages, 1)[0][0], "meta_info": meta})


async def complete(request: web.Request) -> web.Response:
    """vLLM's text completions, with log probabilities of the prompt."""
    body = await request.json()
    habit_of(request).log.append({"path": "completions", **body})
    messages, tail = read_tokens(body["prompt"])
    value = mean_logprob(messages, tail)
    places: list[Body | None] = [None]
    places += [{str(token): {"logprob": value, "rank": 1, "decoded_token": "?"}}
               for token in body["prompt"][1:]]  # fmt: skip
    choice = {"index": 0, "text": "x", "prompt_logprobs": places}
    return web.json_response({"choices": [choice], "usage": {}})


OWNERS = {"vllm": "vllm", "vllm_old": "vllm", "sglang": "sglang", "sglang_old": "sglang",
          "ollama": "library", "llamacpp": "llamacpp"}  # fmt: skip
VERSIONS = {
    ("vllm", "version"): {"version": "0.30.0"},
    ("vllm_old", "version"): {"version": "0.9.1"},
    ("sglang", "server_info"): {"version": "0.6.2"},
    ("sglang_old", "get_server_info"): {"version": "0.4.1"},
    ("ollama", "api/version"): {"version": "0.12.3"},
    ("llamacpp", "props"): {"build_info": "b6000-abc"},
}


async def models(request: web.Request) -> web.Response:
    name = name_of(request)
    habit_of(request).log.append({"path": "models"})
    if name not in OWNERS:
        return web.json_response({"detail": "Not Found"}, status=404)
    return web.json_response({"data": [{"id": "judge-1", "owned_by": OWNERS[name]}]})


async def other(request: web.Request) -> web.Response:
    found = VERSIONS.get((name_of(request), request.match_info["rest"]))
    if found is None:
        return web.json_response({"detail": "Not Found"}, status=404)
    return web.json_response(found)


async def show(request: web.Request) -> web.Response:
    habit = habit_of(request)
    if request.match_info["what"] == "log":
        return web.json_response(habit.log)
    return web.json_response({"characters": habit.characters, "shared": habit.shared})


async def become(request: web.Request) -> web.Response:
    UPDATED[request.match_info["habit"]] = request.match_info["other"]
    return web.json_response({})


async def answer(request: web.Request) -> web.Response:
    place = f"/{request.match_info['habit']}/{request.match_info['path']}"
    ANSWERS[place] = await request.read()
    return web.json_response({})


@web.middleware
async def answer_as_said(request: web.Request, handler: Any) -> Any:
    if ANSWERS.get(request.path):
        return web.Response(body=ANSWERS[request.path], content_type="application/json")
    return await handler(request)


async def reset(request: web.Request) -> web.Response:
    habit_of(request).reset()
    return web.json_response({})


async def serve() -> None:
    app = web.Application(client_max_size=1 << 26, middlewares=[answer_as_said])
    app.router.add_get("/{habit}/v1/models", models)
    app.router.add_post("/{habit}/v1/chat/completions", chat)
    app.router.add_post("/{habit}/openai/deployments/{deployment}/chat/completions", chat)
    app.router.add_post("/{habit}/v1/completions", complete)
    app.router.add_post("/{habit}/tokenize", tokenize)
    app.router.add_post("/{habit}/generate", generate)
    app.router.add_post("/{habit}/control/reset", reset)
    app.router.add_post("/{habit}/control/become/{other}", become)
    app.router.add_post("/{habit}/control/answer/{path:.*}", answer)
    app.router.add_get("/{habit}/control/{what}", show)
    app.router.add_get("/{habit}/{rest:.*}", other)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    listening = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]  # started
    print(f"ready {listening}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
