"""Which program is behind an OpenAI-compatible API: asked once, because each has its habits.

Rows name the program and its version. Neither is part of the fingerprint: a patch release does not
make another judge. What it changes of the way a judge is asked does (the route).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from adjudge.errors import JudgeRefusedError
from adjudge.judges.backends._http import Server

#: `owned_by` in the list of models -> what the program is called here.
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "library": "ollama"}
#: Where each program says its version, and under which name.
_VERSIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "vllm": (("/version", "version"),),
    "sglang": (("/server_info", "version"), ("/get_server_info", "version")),
    "llamacpp": (("/props", "build_info"),),
    "ollama": (("/api/version", "version"),),
}
_SHORT_NAMES = frozenset({"ollama"})
#: A server that does not say what it is within this time is asked as any other.
_PATIENCE_S = 5.0
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A program and its version, "" where it does not say.

    `own_models`: it runs models of one's own, and no maker's. `short_names`: it knows `max_tokens`
    alone, and leaves `max_completion_tokens` out without a word.

    >>> str(ServerKind("vllm", "0.30.0")), str(ServerKind())
    ('vllm 0.30.0', '')
    """

    name: str = ""
    version: str = ""

    @property
    def own_models(self) -> bool:
        return self.name in _VERSIONS

    @property
    def short_names(self) -> bool:
        return self.name in _SHORT_NAMES

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


async def recognise(server: Server, model: str) -> ServerKind:
    """What answers there, by its list of models; its version where it tells one."""
    listed = await look(server, "/models")
    models = listed.get("data")
    entries = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    named = [one for one in entries if one.get("id") == model] or entries
    owner = _word(named[0].get("owned_by")) if named else ""
    name = _OWNERS.get(owner.lower(), "")
    if not name and owner not in ("openai", "system"):
        # An older Ollama lists its models under the name of their maker.
        version = _word((await look(server, server.at_root("/api/version"))).get("version"))
        if version:
            return ServerKind("ollama", version)
    for path, field in _VERSIONS.get(name, ()):
        version = _word((await look(server, server.at_root(path))).get(field))
        if version:
            return ServerKind(name, version)
    return ServerKind(name or owner)


async def look(server: Server, path: str) -> Mapping[str, Any]:
    """The object that a GET answers with; nothing where there is none."""
    patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
    try:
        answer = await server.exchange("GET", path, attempts=1, timeout=patience)
    except JudgeRefusedError:
        return {}  # who asks the first question is told why
    good = answer.http_status == 200 and isinstance(answer.payload, dict)
    return answer.payload if good else {}


def _word(value: object) -> str:
    """A name that a server gives, if it is one."""
    return value[:_LONGEST_NAME] if isinstance(value, str) and value.isprintable() else ""
