"""One choice among options: when it has a number, and when it must not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from adjudge.errors import ArgumentError, DataError, UnusableRepliesError
from adjudge.judges.criteria import our_criteria
from adjudge.judges.interface import Backend, Choice, Question, Reasoned, Text
from adjudge.judges.judging import judge_pairs, plan_judging
from adjudge.judges.parsing import check_format, locate_option
from adjudge.judges.prompting import make_prompt, template
from adjudge.judges.protocols._choices import CUT_OFF, Asking
from adjudge.judges.protocols.annotators import Annotators
from adjudge.judges.protocols.likert import Likert
from adjudge.judges.protocols.preference import Preference
from adjudge.judges.protocols.rubric import Rubric
from adjudge.judges.protocols.verbalized import Verbalized
from adjudge.records import Item, Pair, Reply
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import use_store

RUBRIC = our_criteria("rubric")
SUMMARY = our_criteria("summary")

PLAIN = make_prompt("plain", "{prompt} {response_a} {response_b}")
BRACKETS = make_prompt("mine", "{prompt} {response_a} {response_b}\n--- answer ---\nformat: [[A]]")
LAST = make_prompt("last", PLAIN.text + "\n--- answer ---\nformat: last line: A\n")
TIES = make_prompt("ties", PLAIN.text + "\n--- answer ---\ntie: C\n")
PAIR = Pair(id="1", prompt="2+2?", response_a="4", response_b="5")


class ScriptedBackend(Backend):
    """Gives the n-th reply of a script."""

    name = "scripted:"
    wants: frozenset[type] = frozenset({Choice})

    def __init__(self, script: Callable[[int], Reply]) -> None:
        self._script = script
        self.asked = 0

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "scripted"}

    async def ask(self, question: Question) -> Reply:
        self.asked += 1
        return self._script(self.asked)


def letters(a: float, b: float, **more: object) -> Reply:
    return Reply(status="ok", logprobs={"A": math.log(a), "B": math.log(b)}, **more)


@pytest.mark.parametrize(("mass", "status"), [(0.03, "off_answer"), (0.1, "ok"), (None, "ok")])
def test_letters_with_little_of_the_probability_have_no_number(
    mass: float | None, status: str
) -> None:
    reply = letters(0.02, 0.01, answer_mass=mass, text="<think>")
    answer = Asking(("A", "B"), prompt=PLAIN).read([reply])
    assert answer.status == status
    assert (answer.shares is None) == (status == "off_answer")
    if status == "off_answer":
        assert answer.detail == (
            "A and B hold at least 3 % of the probability, below 10 %; the reply begins "
            "'<think>'; ask with --reason, or --samples 10"
        )


def test_the_smaller_mass_of_the_two_orders_decides_the_row() -> None:
    protocol = Preference()
    row = protocol.judge(
        PAIR, [letters(0.5, 0.3, answer_mass=0.8), letters(0.02, 0.02, answer_mass=0.04)]
    )[0]
    assert (row.status, row.p_a, row.p_fwd, row.verdict, row.answer_mass) == (
        *("off_answer", None, None, None),
        0.04,
    )
    assert (
        Preference(min_answer_mass=0.04)
        .judge(PAIR, [letters(0.5, 0.3, answer_mass=0.8), letters(0.02, 0.02, answer_mass=0.04)])[0]
        .status
        == "ok"
    )


def test_the_least_mass_is_no_part_of_the_fingerprint() -> None:
    assert Preference(min_answer_mass=0.5).settings() == Preference().settings()


def test_half_of_a_tie_goes_to_each_response_in_each_order() -> None:
    protocol = Preference(prompt=TIES)
    first = Reply(
        status="ok",
        logprobs={name: math.log(p) for name, p in zip("ABC", (0.5, 0.2, 0.3), strict=True)},
    )
    second = Reply(
        status="ok",
        logprobs={name: math.log(p) for name, p in zip("ABC", (0.1, 0.6, 0.3), strict=True)},
    )
    row = protocol.judge(PAIR, [first, second])[0]
    assert (row.p_fwd, row.p_rev, row.p_a, row.p_tie) == pytest.approx((0.65, 0.75, 0.7, 0.3))
    assert row.verdict == "A"


def test_where_the_tie_is_likeliest_the_verdict_is_a_tie() -> None:
    tied = Reply(status="ok", logprobs={"A": math.log(0.3), "B": math.log(0.2), "C": math.log(0.5)})
    row = Preference(prompt=TIES).judge(PAIR, [tied, tied])[0]
    assert (row.verdict, row.status) == ("tie", "ok")
    assert row.p_a == pytest.approx(0.5)


def test_sampled_ties_are_smoothed_like_the_letters() -> None:
    asking = Asking(("A", "B", "C"), prompt=TIES, samples=5)
    said = [Reply(status="ok", text=text) for text in ("A", "A", "C", "C", "B")]
    answer = asking.read(said)
    assert answer.shares == pytest.approx({"A": 7 / 18, "B": 4 / 18, "C": 7 / 18})


@pytest.mark.parametrize(
    ("how", "want"),
    [
        ({"prompt": PLAIN}, Choice(("A", "B"))),
        ({"prompt": BRACKETS}, Reasoned(("A", "B"), "[[A]]", 1024, 0.0)),
        ({"prompt": BRACKETS, "max_tokens": 64}, Reasoned(("A", "B"), "[[A]]", 64, 0.0)),
        ({"prompt": BRACKETS, "samples": 3}, Text(1024, 1.0)),
        ({"prompt": PLAIN, "samples": 3, "max_tokens": 99}, Text(99, 1.0)),
    ],
)
def test_what_is_wanted_follows_from_the_prompt_and_the_options(how, want) -> None:
    assert Asking(("A", "B"), **how).want == want


def test_reasoning_by_a_prompt_that_declares_no_format_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"--- answer ---.*format: \[\[A\]\]"):
        Asking(("A", "B"), prompt=PLAIN, reason=True)


def test_the_declarations_are_not_sent_and_change_the_hash() -> None:
    assert "answer" not in str(template(BRACKETS))
    assert BRACKETS.sha256 != PLAIN.sha256
    with pytest.raises(DataError, match="format, tie, confidence"):
        make_prompt("bad", "x\n--- answer ---\nfromat: [[A]]")
    with pytest.raises(DataError, match="cannot be the answer for a tie"):
        make_prompt("bad", "x\n--- answer ---\ntie: B")


def test_a_reasoned_reply_is_measured_where_its_verdict_is() -> None:
    asking = Asking(("A", "B"), prompt=BRACKETS)
    good = letters(0.2, 0.6, text="Because.\n[[B]]", answer_mass=0.8)
    assert asking.read([good]).shares == pytest.approx({"A": 0.25, "B": 0.75})
    mute = Reply(status="ok", text="Because.\n[[B]]")
    assert asking.read([mute]).status == "no_logprobs"
    assert "--samples" in (asking.read([mute]).detail or "")
    cut = Reply(status="ok", text="Let me think about", cut_off=True)
    answer = asking.read([cut])
    assert (answer.status, answer.detail) == (
        "unparsed",
        "truncated at max_tokens; raise --max-tokens",
    )


@pytest.mark.parametrize(
    ("text", "format", "option"),
    [
        ("So [[A]]", "[[A]]", "A"),
        ("First [[A]], no: [[B]]", "[[A]]", None),
        ("[[B]] and again [[B]]", "[[A]]", "B"),
        ("[[good]] but [[A]]", "[[A]]", "A"),
        ("<think>[[B]]</think>It is [[A]]", "[[A]]", "A"),
        ("<think>[[B]] perhaps", "[[A]]", None),
        ("perhaps B</think>\nA", "A", "A"),
        ("why\nVerdict: B", "last line: A", "B"),
        ("Verdict: B\nbecause", "last line: A", None),
        ('x {"winner": "B", "why": "}"}', '{"winner": "A"}', "B"),
        ('{"winner": "A"} {"winner": "B"}', '{"winner": "A"}', None),
        ('{"winner": "neither"}', '{"winner": "A"}', None),
        ('{"other": "A"}', '{"winner": "A"}', None),
        ("", "[[A]]", None),
        (None, "A", None),
    ],
)
def test_a_verdict_is_located_strictly(text, format, option) -> None:
    place = locate_option(text, ("A", "B"), check_format(format))
    assert (place.option if place else None) == option
    if place is not None:
        assert text[place.start : place.start + 1] == option


def test_a_format_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ArgumentError, match=r"\[\[A\]\]"):
        check_format("<A>")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status="no_logprobs", error="the server returned no log probabilities"), "no log"),
        (letters(0.02, 0.01, answer_mass=0.03, text="I'm sorry"), "I'm sorry"),
    ],
)
def test_a_run_whose_first_ten_replies_are_useless_stops_and_keeps_them(
    tmp_path, reply: Reply, words: str
) -> None:
    pairs = list(simulate_pairs(200, seed=1))
    backend = ScriptedBackend(lambda _: reply)
    with pytest.raises(UnusableRepliesError, match=f"first 10 replies.*{words}.*--keep-going"):
        judge_pairs(pairs, judge=backend, store=tmp_path / "s.db", concurrency=4)
    assert 10 <= backend.asked < 10 + 4 + 1
    with use_store(tmp_path / "s.db", readonly=True) as store:
        assert store.latest_call_id() == backend.asked
    run = judge_pairs(pairs, judge=backend, store=tmp_path / "s.db", concurrency=4, keep_going=True)
    assert backend.asked == 400
    assert run.summary.measured == 0


def test_one_usable_reply_among_the_first_ten_lets_the_run_go_on() -> None:
    backend = ScriptedBackend(
        lambda n: letters(0.5, 0.4, answer_mass=0.9) if n == 7 else Reply(status="no_logprobs")
    )
    run = judge_pairs(list(simulate_pairs(20, seed=1)), judge=backend, store=None, concurrency=1)
    assert run.summary.rows == 20


def test_replies_that_mix_reasons_stop_the_run_too_and_the_reasons_are_counted() -> None:
    off = letters(0.02, 0.01, answer_mass=0.03, text="<think>")
    backend = ScriptedBackend(lambda n: off if n % 3 else Reply(status="no_logprobs"))
    with pytest.raises(UnusableRepliesError, match=r"7 off_answer, 3 no_logprobs: A and B hold"):
        judge_pairs(list(simulate_pairs(20, seed=1)), judge=backend, store=None, concurrency=1)


def test_a_cut_off_reply_has_no_verdict_whatever_its_format() -> None:
    for prompt, text in ((BRACKETS, "[[A]]"), (LAST, "Well.\nA")):
        asking = Asking(("A", "B"), prompt=prompt)
        whole = letters(0.6, 0.3, text=text)
        assert asking.read([whole]).status == "ok"
        cut = replace(whole, cut_off=True)
        assert (asking.read([cut]).status, asking.read([cut]).detail) == ("unparsed", CUT_OFF)
    sampled = Asking(("A", "B"), prompt=PLAIN, samples=2)
    answer = sampled.read(
        [Reply(status="ok", text="A"), Reply(status="ok", text="A", cut_off=True)]
    )
    assert answer.drawn == {"A": 1, "unparsed": 1}
    assert answer.shares == {"A": 0.75, "B": 0.25}


def test_reasons_need_a_format_that_leaves_room_for_them() -> None:
    alone = make_prompt("alone.txt", PLAIN.text + "\n--- answer ---\nformat: A")
    for prompt in (PLAIN, alone):
        with pytest.raises(ArgumentError, match=r"'--- answer ---' and 'format: \[\[A\]\]'"):
            Preference(prompt=prompt, reason=True)


def test_the_remedy_for_a_reasoning_judge_is_not_to_reason() -> None:
    asking = Asking(("A", "B"), prompt=BRACKETS)
    detail = asking.read([letters(0.02, 0.01, text="[[A]]", answer_mass=0.03)]).detail or ""
    assert "at the verdict" in detail
    assert "--reason" not in detail


@pytest.mark.parametrize(
    ("protocol", "good", "bad"),
    [
        (Verbalized(), "Verdict: A\nConfidence: 0.8", "A, I think"),
        (Rubric(criteria=RUBRIC[:1]), '{"A": {"adherence": 7}, "B": {"adherence": 4}}', "seven"),
        (Likert(samples=1), "4", "four or so"),
    ],
)
def test_every_protocol_says_what_one_reply_is_worth(protocol, good: str, bad: str) -> None:
    assert protocol.status_of(Reply(status="ok", text=good))[0] == "ok"
    status, detail = protocol.status_of(Reply(status="ok", text=bad))
    assert status == "unparsed"
    assert detail
    assert protocol.status_of(Reply(status="ok", text=bad, cut_off=True)) == ("unparsed", CUT_OFF)
    assert protocol.status_of(Reply(status="error", error="HTTP 500")) == ("error", "HTTP 500")


def test_a_number_that_was_cut_off_is_not_read() -> None:
    cut = Reply(status="ok", text="Verdict: A\nConfidence: 0.8", cut_off=True)
    row = Verbalized(order="ab").judge(PAIR, [cut])[0]
    assert (row.status, row.p_a, row.detail) == ("unparsed", None, CUT_OFF)
    assert Likert(samples=1).status_of(Reply(status="ok", text="4", cut_off=True))[0] == "unparsed"


def test_annotators_show_and_read_the_format_of_their_prompt() -> None:
    shown = [replace(PAIR, id=f"d{n}", prompt=str(n), label="B") for n in range(5)]
    protocol = Annotators(demonstrations=shown, prompt=BRACKETS, personas=2, max_tokens=99)
    said = {m.text for q in protocol.questions(PAIR) for m in q.messages if m.role == "assistant"}
    assert said <= {"[[A]]", "[[B]]"}
    assert protocol.settings()["max_tokens"] == 99
    assert protocol.settings()["answer_format"] == "[[A]]"
    votes = [letters(0.7, 0.2, text="[[A]]", answer_mass=mass) for mass in (0.9, 0.4)]
    row = protocol.judge(PAIR, votes)[0]
    assert (row.status, row.answer_mass) == ("ok", 0.4)


def test_likert_reads_samples_by_the_format_of_its_prompt() -> None:
    prompt = make_prompt("l", "{prompt} {response} {criterion}\n--- answer ---\nformat: [[A]]")
    item = Item(id="1", prompt="p", response="r")
    protocol = Likert(criteria=SUMMARY[:1], prompt=prompt, samples=3, max_tokens=50)
    texts = ("Fine [[4]]", "[[2]]", "4")
    row = protocol.judge(item, [Reply(status="ok", text=text) for text in texts])[0]
    assert (row.judge_score, row.extra) == (3.0, {"repeats": [4, 2, None]})


def test_retry_asks_again_for_replies_that_could_not_be_read(tmp_path) -> None:
    pairs = list(simulate_pairs(6, seed=1))
    off = letters(0.02, 0.01, answer_mass=0.03)
    backend = ScriptedBackend(lambda n: off if n <= 4 else letters(0.6, 0.3, answer_mass=0.9))
    options = {"judge": backend, "store": tmp_path / "s.db", "concurrency": 1}
    run = judge_pairs(pairs, **options)
    assert run.summary.statuses == {"ok": 4, "off_answer": 2}
    again = {"judge": backend, "store": tmp_path / "s.db"}
    assert plan_judging(pairs, **again).to_ask == 0
    assert plan_judging(pairs, retry=["off_answer"], **again).to_ask == 4
    run = judge_pairs(pairs, retry=["off_answer"], **options)
    assert (run.summary.statuses, backend.asked) == ({"ok": 6}, 16)


@pytest.mark.parametrize(
    "text",
    [
        "[[" + " " * 190_000,
        "[[ " * 60_000,
        ("[[" + " " * 200) * 900,
        "{" * 190_000,
        '{"winner":' * 19_000,
        "\n" * 190_000 + "A",
        "A" * 190_000,
    ],
    ids=range(7),
)
@pytest.mark.parametrize("format", ["A", "[[A]]", '{"winner": "A"}', "last line: A"])
def test_a_reply_that_never_ends_is_read_once(text: str, format: str) -> None:
    """A pattern that tries every way to share out the blanks would need hours here."""
    place = locate_option(text, ("A", "B"), format)
    says_a = text.endswith("\nA") and format == "last line: A"
    assert (place is not None) == says_a
