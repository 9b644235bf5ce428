"""Which accepted verdicts are audited: a random draw that can be repeated only with the key.

The draw of a row is a keyed hash (HMAC-SHA-256) of its id. Without the secret it cannot be
predicted which ids will be drawn, so no row can be treated better because it will be audited. With
the secret, the draw can be repeated and checked. A higher rate draws the same rows and more.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Unpack

import polars as pl

from adjudge.data.columns import make_room
from adjudge.data.decisions import Decisions, prepare_decisions, read_decisions
from adjudge.data.names import LOG
from adjudge.data.rows import CONVERSATION, Rows, measured
from adjudge.data.shown import SHOWN_TEXTS
from adjudge.data.source import Reading
from adjudge.data.steps.judges import check_judges
from adjudge.data.steps.repeats import remark_alike
from adjudge.data.tables import TableLike, as_text, source_name
from adjudge.errors import ArgumentError, DataError
from adjudge.policy.audits import DRAWN, DRAWN_AT, order_audits
from adjudge.present import text
from adjudge.present.blocks import Block, Headline, notes_of
from adjudge.present.result import Check, Count, Proportion, Result, ResultWithRows, at_most, frozen
from adjudge.records import About
from adjudge.store import Served, Store, StorePlace, store_name, use_store
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook

#: The columns of an audit's row in addition to those of the served row.
AUDIT_COLUMNS = (DRAWN, "sampled_by", "audit_rate")
_FEWEST_CHARACTERS = 16


@frozen
class AuditDraw(Result):
    """Which accepted verdicts were drawn for an audit; the rows are returned with it.

    `n_new` of the `n_drawn` audits were not drawn before. `audit_rate` is None if a service drew
    them; the rate is then that of the service.
    """

    kind: ClassVar[str] = "audit_draw"
    checks: ClassVar[tuple[Check, ...]] = (
        at_most("n_accepted", "n_served"),
        at_most("n_new", "n_drawn"),
    )

    audit_rate: Proportion | None
    n_served: Count
    n_accepted: Count
    n_drawn: Count
    n_new: Count
    dropped: Mapping[str, Count]

    def view(self) -> list[Block]:
        """How many audits were drawn, and what to do with them."""
        rate = "" if self.audit_rate is None else f" at a rate of {text.percent(self.audit_rate)}"
        new = "" if self.n_new == self.n_drawn else f", {text.number(self.n_new)} of them new"
        drawn = f"{text.count(self.n_drawn, 'audit')} drawn{rate}{new}"
        served = text.count(self.n_served, "row")
        action = (
            "Label them: adjudge label ROWS --plan AUDITS -o labels.csv (ROWS: the judged texts), "
            "then adjudge monitor check AUDITS --labels labels.csv."
        )
        finding = f"{drawn}; {text.number(self.n_accepted)} of {served} served are accepted"
        return [Headline(finding, action), *notes_of(text.left_out(self.dropped))]


@dataclass(frozen=True)
class AuditRun(ResultWithRows):
    """The summary of a draw, and the rows to label.

    `rows` has `drawn` (the order), `sampled_by` (audit) and `audit_rate`, then the columns of the
    served rows; input columns with these names become input_drawn and so on.
    """

    summary: AuditDraw


def draw_audits(
    served: TableLike,
    *,
    audit_rate: float,
    secret: str,
    judge: str | None = None,
    earlier: TableLike | None = None,
    **reading: Unpack[Reading],
) -> AuditRun:
    """Draw random audits among accepted verdicts.

    A keyed hash of the id decides each draw, so that the rows cannot be chosen. The same rows,
    secret and rate give the same audits. Of the turns of a conversation (conversation_id) at most
    one is drawn: they are wrong together.

    Args:
        served: Rows of `adjudge select -o`, or the store that serve kept its audits in. In Python
            the rows of `select`: every row with `accepted`. Audits are in the order of these rows;
            a row that the judge failed is never drawn, and if an id was served twice, the first row
            counts.
        audit_rate: Share of accepted verdicts that people audit, such as 0.05.
        secret: Secret of 16 characters or more.
        judge: Only this judge's rows.
        earlier: Audits drawn before. They keep their numbers; new ones follow, so that the result
            is the complete list.
        **reading: Names of columns and words in verdicts: see `adjudge.data.Reading`.

    >>> rows = {"id": list("abcdef"), "verdict": ["A"] * 6, "accepted": [True] * 5 + [False]}
    >>> run = draw_audits(rows, audit_rate=0.5, secret="not a secret: for tests")
    >>> run.rows["id"].to_list(), run.rows["drawn"].to_list()
    (['a', 'c', 'e'], [1, 2, 3])
    """
    coin = AuditCoin(audit_rate, secret)
    rows = _accepted(prepare_decisions(served, **reading), judge)
    names = rows.frame.get_column("id")
    drawn = rows.frame.filter(pl.Series([coin.draws(name) for name in names], dtype=pl.Boolean))
    drawn = _one_of_conversation(drawn, coin)
    if earlier is None:
        audits = new = number_audits(drawn, audit_rate=audit_rate)
    else:
        name = source_name(earlier)
        before = order_audits(read_decisions(earlier)[0], name)
        drawn = drawn.join(before, on="id", how="anti", maintain_order="left")
        if CONVERSATION in drawn.columns and CONVERSATION in before.columns:
            audited = before[CONVERSATION].drop_nulls().implode()
            drawn = drawn.filter(~pl.col(CONVERSATION).is_in(audited).fill_null(False))
        new = number_audits(drawn, first=before.height, audit_rate=audit_rate)
        audits = _append(before, new, name)
        remark_alike(audits["id"], name)
    return AuditRun(
        summary=AuditDraw(
            audit_rate=audit_rate,
            n_served=rows.frame.height + sum(rows.dropped.values()),
            n_accepted=rows.frame.height,
            n_drawn=audits.height,
            n_new=new.height,
            dropped=rows.dropped,
        ),
        rows=audits,
    )


@dataclass(frozen=True)
class AuditCoin:
    """The random draw of one secret and rate.

    >>> coin = AuditCoin(0.5, "not a secret: for tests")
    >>> [coin.draws(name) for name in ("a", "b", "c")], coin.draws("a")
    ([True, False, True], True)
    """

    rate: float
    secret: str

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ArgumentError("audit_rate", self.rate, "give a number above 0 and at most 1")
        if len(self.secret) < _FEWEST_CHARACTERS:
            # Not the value: a message can end up in a log.
            shown = f"{len(self.secret)} characters"
            raise ArgumentError("secret", shown, f"give at least {_FEWEST_CHARACTERS} characters")

    def draws(self, name: str) -> bool:
        """Whether the row of this id is audited."""
        return self.place(name) < self._end

    def place(self, name: str) -> int:
        """The place of an id in a random order."""
        content = name.encode("utf-8", "surrogatepass")
        digest = hmac.digest(self.secret.encode("utf-8", "surrogatepass"), content, "sha256")
        return int.from_bytes(digest[:8], "big")

    @cached_property
    def _end(self) -> int:
        return math.ceil(Fraction(str(self.rate)) * 2**64)


def _one_of_conversation(drawn: pl.DataFrame, coin: AuditCoin) -> pl.DataFrame:
    """At most one drawn turn of each conversation, at random.

    Its turns are wrong together. An alarm keeps its level only if the chance of an error does not
    follow from the audits before.
    """
    if CONVERSATION not in drawn.columns:
        return drawn
    places = pl.Series([coin.place(name) for name in drawn["id"]], dtype=pl.UInt64)
    placed = drawn.with_columns(places.alias("__key"))
    first = pl.col("__key") == pl.col("__key").min().over(CONVERSATION)
    return placed.filter(first | pl.col(CONVERSATION).is_null()).drop("__key")


def _accepted(decisions: Decisions, judge: str | None) -> Rows:
    """The accepted rows, the first of each id; a row that the judge failed counts by its status."""
    frame = decisions.frame
    if "choice" in frame.columns and "verdict" not in frame.columns:
        remedy = "audits are of pairs and grades: label new prompts and calibrate again"
        raise DataError(decisions.name, "has choices among several responses", remedy=remedy)
    rows = Rows(frame, decisions.dropped)
    names = "judge" if decisions.about == "pairs" else "judge_name"
    if names in frame.columns:
        judges = as_text(frame[names]).unique().drop_nulls().sort().to_list()
        if judge is None and len(judges) > 1:
            raise ArgumentError("judge", None, f"choose one of {', '.join(judges)}")
        if judge is not None and judge not in judges:
            raise ArgumentError("judge", judge, "the rows have " + ", ".join(judges))
        if judge is not None:
            rows = Rows(frame.filter(pl.col(names) == judge), decisions.dropped)
    # A policy by groups accepts rows of several criteria, each by its own rule.
    notes = check_judges(rows.frame, decisions.name, measure="draw", judge=names, mixed=True)
    for note in notes:
        LOG.warning("%s: warning: audits are drawn among %s", decisions.name, note)
    rows = measured(rows).without(~pl.col("accepted"), "not accepted")
    rows = rows.without(pl.col("id").is_null(), "no id")
    if "verdict" in frame.columns:
        rows = rows.without(pl.col("verdict").is_null(), "accepted without a verdict")
    return rows.without(~pl.col("id").is_first_distinct(), "id served before")


def number_audits(
    rows: pl.DataFrame, *, first: int = 0, audit_rate: float | None = None
) -> pl.DataFrame:
    """The rows as audits, numbered in their order, starting after `first`."""
    rows = make_room(rows, AUDIT_COLUMNS)
    numbers = pl.int_range(first + 1, first + rows.height + 1, dtype=pl.Int64)
    return rows.select(
        "id",
        numbers.alias(DRAWN),
        pl.lit("audit").alias("sampled_by"),
        pl.lit(audit_rate, pl.Float64).alias("audit_rate"),
        pl.all().exclude("id"),
    )


def _append(before: pl.DataFrame, new: pl.DataFrame, name: str) -> pl.DataFrame:
    """The new audits after the earlier ones; a column with numbers and texts becomes text."""
    for column in set(before.columns).intersection(new.columns):
        old = before.schema[column]
        other = new.schema[column]
        if old != other and (old.is_nested() or other.is_nested()) and pl.Null not in (old, other):
            problem = f"has {old} here, but {other} in the rows that were served"
            raise DataError(name, problem, column=column, remedy="give what monitor draw wrote")
    return pl.concat([before, new], how="diagonal_relaxed")


# --- audits that a service drew ---


def read_served_audits(place: StorePlace, *, rules_id: str | None = None) -> AuditRun:
    """The audits that `serve --audit-rate` drew under these rules, or under the only ones."""
    with use_store(place, readonly=True) as store:
        all_rules = store.served_rules()
        if rules_id is None and len(all_rules) > 1:
            raise ArgumentError("policy", None, "several policies were served: name one")
        rules = rules_id or next(iter(all_rules), "")
        audits = store.audits(rules)
        served, accepted = store.count_served(rules) if rules in all_rules else (0, 0)
    if not audits:
        raise DataError(
            store_name(place) or "the store",
            "has no audits" if rules_id is None else "has no audits of this policy",
            remedy="run serve with --audit-rate and this store",
        )
    rows = [
        {
            **audit.content,
            "id": audit.subject_id,
            DRAWN_AT: datetime.fromtimestamp(audit.served_at, UTC).isoformat(),
        }
        for audit in audits
    ]
    rates = pl.Series([row.get("audit_rate") for row in rows], dtype=pl.Float64)
    frame = number_audits(pl.DataFrame(rows, infer_schema_length=None).drop("audit_rate"))
    return AuditRun(
        summary=AuditDraw(
            audit_rate=None,
            n_served=served,
            n_accepted=accepted,
            n_drawn=len(audits),
            n_new=len(audits),
            dropped={"not accepted": served - accepted},
        ),
        rows=frame.with_columns(audit_rate=rates),
    )


def read_audit_labels(place: StorePlace, *, about: About) -> TableLike | None:
    """The labels in the store, as a table; None if there are none."""
    with use_store(place, readonly=True) as store:
        book = LabelBook(store, PAIR_LABELS if about == "pairs" else GRADE_LABELS)
        answers = [answer for answer in book.answers_by_text() if answer.label is not None]
    rows = [
        {"id": a.subject_id, "label": a.label, "rater": a.rater, SHOWN_TEXTS: a.shown_texts}
        for a in answers
    ]
    return pl.DataFrame(rows, infer_schema_length=None) if rows else None


def all_audits(store: Store) -> list[Served]:
    """All audits, under any rules, in the order of serving; each id once."""
    audits = [audit for rules in store.served_rules() for audit in store.audits(rules)]
    first: dict[str, Served] = {}
    for audit in sorted(audits, key=lambda audit: audit.number):
        first.setdefault(audit.subject_id, audit)
    return list(first.values())
