"""What each guarantee promises, what it does not, and what it assumes, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from adjudge.results.selection import percent
from adjudge.selection.groups import Entry
from adjudge.selection.juries import JURY

GUARANTEES = ("scope", "fdr", "pac")


def promise(guarantee: str, alpha: float, delta: float) -> tuple[str, str]:
    """(what is promised, what is not) for one guarantee.

    >>> promise("pac", 0.1, 0.1)[0][:48]
    'with probability at least 90 % over the labels d'
    """
    level = percent(alpha)
    if guarantee == "scope":
        return (
            f"averaged over calibration sets, at most {level} of the accepted verdicts are wrong "
            "(seen in every simulation tried; the published proof does not show it)",
            "that this one threshold keeps it: its true error rate may be above for nearly half "
            "of all calibration sets; nor that the ratio of expected errors to expected "
            "acceptances is bounded, although the paper's Theorem 2.1 states it",
        )
    if guarantee == "fdr":
        return (
            f"in expectation over labels and batches, at most {level} of the verdicts accepted "
            "from a batch are wrong, in finite samples",
            "anything about one particular batch, about a part of the accepted picked out later, "
            "or about rows that were not in the batch",
        )
    return (
        f"with probability at least {percent(1 - delta)} over the labels drawn, the error rate "
        f"of everything this rule will ever accept is at most {level}",
        "the share of errors in one particular batch, which scatters around that rate",
    )


def assumptions(
    *,
    guarantee: str,
    ties: str,
    cluster: str | None = None,
    by: str | None = None,
    pooled: bool = False,
    weights: str | None = None,
    jury: str | None = None,
) -> tuple[str, ...]:
    """The conditions under which the promise holds, one sentence each."""
    told = []
    if weights is not None:
        told.append(
            "new pairs differ from the labelled ones only in how often each kind occurs, and "
            f"column {weights} is the right ratio of the two, not learned from these labels"
        )
    elif guarantee == "pac":
        told.append("the labelled pairs are an independent random sample of the pairs to be judged")
    else:
        told.append(
            "labelled and new pairs are exchangeable: drawn at random from the same pool, judged "
            "by the same judge with the same prompt and settings"
        )
    told.append(
        "among pairs where people have a preference (human ties were left out)"
        if ties == "drop"
        else "a human tie counts as an error of any verdict"
    )
    if cluster is not None:
        told.append(
            f"rows with the same {cluster} are alike: one random row of each calibrates, and the "
            "promise is about one row of a new one, each counting the same"
        )
    if by is not None and pooled:
        told.append(f"the promise is about all groups of {by} together, not within each")
    elif by is not None:
        told.append(f"the promise holds within each group of {by}")
    if jury is not None:
        told.append(f"the jury's weights ({jury}) were not learned from the calibration labels")
    return tuple(told)


def cautions(
    made: Sequence[Entry],
    guarantee: str,
    delta: Fraction,
    frame: pl.DataFrame,
    cluster: str | None,
) -> tuple[str, ...]:
    """What a reader of the policy should know beside the promise, one sentence each."""
    told = []
    rules = {(entry.judge, entry.protocol) for entry in made}
    if len(rules) > 1:
        told.append(
            f"{len(rules)} judges or protocols in the file: each has its own rule; which of them "
            "to use may not be chosen by these labels (pick with --judge, combine with --jury)"
        )
    if JURY in {entry.judge for entry in made}:
        told.append(
            "the coverage of each judge alone is for comparison: taking the best of them by these "
            "labels would be a choice that other labels would have to calibrate"
        )
    if guarantee == "pac" and len(made) > 1:
        told.append(
            f"pac spends delta {float(delta):g} / {len(made)} on each rule: all hold at once"
        )
    mute = sum(int((~entry.has_verdict).sum()) for entry in made)
    if mute:
        told.append(f"{mute} labelled rows have no verdict (p_a = 0.5): errors, never accepted")
    if any(len(entry.fingerprints) > 1 for entry in made):
        told.append("one judge has rows with several fingerprints: select cannot check them")
    if JURY not in {entry.judge for entry in made} and not any(e.fingerprints for e in made):
        told.append("the rows carry no judge_fingerprint: select can only compare judge names")
    if cluster is None and "prompt_id" in frame.columns:
        keys = ["judge", "protocol", "prompt_id"]
        known = frame.filter(pl.col("prompt_id").is_not_null())
        if known.select(keys).is_duplicated().any():
            told.append("prompt_id repeats and is not used as a cluster: the promise may not hold")
    if "sampled_by" in frame.columns:
        planned = int((frame.get_column("sampled_by") == "plan").sum())
        if planned:
            told.append(
                f"{planned} labels were drawn by a plan: where it drew by the judge's verdict, the "
                "labelled pairs are not like the new ones and the promise does not hold"
            )
    return tuple(told)
