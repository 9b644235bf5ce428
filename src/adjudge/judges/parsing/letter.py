"""One letter, and nothing that would have to be guessed."""

from __future__ import annotations

import re
from typing import Literal

# What may stand around a letter without changing what it says: quotes, emphasis, brackets, stops.
_AROUND = r"[\s*_\"'`“”‘’()\[\]{}<>.:,;!#]*"
_LEAD = (
    r"(?:(?:so|thus|therefore),?\s+)?"
    r"(?:my\s+|the\s+)?(?:final\s+|better\s+|best\s+|preferred\s+)?"
    r"(?:answer|verdict|choice|response|option|winner|preference)"
    r"(?:\s+is)?(?:\s+(?:answer|response|option))?"
)
_ALONE = re.compile(_AROUND + r"([ABab])" + _AROUND)
# After other words only the capital counts: "The answer is a" may be cut off before "tie".
_NAMED = re.compile(rf"[\s*_\"'`#]*(?i:{_LEAD})[\s*_\"'`:=([{{<-]+([AB])" + _AROUND)
_BETTER = re.compile(
    r"[\s*_\"'`#]*(?i:(?:answer|response|option|assistant)\s+)?[*_\"'`(\[]*([AB])[*_\"'`)\]]*"
    r"(?i:\s+is\s+(?:the\s+)?(?:better|best|preferred|stronger)"
    r"(?:\s+(?:answer|response|option|one))?)" + _AROUND
)
_BOXED = re.compile(r"[\s$]*\\boxed\{(?:\\text\{)?\s*([AB])\s*\}?\}[\s$.]*")
_THINKING = re.compile(
    r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE
)


def without_thinking(text: str) -> str:
    """The reply after its thoughts: a closed block at the start, or all up to one closing tag.

    Some chat templates open the block themselves, so that only its end is in the reply. A block
    that is never closed is left alone: the answer did not come.

    >>> without_thinking("<think>B, perhaps?</think>A"), without_thinking("B, perhaps?</think>A")
    ('A', 'A')
    >>> without_thinking("<think>B, perhaps")
    '<think>B, perhaps'
    """
    said, found = _THINKING.subn("", text, count=1)
    if not found and said.count("</think>") == 1 and "<think>" not in said:
        return said.partition("</think>")[2]
    return said


def parse_letter(text: str | None) -> Literal["A", "B"] | None:
    """A or B when the whole reply says just that, otherwise None.

    The letter may stand alone (in either case, quoted, emphasised, in brackets), after a naming
    phrase ("Answer: A", "The better response is B"), before one ("B is better") or boxed. A
    reply with anything more is not read: the first letter of a sentence is not a verdict.

    >>> [parse_letter(t) for t in ("A", "**B**", "[[A]]", "Verdict: B", "A is better.", "b")]
    ['A', 'B', 'A', 'B', 'A', 'B']
    >>> [parse_letter(t) for t in ("A or B", "A better answer would", "Both", "", None, "C")]
    [None, None, None, None, None, None]
    """
    if not text or len(text) > 100_000:
        return None
    said = without_thinking(text)
    if len(said) > 200:
        return None
    for pattern in (_ALONE, _NAMED, _BETTER, _BOXED):
        found = pattern.fullmatch(said)
        if found:
            return "A" if found[1] in "Aa" else "B"
    return None
