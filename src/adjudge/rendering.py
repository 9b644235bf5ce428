r"""Untrusted text as safe HTML: the same for the labelling page, the viewer and the report.

Raw HTML in the text is shown as text, and so are codes that change the direction of writing. Links
keep only http, https and mailto. Images in Markdown become their description, so that no text can
make the page load anything; images that are parts of a text are shown. TeX in `$...$`, `$$...$$`,
`\(...\)` and `\[...\]` is shown unchanged: Markdown would make `a_i + b_i` italic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from adjudge.data.conversations import ASSISTANTS, CALL, TOOLS, Turn, turns_of
from adjudge.data.parts import Part, parts_of, shown_words, unflatten
from adjudge.images import show_image
from adjudge.present.blocks import Html
from adjudge.present.render.html import read_style
from adjudge.present.text import safe

#: The texts of a row that are no answer, and those that are, with their headings.
HEADINGS = {"prompt": "Question", "context": "Context", "reference": "Reference answer"}
ANSWERS = {"response_a": "Answer A", "response_b": "Answer B", "response": "Answer"}
#: The opening mark, no blank line, and the closing mark at the end of a line.
_BLOCK = re.compile(
    r"(?:\$\$(?:(?!\n[ \t>]*\n).)+?\$\$|\\\[(?:(?!\n[ \t>]*\n).)+?\\\])(?=[ \t]*(?:\n|\Z))",
    re.DOTALL,
)
#: A dollar opens before a letter and closes after one, and not before a digit: "$5 and $10" is
#: money. The bound limits the search for an opening that is never closed.
_INLINE = re.compile(
    r"\$\$[^$]{1,2000}\$\$"
    r"|\$(?![\s$])[^$]{0,2000}(?<![\s\\])\$(?!\d)"
    r"|\\\(.{1,2000}?\\\)"
    r"|\\\[.{1,2000}?\\\]",
    re.DOTALL,
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
    match = _BLOCK.match(
        state.src, state.bMarks[start] + state.tShift[start], state.eMarks[end - 1]
    )
    if match is None or state.is_code_block(start):
        return False
    last = start + match.group().count("\n") + 1
    if not silent:
        token = state.push("formula_block", "", 0)
        token.content = state.getLines(start, last, state.blkIndent, False)
        token.map = [start, last]
        state.line = last
    return True


_SCHEMES = frozenset({"http", "https", "mailto"})
#: A longer block is shown without colours, because Pygments is slow.
_HIGHLIGHT_LIMIT = 50_000
_FORMATTER = HtmlFormatter(nowrap=True, classprefix="hl-")


def render_markdown(text: str) -> str:
    """The text as safe HTML; control and direction codes are shown as text.

    >>> render_markdown("**yes** <script>no</script>")
    '<p><strong>yes</strong> &lt;script&gt;no&lt;/script&gt;</p>\\n'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return str(_renderer().render(safe(lines)))


def text_styles() -> str:
    """The style sheet of texts and of highlighted code, light and dark."""
    light = _highlight_style("xcode")
    dark = _highlight_style("github-dark")
    code = f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
    return read_style("text.css") + code


def _highlight_style(name: str) -> str:
    formatter = HtmlFormatter(style=name, classprefix="hl-")
    return str(formatter.get_style_defs(".code"))  # type: ignore[no-untyped-call]  # pygments has no types here


def _renderer() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    reader.enable(["table", "strikethrough"])
    reader.inline.ruler.before("escape", "formula", _inline)
    reader.block.ruler.before(
        "fence", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]}
    )
    reader.validateLink = _harmless_link  # type: ignore[method-assign]
    rules = {"formula": _formula, "formula_block": _formula, "fence": _fence, "image": _image}
    rules |= {"link_open": _link_open, "th_open": _cell_open, "td_open": _cell_open}
    for name, rule in rules.items():
        reader.add_render_rule(name, rule)
    return reader


def _formula(self: RendererHTML, tokens: Sequence[Token], index: int, *_: Any) -> str:
    tag = "span" if tokens[index].type == "formula" else "div"
    return f'<{tag} class="formula">{escapeHtml(tokens[index].content)}</{tag}>'


def _harmless_link(url: str) -> bool:
    try:
        return urlsplit(url.strip()).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def _fence(self: RendererHTML, tokens: Sequence[Token], index: int, *_: Any) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    body = escapeHtml(token.content)
    if language and len(token.content) <= _HIGHLIGHT_LIMIT:
        with suppress(ClassNotFound):  # an unknown language is shown without colours
            body = highlight(token.content, get_lexer_by_name(language), _FORMATTER)
    return f'<pre class="code"><code>{body}</code></pre>\n'


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
    token = tokens[index]
    described = self.renderInlineAsText(token.children or [], *rest)
    address = str(token.attrGet("src") or "")
    return f'<span class="image">[image: {escapeHtml(described or address)}]</span>'


def _link_open(self: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
    token = tokens[index]
    token.attrSet("rel", "noopener noreferrer nofollow")
    token.attrSet("target", "_blank")
    return self.renderToken(tokens, index, *rest)


def _cell_open(self: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
    # The page's policy forbids inline styles, so alignment is a class.
    token = tokens[index]
    style = str(token.attrs.pop("style", ""))
    if style:
        token.attrSet("class", "align-" + style.removeprefix("text-align:"))
    return self.renderToken(tokens, index, *rest)


def render_response(text: str) -> Html:
    """The parts of a response, one after the other, as safe HTML.

    A response is one text, or turns; each with its images. An image is drawn again, scaled, and
    within the page: the page asks no server for it.

    >>> print(render_response("[assistant]\\n*a*\\n[calls find] {}"))
    <section class="turn assistant"><h3>assistant</h3><p><em>a</em></p>
    <details class="call"><summary>calls <b>find</b> <span>{}</span></summary>...</details>
    </section>
    <BLANKLINE>
    """
    turns = turns_of(text)
    made = _render_parts(text) if turns is None else "".join(map(_render_turn, turns))
    return Html(made)


def _render_parts(text: str) -> str:
    return "".join(map(_render_part, parts_of(text)))


def _render_turn(turn: Turn) -> str:
    """A turn of a conversation under its role; calls of tools and what they returned are folded."""
    failed = " failed" if turn.failed else ""
    if turn.role in TOOLS:
        return _folded(f"turn tool{failed}", turn.heading, "", turn.text)
    call = CALL.search(turn.text)
    words = turn.text if call is None else turn.text[: call.start()]
    calls = [] if call is None else CALL.findall(turn.text[call.start() :])
    folded = "".join(_folded("call", "calls", name, given) for name, given in calls)
    kind = "assistant" if turn.role in ASSISTANTS else "other"
    heading = f"<h3>{escapeHtml(turn.heading)}</h3>"
    said = _render_parts(unflatten(words)) if words.strip() else ""
    return f'<section class="turn {kind}">{heading}{said}{folded}</section>\n'


def _folded(kind: str, heading: str, name: str, text: str) -> str:
    """What a tool was given or returned: its first words, and all of it when it is opened."""
    text = shown_words(unflatten(text))
    first = escapeHtml(safe(" ".join(text[:_BEGINNING].split())))
    named = f" <b>{escapeHtml(name)}</b>" if name else ""
    return (
        f'<details class="{kind}"><summary>{escapeHtml(heading)}{named} <span>{first}</span>'
        f"</summary><pre><code>{escapeHtml(safe(text))}</code></pre></details>\n"
    )


#: How much of what is folded can be read in its line.
_BEGINNING = 120


def _render_part(part: Part) -> str:
    if isinstance(part, str):
        return render_markdown(part)
    name = escapeHtml(safe(part.name))
    shown, why = show_image(part)
    if shown is None:
        return f'<p><span class="image">[image {name}: {escapeHtml(why)}]</span></p>\n'
    return f'<p><img src="{shown}" alt="{name}" title="{name}"></p>\n'
