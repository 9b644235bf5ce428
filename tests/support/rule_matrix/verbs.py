"""The table of verbs: the command of each on clean files, and what rules expect of it instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from adjudge.cli import all_verbs
from rule_matrix import prepared
from rule_matrix.files import Files
from rule_matrix.rows import (
    PREFERENCE,
    Row,
    battles,
    grades,
    judgments,
    labels_of,
    pairs,
    runs,
    scores,
    tournaments,
    two_judges,
    without_columns,
)

Expected = Literal["equal", "counted", "named", "refused"]


@dataclass(frozen=True)
class Exemption:
    """What rules expect of a verb instead, and why; without `expected` they do not concern it."""

    rules: Sequence[str]
    reason: str
    expected: Expected | None = None


@dataclass(frozen=True)
class Use:
    """A verb on clean files of one kind.

    `answers` are the columns with the judge's answer, and `people` is the column with people's, in
    the table `labels` where there is one. `counts` are the paths of --json that count all rows,
    also those that are left out; `spelled` those of texts that name a column as the file does.
    """

    verb: str
    command: str
    make_files: Callable[[], Files]
    name: str = ""
    answers: Sequence[str] = ()
    people: str = ""
    counts: Set[str] = frozenset()
    spelled: Set[str] = frozenset()
    exemptions: Sequence[Exemption] = ()
    #: Labels of every origin are written as they are, so that others can choose among them.
    keeps_labels: bool = False

    @property
    def title(self) -> str:
        return f"{self.verb} ({self.name})" if self.name else self.verb

    @cached_property
    def files(self) -> Files:
        return self.make_files()

    @property
    def labels_table(self) -> str:
        """The table with people's answers."""
        return "labels" if "labels" in self.files.tables else "rows"

    def takes(self, option: str) -> bool:
        return option in all_verbs()[self.verb].parameters

    def exemption(self, rule: str) -> Exemption | None:
        return next((exempt for exempt in self.exemptions if rule in exempt.rules), None)


_REPEATS = (
    "the same row again",
    "one id, other content",
    "ids nearly equal",
)
_COUNTS_ONLY = Exemption(
    _REPEATS, "it counts rows and labels, to name commands; no number is taken"
)
_PAIRS_ARE_ASKED = Exemption(
    ("the same row again",),
    "a pair that is there twice would be asked twice: pairs are refused where they are read",
    "refused",
)
_SAMPLING_IS_NOT_WRITTEN = Exemption(
    ("sampled_by doubt",), "no verb writes beside battles or scores how their rows were drawn"
)
_LABELS_ARE_WRITTEN = Exemption(
    ("labelled_by model", "started_from judge", "sampled_by doubt", "case of origin words"),
    "it writes labels of every origin as they are; whoever reads them chooses",
    "equal",
)
_LABELS_ARE_STORED = Exemption(
    ("doubt beside random",), "it stores labels of every origin; whoever reads them chooses"
)
_LABELS_OF_OTHER_IDS = Exemption(
    ("label ids nearly equal",), "it writes labels of ids that no row has, too", "named"
)
_ROWS_WITHOUT_LABEL = Exemption(
    ("started_from judge", "sampled_by doubt"),
    "it draws among rows without a label: a row whose label is not used is one of them",
    "equal",
)
_MODEL_LABELS_ARE_LABELS = Exemption(
    ("labelled_by model",), "a row that a model labelled can be used with --model-labels"
)
_ANY_JUDGE = Exemption(
    ("two of one", "two scales"),
    "rows to label are drawn at random, whoever judged them: it takes many judges",
)
_AUDITS_ARE_DRAWN = Exemption(
    ("sampled_by doubt", "doubt beside random"),
    "how an audit was drawn is in the rows that `monitor draw` wrote, not in its label",
)
_ALIGN_REFUSES = Exemption(
    ("sampled_by doubt",), "it refuses labels that depend on the judge's doubt", "refused"
)
_VOTES_STAY = Exemption(
    ("status", "words of a failure"),
    "people's ratings are of all votes, also on battles that the judge failed",
    "named",
)
_NOT_BY_ALL = Exemption(
    ("status", "words of a failure"),
    "a battle that one judge of a jury failed, or never saw, is one that not every judge scored",
)
_VOTES = (
    Exemption(
        ("words of a failure", "other words of a failure"),
        "a person's vote is not an answer of a judge: an unknown word is refused",
        "refused",
    ),
    Exemption(("two of one",), "people voted: no judge answered"),
)

JUDGE = "simulated:accuracy=0.85,position_bias=0.05,noise=0.3,seed=1"
_VERDICTS: dict[str, Any] = {"answers": PREFERENCE, "people": "label"}
_GRADES: dict[str, Any] = {"answers": ("judge",), "people": "human"}
_GRADES_APART: dict[str, Any] = {"answers": ("judge",), "people": "label"}
#: Verdicts on pairs without a number, next to the judge's name.
_WORDS: dict[str, Any] = {"answers": ("verdict",), "people": "label"}
_BATTLES: dict[str, Any] = {"answers": ("score_a", "score_b"), "people": "human_pref"}


def _rows(make: Callable[..., list[Row]], **options: Any) -> Callable[[], Files]:
    return lambda: Files({"rows": make(**options)})


def _apart(make: Callable[..., list[Row]], people: str, **options: Any) -> Callable[[], Files]:
    """The rows without people's answers, which are in a file of labels."""

    def make_files() -> Files:
        rows = make(**options)
        return Files({"rows": without_columns(rows, people), "labels": labels_of(rows, people)})

    return make_files


def _a_file_for_each_system() -> Files:
    rows = grades()
    return Files(
        {
            "rows": [row for row in rows if row["model"] == "old"],
            "other": [row for row in rows if row["model"] == "new"],
        }
    )


def _verdicts() -> Files:
    numbers = [*PREFERENCE[:3], "protocol"]
    return Files({"rows": without_columns(judgments(), *numbers)})


def _jury() -> Files:
    second = [{**row, "judge": "g2", "score_a": row["score_a"] + 0.5} for row in battles()]
    return Files({"rows": [*battles(), *second]})


def _two_prompts() -> Files:
    return Files({"rows": judgments(labelled=0), "other": judgments(labelled=0, every_wrong=7)})


def _new_judgments() -> Files:
    return Files({"rows": judgments(labelled=0)}, {"policy.json": prepared.policy()})


def _decided() -> Files:
    return Files({"rows": prepared.decided_rows()})


def _with_card(files: Callable[[], Files]) -> Callable[[], Files]:
    return lambda: Files(files().tables, {"card.json": prepared.card()})


def _battles_of_a_new_model() -> Files:
    rows = [{**row, "model_a": "new"} for row in battles() if row["model_a"] == "m0"]
    return Files({"rows": rows}, {"anchors.json": prepared.anchors()})


_LOOK = "abtest {{rows}} --a old --b new --store s.db --seed 1 --json --labels {{{}}}"

USES: tuple[Use, ...] = (
    Use(
        "start",
        "start {rows} --json",
        _rows(grades),
        spelled={"refused"},
        exemptions=(_COUNTS_ONLY,),
    ),
    Use(
        "judge",
        f"judge {{rows}} --judge {JUDGE} --store s.db -o out.jsonl --json",
        _rows(pairs),
        exemptions=(_PAIRS_ARE_ASKED,),
    ),
    Use("calibrate", "calibrate {rows} --alpha 0.2 --json", _rows(judgments), **_VERDICTS),
    Use(
        "calibrate",
        "calibrate {rows} --labels {labels} --alpha 0.2 --json",
        _apart(judgments, "label"),
        name="labels",
        **_VERDICTS,
    ),
    Use(
        "select",
        "select {rows} --policy policy.json -o out.jsonl --json",
        _new_judgments,
        answers=PREFERENCE,
        counts={"n", "accepted_share", "groups.n", "groups.accepted_share"},
    ),
    Use(
        "evaluate",
        "evaluate {rows} --splits 2 --alpha 0.2 --json",
        _rows(judgments),
        **_VERDICTS,
    ),
    Use(
        "evaluate",
        "evaluate {rows} --labels {labels} --splits 2 --alpha 0.2 --json",
        _apart(judgments, "label"),
        name="labels",
        **_VERDICTS,
    ),
    Use("evaluate", "evaluate {rows} --json", _rows(grades), name="grades", **_GRADES),
    Use("evaluate", "evaluate {rows} --json", _verdicts, name="verdicts", **_WORDS),
    Use(
        "evaluate",
        "evaluate {rows} --labels {labels} --json",
        _apart(grades, "human"),
        name="grades, labels",
        **_GRADES_APART,
    ),
    Use(
        "evaluate",
        "evaluate {rows} --json",
        _rows(scores),
        name="scores",
        answers=("judge_score",),
        people="human_score",
        exemptions=(_SAMPLING_IS_NOT_WRITTEN,),
    ),
    Use(
        "estimate",
        "estimate {rows} --by model --labels-are-random --json",
        _rows(grades),
        **_GRADES,
    ),
    Use(
        "estimate",
        "estimate {rows} --labels {labels} --by model --json",
        _apart(grades, "human"),
        name="labels",
        **_GRADES_APART,
    ),
    Use("card make", "card make {rows} --json", _rows(grades), **_GRADES),
    Use(
        "card make",
        "card make {rows} --labels {labels} --json",
        _apart(judgments, "label"),
        name="labels",
        **_VERDICTS,
    ),
    Use("card verify", "card verify card.json {rows} --json", _with_card(_rows(grades)), **_GRADES),
    Use(
        "gate",
        "gate {rows} --card card.json --by model --labels-are-random --at-least 0.5 --json",
        _with_card(_rows(grades)),
        **_GRADES,
    ),
    Use(
        "gate",
        "gate {rows} --card card.json --labels {labels} --by model --at-least 0.5 --json",
        _with_card(_apart(grades, "human")),
        name="labels",
        **_GRADES_APART,
    ),
    Use(
        "gate",
        "gate {rows} --baseline {other} --margin 0.1 --json",
        _a_file_for_each_system,
        name="baseline",
        **_GRADES,
    ),
    Use("runs", "runs {rows} --by model --gate 0.6 --json", _rows(runs), **_GRADES),
    Use("compare", "compare {rows} --a old --b new --json", _rows(grades), **_GRADES),
    Use(
        "compare",
        "compare {rows} --a old --b new --labels {labels} --json",
        _apart(grades, "human"),
        name="labels",
        **_GRADES_APART,
    ),
    Use(
        "compare",
        "compare {rows} {other} --json",
        _a_file_for_each_system,
        name="two files",
        **_GRADES,
    ),
    Use(
        "compare",
        "compare {rows} --judges --labels {labels} --json",
        _apart(two_judges, "label"),
        name="judges",
        **_VERDICTS,
    ),
    Use(
        "abtest",
        f"{_LOOK.format('first')} ; {_LOOK.format('labels')}",
        prepared.looks,
        **_GRADES_APART,
    ),
    Use("plan rate", "plan rate {rows} --width 0.3 --json", _rows(grades), **_GRADES),
    Use(
        "plan compare",
        "plan compare {rows} --a old --b new --difference 0.2 --json",
        _rows(grades),
        **_GRADES,
    ),
    Use(
        "plan selection",
        "plan selection {rows} --alpha 0.2 --repeats 2 --json",
        _rows(judgments, labelled=60),
        counts={"n_rows"},
        **_VERDICTS,
    ),
    Use(
        "plan battles",
        "plan battles {rows} --budget 10 --json",
        lambda: Files({"rows": without_columns(battles(), "human_pref")}),
    ),
    Use(
        "plan labels",
        "plan labels {rows} --n 10 --json",
        _rows(judgments, labelled=40),
        counts={"n_pool"},
        exemptions=(_ROWS_WITHOUT_LABEL, _MODEL_LABELS_ARE_LABELS, _ANY_JUDGE),
        **_VERDICTS,
    ),
    Use(
        "plan labels",
        "plan labels {rows} --cluster none --n 10 --json",
        _rows(grades, labelled=20),
        name="grades",
        counts={"n_pool"},
        exemptions=(_ROWS_WITHOUT_LABEL, _MODEL_LABELS_ARE_LABELS, _ANY_JUDGE),
        **_GRADES,
    ),
    Use(
        "plan cascade",
        "plan cascade {rows} --cascade cheap,strong --costs 1,9 --alpha 0.3 --learning-share 0.5"
        " --json",
        _rows(two_judges),
        **_VERDICTS,
    ),
    Use(
        "monitor draw",
        f"monitor draw {{rows}} --audit-rate 0.5 --secret-env {prepared.SECRET} -o out.jsonl"
        " --json",
        _decided,
        answers=PREFERENCE,
        counts={"n_served"},
    ),
    Use(
        "monitor check",
        "monitor check {rows} --labels {labels} --policy policy.json --json",
        prepared.audits,
        exemptions=(_AUDITS_ARE_DRAWN,),
        **_VERDICTS,
    ),
    Use(
        "monitor recalibrate",
        "monitor recalibrate {rows} --labels {labels} --state monitor.json --alpha 0.3 --json",
        prepared.audits_with_an_alarm,
        exemptions=(_AUDITS_ARE_DRAWN,),
        **_VERDICTS,
    ),
    Use(
        "monitor judge",
        f"monitor judge {{rows}} --judge {JUDGE} --store s.db --state s.json -o out.jsonl --json",
        _rows(pairs),
        exemptions=(_PAIRS_ARE_ASKED,),
    ),
    Use(
        "monitor renew",
        "monitor renew {rows} --labels {labels} --policy policy.json --state judge.json --json",
        prepared.answers_of_a_changed_judge,
        **_VERDICTS,
    ),
    Use(
        "diagnose transitivity",
        "diagnose transitivity {rows} --replicates 2 --json",
        _rows(tournaments),
        answers=("verdict",),
        counts={"rows"},
    ),
    Use(
        "diagnose scores",
        "diagnose scores {rows} --splits 2 --json",
        _rows(scores),
        answers=("judge_score",),
        people="human_score",
        exemptions=(_SAMPLING_IS_NOT_WRITTEN,),
    ),
    Use(
        "diagnose bias",
        "diagnose bias {rows} --json",
        _rows(judgments),
        counts={"rows"},
        **_VERDICTS,
    ),
    Use(
        "diagnose bias",
        "diagnose bias {rows} --labels {labels} --json",
        _apart(judgments, "label"),
        name="labels",
        counts={"rows"},
        **_VERDICTS,
    ),
    Use("diagnose bias", "diagnose bias {rows} --json", _rows(battles), name="battles", **_BATTLES),
    Use("diagnose bias", "diagnose bias {rows} --json", _verdicts, name="verdicts", **_WORDS),
    Use(
        "diagnose prompts",
        "diagnose prompts {rows} {other} --json",
        _two_prompts,
        answers=PREFERENCE,
    ),
    Use(
        "rank",
        "rank {rows} --jury --replicates 2 --json",
        _jury,
        name="jury",
        exemptions=(_NOT_BY_ALL,),
        **_BATTLES,
    ),
    Use(
        "rank",
        "rank {rows} --replicates 5 --json",
        _rows(battles),
        exemptions=(_SAMPLING_IS_NOT_WRITTEN,),
        **_BATTLES,
    ),
    Use(
        "rank",
        "rank {rows} --method bt --replicates 5 --json",
        lambda: Files({"rows": without_columns(battles(), "score_a", "score_b", "judge")}),
        name="votes",
        answers=("human_pref",),
        spelled={"whose"},
        exemptions=_VOTES,
    ),
    Use(
        "anchors make",
        "anchors make {rows} --replicates 2 --json",
        _rows(battles),
        exemptions=(_SAMPLING_IS_NOT_WRITTEN, _VOTES_STAY),
        **_BATTLES,
    ),
    Use(
        "anchors check",
        "anchors check {rows} --anchors anchors.json --json",
        lambda: Files({"rows": battles()}, {"anchors.json": prepared.anchors()}),
        exemptions=(_SAMPLING_IS_NOT_WRITTEN, _VOTES_STAY),
        **_BATTLES,
    ),
    Use(
        "anchors place",
        "anchors place {rows} --anchors anchors.json --alpha 0.4 --json",
        _battles_of_a_new_model,
        exemptions=(_SAMPLING_IS_NOT_WRITTEN,),
        **_BATTLES,
    ),
    Use(
        "label",
        "label {rows} --export-only --store s.db --import {labels} -o out.jsonl --json",
        _apart(pairs, "label"),
        people="label",
        counts={"pairs"},
        exemptions=(
            _PAIRS_ARE_ASKED,
            _LABELS_ARE_WRITTEN,
            _LABELS_ARE_STORED,
            _LABELS_OF_OTHER_IDS,
        ),
        keeps_labels=True,
    ),
    Use(
        "align",
        f"align {{rows}} --judge {JUDGE} --proposer simulated --store s.db --dry-run --json",
        _rows(pairs, n=180),
        people="label",
        exemptions=(_PAIRS_ARE_ASKED, _ALIGN_REFUSES),
    ),
    Use(
        "reproduce reporting",
        "reproduce reporting {rows} --splits 2 --repeats 10 --json",
        _rows(grades),
        **_GRADES,
    ),
    Use(
        "reproduce scope",
        "reproduce scope --data mt-bench={rows} --sample 20 --splits 2 --json",
        _rows(judgments),
        **_VERDICTS,
    ),
)

#: Verbs without a use here, and why.
WITHOUT_ROWS = {
    "demo": "reads no file",
    "replies": "reads a store",
    "view": "shows rows as they are read by `evaluate` and `label`, on a page",
    "card diff": "reads cards",
    "convert": "writes rows as they are in a log, without rules",
    "policy show": "reads a policy",
    "policy verify": "reads a policy",
    "report": "reads results",
    "serve": "reads a policy; its rows arrive over HTTP",
    "store check": "reads a store",
    "store copy": "reads stores",
    "schema": "reads no file",
    "models list": "reads no file",
    "models pull": "reads no file",
    "reproduce diagnosis": "reads scores as `diagnose scores` does, and takes seconds",
    "reproduce soft-elo": "reads battles as `rank` does, and takes most of a second",
    "reproduce all": "runs the other protocols",
}
