"""The conditions under which a policy's promise holds, and notes for its reader."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from adjudge.present.text import count
from adjudge.records import GIVEN, LABELLED, About
from adjudge.results.rules import Cut
from adjudge.rows.choices import describe_choices
from adjudge.selection.cuts import names_of
from adjudge.selection.groups import Entry
from adjudge.selection.guarantees.base import Guarantee
from adjudge.selection.split_counts import Levels
from adjudge.uncertainty import INFINITE_DOUBT

#: The columns of the rows that `cautions` looks at.
NOTED_COLUMNS = ("prompt_id", "sampled_by")
_COUNTED = "each counts as an error and is never accepted"


def assumptions(
    *,
    guarantee: Guarantee,
    about: About = "pairs",
    ties: str,
    cluster: str | None = None,
    by: str | None = None,
    pooled: bool = False,
    weights: str | None = None,
    jury: str | None = None,
    learned: bool = False,
    cuts: Sequence[Cut] = (),
) -> tuple[str, ...]:
    """The conditions under which the promise holds, one sentence each."""
    lines = [guarantee.assumption]
    if weights is not None:
        lines = [
            "new rows differ from the labelled ones only in how often each kind occurs, and "
            f"column {weights} is the correct ratio of the two, not learned from these labels"
        ]
    if about == "choices":
        lines.append(
            "prompts must be exchangeable, including the number and kind of their responses; a "
            "policy about pairs promises nothing about choices, and this one nothing about pairs"
        )
    if about != "grades":
        lines.append(
            f"among {LABELLED[about]} where people have a preference (human ties were left out)"
            if ties == "drop"
            else f"a human tie counts as an error of any {GIVEN[about]}"
        )
    if cluster is not None:
        lines.append(
            f"rows with the same {cluster} are alike: one random row of each calibrates, and the "
            f"promise is about one row of each new {cluster}, all with equal weight"
        )
    if by is not None and pooled:
        lines.append(f"the promise is about all groups of {by} together, not within each")
    elif by is not None:
        lines.append(f"the promise holds within each group of {by}")
    if jury is not None and not learned:
        lines.append(f"the jury's weights ({jury}) were not learned from the calibration labels")
    if learned:
        lines.append(
            "verdict and doubt were learned from labels that do not calibrate; the promise is "
            "about the learned verdict, which is not always the judge's"
        )
    if cuts:
        lines.append(
            f"labelled and new pairs here are those among {names_of(cuts)}, and that share was "
            "not chosen with these labels; every row above it is left to people"
        )
    return tuple(lines)


def cautions(
    entries: Sequence[Entry],
    *,
    guarantee: Guarantee,
    levels: Levels,
    frame: pl.DataFrame,
    cluster: str | None,
    jury: bool,
    learned: bool,
    cascade: bool = False,
    about: About = "pairs",
) -> tuple[str, ...]:
    """What a reader of the policy should know in addition to the promise, one sentence each."""
    lines = []
    rules = {(entry.judge, entry.protocol) for entry in entries}
    if len(rules) > 1:
        lines.append(
            f"{len(rules)} judges or protocols in the file: each has its own rule; do not use "
            "these labels to choose among them (select with --judge, combine with --jury)"
        )
    if jury:
        lines.append(
            "the coverage of each judge alone is for comparison: if you choose the best judge with "
            "these labels, you need other labels to calibrate"
        )
    if guarantee.uses_delta and len(entries) > 1:
        share = float(guarantee.levels_per_rule(levels, len(entries)).delta)
        lines.append(
            f"{guarantee.name} uses {share:.3g} of delta {float(levels.delta):g} for each of "
            f"{len(entries)} rules: all hold together"
        )
    ties = sum(int((entry.labels.scores == INFINITE_DOUBT).sum()) for entry in entries)
    if ties:
        what = "the last judge failed or returned a tie" if cascade else "the judge returned a tie"
        lines.append(f"{what} on {count(ties, 'labelled row')}: {_COUNTED}")
    mute = sum(int((~entry.has_verdict).sum()) for entry in entries) - ties
    if about == "choices":
        lines += describe_choices(frame)
    elif mute:
        why = "margin 0" if learned or cascade else "p = 0.5"
        lines.append(f"no verdict on {count(mute, 'labelled row')} ({why}): {_COUNTED}")
    if any(len(entry.fingerprints) > 1 for entry in entries):
        lines.append("one judge has rows with several fingerprints: select cannot check them")
    if not jury and not cascade and not any(entry.fingerprints for entry in entries):
        lines.append("the rows have no judge_fingerprint: select can only compare judge names")
    if cluster is None and "prompt_id" in frame.columns:
        keys = ["judge", "protocol", "prompt_id"]
        known = frame.filter(pl.col("prompt_id").is_not_null())
        if known.select(keys).is_duplicated().any():
            lines.append("prompt_id repeats but is not used as a cluster: the promise can fail")
    if "sampled_by" in frame.columns:
        planned = int((frame.get_column("sampled_by") == "plan").sum())
        if planned:
            lines.append(
                f"{planned} labels were drawn by a plan: if it drew by the judge's verdict, the "
                "labelled rows are not like the new ones and the promise does not hold"
            )
    return tuple(lines)
