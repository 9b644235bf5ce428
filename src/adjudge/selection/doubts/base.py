"""Doubts: what judges said about a row becomes one verdict and one doubt.

Before new rows are scored, a doubt is a fixed function of a row, so every guarantee holds for it as
for any other score. The judge's own doubt is here. A new doubt is a file with a `Doubt` and the
`DoubtMethod` that learns it, and a line in `DOUBTS`; what it saves is a `SavedDoubt` in the policy.
A package adds its own by an entry point of the group `adjudge.doubts`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import polars as pl

from adjudge.data.judgments import BY_ORDERS, Judgments, doubt_ties, fixed_doubts, prepare_judgments
from adjudge.data.rows import FAIL, PASS, Identity, identities
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.judges.interface import Judge
from adjudge.judges.judge import identity_of, match_judge, take_known_route
from adjudge.plugins import Builtin, Registry
from adjudge.policy.doubts import Stage
from adjudge.policy.result import Contradiction, Policy, PolicyGroup
from adjudge.present.result import Check, Count, at_most
from adjudge.records import MEASURED, About, Grade, Judgment, Subject
from adjudge.selection.doubts.evidence import Evidence
from adjudge.selection.labelled import NewRows
from adjudge.statistics.entropy import entropy_of, verdict
from adjudge.store import StorePlace
from adjudge.validation import BoolArray

NO_LENGTHS = (
    "what the policy learned needs the columns length_a and length_b, but a request does not have "
    "them; calibrate on rows with response_a and response_b to serve"
)

#: The coverage of labelled rows under the policy's guarantee, for comparison only.
Coverage = Callable[[pl.DataFrame], float]
#: Judges of a service that were asked about one subject, and what they said.
Answers = Sequence[tuple[Judge, Judgment | Grade]]


@dataclass(frozen=True, kw_only=True)
class StageCount:
    """New rows that ended at one judge of a cascade, and the number of its failures."""

    judge: str
    n: Count
    n_accepted: Count
    n_failed: Count

    checks: ClassVar[tuple[Check, ...]] = (at_most("n_accepted", "n"),)


@dataclass(frozen=True)
class Decision:
    """Verdict and doubt of one subject, before a rule accepts it."""

    status: str
    verdict: str | None
    doubt: float | None

    @property
    def measured(self) -> bool:
        return self.status in MEASURED and self.doubt is not None


@dataclass(frozen=True)
class ScoredRows:
    """New rows as a doubt decides them: one row per decision.

    `rows` have its verdict and uncertainty; `judge_verdicts` are those of the judge, of several the
    first, on the same rows.
    `everything` has these rows with the judge's own values, and those that could not be scored:
    they are counted in `unscored`, and `reason` is the reason of each. `evidence` is what a learned
    doubt can use.
    """

    rows: pl.DataFrame
    judge_verdicts: pl.Series
    everything: pl.DataFrame
    unscored: Mapping[str, int]
    reason: pl.Expr
    evidence: Evidence | None = None
    remarks: tuple[str, ...] = ()

    def stages(self, accepted: BoolArray) -> tuple[StageCount, ...]:
        """How many rows ended at each judge, if judges are asked one after the other."""
        return ()

    @property
    def cost(self) -> float | None:
        """The total cost of the rows, if judges are asked one after the other."""
        return None


class Doubt(ABC):
    """A fixed function of what judges said about a row: its verdict and its doubt."""

    #: Whether its verdict and doubt were learned from labels.
    learned: ClassVar[bool] = False
    #: Whether its doubt is the one that the protocol gives, with the few values it can allow.
    of_protocol: ClassVar[bool] = False
    #: The noun, and its plural, for a row with infinite doubt.
    infinite_rows: ClassVar[tuple[str, str | None]] = ("judge tie", None)
    #: Why a labelled row has infinite doubt, and why one has no verdict.
    tie: ClassVar[str] = "the judge returned a tie"
    no_verdict: ClassVar[str] = "p = 0.5"
    #: Columns that it adds to the rows of a selection.
    columns: ClassVar[tuple[str, ...]] = ()

    #: The judges that it combines, and their fingerprints; empty if every row is of one judge.
    judges: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    #: The judges that a service asks one after the other; empty if it asks one.
    stages: tuple[Stage, ...] = ()
    #: Why a service cannot decide single requests by it; None if it can.
    not_servable: str | None = None

    @property
    def overturns(self) -> bool:
        """Whether its verdict can differ from that of the judge, or of the first of several."""
        return self.learned or bool(self.judges)

    def prepare(
        self, source: Source, judge: str | None, protocol: str | None, least: float | None
    ) -> Judgments:
        """The rows that it decides, of one judge or protocol; `least` is the min_answer_mass."""
        return prepare_judgments(source, judge=judge, protocol=protocol)

    @classmethod
    @abstractmethod
    def load(cls, policy: Policy) -> Doubt | None:
        """The doubt that the policy saves; None if it saves another one."""

    @abstractmethod
    def score(self, new: NewRows) -> ScoredRows:
        """Verdict and doubt of every row; ArgumentError if rows lack what it needs."""

    def first_verdicts(self, rows: pl.DataFrame, frame: pl.DataFrame) -> pl.Series:
        """The verdicts of the judge, of several the first, on these rows; `frame` is of all."""
        return rows["verdict"]

    @abstractmethod
    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        """Notes on rows that cannot be checked; PolicyMismatchError for another judge or prompt."""

    def check_decided(self, frame: pl.DataFrame) -> None:
        """PolicyMismatchError for rows that it cannot have decided."""
        return

    def take_judges(
        self, policy: Policy, judges: Sequence[Judge]
    ) -> tuple[Sequence[Judge], Sequence[PolicyGroup]]:
        """The judges of a service by the routes of the policy, and the rules for them.

        PolicyMismatchError for another judge or prompt.
        """
        [judge] = judges
        prints = {group.judge_fingerprint for group in policy.groups}
        judge = take_known_route(judge, prints.__contains__) or judge
        expected = [group.identity for group in policy.groups]
        if is_by_orders(policy):
            # A service asks for a preference, in both orders, and reads the two verdicts from it.
            expected = [replace(name, protocol=asked_protocol(name.protocol)) for name in expected]
        match = match_judge(expected, identity_of(judge))
        return (judge,), [policy.groups[at] for at in match.positions]

    def decide(
        self, policy: Policy, subject: Subject, category: str | None, answers: Answers
    ) -> Decision | None:
        """The decision on one subject from what its judges said; None if another must be asked."""
        _, judgment = answers[-1]
        return Decision(judgment.status, verdict_of(judgment), judgment.uncertainty)

    def contradictions(self) -> Iterator[Contradiction]:
        """Fields of its entry in a policy that others contradict."""
        yield from ()


def verdict_of(judgment: Judgment | Grade) -> str | None:
    """The verdict in the terms of selection: A, B or tie for a pair, pass or fail for a grade."""
    if isinstance(judgment, Judgment):
        return judgment.verdict
    return None if judgment.judge is None else PASS if judgment.judge else FAIL


def is_by_orders(policy: Policy) -> bool:
    """Whether the policy was made from verdicts in both orders, without probabilities."""
    return all(fixed_doubts(group.protocol) for group in policy.groups)


def asked_protocol(protocol: str | None) -> str:
    """The protocol by which a service asks for such verdicts: the rows' own, or preference."""
    name = (protocol or "").removesuffix(BY_ORDERS).removesuffix("(").strip()
    return name or "preference"


def read_orders(judgment: Judgment) -> Judgment:
    """The judgment as rows of verdicts in both orders have it: 1, 0 or one half in each order.

    >>> row = Judgment(id="x", judge="j", protocol="preference", status="ok", p_fwd=0.9, p_rev=0.4)
    >>> read_orders(row).p_a, read_orders(row).verdict
    (0.5, None)
    """
    if judgment.status not in MEASURED:
        return judgment
    if judgment.p_fwd is None or judgment.p_rev is None or judgment.p_tie is not None:
        remedy = "the policy is of verdicts in both orders: ask in both, without a letter for ties"
        raise ArgumentError("protocol", judgment.protocol, remedy)
    first = _as_verdict(judgment.p_fwd)
    second = _as_verdict(judgment.p_rev)
    p_a = (first + second) / 2
    return replace(
        judgment,
        p_fwd=first,
        p_rev=second,
        p_a=p_a,
        uncertainty=entropy_of(p_a),
        verdict=verdict(p_a),
    )


def _as_verdict(p: float) -> float:
    """1, 0 or one half."""
    return ((p > 0.5) + (p >= 0.5)) / 2


def check_identities(
    expected: Sequence[Identity],
    frame: pl.DataFrame,
    *,
    made: str = "the policy",
    store: StorePlace = None,
) -> list[str]:
    """What could not be compared of the rows' judges; PolicyMismatchError for another judge."""
    remarks = [
        match_judge(expected, judge, made=made, by_name=True, store=store).remark
        for judge in identities(frame)
    ]
    return list(dict.fromkeys(remark for remark in remarks if remark is not None))


class ReadingJudgments(Reading, total=False):
    """What every call takes that reads judgments to calibrate, evaluate or select.

    Args:
        pairs: The judged pairs, for a learned doubt that uses the length of the texts.
        judge: Only this judge's rows.
        protocol: Only this protocol's rows.
    """

    pairs: TableLike | None
    judge: str | None
    protocol: str | None


def open_judgments(
    judgments: TableLike | Judgments,
    reading: ReadingJudgments,
    *,
    labels: TableLike | None = None,
    **others: TableLike | None,
) -> Source:
    """The files of a call that takes `ReadingJudgments`."""
    names: dict[str, Any] = {**reading}
    pairs = names.pop("pairs", None)
    for chosen_later in ("judge", "protocol"):
        names.pop(chosen_later, None)
    return Source(judgments, labels=labels, pairs=pairs, others=others, **names)


@dataclass(frozen=True)
class Labelled:
    """The labelled rows that a doubt learns from; a cascade also reads `judgments`.

    `settings` are those of the calibration: alpha, ties, cluster, min_answer_mass, seed.
    """

    frame: pl.DataFrame
    about: About
    cluster: str | None = None
    judgments: Judgments | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    store: StorePlace = None


@dataclass(frozen=True)
class FittedDoubt:
    """A doubt, and the labelled rows that are left to calibrate, with its verdicts and errors.

    `evidence` is what was seen of each row, if a learned doubt can use it. `alone` are the rows of
    each judge, if it combines several. `assumptions` are what the promise assumes because of it,
    `cautions` and `remarks` what a reader of the policy should know, first and last.
    """

    doubt: Doubt
    rows: pl.DataFrame
    evidence: Evidence | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    alone: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    #: Its fields in the policy, given the coverage of other rows and that of its own.
    policy_fields: Callable[[Coverage, float], dict[str, Any]] = lambda coverage, total: {}


class DoubtMethod(ABC):
    """A way to get one verdict and one doubt from what judges said. Its fields are its options.

    `learn` returns the doubt itself, after learning from labelled rows if it must.
    """

    doubt: ClassVar[type[Doubt]]
    #: Whether it reads other columns than those of a rule, the texts, and rows without a score.
    reads_columns: ClassVar[bool] = True
    reads_texts: ClassVar[bool] = False
    reads_failed: ClassVar[bool] = False
    #: Whether it can learn from labels that were drawn below a cut.
    keeps_cuts: ClassVar[bool] = True

    @property
    def title(self) -> str | None:
        """Its name in a comparison; None: that of the judge."""
        return None

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The columns that it needs in addition to those of judgments."""
        return ()

    @property
    def takes_weights(self) -> bool:
        """Whether its rows can have weights."""
        return True

    def prepare(
        self, source: Source, judge: str | None, protocol: str | None, least: float | None
    ) -> Judgments:
        """The rows that it learns from, as `Doubt.prepare`."""
        return prepare_judgments(source, judge=judge, protocol=protocol)

    @abstractmethod
    def learn(self, labelled: Labelled) -> FittedDoubt:
        """The doubt for these rows; ArgumentError if they lack what it needs."""


@dataclass(frozen=True)
class OwnDoubt(Doubt):
    """The judge's own verdict and uncertainty; each judge and protocol has its own rule."""

    groups: tuple[PolicyGroup, ...] = ()

    of_protocol = True

    @classmethod
    def load(cls, policy: Policy) -> Doubt | None:
        return cls(policy.groups)

    def score(self, new: NewRows) -> ScoredRows:
        rows = doubt_ties(new.measured)
        reason = pl.format("status {}", "status")
        return ScoredRows(rows, rows["verdict"], new.everything, new.unmeasured, reason)

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        return check_identities([group.identity for group in self.groups], frame, store=store)


@dataclass(frozen=True)
class Own(DoubtMethod):
    """Each judge's own doubt. Nothing is learned."""

    doubt = OwnDoubt
    reads_columns = False

    def learn(self, labelled: Labelled) -> FittedDoubt:
        return FittedDoubt(self.doubt(), labelled.frame)


#: The doubts by name. A policy is read by the last one that it fits: each before the first is more
#: special, and that of a package comes before ours.
DOUBTS: Registry[type[DoubtMethod]] = Registry(
    "doubt",
    "adjudge.doubts",
    {
        "own": Builtin("adjudge.selection.doubts.base:Own"),
        "jury": Builtin("adjudge.selection.doubts.jury:Jury"),
        "learned": Builtin("adjudge.selection.doubts.jury:Learned"),
        "cascade": Builtin("adjudge.selection.cascade:Cascade"),
        "choices": Builtin("adjudge.selection.choices:Choices"),
    },
)


def find_doubt(doubt: DoubtMethod | str | None) -> DoubtMethod:
    """The doubt itself, the one of this name with its usual options, or (None) the judge's own.

    >>> find_doubt(None), find_doubt("learned")
    (Own(), Learned(share=0.3, category=None, jury=None))
    """
    if isinstance(doubt, DoubtMethod):
        return doubt
    return DOUBTS.load("own" if doubt is None else doubt)()


def load_doubt(policy: Policy) -> Doubt:
    """The doubt that the policy saves."""
    methods = [DOUBTS.load(name) for name in DOUBTS]
    loaded = (method.doubt.load(policy) for method in reversed(methods))
    return next(doubt for doubt in loaded if doubt is not None)
