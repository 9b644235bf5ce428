"""The usual names of columns, in one table, and which of a file's columns are used as ours.

Nothing here looks at values. Our name in another case (`Response A`) comes before a usual name. If
two columns could be one of ours, nothing is guessed.

A row without an id gets a hash of its texts: equal texts get equal ids in every file, so labels of
the same texts can be joined. A hash of anything else differs between two files.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import polars as pl

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
LOG = logging.getLogger("adjudge.data")


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


#: The texts of a row.
TEXTS = ("prompt", "response_a", "response_b", "response")
#: The remedy if content does not distinguish rows.
GIVE_IDS = "give both files a column id (raters of one row: a column rater)"


class IdMaker:
    """Makes ids in the order of the rows; repeated content gets a number.

    >>> maker = IdMaker()
    >>> one = maker.make(["2+2?", "4", "5"])
    >>> maker.make(["2+2?", "4", "5"]) == one + "-2", maker.repeated
    (True, 1)
    """

    def __init__(self) -> None:
        self.repeated = 0
        self._seen: Counter[bytes] = Counter()

    def make(self, content: Sequence[str | None], apart: Sequence[str | None] = ()) -> str:
        """The id of a row with this content; `apart` separates its repeats from repeated rows."""
        made = content_hash(content)
        key = hashlib.blake2b(repr((made, *apart)).encode(), digest_size=8).digest()
        self._seen[key] += 1
        if self._seen[key] == 1:
            return made
        self.repeated += 1
        return f"{made}-{self._seen[key]}"

    def remark(self, source: str, columns: Sequence[str]) -> None:
        """Log in one line how the ids were made."""
        again = f"; {self.repeated:,} repeated rows are numbered" if self.repeated else ""
        LOG.warning(
            "%s: no column id: the id of a row is a hash of its %s%s",
            source,
            ", ".join(columns) if columns[0] in TEXTS else "columns",
            again,
        )


def content_hash(content: Sequence[str | None]) -> str:
    """A short hash of texts that is the same on every machine.

    >>> content_hash(["a", None]) == content_hash(["a", None]) != content_hash(["a", ""])
    True
    """
    text = "".join("\x00" if part is None else f"{len(part)}:{part}" for part in content)
    return "h" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def hashed_columns(columns: Sequence[str]) -> list[str]:
    """The columns that an id is made of: the texts, or all of them."""
    return [name for name in TEXTS if name in columns] or list(columns)


def add_ids(frame: pl.DataFrame, source: str, apart: Sequence[str] = ()) -> pl.DataFrame:
    """The frame with a column id first, unless it has one.

    `apart` are columns that distinguish rows about one thing: equal texts of two judges are one
    pair, and equal texts without a judge are two.
    """
    if "id" in frame.columns:
        return frame
    content = hashed_columns(frame.columns)
    apart = [name for name in apart if name in frame.columns and name not in content]
    maker = IdMaker()
    ids = [
        maker.make(row[: len(content)], row[len(content) :])
        for row in _columns_as_text(frame, [*content, *apart]).iter_rows()
    ]
    maker.remark(source, content)
    return frame.select(pl.Series("id", ids, dtype=pl.String), pl.all())


def first_of(ids: pl.Series) -> pl.Series:
    """For a made id with a number, the id of the first row with that content; else null.

    It cannot be known which of these rows another file means.

    >>> first_of(pl.Series(["x-2", "h0123456789abcdef-2"])).to_list()
    [None, 'h0123456789abcdef']
    """
    return ids.str.extract(r"^(h[0-9a-f]{16})-\d+$")


def add_documents(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """The frame with a column doc_id: its own, else the prompt, else one per row."""
    if "doc_id" in frame.columns:
        return frame
    if "prompt" in frame.columns:
        rows = "rows with the same prompt are one document"
        prompts = _columns_as_text(frame, ["prompt"]).to_series()
        documents = pl.Series([content_hash([prompt]) for prompt in prompts], dtype=pl.String)
    else:
        rows = "every row is a separate document"
        documents = add_ids(frame, source)["id"].cast(pl.String)
    LOG.warning("%s: no column doc_id: %s", source, rows)
    return frame.with_columns(documents.alias("doc_id"))


def _columns_as_text(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return frame.select(
        pl.struct(name).struct.json_encode().alias(name)
        if frame.schema[name].is_nested()
        else pl.col(name).cast(pl.String)
        for name in columns
    )
