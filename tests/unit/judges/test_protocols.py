"""verbalized, annotators, likert, rubric, by criterion: what is asked and what is made of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import read_battles, read_judgments, read_scores, read_tournaments
from adjudge.errors import ArgumentError, DataError
from adjudge.judges.criteria import Criterion, check_criteria, our_criteria, read_criteria
from adjudge.judges.interface import Choice, Data, Text
from adjudge.judges.prompting import make_prompt
from adjudge.judges.protocols.annotators import Annotators
from adjudge.judges.protocols.criterion import ByCriterion
from adjudge.judges.protocols.likert import Likert
from adjudge.judges.protocols.rubric import Rubric
from adjudge.judges.protocols.verbalized import Verbalized
from adjudge.judges.subjects import tournament_pairs
from adjudge.records import Item, Judgment, Pair, Reply, Score

RUBRIC = our_criteria("rubric")
SUMMARY = our_criteria("summary")

PAIR = Pair(
    id="7", prompt="q", response_a="left", response_b="right", model_a="m1", model_b="m2", label="B"
)
ITEM = Item(id="3", prompt="article", response="summary", doc_id="d", model="m")


def said(text: str) -> Reply:
    return Reply(status="ok", text=text)


def letters(a: float, b: float) -> Reply:
    return Reply(status="ok", logprobs={"A": a, "B": b})


# --- verbalized ------------------------------------------------------------------------------


def claimed(text: str, order: Any = "ab") -> Judgment:
    return Verbalized(order=order).judge(PAIR, [said(text)])[0]


def test_a_claim_becomes_doubt_and_a_side() -> None:
    row = claimed("Verdict: A\nConfidence: 0.8")
    assert (row.status, row.verdict, row.p_a) == ("ok", "A", 0.8)
    assert row.uncertainty == pytest.approx(0.2)
    assert row.extra == {"order": "ab", "confidence": 0.8}
    turned = claimed("Verdict: A\nConfidence: 0.8", order="ba")
    assert (turned.verdict, turned.p_a) == ("B", pytest.approx(0.2))


@pytest.mark.parametrize(("stated", "order", "verdict"), [(0.5, "ab", "A"), (0.3, "ba", "B")])
def test_a_claim_no_surer_than_a_guess_never_turns_the_verdict(
    stated: float, order: str, verdict: str
) -> None:
    row = claimed(f"Verdict: A\nConfidence: {stated}", order=order)
    assert (row.status, row.verdict, row.p_a) == ("ok", verdict, None)
    assert row.uncertainty == pytest.approx(1 - stated)
    assert row.detail == f"the stated confidence, {stated:g}, is not more than a guess: no p_a"


@pytest.mark.parametrize(
    ("scale", "stated", "p_a", "uncertainty"),
    [
        ("0.5 to 1", "0.8", 0.8, 0.2),
        ("0 to 1", "0.8", 0.9, 0.2),
        ("0 to 1", "0.0", None, 1.0),
        ("0 to 100", "80%", 0.9, 0.2),
        ("50 to 100", "80", 0.8, 0.2),
        ("50 to 100", "40", None, 0.6),
    ],
)
def test_a_prompt_of_ones_own_declares_its_scale(
    scale: str, stated: str, p_a: float | None, uncertainty: float
) -> None:
    text = "{prompt} {response_a} {response_b}\n--- answer ---\nconfidence: " + scale
    protocol = Verbalized(prompt=make_prompt("mine.txt", text), order="ab")
    row = protocol.judge(PAIR, [said(f"Verdict: A\nConfidence: {stated}")])[0]
    assert (row.verdict, row.p_a) == ("A", p_a if p_a is None else pytest.approx(p_a))
    assert row.uncertainty == pytest.approx(uncertainty)


def test_a_scale_that_is_not_declared_is_asked_for() -> None:
    words = "{prompt} {response_a} {response_b}"
    with pytest.raises(DataError, match=r"mine\.txt: does not declare the scale"):
        Verbalized(prompt=make_prompt("mine.txt", words))
    with pytest.raises(DataError, match=r"confidence: '1 to 10' is not a known scale"):
        make_prompt("mine.txt", f"{words}\n--- answer ---\nconfidence: 1 to 10")


def test_a_claim_that_cannot_be_read_is_no_number() -> None:
    assert claimed("Verdict: A\nConfidence: 80%").status == "unparsed"
    assert claimed("I'm sorry, I can't do that.").status == "refused"
    row = Verbalized().judge(PAIR, [Reply(status="error", error="HTTP 500")])[0]
    assert (row.status, row.detail, row.p_a) == ("error", "HTTP 500", None)


def test_the_order_is_a_coin_of_the_seed_and_recorded() -> None:
    pairs = [Pair(id=str(i), prompt="q", response_a="a", response_b="b") for i in range(400)]
    protocol = Verbalized(seed=1)
    orders = [protocol.questions(pair)[0].order for pair in pairs]
    assert orders == [Verbalized(seed=1).questions(pair)[0].order for pair in pairs]
    assert orders != [Verbalized(seed=2).questions(pair)[0].order for pair in pairs]
    assert 160 <= orders.count("ab") <= 240
    reply = said("Verdict: A\nConfidence: 1")
    assert [protocol.judge(pair, [reply])[0].extra["order"] for pair in pairs] == orders


# --- annotators ------------------------------------------------------------------------------


def pool(n: int = 60) -> list[Pair]:
    return [
        Pair(
            id=f"demo{i}",
            prompt=f"dq{i}",
            response_a=f"da{i}",
            response_b=f"db{i}",
            label="A" if i % 3 else "B",
        )
        for i in range(n)
    ]


def test_personas_are_seeded_sets_of_demonstrations_in_the_form_of_the_question() -> None:
    protocol = Annotators(demonstrations=pool(), seed=4)
    questions = protocol.questions(PAIR)
    assert len(questions) == 5
    assert [q.slot for q in questions] == [f"persona {i}" for i in range(1, 6)]
    drawn = set()
    for question, persona in zip(questions, protocol.personas, strict=True):
        roles = [message.role for message in question.messages]
        assert roles == ["system"] + ["user", "assistant"] * 5 + ["user"]
        names = [pair.id for pair, _ in persona]
        assert len(set(names)) == 5
        drawn.add(tuple(names))
        for (pair, order), shown, answer in zip(
            persona, question.messages[1::2], question.messages[2::2], strict=False
        ):
            texts = [part.text for part in shown.parts if isinstance(part, Data)]
            assert sorted(texts[1:]) == sorted([pair.response_a, pair.response_b])
            chosen = texts[1] if answer.text == "A" else texts[2]
            assert chosen == (pair.response_a if pair.label == "A" else pair.response_b)
            assert (texts[1] == pair.response_a) == (order == "ab")
    assert len(drawn) == 5
    again = Annotators(demonstrations=pool(), seed=4)
    assert again.settings() == protocol.settings()
    assert Annotators(demonstrations=pool(), seed=5).settings() != protocol.settings()
    used = {pair.id for persona in protocol.personas for pair, _ in persona}
    assert len(used) <= 25
    assert protocol.settings()["pool"] == 50


def test_the_majority_share_is_the_confidence() -> None:
    protocol = Annotators(demonstrations=pool(), seed=0)
    order = protocol.questions(PAIR)[0].order
    for_a, for_b = (letters(-0.1, -3), letters(-3, -0.1))
    if order == "ba":
        for_a, for_b = for_b, for_a
    row = protocol.judge(PAIR, [for_a, for_a, for_b, for_a, for_a])[0]
    assert (row.status, row.verdict, row.p_a) == ("ok", "A", 0.8)
    assert row.uncertainty == pytest.approx(0.2)
    assert row.extra == {"order": order, "votes": {"A": 4, "B": 1}}
    unanimous = protocol.judge(PAIR, [for_b] * 5)[0]
    assert (unanimous.p_a, unanimous.uncertainty, unanimous.verdict) == (0.0, 0.0, "B")


def test_a_persona_without_a_vote_leaves_no_number() -> None:
    protocol = Annotators(demonstrations=pool(), samples=1)
    assert protocol.wants == {Text}
    replies = [said("A"), said("B"), said("hm"), said("A"), said("A")]
    row = protocol.judge(PAIR, replies)[0]
    assert (row.status, row.p_a) == ("unparsed", None)
    assert row.detail == (
        "1 of 5 personas have no vote: the reply is not A or B alone; it begins 'hm'"
    )
    even = [letters(-1, -1), *[letters(-1, -2)] * 4]
    assert Annotators(demonstrations=pool()).judge(PAIR, even)[0].status == "unparsed"


def test_what_is_judged_is_never_a_demonstration() -> None:
    demos = pool()
    protocol = Annotators(demonstrations=demos)
    same_text = Pair(
        id="new",
        prompt=demos[59].prompt,
        response_a=demos[59].response_b,
        response_b=demos[59].response_a,
    )
    with pytest.raises(
        DataError, match=r"pair 'new' is both judged and a demonstration \(same text\)"
    ):
        protocol.questions(same_text)
    same_id = Pair(id="demo3", prompt="x", response_a="y", response_b="z")
    with pytest.raises(DataError, match="same id"):
        protocol.questions(same_id)


def test_a_pool_that_is_too_small_is_refused() -> None:
    unlabelled = [Pair(id="u", prompt="p", response_a="a", response_b="b")] * 10
    with pytest.raises(ArgumentError, match="4 labelled pairs"):
        Annotators(demonstrations=[*pool(4), *unlabelled])
    with pytest.raises(ArgumentError, match="every persona votes once"):
        Annotators(demonstrations=pool(), samples=3)


# --- likert ----------------------------------------------------------------------------------


def digits(**logprobs: float) -> dict[str, float]:
    return {name[1:]: value for name, value in logprobs.items()}


def test_likert_asks_each_criterion_and_gives_one_row_for_each() -> None:
    protocol = Likert()
    questions = protocol.questions(ITEM)
    assert [q.slot for q in questions] == ["coherence", "consistency", "fluency", "relevance"]
    assert {q.want for q in questions} == {Choice(("1", "2", "3", "4", "5"))}
    flat = Reply(status="ok", logprobs=digits(_1=-3.0, _2=-2.0, _3=-1.0, _4=-0.5, _5=-4.0))
    bad = Reply(status="no_logprobs", error="none")
    rows = protocol.judge(ITEM, [flat, bad, flat, flat])
    assert [row.status for row in rows] == ["ok", "no_logprobs", "ok", "ok"]
    assert rows[0].judge_score == 4.0
    probs = rows[0].score_probs
    assert probs is not None
    total = sum(math.exp(v) for v in (-3, -2, -1, -0.5, -4))
    assert probs[2] == pytest.approx(math.exp(-1) / total)
    assert math.fsum(probs) == pytest.approx(1)
    assert (rows[1].judge_score, rows[1].score_probs) == (None, None)
    assert (rows[0].doc_id, rows[0].model, rows[0].criterion) == ("d", "m", "coherence")


def test_bounded_digits_make_the_row_censored() -> None:
    reply = Reply(
        status="censored",
        logprobs=digits(_1=-9.0, _2=-9.0, _3=-5.0, _4=-0.1, _5=-2.0),
        censored=frozenset({"1", "2"}),
    )
    row = Likert(criteria=SUMMARY[:1]).judge(ITEM, [reply])[0]
    assert (row.status, row.judge_score) == ("censored", 4.0)
    assert row.detail == "bounded by the k-th log probability: 1, 2"


def test_written_scores_are_averaged_and_kept() -> None:
    protocol = Likert(criteria=SUMMARY[:1], samples=3)
    assert {q.want for q in protocol.questions(ITEM)} == {Text(12, 1.0)}
    row = protocol.judge(ITEM, [said("4"), said("**5**"), said("7/10")])[0]
    assert (row.status, row.judge_score, row.score_probs) == ("ok", 4.5, None)
    assert row.extra == {"repeats": [4, 5, None]}
    assert row.detail == "mean of 2 of 3 samples"
    none = protocol.judge(ITEM, [said("good"), said("6"), said("")])[0]
    assert (none.status, none.judge_score) == ("unparsed", None)
    lost = protocol.judge(ITEM, [said("4"), Reply(status="error", error="x"), said("4")])[0]
    assert (lost.status, lost.judge_score) == ("error", None)
    once = Likert(criteria=SUMMARY[:1], samples=1)
    assert once.questions(ITEM)[0].want == Text(12, 0.0)
    assert once.judge(ITEM, [said("4 = good")])[0].judge_score == 4.0


def test_equally_likely_scores_are_no_score() -> None:
    even = Reply(status="ok", logprobs=digits(_1=-3.0, _2=-3.0, _3=-1.0, _4=-1.0, _5=-3.0))
    row = Likert(criteria=SUMMARY[:1]).judge(ITEM, [even])[0]
    assert (row.status, row.judge_score) == ("unparsed", None)


def test_likert_scores_items_only() -> None:
    with pytest.raises(ArgumentError, match="likert scores single responses"):
        Likert().questions(PAIR)


# --- rubric ----------------------------------------------------------------------------------


def scored(a: float, b: float, **changes: Any) -> Reply:
    names = [criterion.name for criterion in RUBRIC]
    sides: dict[str, Any] = {"A": dict.fromkeys(names, a), "B": dict.fromkeys(names, b)}
    sides["A"].update(changes)
    return said("```json\n" + json.dumps(sides) + "\n```")


def test_rubric_averages_differences_over_criteria_and_orders() -> None:
    protocol = Rubric()
    first, second = protocol.questions(PAIR)
    assert (first.order, second.order) == ("ab", "ba")
    # First order: ahead by 2, in clarity by 3. Second: response_a is side B, ahead by 1.
    row = protocol.judge(PAIR, [scored(8, 6, clarity=9), scored(6, 7)])[0]
    ahead = (5 * 2 + 3) / 6
    assert row.extra["score_diff_ab"] == pytest.approx(ahead)
    assert row.extra["score_diff_ba"] == pytest.approx(1)
    s = (ahead + 1) / 2
    assert row.extra["score_diff"] == pytest.approx(s)
    assert row.p_a == pytest.approx(0.5 + s / 18)
    assert row.uncertainty == pytest.approx(1 - s / 9)
    assert row.verdict == "A"
    assert row.extra["scores_a"]["clarity"] == pytest.approx(8)
    assert row.extra["scores_b"]["clarity"] == pytest.approx(6)
    assert row.extra["score_a"] - row.extra["score_b"] == pytest.approx(s)
    assert (row.extra["winner"], row.extra["judge_winner"]) == ("model_b", "model_a")


def test_a_difference_that_changes_sign_with_the_order_is_a_tie() -> None:
    row = Rubric().judge(PAIR, [scored(9, 5), scored(7, 6)])[0]
    assert (row.status, row.verdict, row.p_a, row.uncertainty) == ("ok", None, 0.5, 1.0)
    assert row.extra["judge_winner"] == "tie"
    assert row.extra["score_diff"] == pytest.approx(1.5)
    one_sided = Rubric().judge(PAIR, [scored(9, 5), scored(6, 6)])[0]
    assert one_sided.verdict == "A"


@pytest.mark.parametrize(
    ("text", "status", "detail"),
    [
        ("A is better", "unparsed", "no complete JSON object"),
        ('{"A": {"adherence": 7}, "B": {}}', "unparsed", "A, helpfulness: missing"),
        ("I'm sorry, I cannot score this.", "refused", "no complete JSON object"),
    ],
)
def test_one_unreadable_order_leaves_no_number(text: str, status: str, detail: str) -> None:
    row = Rubric().judge(PAIR, [scored(8, 6), said(text)])[0]
    assert (row.status, row.detail, row.p_a, row.verdict) == (status, detail, None, None)
    assert "scores_a" not in row.extra


def test_the_prompt_quoted_back_is_not_a_score() -> None:
    question = Rubric().questions(PAIR)[0]
    echo = "\n".join(message.text for message in question.messages)
    row = Rubric().judge(PAIR, [said(echo), said(echo)])[0]
    assert (row.status, row.p_a) == ("unparsed", None)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("A", "B", ("A", "A")),
        ("B", "tie", ("B", "tie")),
        (None, "Both are fine", (None, None)),
    ],
)
def test_the_stated_preference_is_kept_for_each_order_and_decides_nothing(
    first: str | None, second: str, kept: tuple[str | None, str | None]
) -> None:
    names = [criterion.name for criterion in RUBRIC]
    replies = [
        said(json.dumps({"A": dict.fromkeys(names, a), "B": dict.fromkeys(names, b), **stated}))
        for a, b, stated in (
            (8, 6, {} if first is None else {"preference": first}),
            (6, 8, {"preference": second}),
        )
    ]
    row = Rubric().judge(PAIR, replies)[0]
    assert (row.status, row.verdict) == ("ok", "A")
    assert (row.extra["preference_ab"], row.extra["preference_ba"]) == kept


def test_a_schema_is_offered_that_the_parser_would_accept() -> None:
    want = Rubric().questions(PAIR)[0].want
    assert isinstance(want, Text)
    assert want.json_schema is not None
    assert want.json_schema["required"] == ["A", "B", "preference"]
    assert want.json_schema["properties"]["A"]["required"] == [c.name for c in RUBRIC]


# --- by criterion ----------------------------------------------------------------------------


def test_by_criterion_gives_one_row_per_criterion_and_pair() -> None:
    protocol = ByCriterion(criteria=SUMMARY[:2])
    for_left, for_right = letters(-0.1, -3), letters(-3, -0.1)
    rows = protocol.judge(PAIR, [for_left, for_right, for_right, for_left])
    assert [(r.protocol, r.verdict) for r in rows] == [
        ("criterion:coherence", "A"),
        ("criterion:consistency", "B"),
    ]
    assert [r.extra["criterion"] for r in rows] == ["coherence", "consistency"]
    text = protocol.questions(PAIR)[2].messages[1].text
    assert text.startswith("Criterion: consistency\n" + SUMMARY[1].definition)


def test_repeats_are_asked_per_order_and_counted() -> None:
    protocol = ByCriterion(criteria=SUMMARY[:1], samples=3)
    assert len(protocol.questions(PAIR)) == 6
    replies = [said("A"), said("A"), said("B"), said("B"), said("B"), said("?")]
    row = protocol.judge(PAIR, replies)[0]
    assert row.p_fwd == pytest.approx(2.5 / 4)
    assert row.p_rev == pytest.approx(2.5 / 3)
    assert row.extra["samples"]["ba"] == {"B": 2, "unparsed": 1}


def test_all_pairs_of_models_per_document() -> None:
    items = [
        Item(id=f"{d}{m}", prompt=f"doc {d}", response=f"{d} by {m}", doc_id=d, model=m)
        for d in "xy"
        for m in ("m1", "m2", "m3")
    ]
    pairs = list(tournament_pairs(items))
    assert [(p.extra["doc_id"], p.model_a, p.model_b) for p in pairs] == [
        (d, one, other) for d in "xy" for one, other in (("m1", "m2"), ("m1", "m3"), ("m2", "m3"))
    ]
    assert len({p.id for p in pairs}) == 6
    with pytest.raises(DataError, match="answers 'x' twice"):
        list(tournament_pairs([items[0], items[0]]))
    with pytest.raises(DataError, match="row 1, column model"):
        list(tournament_pairs([Item(id="1", prompt="p", response="r", doc_id="d")]))
    other = Item(id="z", prompt="another", response="r", doc_id="x", model="m9")
    with pytest.raises(DataError, match="differs from its first row"):
        list(tournament_pairs([items[0], other]))


# --- rows are files the other rooms read -----------------------------------------------------


def as_rows(rows: list[Judgment] | list[Score]) -> list[dict[str, Any]]:
    made = []
    for row in rows:
        known = {name: getattr(row, name) for name in row.__dataclass_fields__ if name != "extra"}
        made.append({**known, "judge": "j", **row.extra})
    return made


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_of_every_protocol_are_read_by_the_room_they_are_for(tmp_path: Path) -> None:
    models = {"model_a": "m1", "model_b": "m2"}
    rubric = Rubric().judge(PAIR, [scored(8, 6), scored(6, 7)])
    tie = Rubric().judge(PAIR, [scored(9, 5), scored(7, 6)])[0]
    unread = Rubric().judge(PAIR, [said("x"), said("x")])[0]
    rows = as_rows([*rubric, tie, unread])
    for number, row in enumerate(rows):
        row.update(models, id=str(number))
    path = write(tmp_path / "rubric.jsonl", rows)
    frame = read_judgments(path)
    assert frame["verdict"].to_list() == ["A", None, None]
    battles = read_battles(path)
    assert battles["winner"].to_list() == ["model_b"] * 3
    assert battles["score_a"].to_list()[0] == pytest.approx(7.5)
    claims = as_rows([claimed("Verdict: A\nConfidence: 0.8")])
    assert read_judgments(write(tmp_path / "v.jsonl", claims))["p_a"].to_list() == [0.8]
    guess = as_rows([claimed("Verdict: B\nConfidence: 0.4")])
    read = read_judgments(write(tmp_path / "g.jsonl", guess))
    assert read.select("status", "verdict", "p_a", "uncertainty").row(0) == ("ok", "B", None, 0.6)
    by = ByCriterion().judge(PAIR, [letters(-0.1, -3), letters(-3, -0.1)] * 4)
    path = write(tmp_path / "t.jsonl", [{**row, **models} for row in as_rows(list(by))])
    assert read_judgments(path).height == 4
    assert read_tournaments(path)["criterion"].to_list() == [c.name for c in SUMMARY]
    scores = Likert().judge(
        ITEM, [Reply(status="ok", logprobs={d: -float(d) for d in "12345"})] * 4
    )
    assert read_scores(write(tmp_path / "s.jsonl", as_rows(list(scores)))).height == 4


# --- criteria --------------------------------------------------------------------------------


def test_criteria_of_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(
        json.dumps(
            {
                "tone": "Is it kind?",
                "depth": {"definition": "Is it deep?", "anchors": {"10": "very", "1": "not"}},
            }
        )
    )
    criteria = read_criteria(path)
    assert [c.name for c in criteria] == ["tone", "depth"]
    assert criteria[1].describe() == "depth: Is it deep?\n  10 = very\n  1 = not"
    protocol = Rubric(criteria=criteria)
    assert '{"tone": <score>, "depth": <score>}' in protocol.questions(PAIR)[0].messages[0].text
    assert protocol.settings() != Rubric().settings()


@pytest.mark.parametrize(
    ("content", "said_of_it"),
    [
        ("nope", "not a JSON file"),
        ("[]", "has no criteria"),
        ('{"a": ""}', "a has no definition"),
        ('{"a": 3}', "a has no definition"),
        ('{"a\\nb": "x"}', "cannot be the name of a criterion"),
        ('{"a": "x", "A": "y"}', "name each criterion once"),
        ('{"a": {"definition": "x", "anchors": {"ten": "y"}}}', "are not scores and texts"),
    ],
)
def test_bad_criteria_are_refused(tmp_path: Path, content: str, said_of_it: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(content)
    with pytest.raises((DataError, ArgumentError), match=said_of_it):
        read_criteria(path)


def test_the_papers_criteria() -> None:
    assert [c.name for c in SUMMARY] == ["coherence", "consistency", "fluency", "relevance"]
    assert [c.name for c in RUBRIC] == [
        "adherence",
        "helpfulness",
        "factuality",
        "completeness",
        "clarity",
        "fluency",
    ]
    assert all(sorted(c.anchors) == [1, 4, 7, 10] for c in RUBRIC)
    with pytest.raises(ArgumentError, match="at least one"):
        check_criteria([])


def test_a_definition_with_a_placeholder_stays_words() -> None:
    odd = Criterion("odd", "Does it hold {response_a}?")
    text = ByCriterion(criteria=[odd]).questions(PAIR)[0].messages[1].text
    assert "Does it hold {response_a}?" in text
    with pytest.raises(DataError, match="{criterion} is missing"):
        ByCriterion(prompt=make_prompt("p", "{prompt}{response_a}{response_b}"))


# --- the length of written answers -----------------------------------------------------------


def test_only_written_answers_have_a_length() -> None:
    makers: list[Any] = [
        Likert,
        ByCriterion,
        lambda **options: Annotators(demonstrations=pool(), **options),
    ]
    for make in makers:
        with pytest.raises(ArgumentError, match="only written answers have a maximum length"):
            make(max_tokens=100)
        longer = make(samples=1, max_tokens=4000)
        assert longer.settings()["max_tokens"] == 4000
        subject: Any = ITEM if make is Likert else PAIR
        assert longer.questions(subject)[0].want.max_tokens == 4000
