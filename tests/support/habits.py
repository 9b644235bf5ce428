"""How judges really answer: thinking first, refusing, reasoning before a verdict, with ties.

A step `habit:NAME` of judge_server.py. The numbers behind an answer are functions of the request's
key alone (`share`, `tie_share`), so that a test can compute what adjudge must read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

MASS = 0.9
THOUGHT = "Naïve café: 日本語, so both are fine; "


def share(key: str) -> float:
    """P(A) among A and B, in (0.02, 0.98)."""
    return 0.02 + 0.96 * int(key[:8], 16) / 0xFFFFFFFF


def tie_share(key: str) -> float:
    """P(C) among A, B and C: likelier than either for about half of the keys."""
    return 0.05 + 0.9 * int(key[8:16], 16) / 0xFFFFFFFF


def token(text: bytes, top: list[tuple[str, float]] | None = None, *, plain: bool = False) -> Any:
    """One token with its likeliest alternatives; `plain`: a server that gives no bytes."""
    listed = top or [(text.decode("utf-8", "replace"), -0.01), ("the", -5.0)]
    return {
        "token": text.decode("utf-8", "replace"),
        "logprob": listed[0][1],
        "bytes": None if plain else list(text),
        "top_logprobs": [
            {"token": name, "logprob": value, "bytes": None if plain else list(name.encode())}
            for name, value in listed
        ],
    }


def letters(key: str, form: str = "{}") -> list[tuple[str, float]]:
    """The letters where a verdict is written, each inside what its token holds besides."""
    p = share(key)
    pairs = [(form.format("A"), math.log(MASS * p)), (form.format("B"), math.log(MASS * (1 - p)))]
    pairs.append(("the", math.log(0.01)))
    return sorted(pairs, key=lambda pair: -pair[1])


def split(text: str, sizes: tuple[int, ...] = (3, 5, 2)) -> list[bytes]:
    """The text cut into tokens that end inside characters."""
    whole, parts, at, turn = text.encode(), [], 0, 0
    while at < len(whole):
        size = sizes[turn % len(sizes)]
        parts.append(whole[at : at + size])
        at, turn = at + size, turn + 1
    return parts


def written(
    before: str, verdict: tuple[str, str, str], after: str, *, plain: bool = False
) -> Callable[[str], tuple[str, list[Any], str]]:
    """A reply that ends in a verdict: left of the letter's token, the token, right of it."""
    left, form, right = verdict

    def reply(key: str) -> tuple[str, list[Any], str]:
        letter = "A" if share(key) > 0.5 else "B"
        text = f"{before}{left}{form.format(letter)}{right}{after}"
        made = [token(part, plain=plain) for part in split(before + left)]
        made.append(token(form.format(letter).encode(), letters(key, form), plain=plain))
        made += [token(part, plain=plain) for part in split(right + after)]
        return text, made, "stop"

    return reply


def first_token(text: str, top: Callable[[str], list[tuple[str, float]]]) -> Any:
    def reply(key: str) -> tuple[str, list[Any], str]:
        return text, [token(text.split()[0].encode(), top(key))], "length"

    return reply


def few(first: str, mass: float) -> Callable[[str], list[tuple[str, float]]]:
    """Something else is nearly certain; the letters share `mass`."""
    return lambda key: [
        (first, math.log(0.95)),
        ("A", math.log(mass * share(key))),
        ("B", math.log(mass * (1 - share(key)))),
    ]


def think_first(key: str) -> tuple[str, list[Any], str]:
    """Every second time the letters are not even listed."""
    top = few("<think>", 0.03)(key)
    if int(key[-1], 16) % 2:
        top = [top[0], ("\n", math.log(0.01))]
    return "<think>", [token(b"<think>", top)], "length"


def tie(key: str) -> tuple[str, list[Any], str]:
    t, p = tie_share(key), share(key)
    shares = {"A": (1 - t) * p, "B": (1 - t) * (1 - p), "C": t}
    top = sorted(((n, math.log(MASS * s)) for n, s in shares.items()), key=lambda x: -x[1])
    return top[0][0], [token(top[0][0].encode(), [*top, ("the", math.log(0.01))])], "length"


HABITS: dict[str, Callable[[str], tuple[str, list[Any], str]]] = {
    "think_first": think_first,
    "refusal": first_token("I'm sorry, but I can't", few("I", 0.0003)),
    "cot_apart": written(THOUGHT, ("[[", "{}", "]]"), ""),
    "cot_left": written(THOUGHT, ("", "[[{}", "]]"), ".\n"),
    "cot_right": written(THOUGHT, ("[[", "{}]]", ""), ""),
    "cot_whole": written(THOUGHT, ("", " [[{}]]", ""), ""),
    "cot_no_bytes": written(THOUGHT, ("[[", "{}", "]]"), "", plain=True),
    "after_think": written("<think>\n[[A]]? [[B]]?\n</think>\n", ("[[", "{}", "]]"), ""),
    "json": written('{"why": "日本 {x}", "winner": ', ('"', "{}", '"'), "}"),
    "last_line": written(THOUGHT + "\n\n", ("", "{}", ""), "\n"),
    "cut_off": lambda key: (THOUGHT + "[[", [token(b"x")], "length"),
    "cut_after": lambda key: (f"{THOUGHT}[[A]] unless", [token(b"x")], "length"),
    "two_verdicts": lambda key: ("[[A]] or [[B]]", [token(b"x")], "stop"),
    "tie": tie,
}


def habit_answer(name: str, key: str, whole: dict[str, Any], *, logprobs: bool) -> dict[str, Any]:
    """A good answer of the server, with this habit's message in the place of its own."""
    text, content, finish = HABITS[name.removesuffix("-mute")](key)
    mute = name.endswith("-mute") or not logprobs
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": finish,
        "logprobs": None if mute else {"content": content},
    }
    return {**whole, "choices": [choice]}
