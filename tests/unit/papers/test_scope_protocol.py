"""The SCOPE protocol end to end: pairs are judged, ties dropped, items sampled."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Text
from adjudge.simulate.pairs import simulate_pairs
from adjudge.simulate.selective import two_order_judge
from adjudge_papers.items import read_published
from adjudge_papers.scope import reproduce_scope


def pairs(n=60) -> pl.DataFrame:
    rows = [
        {
            "id": p.id,
            "prompt": p.prompt,
            "response_a": p.response_a,
            "response_b": p.response_b,
            "label": p.label,
        }
        for p in simulate_pairs(n, seed=1)
    ]
    return pl.DataFrame(rows)


def test_pairs_are_judged_by_every_protocol_of_the_paper():
    done = reproduce_scope(
        {"own": pairs()},
        judge="simulated:accuracy=0.9,position_bias=0.3,noise=0.5,seed=1",
        sample=40,
        splits=10,
        store=None,
    )
    (own,) = done.datasets
    assert (own.dataset, own.n_sampled, done.simulated) == ("own", 40, False)
    measured = {(s.protocol, s.signal): s.n for s in own.evaluation.signals}
    assert measured == {
        ("preference", "preference_entropy"): 40,
        ("preference", "single_order"): 40,
        ("preference", "swap_vote"): 40,
        ("verbalized", "verbalized"): 40,
        ("annotators", "annotators"): 40,
    }
    assert [s.signal for s in own.coin_votes] == ["swap_vote_by_coin"]
    status = {item.name: item.status for item in done.items}
    assert status["Table 1"] == status["Table 2"] == status["Figure 3"] == "reproduced"
    assert {item.reason for item in done.items if item.name == "Table 2"} == {
        "other judges or data than the paper's"
    }


def test_few_pairs_leave_no_demonstrations_and_that_is_said():
    done = reproduce_scope(
        {"own": pairs(24)}, judge="simulated:accuracy=0.9", sample=20, splits=5, store=None
    )
    assert {s.protocol for s in done.datasets[0].evaluation.signals} == {"preference", "verbalized"}
    assert done.warnings == ("own: annotators were not asked: they need 25 pairs",)
    [table] = [item for item in done.items if item.name == "Table 2"]
    assert table.status == "not possible"
    assert "give pairs and a judge" in table.reason


class Silent(SimulatedBackend):
    """Knows which letter, but never writes how sure it is."""

    async def ask_about(self, subject, question):
        reply = await super().ask_about(subject, question)
        return replace(reply, text="Hmm.") if isinstance(question.want, Text) else reply


def test_a_protocol_that_the_judge_cannot_answer_is_left_out_by_name():
    done = reproduce_scope({"own": pairs()}, judge=Silent(), sample=30, splits=5, store=None)
    assert {s.protocol for s in done.datasets[0].evaluation.signals} == {"preference", "annotators"}
    [line] = done.warnings
    assert line.startswith("own, verbalized: ")
    assert "all unparsed" in line


def test_a_judge_without_pairs_is_refused():
    with pytest.raises(ArgumentError, match="give the pairs to ask it about"):
        reproduce_scope(judge="simulated:accuracy=0.9")


def test_pairs_without_a_judge_are_refused():
    with pytest.raises(ArgumentError, match="give a --judge"):
        reproduce_scope({"own": pairs()}, sample=40, splits=5)


def test_ties_are_dropped_and_items_sampled():
    frame = pl.DataFrame(two_order_judge(200, seed=0)).with_columns(
        label=pl.when(pl.int_range(200) < 50).then(pl.lit("tie")).otherwise("label")
    )
    own = reproduce_scope({"mine": frame}, sample=100, splits=5).datasets[0]
    assert (own.n_available, own.n_sampled) == (150, 100)
    again = reproduce_scope({"mine": frame[::-1]}, sample=100, splits=5).datasets[0]
    assert again == own


def test_unlabelled_judgments_are_refused():
    frame = pl.DataFrame(two_order_judge(30, seed=0)).drop("label")
    with pytest.raises(ArgumentError, match="no human labels"):
        reproduce_scope({"mine": frame}, sample=20, splits=5)


def test_a_published_data_set_is_sampled_and_judged():
    rows = [
        {"id": i, "prompt": f"q{i}", "chosen": "good", "rejected": "bad", "chosen_model": "x",
         "rejected_model": "y", "subset": "z"}
        for i in range(60)
    ]  # fmt: skip
    own = reproduce_scope(
        {"rewardbench": rows},
        judge="simulated:accuracy=0.9,seed=1",
        sample=40,
        splits=5,
        store=None,
    ).datasets[0]
    assert (own.n_available, own.n_sampled) == (60, 40)


def test_published_judgments_need_no_judge():
    rows = [
        {"instruction": f"q{i}", "outputs": ["a", "b"], "preferences": {"human": 1 + i % 2},
         "probs": [0.9, 0.1]}
        for i in range(50)
    ]  # fmt: skip
    own = reproduce_scope({"chatbot-arena": rows}, sample=40, splits=5).datasets[0]
    assert (own.n_available, own.n_sampled) == (50, 40)
    assert own.evaluation.signals[0].signal == "trust-or-escalate"


def test_the_papers_own_judges_are_found_by_name_and_counted():
    frame = pl.DataFrame(two_order_judge(60, seed=0))
    named = frame.with_columns(judge=pl.lit("vllm:Qwen2.5-7B-Instruct"))
    done = reproduce_scope({"MT-Bench": named}, sample=60, splits=5)
    [table] = [item for item in done.items if item.name == "Table 3"]
    assert table.reason == "1 of the paper's 12 judges on data sets"
    [coverage] = [v for v in table.values if v.name == "coverage, mt-bench 7B scope"]
    rows = done.datasets[0].rows_of("scope", done.datasets[0].keys[0])
    assert coverage.ours == next(row.coverage for row in rows if row.alpha == 0.1)
    assert coverage.published == 0.246
    # What the paper has of other judges and data is not taken for theirs.
    unknown = [v.name for v in table.values if v.ours is None]
    assert "coverage, mt-bench 70B scope" in unknown
    assert "coverage, rewardbench 14B scope" in unknown
    states = {item.name: (item.status, item.reason) for item in done.items}
    assert states["Figure 2a"][0] == "reproduced"
    assert states["Figure 2b"] == (
        "not possible", "its judges or its data are not here",
    )  # fmt: skip


def test_other_data_than_the_papers_have_no_claim_about_mt_bench():
    done = reproduce_scope(
        {"RewardBench": pl.DataFrame(two_order_judge(60, seed=0))}, sample=60, splits=5
    )
    states = {item.name: item.status for item in done.items}
    assert states["Figure 2b"] == "reproduced"
    assert states["Figure 2a"] == states["Section 4.2, stability"] == "not possible"


def test_what_a_summary_gives_is_not_said_to_be_the_papers():
    [message] = [note for note in read_published("scope")["notes"] if "2.4 %" in note]
    assert "the summary 2.4 % without naming the data" in message
