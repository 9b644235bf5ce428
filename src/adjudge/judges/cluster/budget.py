"""`--max-cost` over all workers: workers get money before they spend it, in small sums."""

from __future__ import annotations

#: The number of sums into which a worker's share is divided.
_SUMS_EACH = 20


class Budget:
    """The money that is left. It is never exceeded: no worker spends more than it was given.

    If a worker dies, its money is not given out again, because it is not known whether it was
    spent. Small sums keep this loss small.

    >>> budget = Budget(4.0, spent=0.0, workers=2)
    >>> [budget.hand_out(in_hand, short=False) for in_hand in (0.0, 0.1, 0.03)]
    [0.1, 0.0, 0.1]
    >>> budget.hand_out(0.1, short=True), round(budget.left, 6)
    (0.1, 3.7)
    """

    def __init__(self, total: float | None, *, spent: float, workers: int) -> None:
        self.left = 0.0 if total is None else max(0.0, total - spent)
        self._sum = self.left / (_SUMS_EACH * workers)

    def hand_out(self, in_hand: float, *, short: bool) -> float:
        """Another sum, for a worker with less than half of one, or too little for its next call."""
        if in_hand > self._sum / 2 and not short:
            return 0.0
        money = min(self._sum, self.left)
        self.left -= money
        return money
