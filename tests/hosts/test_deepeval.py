"""DeepEval itself: the example of docs/integrations.md, sync and async, and each outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from integration_page import example

pytestmark = [pytest.mark.hosts, pytest.mark.filterwarnings("ignore")]
JUDGE = "simulated:accuracy=0.85,noise=0.5"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    monkeypatch.setenv("DEEPEVAL_DISABLE_DOTENV", "1")
    pytest.importorskip("deepeval", reason="deepeval is not installed: make hosts")


def test_the_example_and_every_way_to_run_it_agree(page_files: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(example("DeepEval", "py"), "integrations.md", "exec"), names)  # noqa: S102
    from deepeval import assert_test, evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig

    from adjudge.integrations.deepeval import PolicyMetric

    cases = names["cases"]
    shown = {one.input: data(one) for one in names["result"].test_results}
    kinds = {
        "abstained" if one.success is None else "pass" if one.success else "fail"
        for one in shown.values()
    }
    assert kinds == {"pass", "fail", "abstained"}
    for one in shown.values():
        assert (one.score is None) == (one.success is None)
        assert one.error is None
        assert one.reason.startswith("abstained: " if one.success is None else "")
    quiet = DisplayConfig(print_results=False, show_indicator=False)
    for abstain, success in (("fail", False), ("pass", True), ("unscored", None)):
        metric = PolicyMetric(policy="graded_policy.json", judge=JUDGE, abstain=abstain)
        again = evaluate(
            cases,
            metrics=[metric],
            async_config=AsyncConfig(run_async=False),
            display_config=quiet,
        )
        for one in again.test_results:
            before = shown[one.input]
            assert data(one).success == (success if before.success is None else before.success)
            assert data(one).reason == before.reason
        metric.judge.close()
    metric = names["metric"]
    for case in cases[:8]:
        failed = shown[case.input].success is False
        if failed:
            with pytest.raises(AssertionError, match="fail: accepted by scope"):
                assert_test(case, [metric])
        else:
            assert_test(case, [metric])
    metric.judge.close()


def data(result: Any) -> Any:
    [one] = result.metrics_data
    return one


def test_a_case_without_an_answer_is_deepevals_own_error(page_files: Path) -> None:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.test_case import LLMTestCase

    from adjudge.integrations.deepeval import PolicyMetric

    metric = PolicyMetric(policy="graded_policy.json", judge=JUDGE)
    with pytest.raises(MissingTestCaseParamsError, match="response = None: give its text"):
        metric.measure(LLMTestCase(input="2 + 2?"))
