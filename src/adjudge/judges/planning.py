"""What a run would do, found without asking anybody."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from adjudge.judges.interface import Backend, JudgeProtocol
from adjudge.judges.prices import Price
from adjudge.judges.runner import prepare
from adjudge.judges.setup import judge_from, price_of, protocol_from, retried, subjects_from
from adjudge.judges.subjects import SubjectSource
from adjudge.records import Status
from adjudge.results.judging import JudgingPlan
from adjudge.store import open_store
from adjudge.store.interface import DEFAULT_STORE


def plan_judging(
    pairs: SubjectSource,
    *,
    judge: str | Backend,
    protocol: str | JudgeProtocol = "preference",
    store: str | Path | None = DEFAULT_STORE,
    limit: int | None = None,
    samples: int | None = None,
    max_tokens: int | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    demonstrations: SubjectSource | None = None,
    seed: int | None = None,
    source_format: str | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
) -> JudgingPlan:
    """What `judge_pairs` would do with the same arguments: calls, tokens, cost. Asks nobody."""
    made = judge_from(
        judge,
        protocol_from(
            protocol,
            samples=samples,
            max_tokens=max_tokens,
            prompt=prompt,
            criteria=criteria,
            demonstrations=demonstrations,
            seed=seed,
        ),
        base_url=base_url,
        api_key_env=api_key_env,
        extra_body=extra_body,
    )
    price = price_of(made, prices)
    subjects = subjects_from(pairs, made, limit, source_format, seed)
    # A plan leaves no trace: a store that is not there yet is not made.
    opened = open_store(store) if store is not None and Path(store).exists() else None
    calls = kept = characters = written = rows = 0
    again = retried(retry)
    try:
        for subject in subjects:
            rows += 1
            work = prepare(made, subject)
            known = opened.lookup([one.key for one in work]) if opened is not None else {}
            for one in work:
                calls += 1
                if one.key in known and known[one.key].reply.status not in again:
                    kept += 1
                    continue
                characters += sum(len(message.text) for message in one.question.messages)
                written += getattr(one.question.want, "max_tokens", 1)
    finally:
        subjects.close()
        if opened is not None:
            opened.close()
    read = round(characters / 4)
    return JudgingPlan(
        judge=made.backend.name,
        protocol=made.protocol.name,
        judge_fingerprint=made.fingerprint,
        fingerprint_parts=made.fingerprint_parts,
        subjects=rows,
        calls=calls,
        kept=kept,
        to_ask=calls - kept,
        prompt_tokens_estimate=read,
        completion_tokens_most=written,
        cost_estimate=None if price is None else price.of(read, written),
        price_source=None if price is None else price.source,
    )
