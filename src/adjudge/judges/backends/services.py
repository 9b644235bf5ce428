"""Common servers by name: their address and the variable of their key, over one client.

`gemini:MODEL` is `openai:MODEL --base-url https://generativelanguage.googleapis.com/v1beta/openai
--api-key-env GEMINI_API_KEY`, and has the same fingerprint. Addresses and variables are those of
the makers (OpenRouter's and Gemini's checked in their documentation, 2026-11). They were tested
against stub servers that imitate them, not against the services.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

from adjudge.errors import ArgumentError
from adjudge.judges.backends._chat_server import named_in
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.interface import Question


class _Service(OpenAIBackend):
    """A service with its own address and key; it has no batches that adjudge can use."""

    batches = False


class _OwnServer(_Service):
    """The user's own server: no key unless one is set, recognised by its answers."""

    hosted = False
    needs_key = False


def _service(name: str, model: str, url: str, kind: type[_Service] = _Service) -> type[_Service]:
    """The backend "NAME:", with an example of a model; its key is in NAME_API_KEY."""
    fields = {
        "__module__": __name__,
        "example": f"{name.lower()}:{model}",
        "maker_url": url,
        "key_variable": f"{name.upper()}_API_KEY",
    }
    return type(f"{name}Backend", (kind,), fields)


GeminiBackend = _service(
    "Gemini", "gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai"
)
MistralBackend = _service("Mistral", "mistral-small-latest", "https://api.mistral.ai/v1")
GroqBackend = _service("Groq", "llama-3.3-70b-versatile", "https://api.groq.com/openai/v1")
TogetherBackend = _service(
    "Together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "https://api.together.xyz/v1"
)
DeepSeekBackend = _service("DeepSeek", "deepseek-chat", "https://api.deepseek.com/v1")
OllamaBackend = _service("Ollama", "llama3.1", "http://localhost:11434/v1", _OwnServer)
VLLMBackend = _service("VLLM", "Qwen/Qwen2.5-7B-Instruct", "http://localhost:8000/v1", _OwnServer)
SGLangBackend = _service(
    "SGLang", "Qwen/Qwen2.5-7B-Instruct", "http://localhost:30000/v1", _OwnServer
)


class OpenRouterBackend(_Service):
    """`openrouter:MODEL[?provider=NAME,NAME]`: models of many providers behind one address.

    Providers run one model with different programs and precisions, so the provider changes numbers.
    Only the named providers are used, without fallbacks, and they are part of the fingerprint. A
    provider that would silently drop log probabilities is never used.
    """

    example = "openrouter:meta-llama/llama-3.3-70b-instruct"
    maker_url = "https://openrouter.ai/api/v1"
    key_variable = "OPENROUTER_API_KEY"
    providers: Sequence[str] = ()

    @classmethod
    def parse(cls, model: str, **options: Any) -> Self:
        model, settings = _settings(model, "provider")
        backend = cls(model, **options)
        backend.providers = sorted(filter(None, settings.get("provider", "").split(",")))
        if backend.providers:
            backend.name += f"?provider={','.join(backend.providers)}"
        return backend

    def identity(self) -> Mapping[str, Any]:
        provider = {"provider": list(self.providers)} if self.providers else {}
        return {**super().identity(), **provider}

    def request_body(self, question: Question) -> dict[str, Any]:
        routing: dict[str, Any] = {"require_parameters": True}
        if self.providers:
            routing |= {"only": list(self.providers), "allow_fallbacks": False}
        return {"provider": routing, **super().request_body(question)}

    def server_name(self, payload: Any) -> str | None:
        provider = named_in(payload, "provider")
        return f"openrouter {provider[:40]}" if provider else super().server_name(payload)


class AzureBackend(_Service):
    """`azure:DEPLOYMENT[?api-version=VERSION]`, at AZURE_OPENAI_ENDPOINT or --base-url.

    Without a version it is Azure's v1 API, at https://RESOURCE.openai.azure.com/openai/v1.
    """

    example = "azure:my-deployment"
    maker_url = "https://RESOURCE.openai.azure.com/openai/v1"
    key_variable = "AZURE_OPENAI_API_KEY"
    variables = ("AZURE_OPENAI_ENDPOINT",)

    @classmethod
    def parse(cls, model: str, **options: Any) -> Self:
        model, settings = _settings(model, "api-version")
        version = settings.get("api-version")
        endpoint = os.environ.get("AZURE_OPENAI_ENDPOINT", "").rstrip("/")
        if endpoint and not options.get("base_url"):
            options["base_url"] = endpoint if version else f"{endpoint}/openai/v1"
        if not options.get("base_url"):
            remedy = "set AZURE_OPENAI_ENDPOINT, or give --base-url https://RESOURCE.openai.azure"
            raise ArgumentError("judge", f"azure:{model}", f"{remedy}.com/openai/v1")
        backend = cls(model, **options)
        if version:
            place = f"/openai/deployments/{quote(model, safe='')}/chat/completions"
            backend.path = f"{place}?api-version={version}"
        return backend

    def headers(self, key: str) -> dict[str, str]:
        return {"api-key": key} if key else {}

    def identity(self) -> Mapping[str, Any]:
        version = self.path.partition("api-version=")[2]
        return {**super().identity(), **({"api_version": version} if version else {})}


def _settings(model: str, name: str) -> tuple[str, dict[str, str]]:
    """The model, and the settings after a question mark.

    >>> _settings("m?provider=x,y", "provider")
    ('m', {'provider': 'x,y'})
    """
    bare_model, mark, rest = model.partition("?")
    settings = dict(part.partition("=")[::2] for part in rest.split("&")) if mark else {}
    for setting, value in settings.items():
        if setting != name or not re.fullmatch(r"[\w.,/-]+", value):
            raise ArgumentError("judge", model, f"after the question mark write {name}=VALUE")
    return bare_model, settings
