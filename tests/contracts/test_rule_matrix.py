"""Every verb that reads rows keeps every rule about rows, in several spellings.

Each verb has a few spellings of each rule here, every spelling some verb; `make fuzz` tries all.
tests/support/rule_matrix says what a cell is. To see one that fails, with its command and files:

    PYTHONPATH=examples python tests/support/run_rule_matrix.py --verb calibrate --show
"""

from __future__ import annotations

from collections import Counter

import pytest
from rule_matrix.cells import RULES, cells_of, report, run_reference, some_cells_of
from rule_matrix.switching import OFF, switched_off
from rule_matrix.verbs import USES, WITHOUT_ROWS, Use

from adjudge.cli import all_verbs


def test_every_verb_is_in_the_matrix() -> None:
    """A new verb needs a line in `USES`, or a reason in `WITHOUT_ROWS`."""
    assert {use.verb for use in USES} | {*WITHOUT_ROWS} == {*all_verbs()}
    assert not {use.verb for use in USES} & {*WITHOUT_ROWS}


def test_exemptions_are_from_rules_that_concern_the_verb() -> None:
    for use in USES:
        for exemption in use.exemptions:
            assert exemption.reason
            for name in exemption.rules:
                rule = next(rule for rule in RULES if rule.name == name)
                assert list(cells_of(use, [rule])) or exemption.expected is None


@pytest.mark.parametrize("use", USES, ids=lambda use: use.title)
def test_clean_files_are_accepted(use: Use) -> None:
    run = run_reference(use, use.files, "jsonl")
    assert run.exit_code in (0, 2, 3), run.traceback or run.texts


@pytest.mark.parametrize("use", USES, ids=lambda use: use.title)
def test_cells_of_a_verb(use: Use) -> None:
    titles = Counter(cell.title for cell in cells_of(use))
    assert titles.most_common(1)[0][1] == 1, "two cells have one title"
    failing = [cell for cell in some_cells_of(use) if cell.failure is not None]
    assert not failing, "\n\n".join(map(report, failing))


def test_every_spelling_is_tried_here_with_some_verb() -> None:
    """But those that one verb alone has; they come in `make fuzz`."""
    tried = {(cell.rule.name, cell.fault.spelling) for use in USES for cell in some_cells_of(use)}
    verbs = Counter((c.rule.name, c.fault.spelling) for use in USES for c in cells_of(use))
    assert {spelling for spelling, number in verbs.items() if number > 1} <= tried


#: Verbs whose cells of a rule pass without its step, and why.
PASS_WITHOUT = {
    # A closed set of words, or numbers: the column refuses what is none of them.
    "words of a failure": {"rank (votes)", "anchors make", "anchors check"},
    "other words of a failure": {
        use.title for use in USES if use.answers != ("judge",) or not use.takes("positive")
    },
    # Who asks a judge refuses two questions of one id, also those of a program.
    "the same row again": {"monitor judge"},
    "one id, other content": {"monitor judge"},
    # They write labels as they are; whoever reads them chooses.
    "labelled_by model": {"label"},
    "started_from judge": {"label"},
    "sampled_by doubt": {"label"},
    "case of origin words": {"label", "card verify"},
    # A policy states all that it was calibrated on; a card is of one judge.
    "two of one": {
        "card make",
        "card make (labels)",
        "card verify",
        "calibrate",
        "calibrate (labels)",
        "monitor recalibrate",
        "monitor renew",
    },
    # They are about one scale, which is declared or stated.
    "two scales": {
        "diagnose scores",
        "plan rate",
        "evaluate (grades)",
        "evaluate (grades, labels)",
        "evaluate (scores)",
        "card make",
        "card verify",
    },
    # Its slices show the rows of every column.
    "error columns": {
        "card make (labels)",
        "evaluate",
        "evaluate (labels)",
        "evaluate (grades)",
        "evaluate (verdicts)",
        "evaluate (scores)",
    },
}


@pytest.mark.parametrize("step", OFF)
def test_no_rule_is_kept_without_its_step(step: str) -> None:
    """A cell that passes with its step off shows that the rule lives elsewhere too.

    Of each verb and rule one cell; all of them by `run_rule_matrix.py --without STEP`.
    """
    rules = [rule for rule in RULES if rule.step == step]
    cells = [cell for use in USES for rule in rules for cell in [*cells_of(use, [rule])][:1]]
    for cell in cells:
        run_reference(cell.use, cell.fault.reference, cell.format)
    with switched_off(step):
        passing = {(cell.rule.name, cell.use.title) for cell in cells if cell.failure is None}
    allowed = {(rule.name, use) for rule in rules for use in PASS_WITHOUT.get(rule.name, ())}
    assert cells
    assert not passing - allowed
