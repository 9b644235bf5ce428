"""likert and rubric with the real embedded model, from rows to rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.judges import judge_pairs
from adjudge.judges.backends.llamacpp import LlamaCppBackend
from adjudge.judges.criteria import Criterion
from adjudge.judges.prompting import make_prompt
from adjudge.judges.protocols.likert import Likert
from adjudge.judges.protocols.rubric import Rubric
from adjudge.records import MEASURED, Item, Pair

pytestmark = pytest.mark.embedded
CLARITY = Criterion("clarity", "Is it easy to follow?")


@pytest.fixture(scope="module")
def backend(embedded_weights: Path) -> LlamaCppBackend:
    # One thread and a short context: the tests share two cores with other tests.
    return LlamaCppBackend("smollm2", context=512, threads=1)


def test_likert_gives_a_probability_to_each_digit(backend: LlamaCppBackend) -> None:
    items = [
        Item(id="1", prompt="Water boils at 100 C.", response="Water boils at 100 degrees."),
        Item(id="2", prompt="Water boils at 100 C.", response="Blue cheese tree {response}."),
    ]
    prompt = make_prompt("short", "{prompt}\n{response}\nRate its {criterion} from 1 to 5:")
    done = judge_pairs(
        items,
        judge=backend,
        protocol=Likert(criteria=[CLARITY], prompt=prompt, min_answer_mass=0),
        store=None,
    )
    rows = done.judgments.to_dicts()
    assert [row["status"] for row in rows] == ["ok", "ok"]
    for row in rows:
        assert 0 < row["answer_mass"] < 1
        probs = row["score_probs"]
        assert sum(probs) == pytest.approx(1)
        assert min(probs) > 0
        assert probs[int(row["judge_score"]) - 1] == max(probs)


def test_rubric_ends_in_a_status_and_the_summary_counts_it(backend: LlamaCppBackend) -> None:
    pairs = [Pair(id="1", prompt="2+2?", response_a="4", response_b="Cheese.", label="A")]
    prompt = make_prompt("short", "{prompt} A: {response_a} B: {response_b}\nScores as {format}")
    protocol = Rubric(criteria=[CLARITY], prompt=prompt, max_tokens=32)
    done = judge_pairs(pairs, judge=backend, protocol=protocol, store=None)
    (row,) = done.judgments.to_dicts()
    # So small a model may well not write what was asked for: then that is what the row says.
    assert row["status"] in ("ok", "unparsed", "refused")
    assert done.summary.statuses == {row["status"]: 1}
    assert (row["p_a"] is not None) == (row["status"] in MEASURED)
    assert json.loads(json.dumps(row))["winner"] == "model_a"
