"""The rule matrix with spellings by seed, in JSON, CSV and TSV files: with `make fuzz`."""

from __future__ import annotations

import pytest
from rule_matrix.cells import cells_of, report
from rule_matrix.files import Format
from rule_matrix.spellings import many
from rule_matrix.verbs import USES, Use
from tries import tried


@pytest.mark.fuzz
@pytest.mark.attack("rules")
@pytest.mark.parametrize(("format", "seed"), [("csv", 1), ("jsonl", 2), ("tsv", 3)])
@pytest.mark.parametrize("use", USES, ids=lambda use: use.title)
def test_cells_of_a_verb_by_seed(use: Use, format: Format, seed: int) -> None:
    cells = list(cells_of(use, spellings=many(seed), format=format))
    tried(len(cells))
    failing = [cell for cell in cells if cell.failure is not None]
    assert not failing, "\n\n".join(map(report, failing))


@pytest.mark.fuzz
@pytest.mark.attack("rules")
@pytest.mark.parametrize("use", USES, ids=lambda use: use.title)
def test_every_cell_of_a_verb(use: Use) -> None:
    """`make test` has some of them."""
    cells = list(cells_of(use))
    tried(len(cells))
    failing = [cell for cell in cells if cell.failure is not None]
    assert not failing, "\n\n".join(map(report, failing))
