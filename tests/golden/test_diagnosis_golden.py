"""Published numbers: Krippendorff's worked example, and what a table of cycles must satisfy."""

from __future__ import annotations

import pytest

from adjudge.diagnosis import agreement

#: Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C and following:
#: four observers, twelve units, missing values.
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
PUBLISHED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}


@pytest.mark.parametrize("level", sorted(PUBLISHED))
def test_krippendorffs_own_example(level: str) -> None:
    units = [list(unit) for unit in zip(*OBSERVERS, strict=True)]
    # Any judge will do: the alpha of the four observers is the human ceiling.
    result = agreement([1] * len(units), units, level=level)
    assert result.ceiling is not None
    assert result.ceiling.alpha == pytest.approx(PUBLISHED[level], abs=5e-4)
    assert result.ceiling.n == 11
