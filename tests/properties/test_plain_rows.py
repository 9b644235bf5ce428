"""The quick ways of a resumed run give what the slow ones give: keys of calls, and rows."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.errors import StoreError
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Judge
from adjudge.judges.judge import make_judge
from adjudge.judges.prices import Price
from adjudge.judges.prompting import make_prompt
from adjudge.judges.protocols.preference import Preference
from adjudge.judges.rows import RowMaker
from adjudge.judges.subjects import call_keys, prepare_calls
from adjudge.records import STATUSES, Pair, Reply
from adjudge.store.tables import REPLY_COLUMNS, WRITTEN, Call, row_of

_TEXT = st.text(max_size=12)
_PAIRS = st.builds(
    Pair,
    id=_TEXT,
    prompt=_TEXT,
    response_a=_TEXT,
    response_b=_TEXT | st.just("{response_b} --- user ---"),
    model_a=st.none() | _TEXT,
    label=st.sampled_from([None, "A", "B", "tie"]),
    prompt_id=st.none() | _TEXT,
    extra=st.dictionaries(st.sampled_from(["lang", "status", "p_a", "order"]), _TEXT, max_size=2),
)
_LOGPROBS = st.dictionaries(
    st.sampled_from(["A", "B", "C", " A"]),
    st.floats(-60, 0) | st.sampled_from([0.0, -9999.0, -math.inf, math.nan, math.inf]),
    max_size=4,
)
_BOTH = st.builds(lambda a, b: {"A": a, "B": b}, st.floats(-60, 0), st.floats(-60, 0))
_TOKENS = st.none() | st.integers(0, 999)
_REPLIES = st.builds(
    Reply,
    status=st.just("ok") | st.sampled_from(STATUSES),
    text=st.none() | _TEXT,
    logprobs=_BOTH | st.none() | _LOGPROBS,
    censored=st.sampled_from([frozenset(), frozenset({"B"})]),
    counts=st.none() | st.just({"A": 3, "B": 1}),
    answer_mass=st.none() | st.floats(0, 1) | st.just(math.nan),
    exact_mass=st.booleans(),
    cut_off=st.booleans(),
    prompt_tokens=_TOKENS,
    completion_tokens=_TOKENS,
    error=st.none() | _TEXT,
    server=st.sampled_from([None, "", "vllm 0.8", "sglang"]),
)
_PROMPTS = {
    "usual": None,
    "tie": make_prompt("t", "{prompt}{response_a}{response_b}\n--- answer ---\ntie: C"),
    "column": make_prompt("c", "{prompt} {response_a} {response_b} {lang}"),
    "signs": make_prompt(
        "s", "--- system ---\n%s {prompt} é\n--- user ---\n{response_a} 9% of {response_b}"
    ),
}


class _Slow(Preference):
    """The same protocol without its quick ways."""

    def plain_hashes(self, subject: Any) -> None:
        return None

    def judge_plain(self, replies: Any) -> None:
        return None


def judges(prompt: str, **options: Any) -> tuple[Judge, Judge]:
    """The judge as it is, and the one that takes the slow way."""
    given = {"prompt": _PROMPTS[prompt], **options}
    quick, slow = (make_judge(SimulatedBackend(), kind(**given)) for kind in (Preference, _Slow))
    assert quick.fingerprint == slow.fingerprint
    return quick, slow


@settings(max_examples=40)
@given(
    pair=_PAIRS,
    prompt=st.sampled_from(list(_PROMPTS)),
    order=st.sampled_from(["both", "ab", "ba", "random"]),
    repeats=st.integers(1, 2),
    samples=st.sampled_from([None, 2]),
)
def test_keys_are_those_of_the_questions(
    pair: Pair, prompt: str, order: str, repeats: int, samples: int | None
) -> None:
    if prompt == "column":
        pair = replace(pair, extra={"lang": "en"})
    for judge in judges(prompt, order=order, samples=samples):
        sent = pickle.loads(pickle.dumps(judge.protocol))  # noqa: S301  (as a worker gets it)
        asked = replace(judge, repeats=repeats, protocol=sent)
        assert call_keys(asked, pair) == [one.key for one in prepare_calls(asked, pair)]


def kept(pair: Pair, reply: Reply, number: int) -> tuple[Any, ...]:
    call = Call(
        call_key=str(number), judge_fingerprint="f", subject_id=pair.id, content_hash="c",
        order="ab", repeat=0, slot="", reply=reply,
    )  # fmt: skip
    row = dict(zip(WRITTEN.split(", "), row_of(call, "now"), strict=True))
    return tuple({"call_id": number, **row}[name] for name in REPLY_COLUMNS)


@settings(max_examples=40)
@given(
    pair=_PAIRS,
    replies=st.lists(_REPLIES, min_size=2, max_size=2),
    prompt=st.sampled_from(["usual", "tie"]),
    order=st.sampled_from(["both", "ab"]),
    least=st.sampled_from([None, 0.0, 0.5]),
    price=st.sampled_from([None, Price(2.0, 8.0, "example")]),
)
def test_rows_are_those_of_the_whole_replies(
    pair: Pair,
    replies: list[Reply],
    prompt: str,
    order: str,
    least: float | None,
    price: Price | None,
) -> None:
    rows = [kept(pair, one, at) for at, one in enumerate(replies[: 2 if order == "both" else 1])]
    made = [
        RowMaker(judge, price=price, store="s").rows_of(pair, rows)
        for judge in judges(prompt, order=order, min_answer_mass=least)
    ]
    # As they are written, the order of columns included; NaN is not equal to itself.
    assert json.dumps(made[0]) == json.dumps(made[1])


@pytest.mark.parametrize(
    "damaged", ['{"A": -1.0, "B": -2.0', '{"A": -1.0, "B": -2.0} x', "[1]", "3"]
)
def test_damaged_log_probabilities_are_refused(damaged: str) -> None:
    pair = Pair(id="1", prompt="p", response_a="a", response_b="b")
    good = kept(pair, Reply(status="ok", logprobs={"A": -1.0, "B": -2.0}), 1)
    at = REPLY_COLUMNS.index("logprobs")
    bad = (*good[:at], damaged, *good[at + 1 :])
    maker = RowMaker(judges("usual")[0], price=None, store="store.db")
    with pytest.raises(StoreError, match=r"store\.db: call 1 is damaged .*; `adjudge store check"):
        maker.rows_of(pair, [good, bad])
