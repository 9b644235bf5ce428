"""Labels of several raters that an analysis does not use."""

from __future__ import annotations

import pytest

from adjudge.data.steps.labels import LABELS_OF
from adjudge.data.verdicts import prepare_verdicts


@pytest.mark.attack("labels")
@pytest.mark.parametrize("origin", [{"started_from": "judge"}, {"sampled_by": "doubt"}])
def test_labels_that_are_not_used_are_no_rater_s_label_either(origin: dict[str, str]) -> None:
    rows = {"id": ["x", "y", "z"], "p_a": [0.9, 0.2, 0.7]}
    labels = [{"id": "x", "label": "A", "rater": "r1"}]
    # The two raters of y agree, those of z do not.
    for name, words in {"y": "AA", "z": "AB"}.items():
        labels += [
            {"id": name, "label": word, "rater": rater, **origin}
            for rater, word in zip(("r1", "r2"), words, strict=True)
        ]
    joined = prepare_verdicts(rows, labels=labels)
    assert joined.frame["label"].to_list() == ["A", None, None]
    assert joined.frame[LABELS_OF].to_list() == [["A"], None, None]
    [(reason, number)] = [item for item in joined.dropped.items() if "not used" in item[0]]
    assert "started from" in reason or "by doubt" in reason
    assert number == 2


def test_a_row_that_keeps_its_own_label_has_it_as_the_label_of_its_rater() -> None:
    rows = {"id": ["x", "y", "z"], "p_a": [0.9, 0.2, 0.7], "label": ["A", "B", "A"]}
    labels = {"id": ["y", "z"], "label": ["A", "B"], "sampled_by": ["doubt", "random"]}
    joined = prepare_verdicts(rows, labels=labels)
    assert joined.frame["label"].to_list() == ["A", "B", "B"]
    assert joined.frame[LABELS_OF].to_list() == [["A"], ["B"], ["B"]]
