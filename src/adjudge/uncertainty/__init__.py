"""DOUBT: how unsure a judge is of a verdict; higher means more doubt."""

from adjudge.uncertainty.baselines import (
    random_orders,
    single_order_preference,
    swap_vote_preference,
)
from adjudge.uncertainty.entropy import (
    INFINITE_DOUBT,
    confidence,
    mean_preference,
    preference_entropy,
    verdict,
    verdicts,
)
from adjudge.uncertainty.learned import Evidence, LearnedDoubt

__all__ = [
    "INFINITE_DOUBT",
    "Evidence",
    "LearnedDoubt",
    "confidence",
    "mean_preference",
    "preference_entropy",
    "random_orders",
    "single_order_preference",
    "swap_vote_preference",
    "verdict",
    "verdicts",
]
