"""DeepEval: a metric that is 1 or 0 if the policy accepts the verdict, and else has no score.

::

    metric = PolicyMetric(policy="policy.json", judge="openai:gpt-4.1-mini")
    evaluate(test_cases, metrics=[metric])
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal, Unpack

from adjudge.errors import ArgumentError
from adjudge.integrations import missing_host
from adjudge.integrations.policy_judge import PolicyJudge
from adjudge.policy.result import Policy
from adjudge.server.service import JudgeOptions
from adjudge.server.webhook import Case, Outcome, read_case
from adjudge.validation import one_of

try:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase
except ModuleNotFoundError as error:
    raise missing_host(error, "deepeval") from None


class PolicyMetric(BaseMetric):
    """Passes or fails a test case if the policy accepts the judge's verdict.

    The judge sees `input`, `actual_output`, `expected_output` as the reference and `context` (else
    `retrieval_context`). Columns that the policy uses are read from the case's `metadata`, and so
    is `response_b`, the other answer, for a policy about pairs. An abstention has neither score nor
    success, so DeepEval does not count it for this metric, unless `abstain` is "pass" or "fail". A
    test case with no other metric then counts as passed.
    """

    threshold = 0.5
    include_reason = True

    def __init__(
        self,
        *,
        policy: str | Path | Policy,
        judge: str | PolicyJudge | None = None,
        abstain: Literal["unscored", "pass", "fail"] = "unscored",
        **options: Unpack[JudgeOptions],
    ) -> None:
        one_of(abstain, ("unscored", "pass", "fail"), "abstain")
        # DeepEval makes a metric for each test case from the attributes of this one. They share
        # the judge, which holds the connections and weights.
        self.judge = (
            judge if isinstance(judge, PolicyJudge) else PolicyJudge(policy, judge, **options)
        )
        self.policy = self.judge.policy
        self.abstain = abstain
        # This name is DeepEval's cache key: another policy or rule must not get these answers.
        self.evaluation_model = f"{self.judge.name}, abstentions {abstain}"

    @property
    def __name__(self) -> str:
        return "Policy"

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Ask the judge and wait."""
        return self._keep(self.judge.decide(self._case(test_case)))

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Ask the judge without blocking other test cases."""
        asked = self.judge.submit(self._case(test_case))
        return self._keep(await asyncio.wrap_future(asked))

    def is_successful(self) -> bool | None:
        """Whether the accepted verdict is a pass; None for an abstention that is not counted."""
        return self.success if self.error is None else False

    def _case(self, test_case: LLMTestCase) -> Case:
        material = test_case.context or test_case.retrieval_context or ()
        texts = (str(getattr(source, "context", source)) for source in material)
        columns = {
            "reference": test_case.expected_output,
            "context": "\n\n".join(texts) or None,
            **(test_case.metadata or {}),
        }
        try:
            return read_case(
                self.policy,
                prompt=test_case.input,
                response=test_case.actual_output,
                columns=columns,
            )
        except ArgumentError as error:
            raise MissingTestCaseParamsError(str(error)) from None

    def _keep(self, outcome: Outcome) -> float | None:
        passed = outcome.passed
        if passed is None and self.abstain != "unscored":
            passed = self.abstain == "pass"
        self.success = passed
        self.reason = outcome.explanation
        self.score = None if passed is None else float(passed)
        self.score_breakdown = dict(outcome.details)
        return self.score
