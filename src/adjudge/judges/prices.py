"""Prices of tokens: the user's own prices, the package genai-prices, or a small dated table.

genai-prices (the extra `prices`) is updated by its own releases and has hundreds of models and
gateways. A model without a price has an unknown cost. Every price names its source.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjudge.data.files import read_text
from adjudge.errors import DataError


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and where the number comes from."""

    prompt: float
    completion: float
    source: str

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """The cost of one call.

        >>> Price(2.0, 8.0, "example").of(1_000_000, 250_000)
        4.0
        """
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6

    def times(self, share: float, where: str) -> Price:
        """A share of this price; the source states the share.

        >>> Price(2.0, 8.0, "example").times(0.5, "in a batch")
        Price(prompt=1.0, completion=4.0, source='example, 50 % of it in a batch')
        """
        source = f"{self.source}, {100 * share:g} % of it {where}"
        return Price(share * self.prompt, share * self.completion, source)


#: Standard (not batch, not cached) prices for text, and the month in which they were read in the
#: public price lists: platform.openai.com/docs/pricing, platform.claude.com/docs (pricing).
KNOWN: Mapping[str, tuple[float, float, str]] = {
    "gpt-4.1": (2.00, 8.00, "2025-06"),
    "gpt-4.1-mini": (0.40, 1.60, "2025-06"),
    "gpt-4.1-nano": (0.10, 0.40, "2025-06"),
    "gpt-4o": (2.50, 10.00, "2025-06"),
    "gpt-4o-2024-05-13": (5.00, 15.00, "2025-06"),
    "gpt-4o-mini": (0.15, 0.60, "2025-06"),
    "claude-haiku-4-5": (1.00, 5.00, "2026-10"),
    "claude-sonnet-4-5": (3.00, 15.00, "2026-10"),
    "claude-sonnet-4-6": (3.00, 15.00, "2026-10"),
    "claude-opus-4-5": (5.00, 25.00, "2026-10"),
    "claude-opus-4-6": (5.00, 25.00, "2026-10"),
}

#: The schema of a price file, for error messages.
_SCHEMA = (
    'give a CSV with the columns model, prompt, completion, or JSON {"MODEL": {"prompt": 2.0, '
    '"completion": 8.0}}, in dollars per million tokens'
)
_COLUMNS = ("prompt", "completion")
#: A list price is valid only at the maker's server; a gateway has its own prices.
_OWN_DOORS = frozenset({"https://api.openai.com", "https://api.anthropic.com"})
#: How makers date a version of a model: "-2025-04-14", "-20250414".
_DATE = re.compile(r"(?<=.)-(\d{4}-\d+-\d+|\d{8})$")
#: Prices per token can rise with the length of a prompt; a judge's prompts are short.
_USUAL_TOKENS = 1000


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
    Price(prompt=0.0, completion=0.0, source='runs on this machine')
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
    try:
        if base_url is None:
            priced = genai_prices.calc_price(usage, model, provider_id=backend)
        else:
            priced = genai_prices.calc_price(usage, model, provider_api_url=base_url)
    except LookupError:
        return None
    times = 1_000_000 // _USUAL_TOKENS  # the prices are decimals: exact
    source = f"genai-prices {genai_prices.__version__}: {priced.provider.id}, {priced.model.id}"
    return Price(float(priced.input_price * times), float(priced.output_price * times), source)


def listed_price(model: str, base_url: str | None = None) -> Price | None:
    """The price in the built-in table; a dated name ("...-2025-04-14") falls back on its family.

    >>> listed_price("gpt-4.1-mini-2025-04-14").source
    'built-in table: list price of gpt-4.1-mini, read 2025-06'
    """
    if base_url is not None and base_url.removesuffix("/v1") not in _OWN_DOORS:
        return None
    name = model if model in KNOWN else _DATE.sub("", model)
    if name not in KNOWN:
        return None
    prompt, completion, month = KNOWN[name]
    return Price(prompt, completion, f"built-in table: list price of {name}, read {month}")


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
        prompt, completion = (_dollars(path, row, model, entry, name) for name in _COLUMNS)
        prices[model] = Price(prompt, completion, str(path))
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
