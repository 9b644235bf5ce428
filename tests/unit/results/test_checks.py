"""Rules that a file must keep besides the types of its fields, each with a file that breaks it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from example_results import example_results

from adjudge.errors import DataError
from adjudge.present.kinds import from_dict
from adjudge.present.result import Result, problem_in_tree

EXAMPLES = example_results()


def _set(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        inner: Any = values
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = to

    return change


BROKEN = [
    ("policy", _set("alpha", to=1.5), "field alpha"),
    ("policy", _set("coverage", to=-1.0), "field coverage"),
    ("policy", _set("groups", 0, "errors", to=[0]), "groups.0: lists differ in length: scores"),
    ("policy", _set("groups", to=[]), "the result: groups is empty"),
    ("policy", _set("groups", 0, "n_accepted", to=9_999), "n_accepted 9999 is above"),
    ("estimate", _set("interval", "low", to=0.99), "interval: low 0.99 is above high"),
    (
        "estimate",
        _set("rows_interval", to={"low": 0.1, "high": 1.2, "level": 0.9}),
        "rows_interval",
    ),
    ("estimate", _set("confidence_level", to=95), "field confidence_level"),
    ("estimate", _set("n_test", to=-1), "field n_test"),
    ("mean_estimate", _set("means", 0, "weight", to=1.5), "weight"),
    ("evaluation", _set("methods", 0, "signal", to="x"), "signal x of .* is not among"),
    ("evaluation", _set("splits", to=0), "field splits"),
    ("evaluation", _set("curves", 0, "risk", to=[0.5]), r"curves\.0: lists differ"),
    ("plan_selection", _set("recommended", to=1), "recommended 1 is not among the points"),
    ("leaderboard", _set("models", 0, "se", to=1e300), "a number above"),
    ("demo", _set("judge", to="w" * 200_000), "a text of 200,000 characters"),
]


@pytest.mark.parametrize(("kind", "change", "reason"), BROKEN)
def test_a_rule_that_is_broken_is_named(
    kind: str, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    values = json.loads(EXAMPLES[kind][0].to_json())
    change(values)
    with pytest.raises(DataError, match=reason) as caught:
        from_dict(values, Result, source="x.json")
    assert len(str(caught.value)) < 300


def test_a_tree_may_not_be_nested_without_end() -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [copy.copy(deep)]
    assert problem_in_tree({"x": deep}) == "is nested more than 32 deep"
    assert problem_in_tree({"x": [[[1, "y", None, True]]]}) is None
    assert problem_in_tree({"x": [float("nan")]}) == "has NaN or infinity"
