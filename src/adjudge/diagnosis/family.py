"""Same-family bias: does the judge favour its own maker's models? (Soft-Elo paper, F.1.)"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import open_unit, same_length
from adjudge.diagnosis._intervals import Interval, codes_of, mean_interval, recode
from adjudge.diagnosis.position import optional_probabilities
from adjudge.results.bias import FamilyBias

#: A family is known by a piece of the model's name, at the start of a word.
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
    """The maker of a model by its name; None when it is not known. `families` goes first.

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


def family_bias(
    p_a: ArrayLike,
    reference: ArrayLike,
    own_a: ArrayLike | Sequence[Any],
    own_b: ArrayLike | Sequence[Any],
    *,
    family: str | None = None,
    reference_name: str = "people",
    clusters: ArrayLike | Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> FamilyBias:
    """How much more often the judge picks its own family than the reference does on the same pairs.

    Pairs with exactly one answer of the judge's family (`own_a`, `own_b`) count. The judge's pick
    is 1, 0 or, at exactly one half, 1/2; so is the reference's: the human label, or the mean pick
    of the other judges. excess = mean(judge - reference); 0 without same-family bias. The pairing
    takes the quality of the family's models out, as the cross-judge consensus does in the paper.

    >>> found = family_bias([0.9, 0.2, 0.8], [1.0, 1.0, 0.0], [1, 0, 1], [0, 1, 0])
    >>> found.judge_share, round(found.reference_share, 3), round(found.excess, 3)
    (1.0, 0.333, 0.667)

    Against other judges the excess is relative: two judges of one family hide each other's.
    """
    open_unit(confidence_level, "confidence_level")
    judge = optional_probabilities(p_a, "p_a")
    other = optional_probabilities(reference, "reference")
    a, b = np.asarray(own_a, dtype=bool), np.asarray(own_b, dtype=bool)
    n = same_length(p_a=judge, reference=other, own_a=a, own_b=b)
    codes, _ = codes_of(clusters, n)
    one = a != b
    answered, known = ~np.isnan(judge), ~np.isnan(other)
    kept = one & answered & known
    reasons = {
        "not one own answer": int((~one).sum()),
        "no answer": int((one & ~answered).sum()),
        "no reference": int((one & answered & ~known).sum()),
    }
    picked = np.where(judge > 0.5, 1.0, np.where(judge < 0.5, 0.0, 0.5))
    mine = np.where(a, picked, 1 - picked)[kept]
    theirs = np.where(a, other, 1 - other)[kept]
    own, groups = recode(codes[kept])
    interval: Interval = (None, None)
    if kept.any():
        interval = mean_interval(mine - theirs, own, groups, confidence_level, bounds=(-1.0, 1.0))
    low, high = interval
    excess = float((mine - theirs).mean()) if kept.any() else None
    biased = low is not None and high is not None and not low <= 0 <= high
    judge_share = float(mine.mean()) if kept.any() else None
    return FamilyBias(
        family=family,
        reference=reference_name,
        n=int(kept.sum()),
        clusters=groups,
        judge_share=judge_share,
        reference_share=float(theirs.mean()) if kept.any() else None,
        excess=excess,
        low=low,
        high=high,
        biased=biased,
        dropped={reason: found for reason, found in reasons.items() if found},
        confidence_level=confidence_level,
        finding=_finding(excess, interval, judge_share, family, reference_name, int(kept.sum())),
    )


def _finding(
    excess: float | None,
    interval: Interval,
    judge_share: float | None,
    family: str | None,
    reference: str,
    n: int,
) -> str:
    name = family or "its own family"
    if excess is None or judge_share is None:
        return f"no pair sets {name} against another family: no family bias measurable"
    told = f"prefers {name} in {100 * judge_share:.1f} % of {n:,} mixed pairs, "
    told += f"{100 * excess:+.1f} points against {reference}"
    low, high = interval
    if low is None or high is None:
        return told + "; one prompt alone carries no interval"
    return f"{told} [{100 * low:+.1f}, {100 * high:+.1f}]: {leaning(low, high)}"


def leaning(low: float, high: float) -> str:
    """What an interval of the excess for the judge's own family says."""
    if low > 0:
        return "it favours its own family"
    if high < 0:
        return "it is harder on its own family"
    return "no family bias shown"
