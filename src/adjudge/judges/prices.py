"""Prices of tokens: the user's own prices, the package genai-prices, or a small dated table.

genai-prices (the extra `prices`) is updated by its own releases and has hundreds of models and
gateways. A model without a price has an unknown cost. Every price names its source. Providers bill
less for the beginning of a prompt that they have read before (their cache); some bill more for
writing it there.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adjudge.data.files import read_text
from adjudge.errors import DataError

if TYPE_CHECKING:
    from adjudge.records import Reply
    from adjudge.store.tables import PlainReply

#: Tokens are estimated from characters, until a server has counted them.
CHARACTERS_PER_TOKEN = 4
_LEAST_CACHED = 1024


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and where the number comes from.

    `cached` is the price of a prompt token that is read from the provider's cache, `cache_write` of
    one that is written to it; None if they are billed as any other. The provider caches nothing
    that is shorter than `cache_least` tokens.
    """

    prompt: float
    completion: float
    source: str
    cached: float | None = None
    cache_write: float | None = None
    cache_least: int = _LEAST_CACHED

    def of(
        self, prompt_tokens: int, completion_tokens: int, cached: int = 0, written: int = 0
    ) -> float:
        """The cost of calls, with those of the prompt tokens that the cache had or was given.

        >>> price = Price(2.0, 8.0, "example", cached=0.5)
        >>> price.of(1_000_000, 250_000), price.of(1_000_000, 250_000, cached=400_000)
        (4.0, 3.4)
        """
        cached = min(cached, prompt_tokens)  # whatever a server counts
        read = self.prompt if self.cached is None else self.cached
        write = self.prompt if self.cache_write is None else self.cache_write
        plain = max(prompt_tokens - cached - written, 0)
        prompt = self.prompt * plain + read * cached + write * written
        return (prompt + self.completion * completion_tokens) / 1e6

    def of_replies(self, replies: Iterable[Reply | PlainReply]) -> float:
        """The cost of the calls that gave these replies."""
        prompt = completion = cached = written = 0
        for reply in replies:
            prompt += reply.prompt_tokens or 0
            completion += reply.completion_tokens or 0
            cached += reply.cached_tokens or 0
            written += reply.cache_write_tokens or 0
        return self.of(prompt, completion, cached, written)

    def cache_pays(self, calls: int, writes: float) -> bool:
        """Whether caching a text that `calls` begin with costs less, if so many of them write it.

        >>> price = Price(1.0, 5.0, "example", cached=0.1, cache_write=1.25)
        >>> price.cache_pays(2, writes=2), price.cache_pays(3, writes=2)
        (False, True)
        """
        if self.cached is None:
            return False
        write = self.prompt if self.cache_write is None else self.cache_write
        return writes * write + (calls - writes) * self.cached < calls * self.prompt

    def times(self, share: float, where: str) -> Price:
        """A share of this price; the source states the share.

        >>> half = Price(2.0, 8.0, "example").times(0.5, "in a batch")
        >>> half.prompt, half.completion, half.source
        (1.0, 4.0, 'example, 50 % of it in a batch')
        """
        parts = {name: getattr(self, name) for name in ("prompt", "completion", *_OF_CACHE)}
        prices = {name: share * part for name, part in parts.items() if part is not None}
        return replace(self, **prices, source=f"{self.source}, {100 * share:g} % of it {where}")


_OF_CACHE = ("cached", "cache_write")


#: Standard (not batch) prices for text, of the prompt, the completion and a cached prompt, and the
#: month in which they were read in the public price lists: platform.openai.com/docs/pricing,
#: platform.claude.com/docs (pricing).
KNOWN: Mapping[str, tuple[float, float, float | None, str]] = {
    "gpt-4.1": (2.00, 8.00, 0.50, "2025-06"),
    "gpt-4.1-mini": (0.40, 1.60, 0.10, "2025-06"),
    "gpt-4.1-nano": (0.10, 0.40, 0.025, "2025-06"),
    "gpt-4o": (2.50, 10.00, 1.25, "2025-06"),
    "gpt-4o-2024-05-13": (5.00, 15.00, None, "2025-06"),
    "gpt-4o-mini": (0.15, 0.60, 0.075, "2025-06"),
    "claude-haiku-4-5": (1.00, 5.00, 0.10, "2026-10"),
    "claude-sonnet-4-5": (3.00, 15.00, 0.30, "2026-10"),
    "claude-sonnet-4-6": (3.00, 15.00, 0.30, "2026-10"),
    "claude-opus-4-5": (5.00, 25.00, 0.50, "2026-10"),
    "claude-opus-4-6": (5.00, 25.00, 0.50, "2026-10"),
}
#: Anthropic bills a prompt token that is written to the cache for five minutes at this multiple.
_CLAUDE_WRITES = 1.25
#: The fewest tokens that these models cache, read 2026-11 (docs.claude.com, prompt caching).
_CACHE_LEAST = {"claude-haiku-4-5": 4096, "claude-opus-4-5": 4096, "claude-opus-4-6": 4096}

#: The schema of a price file, for error messages.
_SCHEMA = (
    'give a CSV with the columns model, prompt, completion, or JSON {"MODEL": {"prompt": 2.0, '
    '"completion": 8.0}}, in dollars per million tokens; optional: cached and cache_write'
)
_COLUMNS = ("prompt", "completion")
#: A list price is valid only at the maker's server; a gateway has its own prices.
_OWN_DOORS = frozenset({"https://api.openai.com", "https://api.anthropic.com"})
#: How makers date a version of a model: "-2025-04-14", "-20250414".
_DATE = re.compile(r"(?<=.)-(\d{4}-\d+-\d+|\d{8})$")
#: Prices per token can rise with the length of a prompt; a judge's prompts are short.
_USUAL_TOKENS = 1000


def undated(model: str) -> str:
    """The name of a model without the date of its version.

    >>> undated("gpt-4o-2024-08-06"), undated("claude-haiku-4-5-20251001"), undated("gpt-4o")
    ('gpt-4o', 'claude-haiku-4-5', 'gpt-4o')
    """
    return _DATE.sub("", model)


def price_for(
    judge: str,
    prices: Mapping[str, Price] | None = None,
    *,
    base_url: str | None = None,
    free: bool = False,
) -> Price | None:
    """The price of a judge "backend:model", or None when it is not known.

    The user's prices come first, by the judge's full name, then by the model's. A judge that runs
    on the user's machine is `free`. A price list is valid only for its server, `base_url`.

    >>> price_for("simulated:accuracy=0.8", free=True)
    Price(prompt=0.0, completion=0.0, source='runs on this machine', ...)
    >>> price_for("openai:gpt-4.1-mini", base_url="http://localhost:8000/v1") is None
    True
    """
    backend, _, model = judge.partition(":")
    for name in (judge, model):
        if prices and name in prices:
            return prices[name]
    if free:
        return Price(0.0, 0.0, "runs on this machine")
    return current_price(backend, model, base_url) or listed_price(model, base_url)


def current_price(backend: str, model: str, base_url: str | None) -> Price | None:
    """The price in genai-prices, if that package is installed."""
    try:
        import genai_prices
    except ImportError:
        return None
    usage = genai_prices.Usage(input_tokens=_USUAL_TOKENS, output_tokens=_USUAL_TOKENS)
    place: dict[str, Any] = {"provider_id": backend}
    if base_url is not None:
        place = {"provider_api_url": base_url}
    try:
        priced = genai_prices.calc_price(usage, model, **place)
    except LookupError:
        return None
    times = 1_000_000 // _USUAL_TOKENS  # the prices are decimals: exact
    source = f"genai-prices {genai_prices.__version__}: {priced.provider.id}, {priced.model.id}"
    prompt = float(priced.input_price * times)
    completion = float(priced.output_price * times)
    cached, written = (
        float(genai_prices.calc_price(of, model, **place).input_price * times)
        for of in (
            genai_prices.Usage(input_tokens=_USUAL_TOKENS, cache_read_tokens=_USUAL_TOKENS),
            genai_prices.Usage(input_tokens=_USUAL_TOKENS, cache_write_tokens=_USUAL_TOKENS),
        )
    )
    return _with_cache(model, prompt, completion, source, cached=cached, written=written)


def listed_price(model: str, base_url: str | None = None) -> Price | None:
    """The price in the built-in table; a dated name ("...-2025-04-14") falls back on its family.

    >>> listed_price("gpt-4.1-mini-2025-04-14").source
    'built-in table: list price of gpt-4.1-mini, read 2025-06'
    """
    if base_url is not None and base_url.removesuffix("/v1") not in _OWN_DOORS:
        return None
    name = model if model in KNOWN else undated(model)
    if name not in KNOWN:
        return None
    prompt, completion, cached, month = KNOWN[name]
    written = _CLAUDE_WRITES * prompt if name.startswith("claude") else prompt
    source = f"built-in table: list price of {name}, read {month}"
    return _with_cache(name, prompt, completion, source, cached=cached, written=written)


def _with_cache(
    model: str,
    prompt: float,
    completion: float,
    source: str,
    *,
    cached: float | None,
    written: float,
) -> Price:
    """A price with what differs in the cache: nothing, if a cached token costs the same."""
    if cached is None or cached >= prompt:
        return Price(prompt, completion, source)
    write = written if written != prompt else None
    least = _CACHE_LEAST.get(undated(model), _LEAST_CACHED)
    return Price(prompt, completion, source, cached, write, least)


def read_prices(path: str | Path) -> dict[str, Price]:
    """A user's prices in US dollars per million tokens: see `_SCHEMA`."""
    text = read_text(path)
    entries: list[tuple[str, Any]]
    try:
        if text.lstrip().startswith("{"):
            entries = list(json.loads(text).items())
        else:
            entries = [(row["model"], row) for row in csv.DictReader(io.StringIO(text))]
            if not entries or not set(_COLUMNS) <= entries[0][1].keys():
                raise KeyError("prompt")
    except (csv.Error, KeyError):
        raise DataError(path, "is not a price table", remedy=_SCHEMA) from None
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not valid JSON ({error})", remedy=_SCHEMA) from None
    prices = {}
    for row, (model, entry) in enumerate(entries, 1):
        prompt = _dollars(path, row, model, entry, "prompt")
        completion = _dollars(path, row, model, entry, "completion")
        cache: dict[str, Any] = {
            column: _dollars(path, row, model, entry, column)
            for column in _OF_CACHE
            if entry.get(column) not in (None, "")
        }
        prices[model] = Price(prompt, completion, str(path), **cache)
    return prices


def _dollars(path: str | Path, row: int, model: str, entry: Any, column: str) -> float:
    try:
        value = float(entry[column])
    except (KeyError, TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        problem = f"the {column} price of {model!r} is not a number"
        raise DataError(path, problem, row=row, column=column, remedy=_SCHEMA)
    return value
