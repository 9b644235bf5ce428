"""Which program is behind an OpenAI-compatible API. It is asked once, because programs differ.

Rows name the program and its version. Neither is part of the fingerprint: a patch release does not
make another judge. The route, the way a judge is asked, is part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from adjudge.errors import JudgeRefusedError
from adjudge.judges.backends._http import Server

#: `owned_by` in the list of models -> the name of the program here.
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "library": "ollama"}
#: The path and field of each program's version.
_VERSIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "vllm": (("/version", "version"),),
    "sglang": (("/server_info", "version"), ("/get_server_info", "version")),
    "llamacpp": (("/props", "build_info"),),
    "ollama": (("/api/version", "version"),),
}
_SHORT_NAMES = frozenset({"ollama"})
#: A server that does not answer within this time is treated as an unknown program.
_PATIENCE_S = 5.0
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A program and its version, "" if unknown.

    `own_models`: it runs the user's models, not those of a maker. `short_names`: it accepts only
    `max_tokens` and silently ignores `max_completion_tokens`.

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
    """The program that answers, by its list of models, and its version if it has one."""
    listed = await look(server, "/models")
    models = listed.get("data")
    entries = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    named = [one for one in entries if one.get("id") == model] or entries
    owner = _word(named[0].get("owned_by")) if named else ""
    name = _OWNERS.get(owner.lower(), "")
    if not name and owner not in ("openai", "system"):
        # An older Ollama lists its models with the name of their maker.
        version = _word((await look(server, server.at_root("/api/version"))).get("version"))
        if version:
            return ServerKind("ollama", version)
    for path, field in _VERSIONS.get(name, ()):
        version = _word((await look(server, server.at_root(path))).get(field))
        if version:
            return ServerKind(name, version)
    return ServerKind(name or owner)


async def look(server: Server, path: str) -> Mapping[str, Any]:
    """The object that a GET returns; empty if there is none."""
    patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
    try:
        answer = await server.exchange("GET", path, attempts=1, timeout=patience)
    except JudgeRefusedError:
        return {}  # the first question reports the reason
    good = answer.http_status == 200 and isinstance(answer.payload, dict)
    return answer.payload if good else {}


def _word(value: object) -> str:
    """A name from a server, if it is valid."""
    return value[:_LONGEST_NAME] if isinstance(value, str) and value.isprintable() else ""
