"""Policies written before guarantees were objects load and select as they did then.

`policies/` holds files of schema 1 and, in accepted.json, the ids that `select` accepted of
new.csv when they were written.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.selection import read_policy, select

FOLDER = Path(__file__).parent / "policies"
ACCEPTED = json.loads((FOLDER / "accepted.json").read_text())


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_old_policy_selects_as_it_did(name):
    path = FOLDER / f"{name}.json"
    policy = read_policy(path)
    written = json.loads(path.read_text())
    for other in written["alternatives"]:
        other["summary"] = ""  # added since, as are guarantee_version, min_answer_mass and cuts
    added = {"guarantee_version": 1, "min_answer_mass": None, "cuts": []}
    assert policy.to_dict() == {**written, **added}
    run = select(FOLDER / "new.csv", policy, judge=None if policy.jury else "j")
    assert run.rows.filter(pl.col("accepted"))["id"].to_list() == ACCEPTED[name]


def test_the_files_tell_rules_apart():
    assert {read_policy(path).guarantee for path in map(_file, ACCEPTED)} == {"scope", "fdr", "pac"}
    assert len({tuple(ids) for ids in ACCEPTED.values()}) >= 7


def test_a_policy_of_an_unknown_guarantee_is_refused(tmp_path):
    policy = json.loads(_file("pac").read_text()) | {"guarantee": "hoeffding"}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    with pytest.raises(ArgumentError, match="guarantee = 'hoeffding': choose one of scope, fdr, "):
        read_policy(tmp_path / "policy.json")


def _file(name):
    return FOLDER / f"{name}.json"
