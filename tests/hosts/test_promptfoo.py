"""promptfoo itself, with the config that docs/integrations.md shows, against a running service."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from integration_page import example
from serving import ask, served

pytestmark = pytest.mark.hosts
JUDGE = "simulated:accuracy=0.85,noise=0.5"


@pytest.mark.parametrize(
    ("kind", "abstain"), [("webhook", "fail"), ("webhook", "pass"), ("not-webhook", "error")]
)
def test_the_example_gives_what_the_service_says(page_files: Path, kind: str, abstain: str) -> None:
    program = os.environ.get("PROMPTFOO")
    if program is None:
        pytest.skip("promptfoo is not installed: make hosts")
    with served(page_files / "graded_policy.json", judge=JUDGE) as port:
        config = example("promptfoo", "yaml").replace(":8478/", f":{port}/")
        config = config.replace("type: webhook", f"type: {kind}")
        config = config.replace("abstain=fail", f"abstain={abstain}")
        cases = "".join(
            f'  - vars: {{id: r{n}, question: "{n} + {n}", truth: {n % 2}}}\n' for n in range(20)
        )
        (page_files / "promptfooconfig.yaml").write_text(config + cases)
        environment = os.environ | {
            "PROMPTFOO_CONFIG_DIR": str(page_files / "promptfoo"),
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "WEBHOOK_TIMEOUT": "120000",
        }
        done = subprocess.run(
            [program, "eval", "-c", "promptfooconfig.yaml", "-o", "out.json", "--no-cache"],
            cwd=page_files, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert (page_files / "out.json").exists(), done.stdout + done.stderr
        results = json.loads((page_files / "out.json").read_text())["results"]["results"]
        assert len(results) == 24
        seen = {check(port, one, kind, abstain) for one in results}
    assert seen == {"pass", "fail", "abstained"}


def check(port: int, one: dict[str, Any], kind: str, abstain: str) -> str:
    """Compare a result of promptfoo with the judge API's answer about the same case."""
    variables = one["vars"]
    asked = {"id": variables["id"], "prompt": one["prompt"]["raw"]}
    answer = {"response": one["response"]["output"], "reference": variables.get("reference")}
    context = {"prompt": asked["prompt"], "vars": variables}
    sent = {"output": answer["response"], "context": context}
    status, direct = ask(port, f"/v1/promptfoo?abstain={abstain}", sent)
    [component] = one["gradingResult"]["componentResults"]
    if status == 409:
        assert component["pass"] is False
        assert component["reason"] == "Webhook error: Webhook response status: 409"
        return "abstained"
    assert status == 200
    assert component["pass"] == (direct["pass"] != (kind == "not-webhook"))
    assert component["reason"] == direct["reason"]
    return str(direct["reason"]).partition(":")[0]
