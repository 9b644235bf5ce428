"""No text of strangers becomes anything but text."""

from __future__ import annotations

import time
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.data.conversations import Turn, write_turns
from adjudge.rendering import render_markdown, render_response, text_styles

XSS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](java\nscript:alert(1))",
    "[click](&#106;avascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[click](vbscript:msgbox(1))",
    "[click](file:///etc/passwd)",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    '![x](https://evil.example/p.png "onerror=alert(1)")',
    "<https://ok.example/\"onmouseover=alert(1)>",
    "[a]: javascript:alert(1)\n\n[a]",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "`<script>alert(1)</script>`",
    "<iframe src=//evil.example></iframe>",
    "<style>body{background:url(//evil.example)}</style>",
    "<a href='x' onclick='alert(1)'>x</a>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "</div></main><script>alert(1)</script>",
    "<!--<img src=--><img src=x onerror=alert(1)//>",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "# <b onmouseover=alert(1)>x",
    "\u0000<script>alert(1)</script>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "[x](https://a.example/?q=\"><script>alert(1)</script>)",
    "$<script>alert(1)</script>$",
    "$$\n<img src=x onerror=alert(1)>\n$$",
    "\\[<svg/onload=alert(1)>\\]",
]  # fmt: skip
ALLOWED = {
    "p", "strong", "em", "s", "code", "pre", "span", "a", "ul", "ol", "li", "blockquote", "hr",
    "br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {"class", "href", "rel", "target", "title", "start"}


class Inspector(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED:
            self.problems.append(f"tag {tag}")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.problems.append(f"attribute {name}")
            if name == "href" and not str(value).lower().startswith(
                ("http://", "https://", "mailto:")
            ):
                self.problems.append(f"link {value}")

    handle_startendtag = handle_starttag


def problems_of(html: str) -> list[str]:
    inspector = Inspector()
    inspector.feed(html)
    inspector.close()
    return inspector.problems


@pytest.mark.parametrize("attack", XSS)
def test_attacks_become_text(attack: str) -> None:
    assert problems_of(render_markdown(attack)) == []


@given(
    st.text(alphabet=st.sampled_from("<>/\"'`![]()&#;:=ajvscript onerror\n|-*_~$\\"), max_size=200)
)
def test_any_text_becomes_harmless(text: str) -> None:
    assert problems_of(render_markdown(text)) == []


def test_what_people_write_looks_right() -> None:
    html = render_markdown(
        "# T\n\n- **a**\n\n```python\nx = 1\n```\n\n|a|b|\n|-|-:|\n|1|2|\n\n~~no~~"
    )
    for piece in ("<h1>T</h1>", "<strong>a</strong>", "hl-", "align-right", "<s>no</s>"):
        assert piece in html


@pytest.mark.parametrize(
    "formula",
    [
        "$a_i + b_i*c*d$",
        "$$a_1 * b_1 * c$$",
        r"\(x_1 < y_1\)",
        r"\[ \int_0^1 f_n(x)_m \]",
        "$$\n- a_1 + b_1\n= c\n$$",
        "\\[\n+ a*b*c\n\\]",
    ],
)
@pytest.mark.parametrize("around", ["{}", "before {} after", "- {}", "> {}"])
def test_formulas_stay_as_they_were_written(formula: str, around: str) -> None:
    if "\n" in formula and around != "{}":
        formula = formula.replace("\n", " ")
    html = render_markdown(around.format(formula))
    assert f'class="formula">{escape(formula, quote=False)}</' in html


@pytest.mark.parametrize(
    "text",
    ["$5 and $10", "from $5 to *$10* each", "$HOME and $PATH", "a $ b $ c", "$$", "\\(", "$$x"],
)
def test_money_and_variables_are_no_formulas(text: str) -> None:
    assert "formula" not in render_markdown(text)


def test_openings_that_never_close_are_read_in_time() -> None:
    began = time.process_time()
    render_markdown("\\( a " * 20_000 + "$x " * 20_000)
    assert time.process_time() - began < 20


def test_codes_that_turn_or_hide_text_are_shown() -> None:
    html = render_markdown("a\r\nb\rc \x1b[2J \u202etxt\u202c `\u2066x\u2069`")
    assert html.startswith("<p>a\nb\nc ")
    assert not set(html) & set("\r\x1b\u202e\u202c\u2066\u2069")
    for shown in ("\\x1b[2J", "\\u202etxt\\u202c", "\\u2066x\\u2069"):
        assert shown in html


def test_code_has_colours_for_light_and_dark() -> None:
    assert "prefers-color-scheme: dark" in text_styles()


def test_turns_have_headings_and_what_tools_do_is_folded() -> None:
    hostile = "<img src=x onerror=alert(1)>\u202e"
    text = write_turns([
        Turn("user", f"**Hi** {hostile}"),
        Turn("assistant", f'Look.\n[calls find] {{"q": "{hostile}"}}\n[calls pay] {{}}', "planner"),
        Turn("tool", hostile, "find", failed=True),
    ])  # fmt: skip
    html = render_response(text)
    assert "<h3>user</h3><p><strong>Hi</strong>" in html
    assert "<h3>assistant planner</h3><p>Look.</p>" in html
    assert html.count('<details class="call"><summary>calls <b>') == 2
    assert '<details class="turn tool failed"><summary>tool find: error <span>' in html
    assert "<img" not in html
    assert "\u202e" not in html


@pytest.mark.parametrize("text", ["[1]\nA list.", "Hello\n\n[user]\nHi", "[note]\nx", "[user] Hi"])
def test_text_that_is_no_conversation_has_no_turns(text: str) -> None:
    assert "turn" not in render_response(text)
