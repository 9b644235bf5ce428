"""Which verdicts may be trusted: the policy, its promise, what it did, where doubt sits."""

from __future__ import annotations

from typing import Any

import polars as pl

from adjudge.present.report.collect import Collected
from adjudge.present.report.document import (
    Block,
    Heading,
    Number,
    Numbers,
    PairBlock,
    Picture,
    Section,
    TableBlock,
    Words,
)
from adjudge.present.report.sections.several import more_than_one, together, under_names
from adjudge.present.selection import evaluation_pictures
from adjudge.present.selection_tables import SIGNAL_COLUMNS, signal_rows
from adjudge.present.tables import counted, number, percent
from adjudge.results.evaluation import Evaluation
from adjudge.results.selection import Policy, Selection

_DOUBTFUL = 10
_RULES = {
    "all": "none: all pass",
    "below": "–",
    "none": "none passes",
    "batch": "by batch",
    "groups": "by group",
}


def selection_section(found: Collected) -> Section | None:
    """Every policy of the folder, what select did with it, and the evaluations."""
    policies, selections = found.named(Policy), found.named(Selection)
    evaluations = found.named(Evaluation)
    if not (policies or selections or evaluations):
        return None
    blocks: list[Block] = []
    finding, action, bad = "No policy in this folder.", "Run adjudge calibrate.", False
    named = more_than_one(policies, selections, evaluations)
    if policies:
        bad = not all(policy.feasible for _, policy in policies)
        finding, action = _said(policies[-1][1])
        if len(policies) > 1:
            finding = together(policies, _accepts, "policies")
            action = "Each policy is for its own judge and error level; select refuses the others."
        blocks += under_names(policies, _policy_blocks, named=named)
    if selections:
        bad = bad or any(done.drift.flagged for _, done in selections)
        # What the rule promises stands above, with the policy.
        with_promise = not policies
        blocks += under_names(
            selections, lambda done: [_done(done, with_promise=with_promise)], named=named
        )
    blocks += under_names(evaluations, _evaluation_blocks, named=named)
    blocks += _doubtful(found)
    return Section(
        key="selection",
        title="Which verdicts may be trusted",
        finding=finding,
        action=action,
        blocks=tuple(blocks),
        tone="bad" if bad else "plain",
    )


def _said(policy: Policy) -> tuple[str, str]:
    if not policy.feasible:
        return (
            f"At error level {policy.alpha:g} no threshold passes for {_whose(policy)}: nothing "
            "can be accepted.",
            "Label more pairs, allow a higher alpha, or use a better judge.",
        )
    about = "about " if policy.indicative else ""
    return (
        f"At error level {policy.alpha:g}, {about}{percent(policy.coverage)} of the verdicts of "
        f"{_whose(policy)} are accepted; {percent(policy.empirical_risk, 1)} of those were wrong "
        "on the labels.",
        "Use accepted verdicts as they are; give the others to people.",
    )


def _accepts(policy: Policy) -> str:
    share = percent(policy.coverage) if policy.feasible else "nothing"
    return f"{_whose(policy)} at {policy.alpha:g} accepts {share}"


def _whose(policy: Policy) -> str:
    if len(policy.judges) == 1:
        return policy.judges[0]
    return counted(len(policy.judges), "judge", "judges")


def _done(done: Selection, *, with_promise: bool) -> Words:
    lines = [
        line
        for line in done.lines()
        if with_promise or not line.startswith(("promises:", "does not promise:"))
    ]
    return Words(lines=tuple(lines), tone="bad" if done.drift.flagged else "plain")


def _policy_blocks(policy: Policy) -> list[Block]:
    numbers = Numbers(
        numbers=(
            Number(label="guarantee", value=policy.guarantee, note=f"alpha {policy.alpha:g}"),
            Number(
                label="threshold",
                value=_RULES[policy.accepts]
                if policy.threshold is None
                else f"{policy.threshold:.4g}",
                note="accept uncertainty at or below" if policy.threshold is not None else "",
            ),
            Number(label="labels used", value=number(policy.n_calibration)),
            Number(label="accepted", value=percent(policy.coverage, 1)),
            Number(
                label="wrong among them",
                value=percent(policy.empirical_risk, 1) if policy.n_accepted else "–",
            ),
        )
    )
    words = Words(
        lines=(
            f"It is for: {', '.join(policy.judges)}",
            f"It promises: {policy.promise}",
            f"It does not promise: {policy.not_promised}",
            *(f"It assumes: {line}" for line in policy.assumptions),
            *policy.warnings,
            *(f"{group.name}: {group.note}" for group in policy.groups if group.note),
        )
    )
    blocks: list[Block] = [numbers, words]
    if policy.alternatives:
        blocks.append(
            TableBlock(
                columns=("guarantee", "promises", "accepts", "wrong among them"),
                rows=tuple(
                    (
                        other.guarantee,
                        other.promise,
                        percent(other.coverage, 1),
                        percent(other.empirical_risk, 1) if other.n_accepted else "–",
                    )
                    for other in policy.alternatives
                ),
                caption="The same labels under each guarantee",
                text_columns=2,
            )
        )
    return blocks


def _evaluation_blocks(evaluation: Evaluation) -> list[Block]:
    blocks: list[Block] = [
        TableBlock(
            columns=SIGNAL_COLUMNS,
            rows=tuple(signal_rows(evaluation)),
            caption="How good each signal of doubt is on labelled rows",
            text_columns=2,
        )
    ]
    blocks += [
        Picture(figure=figure, caption=caption)
        for figure, caption in evaluation_pictures(evaluation)
    ]
    return blocks


def _doubtful(found: Collected) -> list[Block]:
    if found.pairs is None or not found.judgments:
        return []
    doubt = (
        _doubts(found)
        .drop_nulls("uncertainty")
        .join(found.pairs, on="id", how="inner")
        .sort("uncertainty", descending=True, maintain_order=True)
        .unique("id", keep="first", maintain_order=True)
        .head(_DOUBTFUL)
    )
    blocks: list[Block] = [
        PairBlock(
            id=row["id"],
            prompt=row["prompt"],
            left_title="Answer A",
            left=row["response_a"],
            right_title="Answer B",
            right=row["response_b"],
            note=_doubt_told(row),
        )
        for row in doubt.to_dicts()
    ]
    if blocks:
        told = counted(len(blocks), "most doubtful pair", "most doubtful pairs")
        blocks.insert(
            0,
            Heading(text=f"The {told}, most doubtful first: let people decide these"),
        )
    return blocks


def _doubts(found: Collected) -> pl.DataFrame:
    """All judgments; where there are policies, those of the judges and protocols they hold."""
    wanted = ["id", "judge", "protocol", "uncertainty", "p_a", "verdict", "label"]
    rows = pl.concat(
        [frame.select([c for c in wanted if c in frame.columns]) for frame in found.judgments],
        how="diagonal_relaxed",
    )
    groups = [group for policy in found.of(Policy) for group in policy.groups]
    held = pl.DataFrame(
        [(group.judge, group.protocol) for group in groups],
        schema={"judge": pl.String, "protocol": pl.String},
        orient="row",
    )
    # Doubt asked in another way is on another scale. A jury has rows of its members alone.
    own = rows.join(held, on=["judge", "protocol"], how="semi", maintain_order="left")
    return own if own.height else rows


def _doubt_told(row: dict[str, Any]) -> str:
    told = f"{row['judge']} ({row['protocol']}) says {row['verdict'] or 'neither'}: "
    told += f"p(A) = {row['p_a']:.3f}, doubt {row['uncertainty']:.3f}"
    label = row.get("label")
    return told if label is None else f"{told}; people say {label}"
