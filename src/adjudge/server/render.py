"""Markdown of untrusted text to safe HTML.

Raw HTML in the text is shown as text, and so are codes that change the direction of writing. Links
keep only http, https and mailto and open nothing automatically. Images become their description, so
that no text can make the page load anything. The page's Content-Security-Policy is a second
protection.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from adjudge.present.text import safe
from adjudge.server.formulas import keep_formulas

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


def highlight_styles() -> str:
    """The style sheet of highlighted code, light and dark."""
    light, dark = (
        str(HtmlFormatter(style=style, classprefix="hl-").get_style_defs(".code"))  # type: ignore[no-untyped-call]  # pygments has no types here
        for style in ("xcode", "github-dark")
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    made.enable(["table", "strikethrough"])
    keep_formulas(made)
    made.validateLink = _harmless_link  # type: ignore[method-assign]
    made.add_render_rule("fence", _fence)
    made.add_render_rule("image", _image)
    made.add_render_rule("link_open", _link_open)
    for cell in ("th_open", "td_open"):
        made.add_render_rule(cell, _cell_open)
    return made


def _harmless_link(url: str) -> bool:
    try:
        return urlsplit(url.strip()).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def _fence(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    body = escapeHtml(token.content)
    if language and len(token.content) <= _HIGHLIGHT_LIMIT:
        with suppress(ClassNotFound):  # an unknown language is shown without colours
            body = highlight(token.content, get_lexer_by_name(language), _FORMATTER)
    return f'<pre class="code"><code>{body}</code></pre>\n'


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    described = self.renderInlineAsText(token.children or [], options, env)
    address = str(token.attrGet("src") or "")
    return f'<span class="image">[image: {escapeHtml(described or address)}]</span>'


def _link_open(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    token = tokens[index]
    token.attrSet("rel", "noopener noreferrer nofollow")
    token.attrSet("target", "_blank")
    return self.renderToken(tokens, index, options, env)


def _cell_open(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    # The page's policy forbids inline styles, so alignment is a class.
    token = tokens[index]
    style = str(token.attrs.pop("style", ""))
    if style:
        token.attrSet("class", "align-" + style.removeprefix("text-align:"))
    return self.renderToken(tokens, index, options, env)
