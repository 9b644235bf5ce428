"""Makers of models, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: A family is recognised by a part of the model's name, at the start of a word.
_FAMILIES: tuple[tuple[str, str], ...] = (
    (r"gpt|o[134]-|o[134]$|chatgpt|davinci|openai", "OpenAI"),
    (r"claude|anthropic", "Anthropic"),
    (r"gemini|gemma|palm|bard|google", "Google"),
    (r"llama|meta", "Meta"),
    (r"qwen|qwq|alibaba", "Alibaba"),
    (r"mistral|mixtral|ministral|magistral|codestral", "Mistral"),
    (r"deepseek", "DeepSeek"),
    (r"grok|xai", "xAI"),
    (r"command|cohere|aya", "Cohere"),
    (r"phi|microsoft|wizardlm", "Microsoft"),
    (r"yi|01-ai", "01.AI"),
    (r"glm|chatglm|zhipu", "Zhipu"),
    (r"smollm|zephyr|huggingface", "Hugging Face"),
    (r"kimi|moonshot", "Moonshot"),
    (r"nemotron|nvidia", "NVIDIA"),
    (r"olmo|tulu|allenai", "AllenAI"),
)


def family_of(model: str, families: Mapping[str, str] | None = None) -> str | None:
    """The maker of a model by its name; None if unknown. `families` takes precedence.

    >>> family_of("openai/gpt-4o-mini"), family_of("gemma-2b"), family_of("vicuna-13b")
    ('OpenAI', 'Google', None)
    """
    if families is not None and model in families:
        return families[model]
    name = model.lower()
    for pattern, family in _FAMILIES:
        if re.search(rf"(?:^|[^a-z])(?:{pattern})(?![a-df-z])", name):
            return family
    return None


def of_family(
    models: Iterable[str | None], family: str, families: Mapping[str, str] | None = None
) -> list[bool]:
    """Which models are of the family; a model without a name is not."""
    return [model is not None and family_of(model, families) == family for model in models]
