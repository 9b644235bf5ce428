"""Policies in files select as they did when they were written.

`policies/` holds files and, in accepted.json, the ids that `select` accepted of new.csv then.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.present.result import digest_of
from adjudge.selection import read_policy, select

FOLDER = Path(__file__).parent / "policies"
ACCEPTED = json.loads((FOLDER / "accepted.json").read_text())
SELECTED = json.loads((FOLDER / "jury" / "selected.json").read_text())


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_policy_selects_as_it_did(name):
    path = FOLDER / f"{name}.json"
    policy = read_policy(path)
    assert _common(policy.to_dict(), json.loads(path.read_text()))
    run = select(FOLDER / "new.csv", policy, judge=None if policy.jury else "j")
    assert run.rows.filter(pl.col("accepted"))["id"].to_list() == ACCEPTED[name]


@pytest.mark.parametrize("name", SELECTED)
def test_a_jury_selects_by_the_numbers_in_its_policy(name):
    """The policy has its own limit of log odds, ln 1e6, and no tail."""
    policy = read_policy(FOLDER / "jury" / f"{name}.json")
    assert policy.jury is not None
    assert policy.jury.method == name.removeprefix("jury-")
    new = FOLDER / "jury" / "jury-new.csv"
    assert pl.read_csv(new)["p_a"].max() > 0.9999  # where the cut of today would matter
    rows = select(new, policy).rows
    assert rows.filter(pl.col("accepted"))["id"].to_list() == SELECTED[name]["accepted"]
    assert rows["p_a"].to_list() == pytest.approx(SELECTED[name]["p_a"], abs=1e-12)


def test_the_files_tell_rules_apart():
    assert {read_policy(path).guarantee for path in map(_file, ACCEPTED)} == {"scope", "fdr", "pac"}
    assert len({tuple(ids) for ids in ACCEPTED.values()}) >= 7


def test_a_policy_of_an_unknown_guarantee_is_refused(tmp_path):
    policy = json.loads(_file("pac").read_text()) | {"guarantee": "hoeffding"}
    policy["digest"] = digest_of(policy)
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    with pytest.raises(ArgumentError, match="guarantee = 'hoeffding': choose one of scope, fdr, "):
        read_policy(tmp_path / "policy.json")


def _common(read, written):
    """Whether everything in the file was read as it is; fields that are newer have no value."""
    if isinstance(written, dict):
        newer = [read[name] for name in read if name not in written and name != "digest"]
        same = (_common(read[name], written[name]) for name in written if name != "digest")
        return not any(newer) and all(same)
    if isinstance(written, list):
        pairs = zip(read, written, strict=True)
        return all(_common(*pair) for pair in pairs)
    return read == written


def _file(name):
    return FOLDER / f"{name}.json"
