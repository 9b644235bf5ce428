r"""The labelling page: its JSON calls, four static files, and untrusted text as safe HTML.

Raw HTML in the text is shown as text, and so are codes that change the direction of writing. Links
keep only http, https and mailto. Images become their description, so that no text can make the page
load anything. TeX in `$...$`, `$$...$$`, `\(...\)` and `\[...\]` is shown unchanged: Markdown would
make `a_i + b_i` italic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import FastAPI, HTTPException, Query, Response
from fastapi.responses import JSONResponse
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from pydantic import BaseModel, ConfigDict, Field
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from starlette.routing import Route

from adjudge.errors import ArgumentError
from adjudge.present.text import safe
from adjudge.records import Order
from adjudge.server.guard import Guard, Limits, explain_in_one_line
from adjudge.server.labelling import PAIRS, LabelKind, LabellingRound
from adjudge.store.labels import LONGEST_COMMENT

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


def highlight_styles() -> str:
    """The style sheet of highlighted code, light and dark."""
    light, dark = (
        str(HtmlFormatter(style=style, classprefix="hl-").get_style_defs(".code"))  # type: ignore[no-untyped-call]  # pygments has no types here
        for style in ("xcode", "github-dark")
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


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


# Names must not have control codes, and PostgreSQL cannot store a zero.
_PLAIN = r"[^\x00-\x1f\x7f-\x9f]*"
Rater = Annotated[str, Field(max_length=80, pattern=rf"^{_PLAIN}[^\s\x00-\x1f\x7f-\x9f]{_PLAIN}$")]
Nonce = Annotated[str, Field(min_length=8, max_length=80, pattern=r"^[\x21-\x7e]+$")]


class Click(BaseModel):
    """One answer of a rater: a side of a pair, pass or fail, a score, or skip."""

    model_config = ConfigDict(extra="forbid")
    rater: Rater
    id: Annotated[str, Field(max_length=1000)]
    nonce: Nonce
    comment: str | None = None
    side: Annotated[str, Field(pattern=r"^(left|right|tie|pass|fail|skip|[0-9]{1,3})$")]
    shown_order: Order | None = None


class Undo(BaseModel):
    """The request to undo the last answer."""

    model_config = ConfigDict(extra="forbid")
    rater: Rater
    nonce: Nonce


def label_app(round_: LabellingRound, *, host: str, port: int, token: str | None = None) -> Guard:
    """The ASGI application of one labelling round, behind its guard."""
    # The page itself can be fetched without the token; it sends the token with every call.
    open_answers = {
        "/": Response(_fill(_read("label.html"), round_.kind), media_type="text/html"),
        "/label.js": Response(_read("label.js"), media_type="text/javascript"),
        "/label.css": Response(_read("label.css"), media_type="text/css"),
        "/code.css": Response(highlight_styles(), media_type="text/css"),
        "/favicon.ico": Response(status_code=204),
        "/healthz": JSONResponse({"status": "ok"}),
    }
    app = FastAPI(
        title="adjudge label", docs_url=None, redoc_url=None, openapi_url=None,
        redirect_slashes=False,
        routes=[Route(path, answer, methods=["GET"]) for path, answer in open_answers.items()],
    )  # fmt: skip
    instructions = None if round_.instructions is None else render_markdown(round_.instructions)

    @app.get("/api/next")
    def next_task(rater: Annotated[Rater, Query()]) -> dict[str, Any]:
        task = round_.next(rater)
        item: dict[str, Any] | None = None
        if task is not None:
            item = {name: getattr(task, name) for name in ("id", "shown_order", "comment")}
            for name, text in task.texts.items():
                item[name] = None if text is None else render_markdown(text)
        progress, noun = round_.progress(rater), round_.kind.noun
        return {"progress": progress, "item": item, "noun": noun, "instructions": instructions}

    @app.post("/api/label")
    def keep(click: Click) -> dict[str, str]:
        try:
            round_.record(subject_id=click.id, **click.model_dump(exclude={"id"}))
        except ArgumentError as error:
            raise HTTPException(409, str(error)) from None
        return {"kept": click.id}

    @app.post("/api/undo")
    def take_back(undo: Undo) -> dict[str, str | None]:
        name, side = round_.undo(rater=undo.rater, nonce=undo.nonce) or (None, None)
        return {"undone": name, "side": side}

    explain_in_one_line(app)
    return Guard(
        app, host=host, port=port, token=token, limits=Limits(body_bytes=20_000),
        open_paths=frozenset(open_answers),
    )  # fmt: skip


def _fill(page: bytes, kind: LabelKind) -> bytes:
    """The page with the buttons and words of this kind of round; both are our own."""
    stage = "pair" if kind is PAIRS else "answer"
    parts = {b"@kind@": stage, b"@hint@": kind.hint, b"@choices@": kind.choices}
    parts[b"@longest@"] = str(LONGEST_COMMENT)
    for mark, words in parts.items():
        page = page.replace(mark, words.encode())
    return page


def _read(name: str) -> bytes:
    return (files("adjudge.server") / "static" / name).read_bytes()
