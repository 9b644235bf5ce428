"""Published pairs and items: preference pairs, annotations of two outputs, scored summaries.

Pairs published with the better response first would be solved by a judge with position bias. So a
fair coin decides the sides of each. It depends only on the seed and the pair's id; `chosen_at` and
`placement_seed` record it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from adjudge.data.conversations import is_conversation, render_conversation
from adjudge.data.formats import Format, Row, UnusableRow, columns, signature
from adjudge.data.json_files import Record
from adjudge.data.names import content_hash, quote
from adjudge.data.public.battles import short_hash
from adjudge.data.turns import prompt_and_response
from adjudge.images import NotTextError

_COIN = "a seeded coin per pair decides on which side the chosen response is (chosen_at)"


def _place(
    row: Row,
    key: str,
    prompt: str,
    chosen: tuple[str, str | None],
    rejected: tuple[str, str | None],
) -> Record:
    """A pair whose better response and its model are A or B by the coin of `key`."""
    at_a = row.context.coin(key)
    (response_a, model_a), (response_b, model_b) = (
        (chosen, rejected) if at_a else (rejected, chosen)
    )
    side = "A" if at_a else "B"
    return {
        "id": key,
        "prompt": prompt,
        "response_a": response_a,
        "response_b": response_b,
        "model_a": model_a,
        "model_b": model_b,
        "label": side,
        "chosen_at": side,
        "placement_seed": row.context.seed,
    }


# RewardBench 1 and 2: a response known to be better, and one or more known to be worse.


def rewardbench_pairs(row: Row) -> Iterator[Record]:
    """RewardBench 1: one pair per row."""
    subset = row.text("subset")
    chosen = row.text("chosen"), row.get("chosen_model")
    rejected = row.text("rejected"), row.get("rejected_model")
    key = f"{subset}/{row.text('id')}"
    yield {**_place(row, key, row.text("prompt"), chosen, rejected), "subset": subset}


def rewardbench_2_pairs(row: Row) -> Iterator[Record]:
    """RewardBench 2: each right answer with each wrong one; they share a prompt_id."""
    prompt_id = row.text("id")
    rejected, chosen = (
        [_write(row, column, [response]) for response in row.list_in(column, "responses")]
        for column in ("rejected", "chosen")
    )
    for i, right in enumerate(chosen):
        for j, wrong in enumerate(rejected):
            key, prompt = f"{prompt_id}/{i}-{j}", row.text("prompt")
            yield {**_place(row, key, prompt, (right, None), (wrong, None)), "prompt_id": prompt_id}


REWARDBENCH = Format(
    name="rewardbench",
    title="RewardBench",
    signature=signature(
        "id prompt chosen rejected subset chosen_model rejected_model", without="num_correct"
    ),
    gives={"pairs": rewardbench_pairs},
    used=columns("id subset chosen_model rejected_model"),
    texts=columns("prompt chosen rejected"),
    notes=(_COIN,),
)
REWARDBENCH_2 = Format(
    name="rewardbench-2",
    title="RewardBench 2",
    signature=signature(
        "id prompt chosen rejected subset", "num_correct num_incorrect total_completions"
    ),
    gives={"pairs": rewardbench_2_pairs},
    used=columns("id"),
    texts=columns("prompt chosen rejected models additional_metadata"),
    notes=(_COIN, "one prompt gives several pairs: they share its prompt_id"),
)


# Preference pairs: a prompt, the chosen response and the rejected one. Responses are texts, or
# conversations that repeat the prompt. Without a prompt column, the prompt is the common beginning
# of both conversations.

_PROMPTS = ("prompt", "question", "instruction", "input", "query")
#: How hh-rlhf marks the speakers in one text.
_PERSON, _ASSISTANT = "\n\nHuman:", "\n\nAssistant:"


def chosen_rejected_pairs(row: Row) -> Iterator[Record]:
    """One pair per row; without an id, a hash of its texts is the id."""
    chosen, rejected = (_spoken(row, column) for column in ("chosen", "rejected"))
    # The messages that both share at the start; at least one is left to judge.
    shared = zip(chosen[:-1], rejected[:-1], strict=False)
    at = len(list(takewhile(lambda pair: pair[0] == pair[1], shared)))
    asked = next((name for name in _PROMPTS if row.get(name) is not None), None)
    if asked is None and at == 0:
        raise row.error("is missing", "prompt", "name yours: --column prompt=NAME")
    if asked is None:
        prompt = _write(row, "chosen", chosen[:at])
    else:
        given = row.cell(asked)
        prompt = _write(row, asked, list(given)) if is_conversation(given) else row.text(asked)
    better, worse = _write(row, "chosen", chosen[at:]), _write(row, "rejected", rejected[at:])
    if better == worse:
        raise UnusableRow("chosen and rejected are the same")
    key = content_hash([prompt, better, worse]) if row.get("id") is None else row.text("id")
    models = row.get("chosen_model"), row.get("rejected_model")
    yield _place(row, key, prompt, (better, models[0]), (worse, models[1]))


def _spoken(row: Row, column: str) -> list[Any]:
    """Messages, or one text; for hh-rlhf the text before the last answer, and that answer."""
    value = row.cell(column)
    if is_conversation(value):
        return list(value)
    text = row.text(column)
    before, marked, answer = text.rpartition(_ASSISTANT)
    if marked and text.startswith(_PERSON):
        return [before.strip(), answer.strip()]
    return [text]


def _write(row: Row, column: str, said: list[Any]) -> str:
    if said and isinstance(said[0], str):
        return str(said[0])
    try:
        return render_conversation(said)
    except NotTextError as error:
        raise row.error(str(error), column, error.remedy) from None


CHOSEN_REJECTED = Format(
    name="chosen-rejected",
    title="pairs of a chosen and a rejected response",
    signature=signature("chosen rejected", without="response_a response_b"),
    gives={"pairs": chosen_rejected_pairs},
    used=columns("id chosen_model rejected_model"),
    texts=columns("chosen rejected prompt question instruction input query"),
    notes=(_COIN,),
)


# LLMBar: an instruction, two outputs, and which one follows it.


def llmbar_pairs(row: Row) -> Iterator[Record]:
    """One pair per row; its id is its place in the file."""
    label = row.choice("label", {"1": "A", "2": "B"}, "1 means output_1, 2 output_2")
    yield {
        "id": f"llmbar-{row.number}",
        "prompt": row.text("input"),
        "response_a": row.text("output_1"),
        "response_b": row.text("output_2"),
        "label": label,
    }


LLMBAR = Format(
    name="llmbar",
    title="LLMBar",
    signature=signature("input output_1 output_2 label", without="preference"),
    gives={"pairs": llmbar_pairs},
    used=columns("label"),
    texts=columns("input output_1 output_2"),
)


# AlpacaEval annotations: which of two outputs an annotator, usually a model, preferred.
# `preference` is from 1 (output_1) to 2 (output_2): with weighted annotators it is 1 plus the
# probability of output_2. The release already undoes its random order. 1.5, in older files 0, is a
# tie; -1, in the annotators' caches, is a reply that could not be read.

_WINNERS = {"A": "model_a", "B": "model_b", "tie": "tie"}


def alpaca_pairs(row: Row) -> Iterator[Record]:
    """One pair per annotation. Only a human preference (annotator_index) is a label."""
    p_a = _p_a(row)
    instruction = row.text("instruction")
    text = row.get("input")
    label = _side(p_a) if _by_person(row) and p_a is not None else None
    yield {
        **_alpaca_ids(row),
        "prompt": f"{instruction}\n\n{text}" if text else instruction,
        "response_a": row.text("output_1"),
        "response_b": row.text("output_2"),
        "label": label,
    }


def alpaca_battles(row: Row) -> Iterator[Record]:
    """One battle per annotation: a person's is the winner, a model's is a verdict of `judge`."""
    p_a = _p_a(row)
    if p_a is None:
        raise UnusableRow("no preference")
    models = _alpaca_ids(row)
    if not models["model_a"] or not models["model_b"]:
        raise row.error("is missing", "generator_1", "battles need both generators")
    if _by_person(row):
        yield {**models, "winner": _WINNERS[_side(p_a)], **_outputs(row)}
        return
    judged = {"judge": row.get("annotator"), "verdict": _side(p_a), "p_a": p_a}
    yield {**models, "winner": None, **judged, **_outputs(row)}


def alpaca_judgments(row: Row) -> Iterator[Record]:
    """The annotator as a judge: p_a = 2 - preference."""
    p_a = _p_a(row)
    yield {
        **_alpaca_ids(row),
        "judge": row.text("annotator"),
        "protocol": "alpaca-eval",
        "status": "unparsed" if p_a is None else "ok",
        "p_a": p_a,
        **_outputs(row),
    }


def _by_person(row: Row) -> bool:
    return "annotator" not in row.record and "annotator_index" in row.record


def _side(p_a: float) -> str:
    return "A" if p_a > 0.5 else "B" if p_a < 0.5 else "tie"


def _alpaca_ids(row: Row) -> Record:
    return {
        "id": f"alpaca-eval-{row.number}",
        "model_a": row.get("generator_1"),
        "model_b": row.get("generator_2"),
        "prompt_id": short_hash(row.text("instruction")),
    }


def _outputs(row: Row) -> Record:
    """The length of each output, and its hash: a model can give one output to all prompts."""
    texts = {"a": row.text("output_1"), "b": row.text("output_2")}
    return {
        **{f"length_{side}": len(text) for side, text in texts.items()},
        **{f"answer_hash_{side}": short_hash(text) for side, text in texts.items()},
    }


def _p_a(row: Row) -> float | None:
    given = row.get("preference")
    if given is None:
        return None
    preference = row.number_in("preference", given)
    if preference in (-1, 0):
        return 0.5 if preference == 0 else None
    if not 1 <= preference <= 2:
        remedy = "1 means output_1, 2 output_2"
        raise row.error(f"{quote(given)} is out of range", "preference", remedy)
    return 2 - preference


ALPACA_EVAL = Format(
    name="alpaca-eval",
    title="AlpacaEval annotations",
    signature=signature(
        "instruction output_1 output_2 preference", "annotator annotator_index generator_1"
    ),
    gives={"pairs": alpaca_pairs, "battles": alpaca_battles, "judgments": alpaca_judgments},
    used=columns("instruction output_1 output_2 generator_1 generator_2 annotator preference"),
    texts=columns("input raw_completion"),
    notes=("the annotator is a model: its preference is a verdict, not a label",),
)


# The Trust or Escalate release: Chatbot Arena pairs with a judge's two probabilities.


def escalate_pairs(row: Row) -> Iterator[Record]:
    """One pair per row; its id is its place in the file; human 1 means the first output."""
    first, second = row.list_in("outputs", "two", size=2)
    yield {
        **_escalate_ids(row),
        "prompt": row.text("instruction"),
        "response_a": str(first),
        "response_b": str(second),
    }


def escalate_judgments(row: Row) -> Iterator[Record]:
    """The judge's probabilities, scaled to add up to one over the two letters."""
    first, second = (row.number_in("probs", p) for p in row.list_in("probs", "two", size=2))
    if first < 0 or second < 0 or first + second <= 0:
        raise row.error("does not have two probabilities", "probs")
    yield {
        **_escalate_ids(row),
        "protocol": "trust-or-escalate",
        "status": "ok",
        "p_a": first / (first + second),
    }


def _escalate_ids(row: Row) -> Record:
    preferences = row.nested("preferences")
    human = preferences.get("human") if isinstance(preferences, dict) else None
    labels = {1.0: "A", 2.0: "B"}
    return {
        "id": f"row-{row.number}",
        "label": row.number_choice("preferences", human, labels, "1 means the first"),
        "prompt_id": short_hash(row.text("instruction")),
    }


TRUST_OR_ESCALATE = Format(
    name="trust-or-escalate",
    title="the Trust or Escalate release",
    signature=signature("instruction outputs preferences probs"),
    gives={"pairs": escalate_pairs, "judgments": escalate_judgments},
    used=columns("instruction preferences probs"),
    texts=columns("outputs"),
    notes=("one order only: the judge was not asked with the outputs swapped",),
)


# SummEval: summaries scored 1 to 5 on four criteria by three experts and five crowd workers.


def summeval_items(row: Row) -> Iterator[Record]:
    """One item per summary: the article is the prompt."""
    if not row.get("text"):
        remedy = "add them first, with the release's pair_data.py"
        raise row.error("has no articles", "text", remedy)
    yield {**_summary_ids(row), "prompt": row.text("text"), "response": row.text("decoded")}


def summeval_scores(row: Row) -> Iterator[Record]:
    """One row per summary and criterion: expert1 to expert3, and the crowd's mean."""
    names = _summary_ids(row)
    experts = _ratings(row, "expert_annotations")
    crowd = _ratings(row, "turker_annotations") if row.get("turker_annotations") else []
    for criterion in ("coherence", "consistency", "fluency", "relevance"):
        given = {
            f"expert{i}": row.number_in("expert_annotations", rating.get(criterion))
            for i, rating in enumerate(experts, start=1)
        }
        others = [row.number_in("turker_annotations", rating.get(criterion)) for rating in crowd]
        mean = sum(others) / len(others) if others else None
        yield {**names, "criterion": criterion, **given, "turker_mean": mean}


def _summary_ids(row: Row) -> Record:
    document, model = row.text("id"), row.text("model_id")
    return {"id": f"{document}|{model}", "doc_id": document, "model": model}


def _ratings(row: Row, column: str) -> list[Record]:
    ratings = row.nested(column)
    if not isinstance(ratings, list) or not all(isinstance(rating, dict) for rating in ratings):
        raise row.error("has no list of annotations", column)
    return ratings


SUMMEVAL = Format(
    name="summeval",
    title="the SummEval annotations",
    signature=signature("id model_id decoded expert_annotations"),
    gives={"items": summeval_items, "human_scores": summeval_scores},
    used=columns("id model_id expert_annotations turker_annotations"),
    texts=columns("text decoded references reference filepath"),
    notes=("the file has human scores and no judge's scores: judge the items, then join",),
)


# Conversations as lists of messages: fine-tuning data, ShareGPT, logs of chats.

_MESSAGES = ("messages", "conversations", "conversation", "turns")
#: With one of these the messages are not all of a row.
_NOT_ALONE = (
    "prompt response response_a chosen label judge judge_score p_a p_fwd p_pass verdict "
    "verdict_fwd winner model_a"
)


def message_items(row: Row) -> Iterator[Record]:
    """The conversation: a prompt, which is all before the first answer, and the rest."""
    column = next((name for name in _MESSAGES if row.get(name) is not None), _MESSAGES[0])
    said = row.nested(column)
    parts = prompt_and_response(_write(row, column, said)) if is_conversation(said) else None
    if parts is None:
        problem = "has no messages in which an assistant answers"
        raise row.error(problem, column, 'give [{"role": "user", "content": "..."}, ...]')
    key = content_hash([*parts]) if row.get("id") is None else row.text("id")
    yield {"id": key, "prompt": parts[0], "response": parts[1]}


MESSAGES = Format(
    name="messages",
    title="conversations as lists of messages",
    signature=signature("", " ".join(_MESSAGES), without=_NOT_ALONE),
    gives={"items": message_items},
    used=columns(f"id {' '.join(_MESSAGES)}"),
    notes=("the prompt is what comes before the first answer",),
)
