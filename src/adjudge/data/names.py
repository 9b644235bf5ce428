"""The usual names of columns, the words of their values, and errors that name a bad one.

Which of a file's columns are used as ours is decided without their values; if two could be one of
ours, nothing is guessed. A row without an id gets a hash of its texts: equal texts get equal ids in
every file, so labels of the same texts can be joined. A word that is not known is refused, unless
the caller gives its meaning (`--labels-as 'x=A,y=B'`): a guessed label is worse than none.

A check is a column of flags over all rows: only a failing check searches its row.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from adjudge.errors import ArgumentError, DataError


def refuse_values(
    values: pl.Series,
    bad: pl.Series,
    problem: str,
    *,
    source: str,
    remedy: str,
    column: str | None = None,
) -> None:
    """Refuse the first of the values whose flag in `bad` is true; "{}" in `problem` is its value.

    `column` is the name in the file, if the series has another name.

    >>> given = pl.Series("p", [0.5, 1.5, 2.5])
    >>> refuse_values(given, given > 1, "{} is out of range", source="rows.csv", remedy="see docs")
    Traceback (most recent call last):
    adjudge.errors.DataError: rows.csv, row 2, column p: 1.5 is out of range; see docs
    """
    if bad.any():
        at = int(bad.fill_null(False).arg_true()[0])
        problem = problem.replace("{}", quote(values[at]))
        raise DataError(source, problem, row=at + 1, column=column or values.name, remedy=remedy)


def refuse_where(
    frame: pl.DataFrame,
    bad: pl.Expr,
    problem: str,
    *,
    source: str,
    column: str,
    remedy: str,
    value_of: str | None = None,
) -> None:
    """Refuse the first row for which `bad` is true; "{}" is its value in `value_of`."""
    flags = frame.select(bad.fill_null(False)).to_series()
    values = frame.get_column(value_of or column)
    refuse_values(values, flags, problem, source=source, column=column, remedy=remedy)


def quote(value: object) -> str:
    """A value as shown in an error."""
    text = repr(value.to_list() if isinstance(value, pl.Series) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def shorten(names: Sequence[str], most: int = 12) -> str:
    """The first `most` names in one line."""
    shown = [name if len(name) <= 60 else name[:57] + "..." for name in names[:most]]
    return ", ".join(shown) + (", ..." if len(names) > most else "")


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
    "llm_score llm_judge prediction predicted pred y_pred score grade",
    "binary:human": "human_label human_grade human_score human_verdict label gold gold_label "
    "y_true annotation ground_truth expert",
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
#: Our columns without another usual name.
_OTHERS = (
    "status protocol judge_fingerprint served_model repeat epoch order metric raters "
    "p_fwd p_rev p_tie answer_mass human_pref score_a score_b scores_a scores_b score_difference "
    "score_probs human_scores shown_order labelled_by started_from sampled_by sampling_probability "
    "cut cut_share cut_judge cut_protocol cut_fingerprint answer_hash_a answer_hash_b "
    "accepted drawn drawn_at audit_rate detail reason reference steps latency_s "
    "conversation_id judged_as"
)
#: All names of columns that mean something to us, in some kind of rows.
OURS = frozenset((*(key.split(":")[-1] for key in USUAL), *_OTHERS.split()))
#: The logger of all messages of readers; the commands print them, a notebook shows them.
LOG = logging.getLogger("adjudge.data")


def bare_name(column: str) -> str:
    """A column's name without case and separators: equal for all spellings of one name.

    >>> bare_name("Response A"), bare_name("responseA"), bare_name(" RESPONSE-A ")
    ('responsea', 'responsea', 'responsea')
    """
    return re.sub(r"[\W_]+", "", column).lower()


_BY_BARE_NAME = {bare_name(ours): ours for ours in OURS}


def respelled(columns: Sequence[str]) -> dict[str, list[str]]:
    """Our names that mean something in any kind of rows, with their other spellings here.

    >>> respelled(["ID", "Labelled By", "labelled-by", "status", "colour"])
    {'id': ['ID'], 'labelled_by': ['Labelled By', 'labelled-by']}
    """
    spellings: dict[str, list[str]] = {}
    for column in columns:
        ours = _BY_BARE_NAME.get(bare_name(column))
        if ours is not None and ours != column:
            spellings.setdefault(ours, []).append(column)
    return spellings


def only_spellings(columns: Sequence[str]) -> dict[str, str]:
    """Our names that are here in one other spelling only, with that spelling.

    >>> only_spellings(["ID", "Labelled By", "labelled-by", "Status", "status"])
    {'id': 'ID'}
    """
    return {
        ours: spellings[0]
        for ours, spellings in respelled(columns).items()
        if ours not in columns and len(spellings) == 1
    }


def spellings_beside(columns: Sequence[str]) -> dict[str, list[str]]:
    """Our names that are here, with their other spellings that are here too.

    >>> spellings_beside(["ID", "Status", "status"])
    {'status': ['Status']}
    """
    return {ours: names for ours, names in respelled(columns).items() if ours in columns}


def with_our_names(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """The frame with a copy, under our name, of each column that is spelled in another way.

    The exact name comes first: a message names the other spellings, which are not read. Of two
    spellings without the exact name none is copied: a reader of that column refuses the file.
    """
    for ours, spellings in spellings_beside(frame.columns).items():
        unlike = [name for name in spellings if not are_copies(frame[name], frame[ours])]
        if unlike:
            remark_unread(source, ours, unlike)
    copies = only_spellings(frame.columns)
    return frame.with_columns(frame[theirs].alias(ours) for ours, theirs in copies.items())


def are_copies(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns have the same values; one of them can have been read as text."""
    if one.dtype != other.dtype and not (one.dtype.is_nested() or other.dtype.is_nested()):
        return one.cast(pl.String).equals(other.cast(pl.String))
    return one.equals(other)


def remark_unread(source: str, ours: str, spellings: Sequence[str]) -> None:
    """Log in one line which other spellings of our name are not read."""
    LOG.warning("%s: %s is read, not %s", source, ours, ", ".join(spellings))


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
    named = {bare_name(column) for column in here if column in OURS}
    plain = {column: bare_name(column) for column in here if column not in used}
    # Another spelling of a column that is here was copied, or is not read.
    plain = {column: name for column, name in plain.items() if column in OURS or name not in named}
    _refuse_spellings(here, source, {*(given or {}).values()})
    if {"accepted", "verdict", "judge_verdict"} <= {*here}:
        # Rows of `select`: their verdict is the one that was accepted or refused.
        plain.pop("judge_verdict", None)
    for ours in wanted:
        if ours in here or ours in (given or {}):
            continue
        fitting = [column for column, name in plain.items() if name == bare_name(ours)]
        if not fitting:
            usual = {bare_name(name) for name in {*usual_names(ours, kind)} - {*wanted}}
            fitting = [column for column, name in plain.items() if name in usual]
        if ours in _JUDGES and recognise(here, kind, _OF_PEOPLE):
            fitting = _without_annotators(fitting, ours, source)
        if len(fitting) > 1 and ours in unneeded:
            continue
        if len(fitting) > 1:
            raise several_fit(fitting, ours, source)
        if fitting:
            taken[ours] = fitting[0]
            del plain[fitting[0]]
    return taken


#: Names of judges, and what people say: beside it, an annotator is a person.
_JUDGES = ("judge", "judge_name")
_OF_PEOPLE = ("label", "human", "human_score")


def _without_annotators(columns: Sequence[str], ours: str, source: str) -> list[str]:
    """The columns that can be names of judges, without that of annotators, which is named."""
    others = [column for column in columns if bare_name(column) != "annotator"]
    if unread := {*columns} - {*others}:
        LOG.warning(
            "%s: %s is not read: next to labels it names people; if it names judges: "
            "--column %s=%s (columns=)",
            *(source, *unread, ours, *unread),
        )
    return others


def _refuse_spellings(here: Sequence[str], source: str, named: Collection[str]) -> None:
    """Refuse two spellings of a name that means something in every kind of rows."""
    for ours, spellings in respelled(here).items():
        if ours not in here and len(spellings) > 1 and not {*spellings} & {*named}:
            raise several_fit(spellings, ours, source)


def several_fit(columns: Sequence[str], ours: str, source: str) -> DataError:
    """The error for columns of which each can be ours."""
    listed = " and ".join(columns) if len(columns) == 2 else ", ".join(columns)
    remedy = f"choose one: --column {ours}={columns[0]} (columns=)"
    return DataError(source, f"{listed} can each be {ours}", remedy=remedy)


def columns_here(columns: Sequence[str]) -> list[str]:
    """The columns of a frame by the names of its file: without our names for recognised ones.

    >>> columns_here(["Ticket", "human_label", "human", "__row"])
    ['Ticket', 'human_label']
    """
    here = [column for column in columns if not column.startswith("__")]
    theirs = {bare_name(column) for column in here if column not in OURS}
    usual = ((key.split(":")[-1], words.split()) for key, words in USUAL.items())
    named = [*usual, *((ours, ()) for ours in _OTHERS.split())]
    copies = {ours for ours, words in named if theirs & {*map(bare_name, (ours, *words))}}
    return [name for name in here if name not in copies]


def recognise(columns: Sequence[str], kind: str, wanted: Sequence[str]) -> set[str]:
    """Which of the wanted columns a file has, under any usual name; nothing is refused."""
    bare = {bare_name(column) for column in columns}
    return {
        ours
        for ours in wanted
        if ours in columns
        or bare_name(ours) in bare
        or bare & {bare_name(name) for name in {*usual_names(ours, kind)} - {*wanted}}
    }


#: The verdict of each order, both about response_a.
ORDER_VERDICTS = ("verdict_fwd", "verdict_rev")


def has_order_verdicts(columns: Sequence[str]) -> bool:
    """Whether a file has the verdicts of both orders, under any usual name.

    >>> has_order_verdicts(["judge_label", "judge_label_rev"]), has_order_verdicts(["judge_label"])
    (True, False)
    """
    return recognise(columns, "tournaments", ORDER_VERDICTS) == {*ORDER_VERDICTS}


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
        numbered = "row is" if self.repeated == 1 else "rows are"
        again = f"; {self.repeated:,} repeated {numbered} numbered" if self.repeated else ""
        hashed = ", ".join(columns) if columns[0] in TEXTS else "columns"
        made = "no column id: the id of a row is a hash of its"
        LOG.warning("%s: %s %s%s", source, made, hashed, again)


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
        for row in columns_as_text(frame, [*content, *apart]).iter_rows()
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
        prompts = columns_as_text(frame, ["prompt"]).to_series()
        documents = pl.Series([content_hash([prompt]) for prompt in prompts], dtype=pl.String)
    else:
        rows = "every row is a separate document"
        documents = add_ids(frame, source)["id"].cast(pl.String)
    LOG.warning("%s: no column doc_id: %s", source, rows)
    return frame.with_columns(documents.alias("doc_id"))


def columns_as_text(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """These columns as text; lists and objects as JSON."""
    texts = []
    for name in columns:
        as_json = pl.struct(name).struct.json_encode().alias(name)
        as_string = pl.col(name).cast(pl.String)
        texts.append(as_json if frame.schema[name].is_nested() else as_string)
    return frame.select(texts)


#: Words for a missing value. `none` is not here: it can be a class, or mean neither.
MISSING = ("nan", "n/a", "na", "null", "#n/a", "<na>")
_NOTHING = frozenset({"", *MISSING})
#: Every spelling that is searched in long columns, because lower case would cost time.
_SPELLINGS = ["", " ", *{form for w in MISSING for form in (w, w.upper(), w.title())}, "NaN"]
_LONGEST = max(map(len, _SPELLINGS))
#: The side is `{}`. Each is also read with a blank instead of the underscore.
_SIDES = "{} response_{} answer_{} output_{} model_{} assistant_{} option_{} candidate_{} [[{}]]"
#: As judges of MT-Bench and Arena-Hard write their verdicts.
_WINS = {"a": "a>b a>>b", "b": "b>a b>>a"}
_BOTH_BAD = ("tie (bothbad)", "bothbad", "both_bad", "both bad")
_WHOLE = re.compile(r"^(-?\d+)\.0+$")
_FRACTION = r"^-?[0-9]*\.[0-9]*[1-9][0-9]*$"
_COMMA = r"^-?\d+(?:,\d+)?$"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The values of a column, common words for each, and ambiguous words."""

    #: By the word in lower case.
    words: Mapping[str, str]
    #: The value of a model's name, if the row names its two models.
    sides: tuple[str, str] | None = None
    #: Words with two common meanings, and the mapping that decides.
    unclear: Mapping[str, str] | None = None


def _side(*names: str) -> list[str]:
    words = [form.replace("{}", name) for name in names for form in _SIDES.split()]
    words += [verdict for name in names for verdict in _WINS.get(name, "").split()]
    return [*words, *(word.replace("_", " ") for word in words)]


def _pairs(first: str, second: str, tie: str, both_bad: str) -> Vocabulary:
    ties = ("tie", "tied", "draw", "equal", "same", "both", "both good", "both_good", "[[c]]")
    words = dict.fromkeys([*_side("a", "1"), "left", "first"], first)
    words |= dict.fromkeys([*_side("b", "2"), "right", "second"], second)
    words |= dict.fromkeys((*ties, "a=b"), tie)
    words |= dict.fromkeys(_BOTH_BAD, both_bad)
    unclear = {"0": f"--labels-as '0={first},1={second}' (or 0={second},1={first})"}
    return Vocabulary(words, sides=(first, second), unclear=unclear)


#: Which answer of a pair is better.
PAIR = _pairs("A", "B", "tie", "tie")
#: Which model won a battle.
WINNER = _pairs("model_a", "model_b", "tie", "tie (bothbad)")
#: Whether an answer passed.
_FAILED = ("0", "false", "f", "fail", "failed", "no", "n", "incorrect", "wrong")
GRADE = Vocabulary(
    {
        **dict.fromkeys(("1", "true", "t", "pass", "passed", "yes", "y", "correct", "right"), "1"),
        **dict.fromkeys(_FAILED, "0"),
    }
)
#: Only the caller's words.
AS_SAID = Vocabulary({})


def parse_labels_as(text: str) -> dict[str, str]:
    """The mapping of `--labels-as 'x=A,y=B'`; nothing after = means a missing label.

    >>> parse_labels_as("0=A, 1=B, skip=")
    {'0': 'A', '1': 'B', 'skip': ''}

    Spellings of one word need one meaning: GOOD=1,Good=1.
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        theirs, equals, ours = (word.strip() for word in part.rpartition("="))
        # a=b is a usual word for a tie.
        if not (equals and theirs) or ("=" in theirs and plain_word(theirs) not in PAIR.words):
            raise ArgumentError("labels_as", text, "write THEIRS=OURS,..., like '0=A,1=B'")
        same = {mapping[word] for word in mapping if plain_word(word) == plain_word(theirs)}
        if same - {ours}:
            raise ArgumentError("labels_as", text, f"give {theirs} one meaning")
        mapping[theirs] = ours
    return mapping


def plain_word(value: object) -> str:
    """A word for the lookup: in lower case, without blanks around it, 1 for 1.0.

    >>> plain_word(" Model_A "), plain_word(1.0), plain_word("2.00")
    ('model_a', '1', '2')
    """
    text = str(value).strip().lower()
    whole = _WHOLE.match(text)
    return whole[1] if whole else text


def is_missing(value: object) -> bool:
    """Whether a value means that it is missing.

    >>> [is_missing(value) for value in (None, float("nan"), " ", "N/A", "none", 0)]
    [True, True, True, True, False, False]
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and value.strip().lower() in _NOTHING


def drop_missing(values: pl.Series) -> pl.Series:
    """A column of text with nulls for words that mean a missing value."""
    # Most columns have no value as short as these, which is faster to check.
    shortest = values.str.len_bytes().min()
    if not isinstance(shortest, int) or shortest > _LONGEST:
        return values
    gone = values.is_in(_SPELLINGS)
    if not gone.any():
        return values
    return pl.select(pl.when(~gone).then(values)).to_series().alias(values.name)


def drop_gaps(values: pl.Series) -> pl.Series:
    """Texts of numbers without blanks around them; null if they mean a missing value.

    >>> drop_gaps(pl.Series([" 0.5", "N/A"])).to_list()
    ['0.5', None]
    """
    trimmed = values.str.strip_chars()
    gaps = trimmed.str.to_lowercase().is_in(["", *MISSING])
    return pl.select(pl.when(~gaps).then(trimmed)).to_series().alias(values.name)


def read_word(
    value: str,
    vocabulary: Vocabulary,
    labels_as: Mapping[str, str],
) -> str | None:
    """The meaning of one word: the caller's, or the usual one.

    None if it means a missing value; an unknown word is returned unchanged.
    """
    word = plain_word(value)
    meant = labels_as.get(value.strip())
    if meant is None:
        # Another spelling: what is said of Good holds for GOOD.
        meant = next((ours for their, ours in labels_as.items() if plain_word(their) == word), None)
    if meant is not None:
        return vocabulary.words.get(meant.lower(), meant) or None
    if is_missing(word):
        return None
    return vocabulary.words.get(word, value)


def read_words(
    values: pl.Series,
    vocabulary: Vocabulary,
    labels_as: Mapping[str, str],
    models: tuple[pl.Series, pl.Series] | None = None,
) -> pl.Series:
    """A column of text as `read_word` reads each value; `models` are the names next to it."""
    different = values.unique().drop_nulls()
    # A long column of fractions has too many words to look at each: these mean nothing else.
    fraction = different.str.contains(_FRACTION) & ~different.is_in([*labels_as, *vocabulary.words])
    read = {word: read_word(word, vocabulary, labels_as) for word in different.filter(~fraction)}
    changed = {word: ours for word, ours in read.items() if word != ours}
    result = values.replace(changed) if changed else values
    if vocabulary.sides and models is not None:
        trimmed = values.str.strip_chars()
        model_a, model_b = models
        free = ~values.is_in(list(changed)) & (model_a != model_b)
        first, second = map(pl.lit, vocabulary.sides)
        is_a = pl.when(free & (trimmed == model_a))
        named = is_a.then(first).when(free & (trimmed == model_b)).then(second).otherwise(result)
        result = pl.select(named).to_series()
    return result.alias(values.name)


def word_refusal(
    word: str, vocabulary: Vocabulary, remedy: str, labels_as: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Why a word is refused, and the remedy; `labels_as` can have made it from another word."""
    unclear = vocabulary.unclear or {}
    theirs = [their for their, ours in (labels_as or {}).items() if ours == word]
    if theirs:
        return "{} is not known", f"--labels-as says '{theirs[0]}={word}': {remedy}"
    if plain_word(word) in unclear:
        return "{} can mean either answer", f"choose one: {unclear[plain_word(word)]}"
    return "{} is not known", f"{remedy}, or give its meaning: --labels-as '{word}=...'"


def read_choices(
    values: pl.Series,
    vocabulary: Vocabulary,
    choices: Sequence[str],
    labels_as: Mapping[str, str],
    models: tuple[pl.Series, pl.Series] | None,
    *,
    source: str,
    remedy: str,
) -> pl.Series:
    """As `read_words`; values outside the choices are refused, those with two meanings first."""
    values = read_words(values, vocabulary, labels_as, models)
    unknown = ~values.is_in(list(choices)).fill_null(True)
    if unknown.any():
        words = values.filter(unknown)
        unclear = [w for w in words.unique() if plain_word(w) in (vocabulary.unclear or {})]
        word = unclear[0] if unclear else words[0]
        problem, remedy = word_refusal(word, vocabulary, remedy, labels_as)
        refuse_values(values, unknown & (values == word), problem, source=source, remedy=remedy)
    return values


def read_grade_words(values: pl.Series) -> pl.Series:
    """A column of text as 1 and 0 if every value is a word for pass or fail; else unchanged.

    >>> read_grade_words(pl.Series(["Yes", "no", None])).to_list()
    ['1', '0', None]
    >>> read_grade_words(pl.Series(["yes", "0.7"])).to_list()
    ['yes', '0.7']
    """
    passed = read_words(values, GRADE, {})
    return passed if passed.drop_nulls().is_in(["0", "1"]).all() else values


def point_decimals(texts: pl.Series) -> pl.Series:
    """Numbers with a decimal comma, as in many countries, with a point.

    Only if every value is such a number, and not all could be thousands: 1,234 stays.

    >>> point_decimals(pl.Series(["0,85", "1", None])).to_list()
    ['0.85', '1', None]
    >>> point_decimals(pl.Series(["1,234"])).to_list()
    ['1,234']
    """
    first = next((t for t in texts.head(1000) if t and "," in t), None)
    if first is None:
        return texts
    filled = texts.drop_nulls().str.strip_chars()
    commas = filled.filter(filled.str.contains(",", literal=True))
    thousands = commas.str.contains(r"^-?[1-9]\d{0,2},\d{3}$").all()
    if thousands or not filled.filter(filled != "").str.contains(_COMMA).all():
        return texts
    return texts.str.replace(",", ".", literal=True)
