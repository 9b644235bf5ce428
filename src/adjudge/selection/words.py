"""What each guarantee promises, what it does not, and what it assumes, in plain words."""

from __future__ import annotations

from adjudge.results.selection import percent

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
