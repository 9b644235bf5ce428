"""A policy that was edited is refused, and the fields that differ are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import write_result
from adjudge.errors import DataError
from adjudge.policy.result import KEPT_SCORES, Policy
from adjudge.present.result import digest_of
from adjudge.selection import (
    Guarantee,
    Labels,
    Learned,
    calibrate,
    find_guarantee,
    read_policy,
    select,
    verify_policy,
)
from adjudge.selection.guarantees import SCOPE
from adjudge.selection.guarantees.pac import PAC

FOLDER = Path(__file__).parent / "policies"
OLD = [path for path in sorted(FOLDER.glob("*.json")) if path.name != "accepted.json"]


def judgments(n: int = 200, *, undecided: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    p = np.round(rng.uniform(0.5, 1, n), 3)
    p[:undecided] = 0.5
    return pl.DataFrame(
        {
            "id": range(n),
            "p_a": p,
            "label": np.where(rng.random(n) < p, "A", "B"),
            "language": np.where(np.arange(n) % 3 == 0, "en", "fr"),
            "w": rng.uniform(0.5, 2, n),
        }
    )


ROWS = judgments()
MADE = {
    "scope": calibrate(ROWS, alpha=0.2),
    "pac": calibrate(ROWS, alpha=0.25, guarantee="pac"),
    "fdr": calibrate(ROWS, alpha=0.2, guarantee="fdr"),
    "weights": calibrate(ROWS, alpha=0.2, guarantee="fdr", weights="w"),
    "groups": calibrate(ROWS, alpha=0.3, by="language", guarantee="pac"),
    "pooled": calibrate(ROWS, alpha=0.2, by="language", guarantee="fdr", pooled=True),
    "undecided": calibrate(judgments(undecided=9), alpha=0.45),
    "nothing": calibrate(ROWS, alpha=0.001),
    "learned": calibrate(ROWS, alpha=0.3, doubt=Learned(category="language")),
}


@pytest.mark.parametrize("name", MADE)
def test_what_calibrate_wrote_is_intact(tmp_path: Path, name: str) -> None:
    path = write_result(MADE[name], tmp_path / "p.json")
    check = verify_policy(path)
    assert (check.intact, check.digest, check.recomputed) == (True, "matches", True)
    assert read_policy(path) == MADE[name]


def test_rows_without_a_verdict_are_no_contradiction() -> None:
    # Accepted by the threshold, not accepted for want of a verdict: the counts differ by them.
    [group] = MADE["undecided"].groups
    assert group.accepts == "all"
    assert group.n_accepted <= group.n_calibration - 9


def test_thinned_scores_are_compared_by_shares(tmp_path: Path) -> None:
    made = calibrate(judgments(3 * KEPT_SCORES), alpha=0.2)
    path = write_result(made, tmp_path / "p.json")
    check = verify_policy(path)
    assert (check.intact, check.recomputed) == (True, False)
    [group] = made.groups
    moved = replace(group, threshold=group.threshold + 0.05)
    write_result(replace(made, groups=(moved,), threshold=moved.threshold), path)
    assert verify_policy(path).contradictions[0].field == "groups.0.n_accepted"


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_policy_of_another_version_of_its_guarantee_is_checked_by_its_numbers(
    path: Path,
) -> None:
    check, policy = verify_policy(path), read_policy(path)
    same = find_guarantee(policy.guarantee).version == policy.guarantee_version == 1
    assert (check.intact, check.digest, check.recomputed) == (True, "matches", same)


def _threshold(policy: dict[str, Any]) -> None:
    policy["threshold"] = policy["groups"][0]["threshold"] = 0.6
    policy["alternatives"][0]["threshold"] = 0.6


def _set(field: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda policy: policy.update({field: value})


def _in_group(field: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda policy: policy["groups"][0].update({field: value})


EDITS = {
    "threshold everywhere": (_threshold, "groups.0.threshold"),
    "threshold": (_set("threshold", 0.6), "threshold"),
    "alpha": (_set("alpha", 0.5), "groups.0.accepts"),
    "delta": (_set("delta", 0.1), "delta"),
    "coverage": (_set("coverage", 0.99), "coverage"),
    "promise": (_set("promise", "at most 1 % are wrong"), "promise"),
    "limit": (_set("not_promised", ""), "not_promised"),
    "accepts": (_in_group("accepts", "all"), "groups.0.accepts"),
    "risk": (_in_group("empirical_risk", 0.0), "groups.0.empirical_risk"),
    "labels": (_set("n_calibration", 20_000), "n_calibration"),
    "an error": (lambda p: p["groups"][0]["errors"].__setitem__(0, 1), "groups.0.n_errors"),
    "judges": (_set("judges", ["better"]), "judges"),
    "feasible": (_set("feasible", False), "feasible"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_refused_with_and_without_a_new_digest(tmp_path: Path, name: str) -> None:
    edit, field = EDITS[name]
    policy, path = json.loads(MADE["scope"].to_json()), tmp_path / "p.json"
    edit(policy)
    path.write_text(json.dumps(policy))
    with pytest.raises(DataError, match=r"p\.json: was changed: its digest differs"):
        read_policy(path)
    assert verify_policy(path).digest == "differs"
    policy["digest"] = digest_of(policy)
    path.write_text(json.dumps(policy))
    with pytest.raises(DataError, match=r"but should be .*adjudge policy verify lists"):
        select(ROWS, path)
    check = verify_policy(path)
    assert (check.digest, check.intact) == ("matches", False)
    assert field in [one.field for one in check.contradictions]


def test_a_policy_without_its_digest_is_refused(tmp_path: Path) -> None:
    policy = MADE["scope"].to_dict()
    del policy["digest"]
    (tmp_path / "p.json").write_text(json.dumps(policy))
    with pytest.raises(DataError, match="has no digest"):
        read_policy(tmp_path / "p.json")
    assert verify_policy(tmp_path / "p.json").digest == "missing"


def test_a_field_that_stops_the_reading_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(MADE["scope"].to_dict() | {"alpha": "0.2"}))
    check = verify_policy(path)
    assert not check.intact
    assert "field alpha of kind 'policy'" in str(check.unreadable)
    path.write_text('{"kind": "estimate"}')
    with pytest.raises(DataError, match="is not a policy"):
        verify_policy(path)


# --- versions of a guarantee -----------------------------------------------------------------


def test_an_older_version_is_compared_with_its_own_numbers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_result(MADE["pac"], tmp_path / "p.json")
    monkeypatch.setattr(type(PAC), "version", PAC.version + 1)
    monkeypatch.setattr(type(PAC), "decide", _accept_nothing)
    monkeypatch.setattr(type(PAC), "promise", lambda self, levels: "in other words")
    check = verify_policy(path)
    assert (check.intact, check.recomputed) == (True, False)
    assert read_policy(path).guarantee_version == PAC.version - 1
    looser = replace(MADE["pac"].groups[0], accepts="all", threshold=None)
    write_result(replace(MADE["pac"], groups=(looser,), accepts="all", threshold=None), path)
    with pytest.raises(DataError, match=r"groups\.0\.n_accepted is \d+, but should be \d+"):
        read_policy(path)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = write_result(replace(MADE["scope"], guarantee_version=2), tmp_path / "p.json")
    with pytest.raises(DataError, match=r"scope has version 2, newer than 1; update adjudge"):
        read_policy(path)


def _accept_nothing(self: Guarantee, labels: Labels, levels: Any) -> Any:
    return SCOPE.decide(labels.take(np.arange(1)), levels)


# --- the verbs -------------------------------------------------------------------------------


def test_the_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_result(MADE["scope"], tmp_path / "p.json")
    assert run(["policy", "verify", str(path)]) == 0
    assert "not attacks" in capsys.readouterr().out
    assert run(["policy", "show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == MADE["scope"].to_dict()
    path.write_text(path.read_text().replace('"alpha": 0.2', '"alpha": 0.3'))
    assert run(["policy", "verify", str(path), "--json"]) == 2
    shown = json.loads(capsys.readouterr().out)
    assert shown["digest"] == "differs"
    assert "promise" in [one["field"] for one in shown["contradictions"]]
    assert run(["policy", "show", str(path)]) == 1
    assert "its digest differs" in capsys.readouterr().err


def test_a_policy_in_memory_has_the_digest_of_its_file(tmp_path: Path) -> None:
    made: Policy = MADE["fdr"]
    assert made.digest == json.loads(made.to_json())["digest"]
    assert replace(made, seed=9).digest != made.digest
