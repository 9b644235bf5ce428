"""Published battles of models: votes of people (LMArena, ComparIA, MT-Bench), verdicts of judges.

A vote is on a complete conversation: in a longer one the answer is everything after the opening.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from adjudge.data.conversations import render_conversation
from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.logs.values import is_missing
from adjudge.data.names import quote
from adjudge.data.parts import has_images
from adjudge.images import NotTextError

_COMPLETE = "a vote is about the complete conversation: keep exchanges == 1 to judge single answers"


def short_hash(value: str) -> str:
    """A stable short hash of a text, to see which rows share a prompt."""
    return hashlib.blake2b(value.encode(), digest_size=8).hexdigest()


def _written(messages: list[Record]) -> str:
    """Messages as text: one is its words alone, several are turns."""
    try:
        text = render_conversation(messages)
    except NotTextError:
        text = None
    if text is None or has_images(text):  # which these data sets do not have
        raise UnusableRow("contains an image")
    return text


def _dialogue(row: Row, column: str, turns: int | None) -> tuple[str, str, int]:
    """The opening message, the answer, and the number of exchanges; `turns` cuts it there."""
    messages = row.nested(column)
    if not isinstance(messages, list) or not all(isinstance(turn, dict) for turn in messages):
        raise row.error("has no list of messages", column)
    spoken = [
        {"role": str(turn.get("role")), "content": turn.get("content") or ""}
        for turn in messages
        if turn.get("role") != "system"
    ]
    if turns is not None:
        spoken = spoken[: 2 * turns]
    if len(spoken) < 2 or spoken[0]["role"] != "user":
        raise UnusableRow("a conversation has no question with an answer")
    exchanges = sum(turn["role"] == "user" for turn in spoken)
    return _written(spoken[:1]), _written(spoken[1:]), exchanges


def _talk(row: Row, turns: int | None = None) -> Record:
    """The fields of a pair from conversation_a and conversation_b."""
    prompt, response_a, exchanges = _dialogue(row, "conversation_a", turns)
    other, response_b, _ = _dialogue(row, "conversation_b", turns)
    if prompt != other:
        raise UnusableRow("the two conversations have different openings")
    return _texts(prompt, response_a, response_b, exchanges)


def _texts(prompt: str, response_a: str, response_b: str, exchanges: int) -> Record:
    return {
        "prompt": prompt,
        "response_a": response_a,
        "response_b": response_b,
        "prompt_id": short_hash(prompt),
        "exchanges": exchanges,
    }


def _label(winner: str | None) -> str | None:
    """A battle's winner as a pair's label."""
    return None if winner is None else {"model_a": "A", "model_b": "B"}.get(winner, "tie")


# One vote per row: as a battle without the conversations, or as a pair with its number of
# `exchanges`, so that single turns can be kept.

_Reader = Callable[[Row], Any]


def _vote_battle(ids: _Reader, winner: _Reader, row: Row) -> Iterator[Record]:
    yield {**ids(row), "winner": winner(row)}


def _vote_pair(ids: _Reader, winner: _Reader, talk: _Reader, row: Row) -> Iterator[Record]:
    yield {**ids(row), "label": _label(winner(row)), **talk(row)}


# LMArena (Chatbot Arena): 33k conversations, and the 55k, 100k and 140k preferences.

#: The 140k release writes both_bad instead of tie (bothbad).
_ARENA_WINNERS = {
    **{winner: winner for winner in ("model_a", "model_b", "tie", "tie (bothbad)")},
    "both_bad": "tie (bothbad)",
}


def _arena_ids(row: Row) -> Record:
    key = row.text("question_id" if "question_id" in row.record else "id")
    return {"id": key, **row.texts("model_a", "model_b")}


def _arena_winner(row: Row) -> str | None:
    return None if row.get("winner") is None else row.choice("winner", _ARENA_WINNERS)


def _talk_55k(row: Row) -> Record:
    """The 55k release: prompt and responses are lists of messages as JSON text."""
    asked = row.list_in("prompt", "messages")

    def said(by: str, message: Any) -> Record:
        return {"role": by, "content": "" if message is None else str(message)}

    def answer(column: str) -> str:
        first, *later = row.list_in(column, "messages")
        turns = [said("assistant", first)]
        for question, reply in zip(asked[1:], later, strict=False):
            turns += [said("user", question), said("assistant", reply)]
        return _written(turns)

    prompt = _written([said("user", asked[0])])
    return _texts(prompt, answer("response_a"), answer("response_b"), len(asked))


def _winner_55k(row: Row) -> str:
    yes = {"1", "1.0", "true"}
    outcomes = ("model_a", "model_b", "tie")
    marked = [o for o in outcomes if str(row.cell(f"winner_{o}")).strip().lower() in yes]
    if len(marked) != 1:
        raise row.error("does not mark a single winner", "winner_model_a", "set one of the three")
    return marked[0]


_NOTES = (_COMPLETE, "prompt_id is a hash of the opening message")
_BATTLE = "model_a model_b winner conversation_a conversation_b"
LMARENA_33K = Format(
    name="lmarena-33k",
    title="the Chatbot Arena 33k conversations",
    signature=signature(
        f"question_id turn judge {_BATTLE}", "anony tstamp toxic_chat_tag openai_moderation"
    ),
    gives={
        "pairs": partial(_vote_pair, _arena_ids, _arena_winner, _talk),
        "battles": partial(_vote_battle, _arena_ids, _arena_winner),
    },
    used=columns("question_id id model_a model_b winner"),
    texts=columns("conversation_a conversation_b full_conversation"),
    notes=_NOTES,
)
LMARENA_55K = Format(
    name="lmarena-55k",
    title="the LMArena 55k preferences",
    signature=signature(
        "id model_a model_b prompt response_a response_b winner_model_a winner_model_b winner_tie"
    ),
    gives={
        "pairs": partial(_vote_pair, _arena_ids, _winner_55k, _talk_55k),
        "battles": partial(_vote_battle, _arena_ids, _winner_55k),
    },
    used=columns("id model_a model_b winner_model_a winner_model_b winner_tie"),
    texts=columns("prompt response_a response_b"),
    notes=_NOTES,
)
LMARENA_100K = replace(
    LMARENA_33K,
    name="lmarena-100k",
    title="the LMArena 100k preferences",
    signature=signature(
        f"question_id turn {_BATTLE}",
        "judge_hash conv_metadata category_tag dedup_tag",
        without="judge",
    ),
)
LMARENA_140K = replace(
    LMARENA_33K,
    name="lmarena-140k",
    title="the LMArena 140k preferences",
    signature=signature(f"id evaluation_order full_conversation {_BATTLE}"),
    notes=(
        *_NOTES,
        "with evaluation_order above 1 the vote came after earlier exchanges, which the file lacks",
    ),
)


# ComparIA: conversations of French users with two models, and which one they chose.


def _comparia_ids(row: Row) -> Record:
    names = {f"model_{side}": row.get(f"model_{side}_name") for side in ("a", "b")}
    if None in names.values():
        raise UnusableRow("a model has no name")
    key = row.text("id" if row.get("id") is not None else "conversation_pair_id")
    return {"id": key, **{side: str(name) for side, name in names.items()}}


def _comparia_winner(row: Row) -> str | None:
    """Both equal is a tie. A row without a choice that is not equal has no vote."""
    if str(row.get("both_equal")).strip().lower() in {"true", "1"}:
        return "tie"
    chosen = row.get("chosen_model_name")
    if chosen is None:
        return None
    sides = [side for side in ("model_a", "model_b") if row.get(f"{side}_name") == chosen]
    if len(sides) != 1:
        raise UnusableRow("the chosen model is not one of the two")
    return sides[0]


COMPARIA = Format(
    name="comparia",
    title="the ComparIA votes",
    signature=signature("model_a_name model_b_name chosen_model_name both_equal"),
    gives={
        "pairs": partial(_vote_pair, _comparia_ids, _comparia_winner, _talk),
        "battles": partial(_vote_battle, _comparia_ids, _comparia_winner),
    },
    used=columns("id model_a_name model_b_name chosen_model_name both_equal"),
    texts=columns("conversation_a conversation_b"),
    notes=("a row with no choice and no tie has no winner", _COMPLETE),
)


# MT-Bench human judgments: several people on each pair of answers, per turn. Every row has the
# complete conversation of two turns; with `turn` 1 the vote is only on the first. People saw the
# two models in either order. Pairs and labels put the first by name at A, so that labels of one
# file fit the pairs of another.

#: In the GPT-4 file of the same release, `tie (inconsistent)` is a verdict that changed.
_MT_WINNERS = {
    "model_a": "model_a",
    "model_b": "model_b",
    **dict.fromkeys(("tie", "tie (bothbad)", "tie (inconsistent)"), "tie"),
}
_TURNED = {"A": "B", "B": "A", "tie": "tie"}


def mt_battles(row: Row) -> Iterator[Record]:
    """One battle per vote; question and turn together are the prompt."""
    yield {**_vote(row), "judge": row.text("judge"), "winner": row.choice("winner", _MT_WINNERS)}


def mt_labels(row: Row) -> Iterator[Record]:
    """One label per person and pair; the ids are those of the pairs."""
    vote, label = _vote(row), _label(row.choice("winner", _MT_WINNERS))
    if vote["model_a"] > vote["model_b"]:
        label = _TURNED[str(label)]
    yield {"id": vote["id"], "label": label, "rater": row.text("judge")}


def mt_pairs(row: Row) -> Iterator[Record]:
    """One pair per vote; `merge_votes` combines votes on the same answers."""
    vote = _vote(row)
    texts = _talk(row, turns=vote["turn"])
    if vote["model_a"] > vote["model_b"]:
        vote["model_a"], vote["model_b"] = vote["model_b"], vote["model_a"]
        texts["response_a"], texts["response_b"] = texts["response_b"], texts["response_a"]
    yield {**texts, **vote, **next(mt_labels(row))}


def merge_votes(votes: Iterable[Record]) -> Iterator[Record]:
    """Each pair of answers once. Its label is the majority of votes, or empty without one."""
    first: dict[str, Record] = {}
    given: dict[str, Counter[str]] = {}
    for vote in votes:
        first.setdefault(vote["id"], vote)
        given.setdefault(vote["id"], Counter())[vote["label"]] += 1
    for key, pair in first.items():
        del pair["rater"]
        (best, count), *others = given[key].most_common(2)
        split = bool(others) and others[0][1] == count
        yield {**pair, "label": None if split else best, "raters": given[key].total()}


def _vote(row: Row) -> Record:
    question, turn = row.text("question_id"), row.text("turn")
    if turn not in ("1", "2"):
        raise row.error(f"{quote(turn)} is not known", "turn", "1 or 2")
    models = row.texts("model_a", "model_b")
    key = "|".join([question, turn, *sorted(models.values())])
    return {"id": key, **models, "prompt_id": question, "turn": int(turn)}


MT_BENCH = Format(
    name="mt-bench",
    title="the MT-Bench human judgments",
    signature=signature(
        "question_id turn judge model_a model_b winner conversation_a conversation_b",
        without="anony tstamp toxic_chat_tag openai_moderation",
    ),
    gives={"pairs": mt_pairs, "battles": mt_battles, "labels": mt_labels},
    used=columns("question_id turn model_a model_b judge winner"),
    texts=columns("conversation_a conversation_b"),
    merge={"pairs": merge_votes},
    notes=(
        "several people voted on a pair: its label is their majority, or empty without one",
        "questions repeat: prompt_id is the question",
    ),
)


# Arena-Hard judgments, v0.1 and v2: a model against the baseline, judged in both orders. The first
# game shows the baseline as A, the second the model. A verdict is A>>B, A>B, A=B, B>A or B>>A (or
# the same with <); the judge can have written something else between the brackets.

_VERDICT = re.compile(r"^\[*([AB])(>>|>|=|<|<<)([AB])\]*$")


def arena_hard_battles(row: Row) -> Iterator[Record | UnusableRow]:
    """One battle per game; model_a is the model, and `order` is ab if it was shown first.

    The judge's choice is a verdict: there are no votes of people, so there is no winner.
    `decisive` marks >>, which the benchmark's score counts three times.
    """
    question = row.text("question_id" if "question_id" in row.record else "uid")
    model = row.text("model")
    baseline = row.get("baseline") or row.context.baseline or "baseline"
    games = row.nested("games")
    if not isinstance(games, list) or len(games) > 2:
        raise row.error("has no list of two games", "games")
    for number, game in enumerate(games):
        score = game.get("score") if isinstance(game, dict) else None
        written = _VERDICT.match(str(score).strip())
        if written is None or written[1] == written[3]:
            yield UnusableRow("no verdict" if score is None else "a verdict that is not known")
            continue
        left, sign, _ = written.groups()
        first_wins = (left == "A") == sign.startswith(">")
        model_first = number == 1
        verdict = "A" if first_wins == model_first else "B"
        yield {
            "id": f"{question}|{model}|{number + 1}",
            "model_a": model,
            "model_b": str(baseline),
            "winner": None,
            "verdict": "tie" if sign == "=" else verdict,
            "decisive": len(sign) == 2,
            "order": "ab" if model_first else "ba",
            "prompt_id": question,
            "judge": row.text("judge"),
        }


ARENA_HARD = Format(
    name="arena-hard",
    title="Arena-Hard judgments",
    signature=signature("model judge games", "question_id uid"),
    gives={"battles": arena_hard_battles},
    used=columns("question_id uid model baseline games judge"),
    notes=(
        "verdicts are the judge's, one battle per order; there are no votes",
        "v0.1 files do not name their baseline: it is `baseline` unless you name it",
    ),
)


# The SoftElo release: arena battles with the human vote and a judge's rubric scores. There
# human_pref and judge_pref count for B: 0 = A wins, 1 = B wins, 0.5 = tie. The scores are kept and
# read with the battles; an empty object is a reply that could not be parsed.

_SHARES_OF_B = {0.0: "model_a", 1.0: "model_b", 0.5: "tie"}


def softelo_battles(row: Row) -> Iterator[Record]:
    """One battle per row; `judge_winner` is the judge's verdict."""
    prompt, language = row.get("instruction_id_hash"), row.get("meta_lang")
    human, judge = (
        row.number_choice(column, row.get(column), _SHARES_OF_B, "0 means A, 1 means B, 0.5 a tie")
        for column in ("human_pref", "judge_pref")
    )
    battle: Record = {
        "id": row.text("row_id" if "row_id" in row.record else "battle_id"),
        **row.texts("model_a", "model_b"),
        "winner": human,
        "judge_winner": judge,
    }
    if prompt:
        battle["prompt_id"] = str(prompt)
    if language:
        battle["language"] = language
    for side in ("a", "b"):
        length = row.get(f"len_{side}")
        if length is not None:
            battle[f"length_{side}"] = row.number_in(f"len_{side}", length)
    yield battle


SOFTELO = Format(
    name="softelo",
    title="the SoftElo release",
    signature=signature(
        "model_a model_b human_pref judge_pref scores_a scores_b", "row_id battle_id"
    ),
    gives={"battles": softelo_battles},
    used=columns(
        "row_id battle_id model_a model_b human_pref judge_pref instruction_id_hash meta_lang "
        "len_a len_b"
    ),
    notes=("human_pref is read as in the release: 0 = A wins, 1 = B wins",),
)


# JudgeArena battles (`battles.parquet`): some judged by a model, some by people. `source` is
# llm-judge or human. `pref` is 0 if A wins and 1 if B wins. Written from JudgeArena's
# documentation, and not yet tested on a file that it wrote.

_JUDGEARENA_WINNERS = {
    **{winner: winner for winner in ("model_a", "model_b", "tie")},
    "tie (bothbad)": "tie",
}


def judgearena_battles(row: Row) -> Iterator[Record]:
    """One battle per row: a human vote is the winner, a judge's is a verdict."""
    source = row.text("source")
    winner = row.choice("winner", _JUDGEARENA_WINNERS, "use model_a, model_b or tie")
    battle = {
        "id": f"row-{row.number}",
        **row.texts("model_a", "model_b"),
        "prompt_id": row.get("question_id"),
        "source": source,
    }
    if source == "human":
        yield {**battle, "winner": winner, "labelled_by": "person"}
        return
    if source != "llm-judge":
        raise row.error(f"{quote(source)} is not known", "source", "use llm-judge or human")
    if is_missing(row.record.get("pref")):
        # Without a preference the reply could not be read, and the winner is tie.
        raise UnusableRow("a judge's reply that could not be read")
    yield {
        **battle,
        "winner": None,
        "judge": row.get("judge_model"),
        "verdict": _label(winner),
        "p_a": 1 - row.number_in("pref", row.record["pref"]),
    }


JUDGEARENA = Format(
    name="judgearena",
    title="JudgeArena battles",
    signature=signature("model_a model_b winner source pref"),
    gives={"battles": judgearena_battles},
    used=columns("model_a model_b winner source pref question_id judge_model"),
    log=True,
    notes=("untried: written from JudgeArena's documentation, not tested on its files",),
)
