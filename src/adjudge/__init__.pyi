"""adjudge: trustworthy LLM-as-a-judge evaluation."""

from adjudge.errors import AdjudgeError as AdjudgeError
from adjudge.judges import judge_pairs as judge_pairs
from adjudge.judges import judge_pairs_async as judge_pairs_async
from adjudge.records import Item as Item
from adjudge.records import Judgment as Judgment
from adjudge.records import Label as Label
from adjudge.records import Pair as Pair
from adjudge.records import Score as Score
from adjudge.uncertainty import confidence as confidence
from adjudge.uncertainty import mean_preference as mean_preference
from adjudge.uncertainty import preference_entropy as preference_entropy
from adjudge.uncertainty import verdicts as verdicts

__version__: str
__all__ = [
    "AdjudgeError",
    "Item",
    "Judgment",
    "Label",
    "Pair",
    "Score",
    "confidence",
    "judge_pairs",
    "judge_pairs_async",
    "mean_preference",
    "preference_entropy",
    "verdicts",
]
