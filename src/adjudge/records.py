"""What flows through adjudge: frozen, typed, without behaviour.

`p_fwd` and `p_rev` are both about response_a: the probability that the judge prefers it when it
is shown first (`p_fwd`) and when it is shown second (`p_rev`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Order = Literal["ab", "ba"]
Verdict = Literal["A", "B"]
LabelValue = Literal["A", "B", "tie"]
SampledBy = Literal["random", "plan", "doubt"]
Status = Literal["ok", "censored", "unparsed", "refused", "no_logprobs", "error"]

STATUSES: tuple[Status, ...] = ("ok", "censored", "unparsed", "refused", "no_logprobs", "error")
#: The only statuses whose rows carry a number.
MEASURED: frozenset[Status] = frozenset({"ok", "censored"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two responses to one prompt. `extra` keeps the columns adjudge does not know."""

    id: str
    prompt: str
    response_a: str
    response_b: str
    model_a: str | None = None
    model_b: str | None = None
    label: LabelValue | None = None
    prompt_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One response to be scored on its own."""

    id: str
    prompt: str
    response: str
    doc_id: str | None = None
    model: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


#: What a judge is asked about.
Subject = Pair | Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back for one question to a judge: only what was measured.

    `logprobs` maps options to log probabilities not yet normalised over the options. An option in
    `censored` was not among those the server returned; its entry is an upper bound. `counts` holds
    how often each option was drawn by a judge without log probabilities.
    """

    status: Status
    text: str | None = None
    logprobs: Mapping[str, float] | None = None
    censored: frozenset[str] = frozenset()
    counts: Mapping[str, int] | None = None
    mean_logprob: float | None = None
    scored_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float | None = None
    error: str | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one judge, asked by one protocol, said of one pair.

    A number stands here only when `status` is ok or censored; there is no default verdict.
    """

    id: str
    judge: str
    protocol: str
    status: Status
    p_fwd: float | None = None
    p_rev: float | None = None
    p_a: float | None = None
    uncertainty: float | None = None
    verdict: Verdict | None = None
    judge_fingerprint: str | None = None
    tokens: int | None = None
    cost: float | None = None
    detail: str | None = None
    label: LabelValue | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one judge, asked by one protocol, scored one item on one criterion."""

    id: str
    doc_id: str
    model: str | None
    criterion: str
    judge: str
    protocol: str
    status: Status
    judge_score: float | None = None
    score_probs: tuple[float, ...] | None = None
    judge_fingerprint: str | None = None
    tokens: int | None = None
    cost: float | None = None
    detail: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What one person said of one pair, and how the pair came to be shown to them."""

    id: str
    label: LabelValue
    rater: str | None = None
    sampled_by: SampledBy | None = None
    shown_order: Order | None = None
