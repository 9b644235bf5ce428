"""Thousands of damaged results and edited policies; `make fuzz`.

A short run over the same damages is tests/properties/test_tampered_files.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from example_policies import example_policies
from example_results import example_results
from tampering import damages
from tampering_checks import check_policy_file, check_report

from adjudge.cli import run
from adjudge.data import write_result
from adjudge.present.result import digest_of
from adjudge.selection import read_policy

POLICIES = Path(__file__).parents[1] / "unit" / "selection" / "policies"
EXAMPLES = example_results()


@pytest.mark.attack("results")
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", EXAMPLES)
def test_reports_of_damaged_results_with_pictures(tmp_path: Path, kind: str, seed: int) -> None:
    examples = EXAMPLES[kind]
    for number, result in enumerate(examples):
        values = result.to_dict()
        digest = digest_of if "digest" in values else None
        folder = tmp_path / str(number)
        folder.mkdir()
        made = damages(
            values, times=max(1, 20 // len(examples)), seed=100 * seed + number, digest=digest
        )
        check_report(folder, made, format="html")


@pytest.mark.attack("policies")
@pytest.mark.fuzz
@pytest.mark.parametrize("digest", ["as it was", "new"])
@pytest.mark.parametrize("path", sorted(POLICIES.glob("[!a]*.json")), ids=lambda path: path.stem)
def test_edited_policies_are_not_obeyed(tmp_path: Path, path: Path, digest: str) -> None:
    policy = read_policy(path)
    rewrite = digest_of if digest == "new" else None
    obeyed = [
        check_policy_file(tmp_path / "policy.json", one, policy, POLICIES / "new.csv")
        for one in damages(policy.to_dict(), times=80, seed=7, digest=rewrite)
    ]
    assert sum(obeyed) < len(obeyed) / 4


@pytest.mark.attack("policies")
@pytest.mark.fuzz
@pytest.mark.parametrize("digest", [None, digest_of], ids=["as it was", "new"])
@pytest.mark.parametrize("name", example_policies())
def test_edited_policies_of_newer_forms_are_not_obeyed(
    tmp_path: Path, name: str, digest: Callable[..., str] | None
) -> None:
    policy, new = example_policies()[name]
    obeyed = [
        check_policy_file(tmp_path / "policy.json", one, policy, new)
        for one in damages(policy.to_dict(), times=80, seed=8, digest=digest)
    ]
    assert sum(obeyed) < len(obeyed) / 4


def test_the_verbs_on_a_damaged_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = write_result(read_policy(POLICIES / "scope.json"), tmp_path / "policy.json")
    write_result(EXAMPLES["estimate"][0], tmp_path / "estimate.json")
    text = policy.read_text().replace('"alpha": 0.2', '"alpha": 1e300')
    assert text != policy.read_text()
    policy.write_text(text)
    select = ["select", str(POLICIES / "new.csv"), "--policy", str(policy), "--judge", "j"]
    assert run(select) == 1
    assert run(["policy", "show", str(policy)]) == 1
    assert run(["policy", "verify", str(policy)]) == 2
    assert run(["report", str(tmp_path)]) == 2
    page = (tmp_path / "report.html").read_text()
    assert "<td>policy.json</td><td class=sentence>has a number above 1e+18" in page
    assert "estimate.json" in page
    assert "Traceback" not in capsys.readouterr().err
