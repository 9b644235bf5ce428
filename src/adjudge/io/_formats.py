"""Which file is this? Every format we know, told by its columns.

A reader that is handed another format says which one it looks like and how to read it, instead of
complaining about the first column it misses.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from adjudge.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A format by its columns: all of `needs`, one of each set in `one_of`, none of `without`."""

    name: str
    title: str
    needs: frozenset[str]
    one_of: tuple[frozenset[str], ...] = ()
    without: frozenset[str] = frozenset()
    public: bool = True
    #: What reads a native file; a public one is read with --from.
    used_by: str = ""

    def fits(self, columns: Collection[str]) -> bool:
        """Whether a table with these columns may be of this format."""
        here = set(columns)
        return (
            self.needs <= here
            and not self.without & here
            and all(options & here for options in self.one_of)
        )


def _public(name: str, title: str, needs: str, *one_of: str, without: str = "") -> Signature:
    return Signature(
        name=name,
        title=title,
        needs=frozenset(needs.split()),
        one_of=tuple(frozenset(options.split()) for options in one_of),
        without=frozenset(without.split()),
    )


def _native(name: str, used_by: str, needs: str, *one_of: str, without: str = "") -> Signature:
    return Signature(
        name=name,
        title=f"{'an' if name[0] in 'aeiou' else 'a'} {name} file of adjudge",
        needs=frozenset(needs.split()),
        one_of=tuple(frozenset(options.split()) for options in one_of),
        without=frozenset(without.split()),
        public=False,
        used_by=used_by,
    )


_BATTLE = "model_a model_b winner conversation_a conversation_b"

#: The more telling first: the first that fits is the one a file looks like.
SIGNATURES: tuple[Signature, ...] = (
    _public(
        "lmarena-55k",
        "the LMArena 55k preferences",
        "id model_a model_b prompt response_a response_b winner_model_a winner_model_b winner_tie",
    ),
    _public(
        "lmarena-140k",
        "the LMArena 140k preferences",
        f"id evaluation_order full_conversation {_BATTLE}",
    ),
    _public(
        "lmarena-100k",
        "the LMArena 100k preferences",
        f"question_id turn {_BATTLE}",
        "judge_hash conv_metadata category_tag dedup_tag",
        without="judge",
    ),
    _public(
        "lmarena-33k",
        "the Chatbot Arena 33k conversations",
        f"question_id turn judge {_BATTLE}",
        "anony tstamp toxic_chat_tag openai_moderation",
    ),
    _public(
        "mt-bench",
        "the MT-Bench human judgments",
        f"question_id turn judge {_BATTLE}",
        without="anony tstamp toxic_chat_tag openai_moderation",
    ),
    _public(
        "comparia", "the ComparIA votes", "model_a_name model_b_name chosen_model_name both_equal"
    ),
    _public(
        "rewardbench-2",
        "RewardBench 2",
        "id prompt chosen rejected subset",
        "num_correct num_incorrect total_completions",
    ),
    _public(
        "rewardbench",
        "RewardBench",
        "id prompt chosen rejected subset chosen_model rejected_model",
        without="num_correct",
    ),
    _public(
        "alpaca-eval",
        "AlpacaEval annotations",
        "instruction output_1 output_2 preference",
        "annotator annotator_index generator_1",
    ),
    _public("llmbar", "LLMBar", "input output_1 output_2 label", without="preference"),
    _public("arena-hard", "Arena-Hard judgments", "model judge games", "question_id uid"),
    _public("summeval", "the SummEval annotations", "id model_id decoded expert_annotations"),
    _public(
        "softelo",
        "the SoftElo release",
        "model_a model_b human_pref judge_pref scores_a scores_b",
        "row_id battle_id",
    ),
    _public(
        "trust-or-escalate",
        "the Trust or Escalate release",
        "instruction outputs preferences probs",
    ),
    _native("pairs", "adjudge judge with a protocol for pairs", "prompt response_a response_b"),
    _native("items", "adjudge judge with a scoring protocol", "id prompt response"),
    _native("scores", "adjudge diagnose scores", "doc_id judge_score"),
    _native(
        "tournaments",
        "adjudge diagnose transitivity",
        "model_a model_b",
        "doc_id question_id",
        "verdict p_a verdict_fwd p_fwd judge_label",
        without="winner human_pref",
    ),
    _native("battles", "adjudge rank", "model_a model_b", "winner human_pref"),
    _native(
        "judgments", "adjudge calibrate, select and evaluate", "id", "p_a p_fwd", without="doc_id"
    ),
    _native("binary", "adjudge estimate", "judge human"),
    _native("labels", "--labels", "id label"),
)


def looks_like(columns: Collection[str]) -> Signature | None:
    """The known format that a table with these columns looks like, if any.

    >>> looks_like(["input", "output_1", "output_2", "label"]).name
    'llmbar'
    >>> looks_like(["colour", "weight"]) is None
    True
    """
    return next((known for known in SIGNATURES if known.fits(columns)), None)


def refuse_other(columns: Collection[str], expected: str, name: str) -> None:
    """Refuse a public data set where a native file, or another data set, is expected."""
    found = looks_like(columns)
    if found is not None and found.name != expected and found.public:
        raise other_format(found, expected, name)


def is_other(
    columns: Collection[str], expected: str, required: Collection[str], known: Collection[str]
) -> bool:
    """Whether a file that lacks a required column is of another kind, or has it misnamed.

    It is another kind when it has columns that only that kind has, or hardly any of ours: a pairs
    file whose response_b is called something else should not be taken for a labels file.
    """
    found = looks_like(columns)
    if found is None or found.name == expected:
        return False
    here = set(columns)
    telling = (found.needs | frozenset().union(*found.one_of)) & here - set(known)
    return bool(telling) or 2 * len(here & set(required)) <= len(required)


def other_format(found: Signature, expected: str, name: str) -> DataError:
    """This file is `found`, and how to read that."""
    remedy = (
        f"read it with --from {found.name}"
        if found.public
        else f"such a file goes to {found.used_by}"
    )
    article = "an" if expected[0] in "aeiou" else "a"
    return DataError(
        name, f"looks like {found.title}, not {article} {expected} file", remedy=remedy
    )
