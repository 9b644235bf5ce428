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
from adjudge.policy.doubts import EARLIER_ODDS
from adjudge.selection import read_policy, select

FOLDER = Path(__file__).parent / "policies"
ACCEPTED = json.loads((FOLDER / "accepted.json").read_text())
SELECTED = json.loads((FOLDER / "schema2" / "selected.json").read_text())


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_old_policy_selects_as_it_did(name):
    path = FOLDER / f"{name}.json"
    policy = read_policy(path)
    written = json.loads(path.read_text())
    for other in written["alternatives"]:
        other["summary"] = ""  # added since, as are the fields of `added`
    if policy.jury is not None:
        written["jury"] |= {"most_odds": EARLIER_ODDS, "tail": 0.0}
    added = {"guarantee_version": 1, "min_answer_mass": None, "cuts": [], "doubt": None}
    added["cascade"] = None
    assert policy.to_dict() == {**written, **added, "about": "pairs"}
    run = select(FOLDER / "new.csv", policy, judge=None if policy.jury else "j")
    assert run.rows.filter(pl.col("accepted"))["id"].to_list() == ACCEPTED[name]


@pytest.mark.parametrize("name", SELECTED)
def test_a_jury_of_a_policy_with_a_digest_selects_as_it_did(name):
    """Written when log odds were cut at ln 1e6 and a jury could learn weights (`logistic`)."""
    policy = read_policy(FOLDER / "schema2" / f"{name}.json")
    assert policy.jury is not None
    assert policy.jury.method == name.removeprefix("jury-")
    new = FOLDER / "schema2" / "jury-new.csv"
    assert pl.read_csv(new)["p_a"].max() > 0.9999  # where the cut of today would matter
    rows = select(new, policy).rows
    assert rows.filter(pl.col("accepted"))["id"].to_list() == SELECTED[name]["accepted"]
    assert rows["p_a"].to_list() == pytest.approx(SELECTED[name]["p_a"], abs=1e-12)


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
