"""The step of judges: two scales in one file, and remedies for systems of two metrics."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from adjudge import compare, estimate
from adjudge.data.steps.judges import check_scales
from adjudge.errors import DataError


def rows_of(old: list[float], new: list[float], **more: list[Any]) -> dict[str, list[Any]]:
    """Answers about two systems on the same questions."""
    questions = [f"q{at}" for at in range(len(old))]
    models = ["old"] * len(old) + ["new"] * len(new)
    return {"prompt_id": questions * 2, "model": models, "judge": [*old, *new], **more}


def test_verdicts_beside_probabilities_are_not_compared() -> None:
    rows = rows_of([1, 0] * 30, [0.9, 0.2] * 30)
    with pytest.raises(DataError, match="two scales: 0 and 1 on old, probabilities on new; comp"):
        compare(rows, a="old", b="new")
    # One probability among verdicts can be a judge that is nearly always sure.
    compare(rows_of([1, 0] * 30, [0.9, *[1, 0] * 29, 0]), a="old", b="new")


def test_an_estimate_by_group_states_two_scales(caplog: pytest.LogCaptureFixture) -> None:
    rows = rows_of([1, 0] * 30, [0.9, 0.2] * 30, human=[1, 0] * 60)
    done = estimate(rows, by="model", method="ppi++", labels_are_random=True)
    note = "two scales: 0 and 1 on old, probabilities on new"
    assert note in caplog.text
    assert all(note in group.assumptions for group in done.groups)


@pytest.mark.parametrize("compared", [True, False])
def test_scores_on_a_longer_scale_are_named(
    caplog: pytest.LogCaptureFixture, compared: bool
) -> None:
    groups = pl.Series(["x", "y"]).gather([0, 1] * 50)
    steps = [at % 5 + 1 for at in range(50)]

    def notes(longer: list[int]) -> tuple[str, ...]:
        values = pl.Series(
            [float(value) for both in zip(steps, longer, strict=True) for value in both]
        )
        return check_scales(values, groups, "rows", compared=compared)

    assert notes([2 * step for step in steps]) == ("two scales? 1 to 5 on x, 2 to 10 on y",)
    assert caplog.messages == ["rows: warning: two scales? 1 to 5 on x, 2 to 10 on y"]
    assert notes([min(step + 1, 6) for step in steps]) == ()


def test_the_remedy_for_two_metrics_fits_the_file() -> None:
    apart = ["style"] * 60 + ["length"] * 60
    with pytest.raises(
        DataError,
        match="style on old, length on new; .* by the same metric",
    ):
        compare(rows_of([1, 0] * 30, [0, 1] * 30, metric=apart), a="old", b="new")
    mixed = ["style", "length"] * 60
    with pytest.raises(DataError, match="--within metric"):
        compare(rows_of([1, 0] * 30, [0, 1] * 30, metric=mixed), a="old", b="new")
