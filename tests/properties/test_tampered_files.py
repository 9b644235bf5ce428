"""Damaged results and edited policies: a report that names them, a refusal in one line.

The long run over the same damages is tests/conformance/test_tampering.py.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from example_policies import example_policies
from example_results import example_results
from tampering import damages
from tampering_checks import check_policy_file, check_report
from tries import tried

from adjudge.data import read_result
from adjudge.errors import AdjudgeError
from adjudge.present.kinds import KINDS
from adjudge.present.result import digest_of
from adjudge.selection import read_policy

POLICIES = Path(__file__).parents[1] / "unit" / "selection" / "policies"
NEW = POLICIES / "new.csv"
EXAMPLES = example_results()


def test_every_kind_that_is_written_has_an_example() -> None:
    modules = {kind: KINDS.load(kind).__module__ for kind in KINDS}
    ours = {kind for kind, at in modules.items() if at.startswith(("adjudge.", "adjudge_papers."))}
    assert set(EXAMPLES) == ours


@pytest.mark.attack("results")
@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_report_names_or_shows_every_damaged_file(tmp_path: Path, kind: str) -> None:
    values = EXAMPLES[kind][0].to_dict()
    digest = digest_of if "digest" in values else None
    check_report(tmp_path, damages(values, times=9, seed=1, digest=digest), format="md")


@pytest.mark.parametrize("kind", ["policy", "plan_selection", "leaderboard"])
def test_what_is_still_valid_can_be_drawn(tmp_path: Path, kind: str) -> None:
    changed = damages(EXAMPLES[kind][0].to_dict(), times=8, seed=2)
    check_report(tmp_path, changed, format="html")


@pytest.mark.attack("policies")
@pytest.mark.parametrize("path", sorted(POLICIES.glob("[!a]*.json")), ids=lambda path: path.stem)
def test_an_edited_policy_is_not_obeyed(tmp_path: Path, path: Path) -> None:
    policy = read_policy(path)
    target = tmp_path / "policy.json"
    for number, digest in enumerate([None, digest_of]):
        obeyed = [
            check_policy_file(target, one, policy, NEW)
            for one in damages(policy.to_dict(), times=8, seed=number, digest=digest)
        ]
        assert not all(obeyed)


@pytest.mark.attack("policies")
@pytest.mark.parametrize("name", example_policies())
def test_an_edited_policy_of_a_newer_form_is_not_obeyed(tmp_path: Path, name: str) -> None:
    policy, new = example_policies()[name]
    for digest in (None, digest_of):
        obeyed = [
            check_policy_file(tmp_path / "policy.json", one, policy, new)
            for one in damages(policy.to_dict(), times=8, seed=3, digest=digest)
        ]
        assert not all(obeyed)


def test_figures_of_an_example_of_every_kind_can_be_listed() -> None:
    assert sum(len(results[0].figures()) for results in EXAMPLES.values()) > 20


def test_an_example_comes_back_from_its_file(tmp_path: Path) -> None:
    for results in EXAMPLES.values():
        for result in results:
            (tmp_path / "x.json").write_text(result.to_json())
            assert read_result(tmp_path / "x.json") == result


@pytest.mark.attack("policies")
def test_policies_mixed_from_two_are_not_obeyed(tmp_path: Path) -> None:
    """Any field of one (a cascade, a jury, weights) in another, with the digest of either."""
    policies = {name: policy.to_dict() for name, (policy, _) in example_policies().items()}
    path, mixtures = tmp_path / "policy.json", 0
    for one, other in itertools.permutations(policies, 2):
        for field in policies[one].keys() - {"digest"}:
            given = policies[other].get(field)
            if given == policies[one][field]:
                continue
            for digest in (policies[one]["digest"], policies[other]["digest"]):
                mixed = {**policies[one], field: given, "digest": digest}
                path.write_text(json.dumps(mixed))
                with pytest.raises(AdjudgeError):
                    read_policy(path)
                mixtures += 1
    tried(mixtures)
    assert mixtures > 100
