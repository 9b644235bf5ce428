r"""Formulas in Markdown, kept as written.

Answers of models contain TeX, which Markdown would change: `a_i + b_i` becomes italic, `\[` loses
its backslash. A rater must see what the model wrote. So `$...$`, `$$...$$`, `\(...\)` and
`\[...\]` are shown unchanged, in their own style.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_BLOCK = {"$$": "$$", r"\[": r"\]"}
#: A dollar opens before a letter and closes after one, and not before a digit: "$5 and $10" is
#: money. The bound limits the search for an opening that is never closed.
_INLINE = re.compile(
    r"\$\$[^$]{1,2000}\$\$"
    r"|\$(?![\s$])[^$]{0,2000}(?<![\s\\])\$(?!\d)"
    r"|\\\(.{1,2000}?\\\)"
    r"|\\\[.{1,2000}?\\\]",
    re.DOTALL,
)


def keep_formulas(made: MarkdownIt) -> None:
    """Make a Markdown reader keep formulas unchanged."""
    made.inline.ruler.before("escape", "formula", _inline)
    made.block.ruler.before(
        "fence", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]}
    )
    for name, tag in (("formula", "span"), ("formula_block", "div")):
        made.add_render_rule(
            name,
            lambda self, tokens, index, options, env, tag=tag: (
                f'<{tag} class="formula">{escapeHtml(tokens[index].content)}</{tag}>'
            ),
        )


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _INLINE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("formula", "", 0).content = match.group()
    state.pos = match.end()
    return True


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines from one that begins with an opening mark to one that ends with its closing mark."""
    first = _line(state, start)
    closing = _BLOCK.get(first[:2])
    if closing is None or state.is_code_block(start):
        return False
    for last in range(start, end):
        text = _line(state, last)
        if not text:
            return False
        if text.endswith(closing) and (last > start or len(text) > 3):
            if not silent:
                token = state.push("formula_block", "", 0)
                token.content = state.getLines(start, last + 1, state.blkIndent, False)
                token.map = [start, last + 1]
                state.line = last + 1
            return True
    return False


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].strip()
