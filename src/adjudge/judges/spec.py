"""Parse `--judge BACKEND:MODEL` and `--protocol NAME`.

Each backend and protocol has one line here and one file, imported when it is used. Packages add
theirs by entry points of the groups `adjudge.backends` and `adjudge.protocols`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from adjudge.errors import ArgumentError, BackendMissingError
from adjudge.judges.interface import Backend, JudgeProtocol
from adjudge.plugins import Builtin, Registry

Kind = TypeVar("Kind", type[Backend], type[JudgeProtocol])
_BACKENDS = "adjudge.judges.backends."
_PROTOCOLS = "adjudge.judges.protocols."

BACKENDS: Registry[type[Backend]] = Registry(
    "judge",
    "adjudge.backends",
    {
        "openai": Builtin(_BACKENDS + "openai:OpenAIBackend"),
        **{
            name: Builtin(f"{_BACKENDS}services:{kind}")
            for name, kind in {
                "azure": "AzureBackend",
                "gemini": "GeminiBackend",
                "openrouter": "OpenRouterBackend",
                "mistral": "MistralBackend",
                "groq": "GroqBackend",
                "together": "TogetherBackend",
                "deepseek": "DeepSeekBackend",
                "ollama": "OllamaBackend",
                "vllm": "VLLMBackend",
                "sglang": "SGLangBackend",
            }.items()
        },
        "anthropic": Builtin(_BACKENDS + "anthropic:AnthropicBackend"),
        "llamacpp": Builtin(_BACKENDS + "llamacpp:LlamaCppBackend", "embedded"),
        "transformers": Builtin(_BACKENDS + "transformers:TransformersBackend", "transformers"),
        "replay": Builtin(_BACKENDS + "replay:ReplayBackend"),
        "simulated": Builtin(_BACKENDS + "simulated:SimulatedBackend"),
    },
)
PROTOCOLS: Registry[type[JudgeProtocol]] = Registry(
    "protocol",
    "adjudge.protocols",
    {
        "preference": Builtin(_PROTOCOLS + "preference:Preference"),
        "likelihood": Builtin(_PROTOCOLS + "likelihood:LikelihoodProtocol"),
        "verbalized": Builtin(_PROTOCOLS + "verbalized:Verbalized"),
        "annotators": Builtin(_PROTOCOLS + "annotators:Annotators"),
        "rubric": Builtin(_PROTOCOLS + "rubric:Rubric"),
        "criterion": Builtin(_PROTOCOLS + "criterion:ByCriterion"),
        "likert": Builtin(_PROTOCOLS + "likert:Likert"),
        "grade": Builtin(_PROTOCOLS + "grade:GradeProtocol"),
    },
)


def parse_judge(spec: str, **options: Any) -> Backend:
    """The backend of a spec. Options that are None get the backend's default.

    >>> parse_judge("simulated:accuracy=0.9").name
    'simulated:accuracy=0.9,position_bias=0,noise=0,seed=0'
    """
    name, colon, model = spec.partition(":")
    if name not in BACKENDS:
        backends = _installed(BACKENDS)
        # A model's name alone is the usual mistake: most are models of the first backend.
        example = (
            next(iter(backends.values())).example if colon else f"{next(iter(backends))}:{spec}"
        )
        raise ArgumentError(
            "judge",
            spec,
            f"write BACKEND:MODEL, such as {example}; backends: {', '.join(backends)}",
        )
    backend = BACKENDS.load(name)
    if not model and backend.needs_model:
        remedy = "name a model after the colon" if colon else "name a model after a colon"
        raise ArgumentError("judge", spec, f"{remedy}, such as {backend.example}")
    return backend.parse(model, **_options(BACKENDS, name, options))


def parse_protocol(name: str, **options: Any) -> JudgeProtocol:
    """The protocol of that name. Options that are None get the protocol's default.

    >>> parse_protocol("preference", samples=None).name
    'preference'
    """
    protocol = PROTOCOLS.load(name)
    for option, why in protocol.unfit_options.items():
        if options.get(option) is not None:
            raise ArgumentError(option, options[option], f"leave it out: {why}")
    return protocol(**_options(PROTOCOLS, name, options))


def _options(registry: Registry[Kind], name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, if the backend or protocol takes them all."""
    given = {option: value for option, value in options.items() if value is not None}
    for option, value in given.items():
        if option not in registry.load(name).options:
            takers = [
                other for other, kind in _installed(registry).items() if option in kind.options
            ]
            raise ArgumentError(
                option,
                getattr(value, "name", value),
                f"leave it out: {registry.noun} {name} does not take it"
                + (f" ({', '.join(takers)} take it)" if takers else ""),
            )
    return given


def _installed(registry: Registry[Kind]) -> dict[str, Kind]:
    """All of a kind whose libraries are installed, for messages."""
    kinds: dict[str, Kind] = {}
    for name in registry:
        try:
            kinds[name] = registry.load(name)
        except BackendMissingError:
            continue
    return kinds
