"""The records of adjudge: frozen, typed, without behaviour.

`p_fwd` and `p_rev` are both about response_a: the probability that the judge prefers it when it
is shown first (`p_fwd`) and when it is shown second (`p_rev`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Order = Literal["ab", "ba"]
Verdict = Literal["A", "B", "tie"]
#: What verdicts are about: two answers, one that passes or fails, or the best of several.
About = Literal["pairs", "grades", "choices"]
#: What people label in each case.
LABELLED: Mapping[About, str] = {"pairs": "pairs", "grades": "answers", "choices": "prompts"}
#: What the judge gives in each case, as a singular noun.
GIVEN: Mapping[About, str] = {"pairs": "verdict", "grades": "verdict", "choices": "choice"}
LabelValue = Literal["A", "B", "tie"]
SampledBy = Literal["random", "plan", "verdict", "doubt", "surest", "audit", "browsed"]
LabelledBy = Literal["person", "model"]
#: What a label started from: an empty answer, or the judge's, which the person could keep.
StartedFrom = Literal["nothing", "judge"]
Status = Literal["ok", "censored", "off_answer", "unparsed", "refused", "no_logprobs", "error"]

STATUSES: tuple[Status, ...] = get_args(Status)
#: The status of a row of a log if the judge answered, and a policy did not accept its verdict: it
#: is neither a grade nor a failure of the judge.
ABSTAINED = "abstained"
#: The statuses of rows. No reply of a judge is an abstention.
ROW_STATUSES: tuple[str, ...] = (*STATUSES, ABSTAINED)
#: Below this probability of the requested letters, the judge was about to write something else.
MIN_ANSWER_MASS = 0.1
#: The only statuses whose rows have a score.
MEASURED: frozenset[Status] = frozenset({"ok", "censored"})


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of an interval and its level; both ends are None if it is unbounded.

    A result without an interval has None in its place, not an empty Interval.

    >>> low, high = Interval(0.2, 0.4, level=0.95)
    >>> 0.5 in Interval(0.2, 0.4, level=0.95)
    False
    """

    low: float | None
    high: float | None
    level: float

    def __iter__(self) -> Iterator[float | None]:
        yield from (self.low, self.high)

    def __contains__(self, value: float) -> bool:
        above = self.low is None or self.low <= value
        return above and (self.high is None or value <= self.high)


class HasInterval:
    """The ends of `interval`, None without one."""

    interval: Interval | None

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.interval is None else self.interval.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.interval is None else self.interval.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two responses to one prompt. `extra` keeps columns that adjudge does not use."""

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
    """One response that is scored alone."""

    id: str
    prompt: str
    response: str
    doc_id: str | None = None
    model: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    """An image in a text: the hash of its bytes, or the path or URL at which they are.

    `alt` is for people: the path as it was written, or a description.
    """

    sha256: str | None = None
    alt: str = ""
    place: str | None = None

    @property
    def text(self) -> str:
        """The image as words: for hashes and lengths, and for judges that look at no image."""
        return f"[image {self.place or f'sha256:{self.sha256}'}]"

    @property
    def name(self) -> str:
        """The image for people, in one line."""
        return " ".join((self.alt or self.place or "image").split())[:200]


#: What a judge is asked about.
Subject = Pair | Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply to one question to a judge: only measured values.

    `logprobs` maps options to log probabilities not yet normalised over the options. An option in
    `censored` was not among those the server returned; its entry is an upper bound. `counts` is how
    often each option was sampled from a judge without log probabilities. `answer_mass` is the
    probability of all spellings of all options together. It is computed from the server's most
    likely tokens, so it is a lower bound, unless `exact_mass`. `cut_off`: the text ends at the
    token limit. Of the `prompt_tokens` the provider read `cached_tokens` from its cache and wrote
    `cache_write_tokens` to it. `server` is the program that answered and its version,
    `served_model` the model, if it states them.
    """

    status: Status
    text: str | None = None
    logprobs: Mapping[str, float] | None = None
    censored: frozenset[str] = frozenset()
    counts: Mapping[str, int] | None = None
    answer_mass: float | None = None
    exact_mass: bool = False
    cut_off: bool = False
    mean_logprob: float | None = None
    scored_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    latency_s: float | None = None
    error: str | None = None
    server: str | None = None
    served_model: str | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """The judgment of one judge, asked by one protocol, on one pair.

    There is a number only if `status` is ok or censored; there is no default verdict. If a prompt
    allows ties, `p_tie` is their probability, half of which is in `p_a`. `answer_mass` is the
    smaller of the two orders'.
    """

    id: str
    judge: str
    protocol: str
    status: Status
    p_fwd: float | None = None
    p_rev: float | None = None
    p_a: float | None = None
    p_tie: float | None = None
    uncertainty: float | None = None
    verdict: Verdict | None = None
    answer_mass: float | None = None
    judge_fingerprint: str | None = None
    server: str | None = None
    tokens: int | None = None
    cost: float | None = None
    detail: str | None = None
    label: LabelValue | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score of one judge, asked by one protocol, for one item on one criterion."""

    id: str
    doc_id: str
    model: str | None
    criterion: str
    judge: str
    protocol: str
    status: Status
    judge_score: float | None = None
    score_probs: tuple[float, ...] | None = None
    answer_mass: float | None = None
    judge_fingerprint: str | None = None
    server: str | None = None
    tokens: int | None = None
    cost: float | None = None
    detail: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """Whether one judge, asked by one protocol, passed one item.

    In a table of grades, the column `judge` is the verdict, 0 or 1; therefore the judge's name is
    in `judge_name`.
    """

    id: str
    judge_name: str
    protocol: str
    status: Status
    p_pass: float | None = None
    judge: Literal[0, 1] | None = None
    uncertainty: float | None = None
    human: float | None = None
    answer_mass: float | None = None
    judge_fingerprint: str | None = None
    server: str | None = None
    tokens: int | None = None
    cost: float | None = None
    detail: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The label of one person (or a model) for one pair or answer, and how it was shown.

    `label` is A, B or tie for a pair, pass or fail for an answer, or its score. `shown_texts` has a
    hash of each text that was shown, None if unknown.
    """

    id: str
    label: str
    rater: str | None = None
    labelled_by: LabelledBy | None = None
    started_from: StartedFrom | None = None
    sampled_by: SampledBy | None = None
    shown_order: Order | None = None
    shown_texts: str | None = None


#: The part of an alignment that a row is in, as `judge` writes it.
ALIGNMENT_PART, CERTIFY = "alignment_part", "certify"
#: The columns of a cut in a row that was drawn below it.
CUT_COLUMNS = ("cut", "cut_share", "cut_judge", "cut_protocol", "cut_fingerprint")
