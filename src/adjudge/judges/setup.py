"""From the arguments of a run to its parts: the judge, its price, what it is asked about."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from adjudge._validation import one_of
from adjudge.errors import ArgumentError
from adjudge.io import kinds_of, open_items, sniff
from adjudge.judges.fingerprint import make_judge
from adjudge.judges.interface import Backend, Judge, JudgeProtocol
from adjudge.judges.prices import Price, price_for, read_prices
from adjudge.judges.spec import BACKENDS, PROTOCOLS, parse_judge, parse_protocol
from adjudge.judges.subjects import Subjects, SubjectSource
from adjudge.records import STATUSES, Status


def protocol_from(protocol: str | JudgeProtocol, **options: Any) -> JudgeProtocol:
    """The protocol by name with its options, files among them read; or the one that was given."""
    if not isinstance(protocol, str):
        for name, value in options.items():
            if value is not None:
                raise ArgumentError(name, value, f"set it on the {protocol.name} object itself")
        return protocol
    given = {name: options[name] for name in ("samples", "max_tokens", "seed")}
    if options["prompt"] is not None:
        from adjudge.judges.prompting import read_prompt

        given["prompt"] = read_prompt(options["prompt"])
    if options["criteria"] is not None:
        from adjudge.judges.criteria import read_criteria

        given["criteria"] = read_criteria(options["criteria"])
    if options["demonstrations"] is not None:
        given["pool"] = list(Subjects(options["demonstrations"]))
    elif protocol == "annotators":
        raise ArgumentError(
            "demonstrations", None, "annotators need labelled pairs of yours: --demonstrations FILE"
        )
    return parse_protocol(protocol, **given)


def judge_from(judge: str | Backend, protocol: JudgeProtocol, **options: Any) -> Judge:
    """The judge that a spec, or a backend, and a protocol make."""
    if not isinstance(judge, str):
        return make_judge(judge, protocol)
    entry = BACKENDS.get(judge.partition(":")[0])
    # How many calls run at once is the runner's business; a backend that pools connections is
    # told, another need not know.
    if entry is not None and "concurrency" not in entry.takes:
        options.pop("concurrency", None)
    return make_judge(parse_judge(judge, **options), protocol)


def subjects_from(
    source: SubjectSource, judge: Judge, limit: int | None, fmt: str | None, seed: int | None
) -> Subjects:
    """The pairs to be judged, or the items for a protocol about single responses."""
    entry = PROTOCOLS.get(judge.protocol.name)
    items = entry is not None and entry.items
    if judge.protocol.name == "criterion" and _holds_items(source, fmt):
        # Single responses to one document meet each other: all pairs of models.
        from adjudge.judges.protocols.criterion import tournament_pairs

        return Subjects(tournament_pairs(open_items(source, fmt)), limit=limit)
    return Subjects(source, limit=limit, items=items, source_format=fmt, seed=seed or 0)


def _holds_items(source: SubjectSource, fmt: str | None) -> bool:
    """Whether a file or frame has single responses and no pairs."""
    if not isinstance(source, (str, Path)) and not hasattr(source, "columns"):
        return False
    kinds = kinds_of(fmt or sniff(source))
    return "items" in kinds and "pairs" not in kinds


def price_of(judge: Judge, prices: str | Path | Mapping[str, Price] | None) -> Price | None:
    """The judge's price, if anybody knows it; `prices` is the user's table or its file."""
    own = read_prices(prices) if isinstance(prices, (str, Path)) else prices
    return price_for(judge.backend.name, own, base_url=judge.fingerprint_parts.get("base_url"))


def retried(retry: Collection[Status]) -> frozenset[Status]:
    """The statuses to ask again: errors always, others on demand."""
    for status in retry:
        one_of(status, STATUSES, "retry")
    return frozenset({"error", *retry})
