"""Result files: whatever was written comes back equal; whatever was not is refused by name."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from adjudge.data import read_result, write_result
from adjudge.errors import DataError
from adjudge.estimation import estimate
from adjudge.estimation.rate import Estimate
from adjudge.policy.result import Policy
from adjudge.present.kinds import KINDS, from_dict
from adjudge.present.result import Result, problem_in_parts
from adjudge.ranking.anchors import Anchors


def made_up(hint: Any, *, full: bool) -> Any:
    """A value of a type as results use them; `full` has something wherever there may be nothing."""
    parts, origin = get_args(hint), get_origin(hint)
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint)
        names = [field.name for field in dataclasses.fields(hint)]
        return hint(**{name: made_up(hints[name], full=full) for name in names})
    if origin in (Union, UnionType):
        chosen = NoneType if NoneType in parts and not full else parts[0]
        return made_up(chosen, full=full)
    if origin is Literal:
        return parts[0]
    if origin is tuple and parts[-1] is Ellipsis:
        return (made_up(parts[0], full=full),) if full else ()
    if origin is tuple:
        return tuple(made_up(part, full=full) for part in parts)
    if origin in (dict, Mapping):
        key, value = (made_up(part, full=full) for part in parts)
        return {key: value} if full else {}
    return {float: 0.1, int: 1, str: "x", bool: True, NoneType: None, Any: ["anything", 1]}[hint]


RATE = estimate(judge=[1, 1, 0, 1] * 30, human=[1, 0, 0, None] * 30)
ANCHORS = replace(made_up(Anchors, full=True), schema_version=1)


def test_a_result_file_is_known_by_its_kind(tmp_path: Path) -> None:
    path = write_result(RATE, tmp_path / "deep" / "rate.json")
    assert read_result(path) == RATE
    assert read_result(path, Estimate) == RATE
    with pytest.raises(DataError, match=r"rate\.json: is of kind 'estimate'; .* kind 'policy'"):
        read_result(path, Policy)
    assert [p.name for p in path.parent.iterdir()] == ["rate.json"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[]", "no kind"),
        (b"{", "not a JSON file"),
        (b"\xff", "not a JSON file"),
        (b'{"kind": "horoscope"}', "kind 'horoscope' is not known; update adjudge"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"x\.json: .*{told}") as caught:
        read_result(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        read_result(tmp_path / "none.json")


def edited(**changes: Any) -> dict[str, Any]:
    return ANCHORS.to_dict() | changes


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in ANCHORS.to_dict().items() if key != name}


ROW = ANCHORS.to_dict()["models"][0]


@pytest.mark.parametrize(
    ("loaded", "told"),
    [
        (edited(l2="0.01"), "field l2 "),
        (edited(n_battles=2.5), "field n_battles "),
        (edited(replicates=True), "field replicates "),
        (edited(method=None), "field method "),
        (edited(models=[ROW | {"theta": "0.5"}]), r"field models\.0\.theta "),
        (edited(models=[ROW | {"tehta": 0.5}]), r"field models\.0\.tehta is not known"),
        (edited(betta=1.0), "field betta is not known in kind 'anchors'"),
        (edited(schema_version=2), "schema_version 2 is newer than 1"),
        (edited(beta=float("nan")), "NaN"),
        (without("score_quantiles"), "field score_quantiles "),
        (edited(beta=0.5), "was changed: its digest differs; write it again"),
        (without("digest"), "has no digest"),
        (without("schema_version"), "its digest differs"),
    ],
)
def test_a_field_that_is_wrong_is_named(loaded: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=rf"^a\.json: {told}|^a\.json: .*{told}") as caught:
        from_dict(loaded, Anchors, source="a.json")
    assert "\n" not in str(caught.value)


def test_whole_numbers_may_stand_for_shares() -> None:
    whole = replace(ANCHORS, beta=1.0, l2=1.0)
    loaded = whole.to_dict() | {"beta": 1, "l2": 1}
    assert from_dict(loaded, Anchors, source="a.json") == whole


def test_a_digest_is_about_the_content_not_about_how_it_is_written() -> None:
    ours = replace(ANCHORS, beta=1.0).to_dict()
    other = json.dumps(ours | {"beta": 1}, sort_keys=True, indent=7)
    again = from_dict(json.loads(other), Anchors, source="a.json")
    assert again.digest == ours["digest"]
    assert again.digest != ANCHORS.digest


# --- every kind, made up from its types ------------------------------------------------------


WRITTEN = sorted(
    kind
    for kind, made in ((kind, KINDS.load(kind)) for kind in KINDS)
    if made.__module__.startswith(("adjudge.", "adjudge_papers."))
)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("kind", WRITTEN)
def test_every_kind_comes_back_equal(kind: str, full: bool) -> None:
    result = made_up(KINDS.load(kind), full=full)
    loaded = json.loads(result.to_json())
    broken = problem_in_parts(result)
    if broken is not None:  # made up of one entry or none where a rule asks for more
        assert (
            not full
            or kind in ("monitor", "judge_card", "judge_evaluation")
            or kind.startswith("reproduction_")
        )
        with pytest.raises(DataError, match=re.escape(broken)):
            from_dict(loaded, Result, source="x.json")
    else:
        assert from_dict(loaded, Result, source="x.json") == result
