"""Read a chat completion: the written text, and the options' log probabilities in it.

If none of the returned tokens names an option, the option is at most as likely as the least likely
of them: its entry is that bound and the status is `censored`. Without any option the status is
`no_logprobs`. Neither can happen if the options' tokens were requested by id.

Log probabilities are those before the temperature. A server that reports them after sampling has
one token at 1 and the others at 0. This is detected, and the status is `no_logprobs`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.judges.backends._chat_server import measure, shapeless_reply
from adjudge.judges.backends._http import Exchange
from adjudge.judges.backends._spellings import NEVER, bare, option_logprobs
from adjudge.judges.interface import Choice, Question, Reasoned
from adjudge.judges.verdicts import locate_option
from adjudge.records import Reply


def read_reply(
    exchange: Exchange, question: Question, *, server: str | None = None, by_id: int = 0
) -> Reply:
    """A reply from a chat completion of `server`; `by_id` tokens were requested by id."""
    payload = exchange.payload
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        text = message.get("content")
        refusal = message.get("refusal")
        finish = choice.get("finish_reason")
    except (AttributeError, IndexError, KeyError, TypeError):
        return shapeless_reply(exchange)
    usage = payload.get("usage")
    measured = measure(exchange, text, usage, "prompt_tokens", "completion_tokens")
    measured["server"] = server
    if refusal or finish == "content_filter":
        words = refusal if isinstance(refusal, str) else "stopped by the server's content filter"
        return Reply(status="refused", error=" ".join(words.split())[:300], **measured)
    want = question.want
    if isinstance(want, Choice):
        return read_choice(_alternatives(choice, 0), want.options, measured, by_id=by_id)
    measured["cut_off"] = finish == "length"
    if isinstance(want, Reasoned):
        return _read_reasoned(choice, want, measured)
    return Reply(status="ok", **measured)


def _read_reasoned(choice: Mapping[str, Any], want: Reasoned, measured: dict[str, Any]) -> Reply:
    """The written reply, with the options' log probabilities at its verdict."""
    text = measured["text"]
    place = locate_option(text, want.options, want.format) if isinstance(text, str) else None
    if place is None:
        return Reply(status="ok", **measured)
    pairs = _alternatives(choice, _token_at(choice, text, place.start))
    if not pairs:
        return Reply(status="ok", **measured)
    return read_choice(pairs, want.options, measured)


def _token_at(choice: Mapping[str, Any], text: str, start: int) -> int:
    """The index of the token that holds the text's character `start`; -1 if there is none.

    Tokens are joined as bytes, because one can end inside a character. Tokens that the server
    counts but does not show in the text (thoughts, an end mark) are before or after it. If a server
    gives no bytes and such a token is unreadable, the text is searched from the letter to its end.
    """
    try:
        logprobs = choice["logprobs"]
        if "content" in logprobs:
            pieces = [_token_bytes(entry) for entry in logprobs["content"]]
        else:
            pieces = [token.encode("utf-8", "surrogatepass") for token in logprobs["tokens"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        return -1
    joined, written = b"".join(pieces), text.encode("utf-8", "surrogatepass")
    before = len(text[:start].encode("utf-8", "surrogatepass"))
    begin = joined.rfind(written)
    if begin < 0 and not joined.endswith(written[before:]):
        return -1
    wanted = len(joined) - len(written) + before if begin < 0 else begin + before
    passed = 0
    for index, piece in enumerate(pieces):
        passed += len(piece)
        if passed > wanted:
            return index
    return -1


def _token_bytes(entry: Mapping[str, Any]) -> bytes:
    given = entry.get("bytes")
    return bytes(given) if given else str(entry["token"]).encode("utf-8", "surrogatepass")


def _alternatives(choice: Mapping[str, Any], index: int) -> list[tuple[str, float]] | None:
    """The most likely tokens at one place of the reply; empty if the server gives none.

    None if they are not tokens with numbers.
    """
    if index < 0:
        return []
    try:
        logprobs = choice["logprobs"]
        if "content" in logprobs:
            return _token_pairs(logprobs["content"][index]["top_logprobs"])
        # The older shape, of text completions: an object of tokens for each place.
        top = logprobs["top_logprobs"][index]
        return _token_pairs([{"token": name, "logprob": value} for name, value in top.items()])
    except (AttributeError, IndexError, KeyError, TypeError):
        return []


def read_choice(
    pairs: Sequence[tuple[str, float]] | None,
    options: tuple[str, ...],
    measured: dict[str, Any],
    *,
    by_id: int = 0,
) -> Reply:
    """The options' log probabilities among tokens; exact if `by_id` of them were given by id."""
    if pairs is None:
        error = "the server's top_logprobs are not token texts with a number each"
        return Reply(status="error", error=error, **measured)
    if not pairs:
        empty = not measured["text"]
        what = "the reply is empty" if empty else "the server returned no log probabilities"
        return _unmeasured(f"{what}; use --samples K", measured)
    values = [value for _, value in pairs]
    mass = sum(map(math.exp, values)) if max(values) < 1 else math.nan
    if not mass <= 1.01:
        error = "the server's log probabilities are not valid for tokens"
        return Reply(status="error", error=error, **measured)
    if len([value for value in values if value > NEVER]) < 2:
        # One token at 1 and the rest at 0 is the outcome of greedy sampling, not a measurement.
        error = "the server gives a probability only to the sampled token"
        return _unmeasured(f"{error}; use --samples K", measured)
    logprobs, censored = option_logprobs(pairs, options)
    mass = math.fsum(math.exp(logprobs[option]) for option in options if option not in censored)
    # Requested tokens plus the sampled one: more means a server that ignores ids.
    exact = by_id > 0 and len(pairs) <= by_id + 1
    if len(censored) == len(options):
        first = max(pairs, key=lambda pair: pair[1])[0]
        error = f"none of {', '.join(options)} is among the {len(pairs)} most likely first tokens"
        advice = "ask with --reason, or --samples 10"
        return _unmeasured(f"{error} (most likely: {first[:40]!r}); {advice}", measured)
    return Reply(
        status="censored" if censored else "ok",
        logprobs=logprobs,
        censored=censored,
        answer_mass=min(mass, 1.0),
        exact_mass=exact and by_id <= sum(bare(token) in options for token, _ in pairs),
        **measured,
    )


def _token_pairs(top: Any) -> list[tuple[str, float]] | None:
    """Tokens with their log probabilities; empty if there are none, None if malformed."""
    if not top:
        return []
    try:
        pairs = [(entry["token"], entry["logprob"]) for entry in top]
    except (KeyError, TypeError):
        return None
    if {type(token) for token, _ in pairs} == {str} and {type(v) for _, v in pairs} == {float}:
        return pairs
    try:
        if all(isinstance(token, str) and type(value) in (int, float) for token, value in pairs):
            return [(token, float(value)) for token, value in pairs]
    except OverflowError:  # a whole number too large for a float
        pass
    return None


def _unmeasured(error: str, measured: dict[str, Any]) -> Reply:
    return Reply(status="no_logprobs", error=error, **measured)
