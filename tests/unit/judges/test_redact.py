"""A secret is struck out however it is written, and what is innocent stays as it is."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.redact import MARK, Redactor, environment_secrets
from adjudge.records import Reply

KEY = "sk-planted/KEY+with=odd-chars_0123456789"
SPELLINGS = {
    "raw": KEY,
    "slash": KEY.replace("/", "\\/"),
    "one_letter_escaped": "\\u0073" + KEY[1:],
    "all_escaped": "".join(f"\\u{ord(letter):04X}" for letter in KEY),
    "escaped_twice": "".join(f"\\\\u{ord(letter):04x}" for letter in KEY),
    "hex_escaped": "".join(f"\\x{ord(letter):02x}" for letter in KEY),
    "percent": quote(KEY, safe=""),
    "percent_all": "".join(f"%{ord(letter):02x}" for letter in KEY),
    "percent_twice": quote(quote(KEY, safe=""), safe=""),
    "entities": "".join(f"&#{ord(letter)};" for letter in KEY),
    "entities_hex": "".join(f"&#x{ord(letter):X};" for letter in KEY),
    "named_entities": html.escape(KEY).replace("/", "&sol;").replace("=", "&equals;"),
    "escape_in_percent": "%5Cu0073" + KEY[1:],
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64_url": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "base64_of_header": base64.b64encode(f"Bearer {KEY}\r\n".encode()).decode(),
    "base64_of_more": base64.b64encode(f"ab{KEY}cd".encode()).decode(),
    "base64_escaped": base64.b64encode(KEY.encode()).decode().replace("a", "\\u0061"),
    "hex": KEY.encode().hex(),
    "hex_upper": KEY.encode().hex().upper(),
}


def readable(text: str) -> str:
    """What somebody who looks for the key could make of a text."""
    for _ in range(3):
        text = html.unescape(text)
        text = json.loads('"' + text.replace('"', "").replace("\\x", "\\u00") + '"')
    return text


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_key_is_struck_out_of_text_however_it_is_written(name: str) -> None:
    redact = Redactor([KEY])
    for text in (SPELLINGS[name], f"your key is {SPELLINGS[name]}, is it?"):
        shown = redact.exact(text)
        assert MARK in shown
        assert SPELLINGS[name] not in shown
        assert KEY[5:20] not in readable(shown)
        assert SPELLINGS[name][10:30] not in shown


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_kept_field_of_a_reply_is_clean(name: str) -> None:
    spelled = SPELLINGS[name]
    reply = Reply(
        status="ok", text=spelled, error=f"no: {spelled}", raw=f'{{"content": "{spelled}"}}'
    )
    clean = Redactor([KEY]).clean(reply)
    assert all(MARK in (kept or "") for kept in (clean.text, clean.error, clean.raw))
    assert spelled[10:30] not in repr(clean)


PIECES = {
    "neighbours": {"content": "so: " + KEY[:15], "model": KEY[15:] + "!"},
    "over_levels": {"a": {"b": ["x", KEY[:20]]}, "c": KEY[20:]},
    "one_name": {"x": [{"t": KEY[:9], "u": "1"}, {"t": KEY[9:20], "u": "2"}, {"t": KEY[20:]}]},
    "tokens": {
        "content": [
            {"token": KEY[i : i + 3], "top_logprobs": [{"token": "A", "logprob": -1.0}]}
            for i in range(0, len(KEY), 3)
        ]
    },
    "letters": {"content": list(KEY)},
    "base64": {"a": SPELLINGS["base64"][:20], "b": SPELLINGS["base64"][20:]},
    "last_letter": {"x": "!" + SPELLINGS["hex"][:-1], "y": SPELLINGS["hex"][-1] + "!"},
    "last_escape": {"x": KEY[:-1] + "%3", "y": "9!"},
}


@pytest.mark.parametrize("name", PIECES)
def test_of_an_answer_with_a_key_in_pieces_nothing_is_kept(name: str) -> None:
    raw = json.dumps(PIECES[name])
    clean = Redactor([KEY]).clean(Reply(status="ok", text="A", logprobs={"A": -1.0}, raw=raw))
    assert clean == Reply(
        status="error", error="the answer contains a secret in pieces; it is not stored", raw=MARK
    )


@given(
    spelling=st.sampled_from([SPELLINGS[name] for name in ("raw", "base64", "hex", "percent")]),
    cuts=st.sets(st.integers(1, 39), min_size=1),
    written=st.sampled_from(["{}", "\\u{:04x}", "%{:02x}", "&#{};", "%5Cu{:04x}"]),
    escaped=st.sets(st.integers(0, 39)),
    around=st.sampled_from(["", "50% ", "R&D: ", "line\n", 'a "word" ', "word7"]),
)
def test_no_cut_and_no_escape_hides_the_pieces_of_a_key(
    spelling: str, cuts: set[int], written: str, escaped: set[int], around: str
) -> None:
    letters = [
        written.format(ord(letter)) if at in escaped and written != "{}" else letter
        for at, letter in enumerate(spelling)
    ]
    text = around + "".join(letters) + around
    ends = sorted(len(around) + cut for cut in cuts)
    pieces = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    raw = json.dumps([{"token": piece, "logprob": -1.25} for piece in pieces])
    cleaned = Redactor([KEY, "hf_another-Key"]).clean(Reply(status="ok", raw=raw)).raw
    if any(spelling in piece for piece in pieces):  # the 7 of \u0037, then the rest of the key
        assert spelling not in str(cleaned)
    else:
        assert cleaned == MARK


def test_secrets_of_the_environment_are_known_by_the_names_of_their_variables() -> None:
    secrets = environment_secrets(
        {
            "MY_API_KEY": 'ab"cdefgh1',
            "HF_TOKEN": "hf_abcdefgh",
            "PATH": "/usr/bin:/x",
            "SHORT_KEY": "EMPTY",
            "LINES_SECRET": "first line\nsecond line",
        }
    )
    redact = Redactor(secrets)
    reply = Reply(status="error", text="hf_abcdefgh", raw='{"k": "ab\\"cdefgh1"}', error="EMPTY")
    clean = redact.clean(reply)
    assert (clean.text, clean.raw, clean.error) == ("[redacted]", '{"k": "[redacted]"}', "EMPTY")
    assert redact.exact('{"k": "first line\\nsecond line"}') == '{"k": "[redacted]"}'
    innocent = Reply(status="ok", text="/usr/bin:/x")
    assert redact.clean(innocent) is innocent


def test_a_secret_inside_another_leaves_nothing_of_the_longer() -> None:
    redact = Redactor(["abcdefgh", "abcdefgh-and-more"])
    assert redact.exact("x abcdefgh-and-more y") == "x [redacted] y"


def test_what_looks_like_a_key_goes_from_messages_too() -> None:
    redact = Redactor(["abc/def-secret", "EMPTY", ""])
    assert redact("key abc/def-secret and abc\\/def-secret") == "key [redacted] and [redacted]"
    assert redact("Authorization: Bearer eyJhbGciOi.x-y") == "Authorization: [redacted]"
    assert redact("sk-proj-abcdef123456 hf_abcdefghijkl") == "[redacted] [redacted]"
    assert redact("EMPTY is no secret, nor is a risk-averse key") == (
        "EMPTY is no secret, nor is a risk-averse key"
    )


@given(st.text(max_size=300))
def test_innocent_text_stays_as_it_is(text: str) -> None:
    assert Redactor([KEY]).exact(text) == text
    assert Redactor([]).exact(text) == text


@given(
    st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)
)
def test_any_printable_key_is_struck_out_of_json(key: str) -> None:
    shown = Redactor([key]).exact(json.dumps({"content": f"<{key}>"}))
    assert shown == MARK or key not in json.loads(shown)["content"]
