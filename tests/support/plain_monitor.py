"""The monitor's e-process and interval once more, as plainly as they can be written."""

from __future__ import annotations

import math
from collections.abc import Sequence

ODDS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def plain_evidence(errors: Sequence[int], limit: float, horizon: float) -> list[float]:
    """e after each audit, audit by audit, without logarithms."""
    bets = [k * limit / (1 - limit) / (1 + k * limit / (1 - limit)) for k in ODDS]
    total, started = [1.0] * len(bets), [0.0] * len(bets)
    unspent, weight, path = 1.0, 1 / horizon, []
    for error in errors:
        for j, q in enumerate(bets):
            gain = q / limit if error else (1 - q) / (1 - limit)
            total[j] *= gain
            started[j] = (started[j] + weight) * gain
        unspent -= weight
        weight *= 1 - 1 / horizon
        change = sum(started) / len(bets) + unspent
        path.append((sum(total) / len(bets) + change) / 2)
    return path


def first_alarm(errors: Sequence[int], limit: float, delta: float, horizon: float) -> int | None:
    """The number of the audit that raises the alarm."""
    path = plain_evidence(errors, limit, horizon)
    return next((at for at, e in enumerate(path, 1) if e >= 1 / delta), None)


def is_excluded(m: float, errors: int, audits: int, delta: float) -> bool:
    """Whether the interval leaves the rate m out."""
    sizes = [4 / 2**i for i in range(12)]
    for sign in (1, -1):
        parts = [
            math.exp(sign * s * errors - audits * math.log(1 - m + m * math.exp(sign * s)))
            for s in sizes
        ]
        if sum(parts) / len(parts) >= 2 / delta:
            return True
    return False
