"""Pass or fail: what is asked about one answer, and what is made of the reply."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from adjudge.errors import ArgumentError, DataError
from adjudge.judges.criteria import Criterion, read_criteria
from adjudge.judges.interface import Choice, Data, Reasoned, Text
from adjudge.judges.judging import judge_pairs
from adjudge.judges.prompting import make_prompt
from adjudge.judges.protocols.grade import GradeProtocol
from adjudge.records import Grade, Item, Pair, Reply
from simulators import simulate_items

ITEM = Item(id="x", prompt="What is 2 + 2?", response="4")


def letters(p: float, **more: object) -> Reply:
    logprobs = {"P": math.log(p), "F": math.log(1 - p)}
    return Reply(status="ok", logprobs=logprobs, **more)  # type: ignore[arg-type]


def graded(reply: Reply, *, item: Item = ITEM, **options: object) -> Grade:
    return GradeProtocol(**options).judge(item, [reply])[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(("p", "judge"), [(0.9, 1), (0.2, 0), (0.5, None)])
def test_the_verdict_follows_from_p_pass(p: float, judge: int | None) -> None:
    row = graded(letters(p))
    assert row.p_pass == pytest.approx(p)
    assert row.judge == judge
    assert row.uncertainty == pytest.approx(-(p * math.log(p) + (1 - p) * math.log(1 - p)))


def test_what_is_not_there_is_not_shown() -> None:
    def shown(**extra: object) -> str:
        item = Item(id="x", prompt="Q", response="R", extra=extra)
        return GradeProtocol().questions(item)[0].messages[-1].text

    assert "Reference" not in shown()
    assert "Context" not in shown(context="  ", reference=None)
    assert "[Reference answer begins]\n4\n[Reference answer ends]" in shown(reference=4)
    both = shown(reference="r", context="c")
    assert both.index("[Context begins]") < both.index("[Reference answer begins]")


def test_text_being_judged_stays_data() -> None:
    hostile = Item(id="x", prompt="{response}", response="{definition}", extra={"reference": "{x}"})
    (question,) = GradeProtocol().questions(hostile)
    data = [part.text for part in question.messages[-1].parts if isinstance(part, Data)]
    assert data == ["{response}", "{x}", "{definition}"]


def test_how_it_is_asked() -> None:
    assert GradeProtocol().questions(ITEM)[0].want == Choice(("P", "F"))
    reasoned = GradeProtocol(reason=True).questions(ITEM)[0].want
    assert isinstance(reasoned, Reasoned)
    assert (reasoned.options, reasoned.format) == (("P", "F"), "[[A]]")
    drawn = GradeProtocol(samples=5).questions(ITEM)
    assert [question.repeat for question in drawn] == [0, 1, 2, 3, 4]
    assert isinstance(drawn[0].want, Text)


def test_a_reasoned_verdict_is_read_where_it_is_written() -> None:
    reply = letters(0.8, text="The sum is right.\n[[P]]")
    assert graded(reply, reason=True).p_pass == pytest.approx(0.8)
    lost = graded(Reply(status="ok", text="P or F?"), reason=True)
    assert lost.status == "unparsed"
    assert "no single verdict written as [[P]]" in (lost.detail or "")
    assert lost.p_pass is lost.judge is lost.uncertainty is None


def test_samples_are_counted_and_never_certain() -> None:
    replies = [Reply(status="ok", text=text) for text in ("P", "P", "F", "hm", "P")]
    row = GradeProtocol(samples=5).judge(ITEM, replies)[0]
    assert row.p_pass == pytest.approx(3.5 / 5)
    assert row.extra["samples"] == {"F": 1, "P": 3, "unparsed": 1}
    assert row.detail == "sampled: 4 of 5 readable"


def test_letters_without_mass_are_no_grade() -> None:
    row = graded(letters(0.9, answer_mass=0.03, text="<think>"))
    assert (row.status, row.p_pass, row.judge, row.answer_mass) == ("off_answer", None, None, 0.03)


@pytest.mark.parametrize(
    ("value", "human"), [(1, 1.0), ("fail", 0.0), (True, 1.0), (0.25, 0.25), ("", None)]
)
def test_what_people_said_is_kept(value: object, human: float | None) -> None:
    item = Item(id="x", prompt="Q", response="R", extra={"human": value})
    assert graded(letters(0.9), item=item).human == human


def test_a_label_that_says_nothing_is_refused_before_it_is_paid_for() -> None:
    items = [*simulate_items(50, seed=1)]
    items.append(Item(id="x7", prompt="Q", response="R", extra={"human": "perhaps"}))
    asked: list[object] = []
    with pytest.raises(DataError, match="row 51, column human: item 'x7': 'perhaps' is neither"):
        judge_pairs(items, judge="simulated:", protocol="grade", store=None, progress=asked.append)
    assert asked == []


def test_prompts_of_ones_own() -> None:
    own = make_prompt("own.txt", "{criterion}|{definition}|{prompt}|{response}|{reference}")
    rubric = [Criterion("short", "At most ten words.")]
    asks = GradeProtocol(prompt=own, criteria=rubric)
    item = Item(id="x", prompt="Q", response="R", extra={"reference": "T"})
    assert asks.questions(item)[0].messages[0].text == "short|At most ten words.|Q|R|T"
    with pytest.raises(DataError, match=r"column reference: is missing, and the prompt own\.txt"):
        asks.questions(ITEM)
    with pytest.raises(DataError, match="declares a tie"):
        GradeProtocol(prompt=make_prompt("t.txt", "{response}\n--- answer ---\ntie: C"))
    words = "{response}\n--- answer ---\nformat: last line: P"
    assert GradeProtocol(prompt=make_prompt("p.txt", words)).settings()["answer_format"] == (
        "last line: A"
    )
    with pytest.raises(ArgumentError, match=r"write one of P, \[\[P\]\]"):
        GradeProtocol(prompt=make_prompt("p.txt", "{response}\n--- answer ---\nformat: <P>"))


def test_a_rubric_is_a_text_or_several_criteria(tmp_path: Path) -> None:
    text = tmp_path / "polite_tone.md"
    text.write_text("Says please.\n")
    assert read_criteria(text) == (Criterion("polite tone", "Says please."),)
    several = tmp_path / "both.json"
    several.write_text(json.dumps({"short": "Ten words.", "true": "No errors."}))
    shown = GradeProtocol(criteria=read_criteria(several)).questions(ITEM)[0].messages[-1].text
    assert "Rubric: short and true\nshort: Ten words.\ntrue: No errors.\n" in shown
    (tmp_path / "nothing.txt").write_text(" \n")
    with pytest.raises(DataError, match=r"nothing\.txt: is empty"):
        read_criteria(tmp_path / "nothing.txt")


def test_what_changes_the_question_changes_the_fingerprint() -> None:
    plain = GradeProtocol().settings()
    assert GradeProtocol(criteria=[Criterion("short", "Ten words.")]).settings() != plain
    assert GradeProtocol(reason=True).settings() != plain
    assert GradeProtocol(samples=3).settings() != plain
    assert GradeProtocol(min_answer_mass=0.5).settings() == plain


def test_pairs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="grade scores single responses"):
        GradeProtocol().questions(Pair(id="1", prompt="p", response_a="a", response_b="b"))


WAYS = [{}, {"reason": True}, {"samples": 5}, {"reason": True, "samples": 5}]


@pytest.mark.parametrize("how", WAYS)
def test_the_simulated_judge_is_right_as_often_as_it_says(how: dict[str, object]) -> None:
    items = simulate_items(300, seed=3)
    run = judge_pairs(items, judge="simulated:accuracy=0.9", protocol="grade", store=None, **how)  # type: ignore[arg-type]
    assert run.summary.statuses == {"ok": 300}
    # Five draws of a doubtful letter cost a point or two.
    assert 0.85 <= (run.summary.agreement or 0) <= 0.94
    rows = run.judgments
    assert rows.columns[:8] == [
        *("id", "judge_name", "protocol", "status", "p_pass", "judge", "uncertainty", "human"),
    ]
    assert rows["reference"].null_count() == 0
    assert "input_human" not in rows.columns


def test_grades_are_replayed(tmp_path: Path) -> None:
    first = judge_pairs(
        simulate_items(20, seed=2),
        judge="simulated:accuracy=0.8",
        protocol="grade",
        store=None,
        output=tmp_path / "grades.jsonl",
    )
    again = judge_pairs(
        simulate_items(20, seed=2),
        judge=f"replay:{tmp_path / 'grades.jsonl'}",
        protocol="grade",
        store=None,
    )
    p = first.judgments["p_pass"].to_list()
    assert again.judgments["p_pass"].to_list() == pytest.approx(p)
    assert again.judgments["judge"].to_list() == first.judgments["judge"].to_list()
