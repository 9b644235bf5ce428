"""Which verdicts may be trusted: the policy, its promise, what it did, where doubt sits."""

from __future__ import annotations

import polars as pl

from adjudge.present.report.collect import Collected
from adjudge.present.report.document import (
    Block,
    Number,
    Numbers,
    PairBlock,
    Picture,
    Section,
    TableBlock,
    Words,
)
from adjudge.present.selection import evaluation_pictures
from adjudge.present.tables import number, percent
from adjudge.results.selection import Evaluation, Policy, Selection

_DOUBTFUL = 10


def selection_section(found: Collected) -> Section | None:
    """The last policy of the folder, what select did with it, and the evaluation."""
    policies, selections = found.of(Policy), found.of(Selection)
    evaluations = found.of(Evaluation)
    if not (policies or selections or evaluations):
        return None
    blocks: list[Block] = []
    finding, action, bad = "No policy in this folder.", "Run adjudge calibrate.", False
    if policies:
        policy = policies[-1]
        bad = not policy.feasible
        finding, action = _said(policy)
        blocks += _policy_blocks(policy)
    if selections:
        done = selections[-1]
        bad = bad or done.drift.flagged
        blocks.append(
            Words(lines=tuple(done.lines()), tone="bad" if done.drift.flagged else "plain")
        )
    if evaluations:
        blocks += _evaluation_blocks(evaluations[-1])
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
            f"At error level {policy.alpha:g} no threshold passes: nothing can be accepted.",
            "Label more pairs, allow a higher alpha, or use a better judge.",
        )
    about = "about " if policy.indicative else ""
    return (
        f"At error level {policy.alpha:g}, {about}{percent(policy.coverage)} of verdicts are "
        f"accepted; {percent(policy.empirical_risk, 1)} of those were wrong on the labels.",
        "Use accepted verdicts as they are; give the others to people.",
    )


def _policy_blocks(policy: Policy) -> list[Block]:
    numbers = Numbers(
        numbers=(
            Number(label="guarantee", value=policy.guarantee, note=f"alpha {policy.alpha:g}"),
            Number(
                label="threshold",
                value=policy.accepts if policy.threshold is None else f"{policy.threshold:.4f}",
                note="accept uncertainty at or below" if policy.threshold is not None else "",
            ),
            Number(label="labels used", value=number(policy.n_calibration)),
            Number(label="accepted", value=percent(policy.coverage, 1)),
            Number(label="wrong among them", value=percent(policy.empirical_risk, 1)),
        )
    )
    words = Words(
        lines=(
            f"It promises: {policy.promise}",
            f"It does not promise: {policy.not_promised}",
            *(f"It assumes: {line}" for line in policy.assumptions),
            *policy.warnings,
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
                        percent(other.empirical_risk, 1),
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
            columns=("judge", "signal", "rows", "accuracy", "ECE", "AUROC", "AUPRC"),
            rows=tuple(
                (
                    s.judge,
                    s.signal,
                    number(s.n),
                    number(s.accuracy),
                    number(s.ece),
                    number(s.auroc),
                    number(s.auprc),
                )
                for s in evaluation.signals
            ),
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
    wanted = ["id", "judge", "protocol", "uncertainty", "p_a", "verdict"]
    rows = pl.concat([frame.select(wanted) for frame in found.judgments], how="vertical_relaxed")
    doubt = (
        rows.drop_nulls("uncertainty")
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
            note=f"{row['judge']} ({row['protocol']}): p(A) = {row['p_a']:.3f}, "
            f"doubt {row['uncertainty']:.3f}",
        )
        for row in doubt.to_dicts()
    ]
    if blocks:
        blocks.insert(
            0, Words(lines=(f"The {len(blocks)} most doubtful pairs, most doubtful first:",))
        )
    return blocks
