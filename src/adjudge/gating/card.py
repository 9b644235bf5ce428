"""The card of a judge: who it is, the labels it was measured on, what was found and promised.

A card is made of the judged rows and their labels, so that its numbers and the digest of the labels
are of the same rows. With a policy it also has what that promises. It has no texts and no ids:
the pairs of verdict and label are enough to correct a run of the same judge (`gate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from adjudge.data.columns import rename_table
from adjudge.data.rows import Identity, code_clusters, identities
from adjudge.data.source import Reading, open_values
from adjudge.data.tables import TableLike, as_text
from adjudge.data.writing import read_result
from adjudge.errors import ArgumentError, DataError
from adjudge.evaluation import JudgeEvaluation, evaluate, prepare_evaluation
from adjudge.evaluation.rows import LABEL, VERDICT, ReadRows
from adjudge.hashing import content_hash
from adjudge.judges.judge import match_judge
from adjudge.policy.result import Policy, answers_of
from adjudge.present.blocks import Block, Commands, Headline, Note, Table, notes_of
from adjudge.present.result import Check, Count, Level, Proportion, ResultWithDigest, frozen
from adjudge.present.text import DASH, count, number, percent, percent_interval, show_interval
from adjudge.selection import read_policy
from adjudge.store import StorePlace, read_judge_parts, use_store
from adjudge.validation import IntArray
from adjudge.validation import count as check_count

#: Parts of a fingerprint that are named elsewhere on the card, or are too long for a line.
_LONGEST_PART = 100
_DRAWN = {
    "random": "at random",
    "plan": "by a plan",
    "verdict": "by the judge's verdict",
    "chosen": "chosen, not drawn",
    None: "not recorded",
}


@dataclass(frozen=True, kw_only=True)
class LabelsOnCard:
    """The labels a card stands on: `digest` is of their ids and values, without an order.

    `labelled_by` counts who made them (person, model), as far as the rows state it, `raters` how
    many people they name. `first` and `last` are when they were made (`labelled_at`).
    """

    n: Count
    digest: str
    labelled_by: Mapping[str, Count] = field(default_factory=dict)
    raters: Count = 0
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, kw_only=True)
class PromiseOnCard:
    """What the policy of this judge promises; `digest` is that of its file."""

    digest: str
    guarantee: str
    alpha: Level
    delta: Level | None
    coverage: Proportion
    empirical_risk: Proportion
    promise: str
    not_promised: str


def _matrix_of_codes(card: JudgeCard) -> str | None:
    """The pairs of verdict and label must be those that the agreement counts."""
    judges = card.evaluation.judges
    if not judges:
        return None if card.evaluation.scores else "the evaluation is of no judge"
    if len(judges) > 1:
        return f"the evaluation is of {len(judges)} judges, but a card is of one"
    [judge] = judges
    if card.labels.n != judge.n:
        return f"labels.n is {card.labels.n}, but the agreement is of {judge.n} labels"
    counted = np.zeros((len(judge.names), len(judge.names) + 1), dtype=int)
    codes = (np.array(card.label_codes, dtype=int), np.array(card.verdict_codes, dtype=int))
    try:
        np.add.at(counted, codes, 1)
    except (IndexError, ValueError):
        return "verdict_codes and label_codes are not of these names"
    same = tuple(map(tuple, counted.tolist())) == judge.matrix
    return None if same else "verdict_codes and label_codes do not give the matrix"


def _dates(card: JudgeCard) -> str | None:
    for name, read in (
        ("made_on", date.fromisoformat),
        ("made_at", datetime.fromisoformat),
        ("expires_on", date.fromisoformat),
    ):
        if (written := getattr(card, name)) is not None:
            try:
                read(written)
            except ValueError:
                return f"{name} is {written!r}, not a date such as 2026-12-31"
    return None


@frozen
class JudgeCard(ResultWithDigest):
    """What is known of a judge, by one set of labels, until when, and how to check it.

    `verdict_codes` and `label_codes` are the labelled rows, as places in the names of the
    evaluation (after the last: no verdict); `cluster_codes` say which of them belong together.
    `made_at` is the moment from which a store counts rows for `expires_after`.
    """

    kind: ClassVar[str] = "judge_card"
    checks: ClassVar[tuple[Check, ...]] = (_dates, _matrix_of_codes)

    schema_version: Count = 1
    made_on: str
    made_at: str | None = None
    expires_on: str | None = None
    expires_after: Count | None = None
    judge: str | None
    protocol: str | None
    judge_fingerprint: str | None
    fingerprint_parts: Mapping[str, Any] | None = field(default=None, repr=False)
    calibrated_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: LabelsOnCard
    evaluation: JudgeEvaluation
    policy: PromiseOnCard | None = None
    warnings: tuple[str, ...] = ()
    verdict_codes: tuple[Count, ...] = field(default=(), repr=False)
    label_codes: tuple[Count, ...] = field(default=(), repr=False)
    cluster_codes: tuple[Count, ...] | None = field(default=None, repr=False)
    adjudge_version: str

    @property
    def identity(self) -> Identity:
        """The judge that a run must have."""
        parts = self.fingerprint_parts
        return Identity(self.judge, self.protocol, self.judge_fingerprint, parts)

    def count_judged(self, store: StorePlace) -> int | str:
        """Rows that its judge judged for the first time after it was made, or why none are counted.

        StoreMissingError if there is no store.
        """
        if self.made_at is None:
            return "the card does not state when rows begin to count: make it again"
        if (fingerprint := self.judge_fingerprint) is None:
            return "the card has no judge_fingerprint, so a store cannot count its rows"
        with use_store(store, readonly=True) as opened:
            if opened.judge_parts(fingerprint) is None:
                return f"{opened.name} has no reply of the judge of the card, so no rows to count"
            return opened.count_judged(fingerprint, self.made_at)

    def expired(self, on: date, judged: int) -> str | None:
        """Why it does not hold any more on a day, after so many rows; None while it holds."""
        if self.expires_on is not None and on > date.fromisoformat(self.expires_on):
            return f"the card expired on {self.expires_on}"
        if self.expires_after is not None and judged > self.expires_after:
            rows = count(self.expires_after, "row")
            return f"the card holds for {rows}, and {judged:,} were judged"
        return None

    def lines(self) -> dict[str, str]:
        """What it binds, by name; two cards are compared by these."""
        labels = self.labels
        makers = [f"{n:,} by a {who}" for who, n in labels.labelled_by.items()]
        if labels.raters:
            makers.append(count(labels.raters, "rater"))
        parts = {
            name: str(value)
            for name, value in (self.fingerprint_parts or {}).items()
            if name != "protocol" and len(str(value)) <= _LONGEST_PART
        }
        ends = [f"on {self.expires_on}"] if self.expires_on else []
        if self.expires_after is not None:
            ends.append(f"after {count(self.expires_after, 'row')}")
        lines = {
            "judge": self.judge or "not named",
            "protocol": self.protocol or DASH,
            "fingerprint": self.judge_fingerprint or DASH,
            **parts,
            **{name: ", ".join(values) for name, values in self.calibrated_on.items()},
            "labels": f"{labels.n:,}, drawn: {_DRAWN[self.evaluation.drawn]}",
            "labels made": ", ".join(makers) or "not recorded",
            "labels from": " to ".join(filter(None, (labels.first, labels.last))) or DASH,
            "labels digest": labels.digest,
            **dict(self._measured()),
        }
        if (policy := self.policy) is not None:
            lines["policy"] = policy.digest
            lines["promise"] = policy.promise
            accepted = f"{percent(policy.coverage)}, {percent(policy.empirical_risk)} wrong"
            lines["accepted of the labels"] = accepted
        return lines | {"made": self.made_on, "expires": " or ".join(ends) or "never"}

    def _measured(self) -> Iterator[tuple[str, str]]:
        for judge in self.evaluation.judges:
            ends = percent_interval(judge.interval)
            yield "agreement", f"{percent(judge.agreement)} {ends}"
            for each in judge.classes:
                share = f"{percent(each.share_of_people)} {percent_interval(each.interval)}"
                yield f'of what people call "{each.name}"', f"{share} by the judge too"
        for score in self.evaluation.scores:
            error = show_interval(score.error_interval, 2)
            yield "from people's score on average", f"{number(score.error, 2)} {error}"
            yield (
                "minus people's mean",
                f"{number(score.difference, 2)} {show_interval(score.interval, 2)}",
            )

    def view(self) -> list[Block]:
        first, *measured = self.evaluation.view()
        assert isinstance(first, Headline)  # noqa: S101
        lines = self.lines()
        expires = lines["expires"]
        action = "" if expires == "never" else f"It expires {expires}."
        blocks: list[Block] = [replace(first, action=action)]
        blocks.append(Table(("line", "on this card"), [*lines.items()], text_columns=2))
        if self.policy is not None:
            not_promised = f"It does not promise: {self.policy.not_promised}"
            blocks.append(Note([not_promised], detail=True, title="What it does not promise"))
        return [
            *blocks,
            *notes_of([f"warning: {line}" for line in self.warnings], tone="bad"),
            *measured,
            Note(["To check it (was it edited, does the judge still answer so), and to use it:"]),
            Commands(
                [
                    "adjudge card verify CARD ROWS",
                    "adjudge monitor judge ROWS --judge JUDGE --state judge.json",
                    "adjudge gate NEW_ROWS --card CARD --at-least RATE",
                ]
            ),
        ]


class ReadingCard(Reading, total=False):
    """What a card is made of, with the rows.

    Args:
        labels: Human labels by id. A second table; its labels replace those in `rows`.
        policy: The policy that calibrate made for this judge; its promise is on the card.
        judge: Only this judge's rows. A name in the rows, or a column of verdicts.
        protocol: Only this protocol's rows.
        labels_by_verdict: State that labels were drawn by verdict, such as all fails and some
            passes. Numbers are then weighted to all rows.
        labels_are_random: State that the labelled rows are a random sample; no test is made.
        judge_column: Column of the judge's verdicts. Default: judge.
        human_column: Column of the human labels. Default: human.
        positive: For verdicts that are words: the one that counts as pass; all others fail.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. Default: auto.
        model_labels: Use labels that a model made (labelled_by model); the card states it. Without
            it they are refused.
        store: Store of the judge's replies, to name its prompt and settings.
    """

    labels: TableLike | None
    policy: Policy | str | Path | None
    judge: str | None
    protocol: str | None
    labels_by_verdict: bool
    labels_are_random: bool
    judge_column: str
    human_column: str
    positive: str | None
    cluster: str | None
    model_labels: bool
    store: StorePlace


#: Options of `evaluate`, and those that only the card needs; the others are for reading.
_OF_NUMBERS = ("labels_by_verdict", "labels_are_random")
_OF_CARDS = (*_OF_NUMBERS, "judge", "policy", "store")


def make_card(
    rows: TableLike,
    *,
    expires: str | None = None,
    expires_after: int | None = None,
    slices: Sequence[str] | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    **reading: Unpack[ReadingCard],
) -> JudgeCard:
    """A card that binds a judge to its labels: agreement, where it fails, what is promised.

    Agreement and errors are those of `evaluate` on the same rows.

    Args:
        rows: Judged rows of one judge, some with a human label. A file or a frame.
        expires: The last day on which it holds, such as 2026-12-31.
        expires_after: The number of rows judged after which it does not hold any more.
        slices: Columns in whose values errors are counted. Default: every column with 2 to 20
            values.
        confidence_level: Level of all intervals.
        seed: Seed of everything random.
        **reading: What it is made of: see `ReadingCard` and `adjudge.data.Reading`.

    >>> rows = {"judge": [1] * 60 + [0] * 40, "human": [1] * 50 + [0] * 10 + [1] * 5 + [0] * 35}
    >>> card = make_card(rows, expires="2027-01-31")
    >>> card.labels.n, card.evaluation.judges[0].agreement
    (100, 0.85)
    """
    judge = reading.get("judge")
    words: dict[str, Any] = {k: value for k, value in reading.items() if k not in _OF_CARDS}
    origins = None
    if (labels := words.get("labels")) is not None:
        words["labels"] = table = open_values(labels)
        theirs = {**(words.get("columns") or {}), **(words.get("labels_columns") or {})}
        origins = rename_table(table, {k: v for k, v in theirs.items() if v in table.frame}).frame
    read = prepare_evaluation(rows, judges=[] if judge is None else [judge], **words)
    read = replace(read, judgments=None)  # the policy has what the doubt is worth
    if not read.frame[LABEL].count():
        raise DataError(read.name, "has no label", remedy="label some rows: adjudge plan labels")
    numbers: dict[str, Any] = {k: reading[k] for k in _OF_NUMBERS if k in reading}  # type: ignore[literal-required]
    numbers |= {"confidence_level": confidence_level, "seed": seed}
    evaluation = evaluate(read, slices=slices, **numbers)
    measured = [each.judge for each in evaluation.judges or evaluation.scores]
    if len(measured) > 1:
        names = ", ".join(map(str, measured))
        raise ArgumentError("judge", None, f"a card is of one judge: choose one of {names}")
    who = one_judge(read.frame, read.name)
    policy = reading.get("policy")
    rules = read_policy(policy) if isinstance(policy, (str, Path)) else policy
    if expires_after is not None:
        check_count(expires_after, "expires_after", least=1)
    labelled = read.frame.filter(pl.col(LABEL).is_not_null())
    now = datetime.now(UTC)
    card = JudgeCard(
        made_on=now.date().isoformat(),
        made_at=now.isoformat(timespec="milliseconds"),
        expires_on=expires,
        expires_after=expires_after,
        judge=measured[0] or who.judge,
        protocol=who.protocol,
        judge_fingerprint=who.fingerprint,
        fingerprint_parts=_parts_of(who, rules, reading.get("store")),
        calibrated_on=answers_of(read.frame),
        labels=_labels_of(labelled, _used(origins, labelled)),
        evaluation=evaluation,
        policy=None if rules is None else _promise_of(rules),
        warnings=_warnings(evaluation, who),
        adjudge_version=version("adjudge"),
        **_codes_of(read, labelled, evaluation),  # type: ignore[arg-type]
    )
    if (problem := _dates(card)) is not None:
        raise ArgumentError("expires", expires, problem)
    return card


def _parts_of(who: Identity, policy: Policy | None, store: StorePlace) -> Mapping[str, Any] | None:
    """What the fingerprint is of; refused if the policy is of another judge."""
    if policy is not None:
        judges = [group.identity for group in policy.groups]
        match = match_judge(judges, who, remedy="give the policy of this judge", store=store)
        if (parts := judges[match.positions[0]].parts) is not None:
            return parts
    prints = [] if who.fingerprint is None else [who.fingerprint]
    return next(iter(read_judge_parts(prints, store).values()), None)


def read_card(path: str | Path) -> JudgeCard:
    """The card in a file that `card make` wrote; an edited one is refused, by its digest.

    Args:
        path: The card.
    """
    return read_result(path, JudgeCard)


def one_judge(frame: pl.DataFrame, name: str) -> Identity:
    """The judge of rows; None for what they do not state."""
    judges = judges_of(frame)
    if len(judges) > 1:
        names = ", ".join(map(str, judges))
        problem = f"has rows of {count(len(judges), 'judge')}, protocol or setting: {names}"
        raise DataError(name, problem, remedy="give one: --judge NAME, --protocol NAME")
    return judges[0] if judges else Identity()


def judges_of(frame: pl.DataFrame) -> list[Identity]:
    """The judges of rows of any kind: in grades, the column judge has verdicts."""
    if "judge_name" in frame.columns or "p_a" not in frame.columns:
        frame = frame.drop("judge", strict=False).rename({"judge_name": "judge"}, strict=False)
    named = [c for c in ("judge", "protocol") if c in frame.columns]
    frame = frame.with_columns(as_text(frame[c]).replace("unnamed", None) for c in named)
    return identities(frame)


def _labels_of(labelled: pl.DataFrame, origins: pl.DataFrame | None) -> LabelsOnCard:
    """The labels, and who made them and when, as far as the rows or the labels file state it."""
    ids = range(labelled.height)
    names = as_text(labelled["id"]) if "id" in labelled.columns else map(str, ids)
    values = as_text(labelled[LABEL])
    lines = sorted(f"{name}\0{value}" for name, value in zip(names, values, strict=True))
    by = _stated("labelled_by", labelled, origins).value_counts(sort=True).rows()
    days = _stated("labelled_at", labelled, origins).str.slice(0, 10)
    return LabelsOnCard(
        n=labelled.height,
        digest=f"sha256:{content_hash(lines)}",
        labelled_by={str(who).lower(): n for who, n in by},
        raters=_stated("rater", labelled, origins).n_unique(),
        first=days.min(),  # type: ignore[arg-type]
        last=days.max(),  # type: ignore[arg-type]
    )


def _used(origins: pl.DataFrame | None, labelled: pl.DataFrame) -> pl.DataFrame | None:
    """The labels of a file that the rows have: of the same id, and drawn and begun as theirs."""
    if origins is None or not {"id"} <= {*origins.columns} & {*labelled.columns}:
        return None
    here = {*origins.columns} & {*labelled.columns}
    keys = [column for column in ("id", "sampled_by", "started_from") if column in here]
    words = [
        frame.with_columns(as_text(frame[key]).str.to_lowercase() for key in keys)
        for frame in (origins, labelled)
    ]
    return words[0].join(words[1], on=keys, how="semi", nulls_equal=True)


def _stated(column: str, rows: pl.DataFrame, labels: pl.DataFrame | None) -> pl.Series:
    frame = rows if labels is None or column not in labels.columns else labels
    values = frame[column] if column in frame.columns else pl.Series(dtype=pl.String)
    return as_text(values).drop_nulls()


def _codes_of(
    read: ReadRows, labelled: pl.DataFrame, evaluation: JudgeEvaluation
) -> dict[str, tuple[int, ...] | None]:
    """The labelled rows as codes; none for scores, whose mean no matrix corrects."""
    if not evaluation.judges:
        return {}
    [judge] = evaluation.judges
    places = {name: at for at, name in enumerate(judge.names)}

    def code(words: pl.Series) -> tuple[int, ...]:
        codes = words.replace_strict(places, default=len(places), return_dtype=pl.Int64)
        return tuple(codes.fill_null(len(places)).to_list())

    clusters: IntArray | None = None
    if read.cluster is not None and judge.clusters < judge.n:
        clusters = code_clusters(labelled[read.cluster])
    return {
        "verdict_codes": code(labelled[VERDICT]),
        "label_codes": code(labelled[LABEL]),
        "cluster_codes": None if clusters is None else tuple(clusters.tolist()),
    }


def _promise_of(policy: Policy) -> PromiseOnCard:
    return PromiseOnCard(
        digest=policy.digest,
        guarantee=policy.guarantee,
        alpha=policy.alpha,
        delta=policy.delta,
        coverage=policy.coverage,
        empirical_risk=policy.empirical_risk,
        promise=policy.promise,
        not_promised=policy.not_promised,
    )


def _warnings(evaluation: JudgeEvaluation, judge: Identity) -> tuple[str, ...]:
    lines = []
    if judge.fingerprint is None:
        lines.append("the rows have no judge_fingerprint: another prompt would not be noticed")
    if evaluation.drawn is None:
        lines.append("how the labels were drawn is not recorded (sampled_by)")
    return tuple(lines)
