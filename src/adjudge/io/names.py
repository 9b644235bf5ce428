"""The usual names of columns, in one table, and which of a file's columns are used as ours.

Nothing here looks at values. Our name in another case (`Response A`) comes before a usual name. If
two columns could be one of ours, nothing is guessed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence

from adjudge.errors import DataError

#: Our name, then other common names for the same column. `kind:name` is for one kind of rows only.
#: A row number (index, idx) is not an id: two files would be joined by accident.
USUAL: Mapping[str, str] = {
    "id": "uid uuid example_id item_id sample_id pair_id row_id record_id",
    "prompt_id": "question_id instruction_id query_id",
    "prompt": "question instruction input query user_prompt user_input user_query problem",
    "response": "output answer completion model_output model_response model_answer generation "
    "generated_text prediction actual_output candidate",
    "response_a": "output_1 output_a answer_a answer_1 response_1 completion_a completion_1 "
    "response_left left_response candidate_a candidate_1 text_a",
    "response_b": "output_2 output_b answer_b answer_2 response_2 completion_b completion_2 "
    "response_right right_response candidate_b candidate_2 text_b",
    "model": "model_name model_id generator",
    "scores:model": "system model_name model_id generator",
    "model_a": "model_1 generator_1 model_a_name model_left left_model system_a system_1",
    "model_b": "model_2 generator_2 model_b_name model_right right_model system_b system_2",
    "label": "winner preference preferred human_label human_pref human_preference human_winner "
    "human gold gold_label choice vote annotation",
    # Next to a judge's probability, `winner` can be the judge's: only human ones are labels.
    "judgments:label": "human_label human_pref human_preference human_winner human gold gold_label",
    "tournaments:label": "human_label human_pref human_preference human_winner human gold "
    "gold_label",
    "labels:label": "winner preference preferred human_label human_pref human_preference gold "
    "gold_label choice vote annotation",
    "grade_labels:label": "human human_label human_grade human_verdict gold gold_label annotation "
    "grade",
    "score_labels:label": "human_score human human_label human_rating human_grade score rating",
    "winner": "preferred preference human_winner human_preference vote choice",
    "judge": "judge_name judge_model evaluator annotator grader",
    "judge_name": "judge_model evaluator annotator grader",
    "binary:judge": "judge_label judge_verdict judge_grade judge_score verdict llm_label llm_grade "
    "llm_score llm_judge prediction predicted pred score grade",
    "binary:human": "human_label human_grade human_score human_verdict label gold gold_label "
    "annotation ground_truth expert",
    "grades:judge": "judge_label judge_verdict verdict",
    "grades:human": "label human_label human_grade human_verdict gold gold_label annotation "
    "ground_truth expert",
    "p_a": "prob_a prob_first p_first p_preferred_a probability_a",
    "p_pass": "prob_pass pass_probability probability_pass",
    "uncertainty": "doubt",
    "verdict": "judge_verdict judge_label judge_winner judge_pref judge_preference",
    "tournaments:verdict": "judge_verdict judge_winner judge_preference",
    "verdict_fwd": "judge_label verdict_ab",
    "verdict_rev": "judge_label_rev verdict_ba",
    "rater": "annotator annotator_id rater_id labeler labeller",
    "doc_id": "document_id article_id question_id prompt_id",
    "criterion": "dimension aspect metric",
    "judge_score": "score grade rating llm_score model_score predicted_score judge_rating",
    "human_score": "human human_rating human_grade gold_score expert_score label",
    "length_a": "len_a length_1 len_1",
    "length_b": "len_b length_2 len_2",
    "language": "lang",
}
#: The logger of all messages of readers; the commands print them, a notebook shows them.
LOG = logging.getLogger("adjudge.io")


def plain_name(column: str) -> str:
    """A column's name in the form of our names.

    >>> plain_name("Response A"), plain_name("modelB"), plain_name("judge-score")
    ('response_a', 'model_b', 'judge_score')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column.strip())
    return re.sub(r"[^\w]+", "_", spaced).strip("_").lower()


def usual_names(ours: str, kind: str) -> list[str]:
    """Other common names for this column of that kind of rows."""
    return USUAL.get(f"{kind}:{ours}", USUAL.get(ours, "")).split()


def match_columns(
    here: Sequence[str],
    wanted: Sequence[str],
    *,
    kind: str,
    source: str,
    given: Mapping[str, str] | None = None,
    unneeded: Collection[str] = (),
) -> dict[str, str]:
    """Our names to theirs, for the wanted columns that are here under another name.

    `given` are the names that the caller has already given. A column that is itself wanted is never
    used as another one. `unneeded` columns are not used if several fit.

    >>> match_columns(["Question", "output_1"], ["prompt", "response_a"], kind="pairs", source="f")
    {'prompt': 'Question', 'response_a': 'output_1'}
    """
    taken: dict[str, str] = {}
    used = {*(given or {}).values(), *(name for name in wanted if name in here)}
    plain = {column: plain_name(column) for column in here if column not in used}
    for ours in wanted:
        if ours in here or ours in (given or {}):
            continue
        fitting = [column for column, name in plain.items() if name == ours]
        if not fitting:
            usual = set(usual_names(ours, kind)) - set(wanted)
            fitting = [column for column, name in plain.items() if name in usual]
        if len(fitting) > 1 and ours in unneeded:
            continue
        if len(fitting) > 1:
            columns = " and ".join(fitting) if len(fitting) == 2 else ", ".join(fitting)
            remedy = f"choose one: --column {ours}={fitting[0]} (columns=)"
            raise DataError(source, f"{columns} can each be {ours}", remedy=remedy)
        if fitting:
            taken[ours] = fitting[0]
            del plain[fitting[0]]
    return taken


def recognise(columns: Sequence[str], kind: str, wanted: Sequence[str]) -> set[str]:
    """Which of the wanted columns a file has, under any usual name; nothing is refused."""
    plain = {plain_name(column) for column in columns}
    return {
        ours
        for ours in wanted
        if ours in columns or ours in plain or plain & (set(usual_names(ours, kind)) - set(wanted))
    }


def remark_names(source: str, taken: Mapping[str, str]) -> None:
    """Log in one line which columns are used as ours."""
    if taken:
        pairs = ", ".join(f"{theirs} as {ours}" for ours, theirs in taken.items())
        LOG.warning("%s: read %s", source, pairs)
