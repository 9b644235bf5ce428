"""How many prompt tokens an image has, by the rules that makers publish for their own servers.

OpenAI (developers.openai.com, "Images and vision", read 2026-11) covers an image with patches of 32
pixels or with tiles of 512, Anthropic (platform.claude.com, "Vision", read 2026-11) with patches of
28. Larger images are scaled down first. The rules are those of requests that name no `detail`, as
ours do. A model that is in no list has no known rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from adjudge.judges.prices import undated

_PATCH = 32
_TILE = 512
_CLAUDE_PATCH = 28
#: The first Claude models that read images in high resolution.
_HIGH_RESOLUTION = (4, 7)
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d+))?(?:-[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Patches:
    """Patches of 32 pixels, billed at a multiple, of an image within a longest side and a budget.

    >>> Patches(1.2, side=2048, budget=2500).tokens(1024, 1024)
    1229
    >>> Patches(1.2, side=2048, budget=2500).tokens(2048, 2048)
    3000
    >>> Patches(1, side=65_535, budget=1536).tokens(1800, 2400)
    1452
    """

    multiplier: float
    side: int
    budget: int | None

    def tokens(self, width: int, height: int) -> int:
        width, height = _within(self.side, width, height)
        if self.budget is not None and _cover(_PATCH, width, height) > self.budget:
            scale = math.sqrt(_PATCH**2 * self.budget / (width * height))
            across = width * scale / _PATCH
            down = height * scale / _PATCH
            # A whole number of patches along one side. A narrow image keeps one patch.
            scale *= min(max(math.floor(n), 1) / n for n in (across, down))
            width = max(math.floor(width * scale), 1)
            height = max(math.floor(height * scale), 1)
        return math.ceil(round(_cover(_PATCH, width, height) * self.multiplier, 6))


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of 512 pixels, of an image scaled down to a shortest side of 768.

    >>> Tiles(85, 170).tokens(1024, 1024), Tiles(85, 170).tokens(2048, 4096)
    (765, 1105)
    """

    base: int
    tile: int

    def tokens(self, width: int, height: int) -> int:
        width, height = _within(2048, width, height)
        shortest = min(width, height)
        if shortest > 768:
            width = width * 768 // shortest
            height = height * 768 // shortest
        return self.base + self.tile * _cover(_TILE, width, height)


_HIGH = partial(Patches, side=2048, budget=2500)
_SMALL = partial(Patches, side=2048, budget=1536)
_ORIGINAL = Patches(1.2, side=65_535, budget=None)
OPENAI: Mapping[str, Patches | Tiles] = {
    **dict.fromkeys(("gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"), _ORIGINAL),
    "gpt-5.5": Patches(1.2, side=6000, budget=10_000),
    **dict.fromkeys(("gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano"), _HIGH(1.2)),
    "gpt-5.2": Patches(1.2, side=2048, budget=6144),
    "gpt-4.1-mini": Patches(1.62, side=2048, budget=6144),
    # The limits of these are from an earlier edition of the page.
    "gpt-5-mini": _SMALL(1.2),
    "gpt-5-nano": _SMALL(1.5),
    "gpt-4.1-nano": _SMALL(2.46),
    "o4-mini": _SMALL(1.72),
    **dict.fromkeys(("gpt-5", "gpt-5-chat-latest", "gpt-5.1"), Tiles(70, 140)),
    **dict.fromkeys(("gpt-4o", "gpt-4.1"), Tiles(85, 170)),
    "gpt-4o-mini": Tiles(2833, 5667),
    **dict.fromkeys(("o1", "o1-pro", "o3"), Tiles(75, 150)),
}


def openai_rule(model: str) -> Callable[[int, int], int] | None:
    """The rule of a model of OpenAI: tokens from width and height; None if none is known."""
    rule = OPENAI.get(undated(model))
    return None if rule is None else rule.tokens


def claude_rule(model: str) -> Callable[[int, int], int] | None:
    """The rule of a model of Anthropic, by its version.

    >>> [claude_rule(name)(1920, 1080) for name in ("claude-opus-4-8", "claude-haiku-4-5-20251001")]
    [2691, 1560]
    """
    named = _CLAUDE.fullmatch(undated(model))
    if named is None:
        return None
    version = int(named[1]), int(named[2] or 0)
    if version >= _HIGH_RESOLUTION:
        return partial(claude_tokens, side=2576, limit=4784)
    return partial(claude_tokens, side=1568, limit=1568)


def claude_tokens(width: int, height: int, *, side: int, limit: int) -> int:
    """The patches of 28 pixels of the largest image of this shape within both limits.

    >>> claude_tokens(1075, 1520, side=1568, limit=1568)  # 924 x 1307
    1551
    """

    def patches(long: int) -> int | None:
        """Of an image with this longer side; None if it is too large."""
        short = max(round(long * min(width, height) / max(width, height)), 1)
        count = _cover(_CLAUDE_PATCH, long, short)
        fits = math.ceil(long / _CLAUDE_PATCH) * _CLAUDE_PATCH <= side and count <= limit
        return count if fits else None

    longest = max(width, height)
    if (count := patches(longest)) is not None:
        return count
    low, high = 1, longest  # low fits, high does not
    while low + 1 < high:
        middle = (low + high) // 2
        if patches(middle) is None:
            high = middle
        else:
            low = middle
    return patches(low) or 1


def _within(side: int, width: int, height: int) -> tuple[int, int]:
    """The size of an image that is scaled down to a longest side."""
    longest = max(width, height)
    if longest <= side:
        return width, height
    return max(round(width * side / longest), 1), max(round(height * side / longest), 1)


def _cover(patch: int, width: int, height: int) -> int:
    return math.ceil(width / patch) * math.ceil(height / patch)
