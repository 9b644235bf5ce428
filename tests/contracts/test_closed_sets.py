"""A wrong word for any option is refused, by its name: no verb runs as if it had not been given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from rule_matrix.running import run_on
from rule_matrix.verbs import USES, Use

from adjudge.cli import all_verbs

WRONG = "banana"
#: Options that take any word, and why; a new one needs a reason here.
OPEN: Mapping[str, str] = {
    "store": "a file that is made",
    "state": "a file that is made",
    "host": "an address, which only a page that opens listens at",
    "title": "a text",
    "baseline": "a model of the format arena-hard, which other files do not read",
    "api_key_env": "a variable, whose name is not shown: it can be a key",
    "proposer_api_key_env": "the same",
    "secret_env": "a variable, whose name is not shown: it can be a secret",
    "extra_body": "JSON, which is not shown: it can hold a key",
}
#: The same of one verb.
OPEN_IN: Mapping[tuple[str, str], str] = {
    ("start", "raters"): "the file can have other rows: what it can be read as is shown",
    ("reproduce scope", "judge"): "is asked only if a file holds pairs",
}
#: Its rows are refused before, for another reason.
REFUSED_BEFORE: Mapping[tuple[str, str], str] = {
    ("reproduce reporting", "judge"): "they are not pairs",
    ("estimate", "model"): "is for pairs, and these are grades",
    ("gate", "model"): "the same",
    ("plan rate", "human_column"): "without labels the plan asks for a guess",
    ("evaluate", "raters"): "is for grades, and these are pairs",
    ("evaluate", "human_column"): "the same",
    ("evaluate", "positive"): "the same",
}


def _cases() -> Iterator[tuple[Use, str]]:
    first = {use.verb: use for use in reversed(USES)}
    for verb, use in first.items():
        options = all_verbs()[verb].parameters
        for name, option in options.items():
            if option.type in (None, str) and name not in all_verbs()[verb].positional:
                yield use, name


@pytest.mark.parametrize(
    ("use", "name"), list(_cases()), ids=lambda case: getattr(case, "verb", case)
)
def test_a_wrong_word_is_refused_and_named(use: Use, name: str) -> None:
    option = all_verbs()[use.verb].parameters[name]
    run = run_on(f"{use.command} {option.flag} {WRONG}", use.files)
    assert run.traceback is None
    if name in OPEN or (use.verb, name) in OPEN_IN:
        return
    assert run.exit_code == 1
    assert WRONG in run.printed or (use.verb, name) in REFUSED_BEFORE


@pytest.mark.parametrize(
    "command",
    [
        "report . --format banana",
        "replies --status banana",
        "convert {rows} --rows banana",
        "convert {rows} --format banana",
        "demo --judge banana",
        "reproduce all --paper banana --out papers",
        "reproduce soft-elo --figure banana",
        "reproduce diagnosis --figure banana",
    ],
)
def test_so_does_a_verb_without_rows(command: str) -> None:
    run = run_on(command, USES[0].files)
    assert (run.exit_code, run.traceback) == (1, None)
    assert WRONG in run.printed
