"""From what a user types to a judge: `--judge BACKEND:MODEL` and `--protocol NAME`.

Each backend and protocol is one line here and one file of its own, imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from adjudge.errors import ArgumentError, BackendMissingError
from adjudge.judges.interface import Backend, JudgeProtocol


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a backend or protocol lives, which options it takes, how an example reads.

    `make` is called with what stands after the colon (backends only) and the options it takes.
    `items` marks a protocol about single responses; the others are about pairs.
    """

    module: str
    make: str
    takes: tuple[str, ...] = ()
    example: str = ""
    extra: str | None = None
    items: bool = False


_BACKENDS = "adjudge.judges.backends."
_PROTOCOLS = "adjudge.judges.protocols."

BACKENDS: Mapping[str, Entry] = {
    "openai": Entry(
        _BACKENDS + "openai",
        "OpenAIBackend",
        ("base_url", "api_key_env", "extra_body", "concurrency", "timeout"),
        "openai:gpt-4.1-mini",
    ),
    "anthropic": Entry(
        _BACKENDS + "anthropic",
        "AnthropicBackend",
        ("base_url", "api_key_env", "concurrency", "timeout"),
        "anthropic:claude-haiku-4-5",
    ),
    "llamacpp": Entry(
        _BACKENDS + "llamacpp", "LlamaCppBackend.parse", (), "llamacpp:smollm2", "embedded"
    ),
    "transformers": Entry(
        _BACKENDS + "transformers",
        "TransformersBackend",
        (),
        "transformers:Qwen/Qwen2.5-7B-Instruct",
        "transformers",
    ),
    "replay": Entry(_BACKENDS + "replay", "ReplayBackend", (), "replay:FILE"),
    "simulated": Entry(
        _BACKENDS + "simulated", "SimulatedBackend.parse", (), "simulated:accuracy=0.8,seed=1"
    ),
}

PROTOCOLS: Mapping[str, Entry] = {
    "preference": Entry(
        _PROTOCOLS + "preference", "Preference", ("prompt", "samples", "max_tokens")
    ),
    "likelihood": Entry(_PROTOCOLS + "likelihood", "LikelihoodProtocol"),
    "verbalized": Entry(_PROTOCOLS + "verbalized", "Verbalized", ("prompt", "max_tokens", "seed")),
    "annotators": Entry(
        _PROTOCOLS + "annotators", "Annotators", ("pool", "prompt", "samples", "max_tokens", "seed")
    ),
    "rubric": Entry(_PROTOCOLS + "rubric", "Rubric", ("criteria", "prompt", "max_tokens")),
    "criterion": Entry(
        _PROTOCOLS + "criterion", "ByCriterion", ("criteria", "prompt", "samples", "max_tokens")
    ),
    "likert": Entry(
        _PROTOCOLS + "likert", "Likert", ("criteria", "prompt", "samples", "max_tokens"), items=True
    ),
}


def parse_judge(spec: str, **options: Any) -> Backend:
    """The backend that a spec names. Options that are None are left to the backend.

    >>> parse_judge("simulated:accuracy=0.9").name
    'simulated:accuracy=0.9,position_bias=0,noise=0,seed=0'
    """
    name, colon, model = spec.partition(":")
    examples = ", ".join(entry.example for entry in BACKENDS.values())
    if name not in BACKENDS:
        raise ArgumentError("judge", spec, f"write one of {examples}")
    entry = BACKENDS[name]
    if not model and name != "simulated":
        remedy = "name a model after the colon" if colon else "name a model after a colon"
        raise ArgumentError("judge", spec, f"{remedy}, such as {entry.example}")
    given = _taken(entry, "judge", name, options)
    return cast(Backend, _make(entry, name)(model, **given))


def parse_protocol(name: str, **options: Any) -> JudgeProtocol:
    """The protocol of that name. Options that are None are left to the protocol.

    >>> parse_protocol("preference", samples=None).name
    'preference'
    """
    if name not in PROTOCOLS:
        raise ArgumentError("protocol", name, "choose one of " + ", ".join(PROTOCOLS))
    entry = PROTOCOLS[name]
    return cast(JudgeProtocol, _make(entry, name)(**_taken(entry, "protocol", name, options)))


def _taken(entry: Entry, kind: str, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    given = {option: value for option, value in options.items() if value is not None}
    for option, value in given.items():
        if option not in entry.takes:
            known = BACKENDS if kind == "judge" else PROTOCOLS
            takers = [other for other, found in known.items() if option in found.takes]
            remedy = f"leave it out: {kind} {name} does not take it"
            raise ArgumentError(
                option,
                getattr(value, "name", value),
                remedy + (f" ({', '.join(takers)} would)" if takers else ""),
            )
    return given


def _make(entry: Entry, name: str) -> Any:
    try:
        found: Any = import_module(entry.module)
    except ImportError as error:
        install = f"pip install 'adjudge[{entry.extra}]'" if entry.extra else "reinstall adjudge"
        raise BackendMissingError(f"{name}: {error}; run: {install}") from error
    for part in entry.make.split("."):
        found = getattr(found, part)
    return found
