"""The SCOPE protocol end to end: pairs are judged, ties dropped, items sampled."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from adjudge.errors import ArgumentError
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Text
from adjudge.simulate.pairs import simulate_pairs, two_order_judge
from adjudge_papers.printed import read_published
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
    assert done.rows("sets") == [{"dataset": "own", "available": 60, "sampled": 40}]
    measured = {row["signal"]: row["n"] for row in done.rows("qualities")}
    assert measured == dict.fromkeys(
        (
            *("preference_entropy", "single_order", "swap_vote", "swap_vote_by_coin"),
            *("verbalized", "annotators"),
        ),
        40,
    )
    # A simulated judge never counts as reproduced, also on real pairs.
    states = {item.name: item.status for item in done.items}
    assert states["Table 1"] == states["Table 2"] == states["Figure 3"] == "simulated"
    assert states["Appendix B.1"] == "reproduced"


def test_pairs_that_repeat_with_sides_swapped_are_not_judged_and_shown():
    """The pool of demonstrations is drawn by text: a swapped copy has another id."""
    first = pairs(40)
    swapped = first.with_columns(
        id=pl.concat_str(pl.col("id"), pl.lit("-swapped")),
        response_a="response_b",
        response_b="response_a",
        label=pl.col("label").replace({"A": "B", "B": "A"}),
    )
    done = reproduce_scope(
        {"own": pl.concat([first, swapped])},
        judge="simulated:accuracy=0.9",
        sample=100,
        splits=5,
        store=None,
    )
    # 40 texts, a fifth of them demonstrations: the other 32 in both orders.
    assert done.rows("sets") == [{"dataset": "own", "available": 80, "sampled": 64}]
    assert "annotators" in {row["signal"] for row in done.rows("qualities")}


def test_confidence_is_asked_from_0_to_1_or_with_your_prompt(tmp_path):
    asked = []

    class Listening(SimulatedBackend):
        async def ask_about(self, subject, question):
            if isinstance(question.want, Text):
                asked.append(str(question.messages))
            return await super().ask_about(subject, question)

    reproduce_scope({"own": pairs(24)}, judge=Listening(), sample=12, splits=5, store=None)
    assert all("from 0.0, if you only guessed, to 1.0" in text for text in asked)
    asked.clear()
    prompt = tmp_path / "mine.txt"
    prompt.write_text(
        "{prompt} {response_a} {response_b} HOW SURE\n--- answer ---\nconfidence: 0 to 1"
    )
    reproduce_scope(
        {"own": pairs(24)}, judge=Listening(), sample=12, splits=5, store=None,
        prompts={"verbalized": prompt},
    )  # fmt: skip
    assert asked
    assert all("HOW SURE" in text for text in asked)
    with pytest.raises(ArgumentError, match="preference"):
        reproduce_scope({"own": pairs(24)}, judge=Listening(), prompts={"grade": prompt})


def test_few_pairs_leave_no_demonstrations_and_that_is_said():
    done = reproduce_scope(
        {"own": pairs(24)}, judge="simulated:accuracy=0.9", sample=20, splits=5, store=None
    )
    assert "verbalized" in {row["signal"] for row in done.rows("qualities")}
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
    assert not {"verbalized"} & {row["signal"] for row in done.rows("qualities")}
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
    own = reproduce_scope({"mine": frame}, sample=100, splits=5)
    assert own.rows("sets") == [{"dataset": "mine", "available": 150, "sampled": 100}]
    again = reproduce_scope({"mine": frame[::-1]}, sample=100, splits=5)
    assert again == own


@pytest.mark.attack("status")
def test_items_are_sampled_among_rows_with_an_answer_and_a_label_that_counts():
    rows = pl.DataFrame(two_order_judge(120, seed=0)).with_columns(sampled_by=pl.lit("random"))
    failed = rows.head(10).with_columns(
        *(pl.lit(None, rows.schema[name]).alias(name) for name in ("p_fwd", "p_rev")),
        id=pl.lit("failed-") + pl.col("id"),
        status=pl.lit("error"),
    )
    chosen = rows.head(20).with_columns(
        id=pl.lit("chosen-") + pl.col("id"), sampled_by=pl.lit("doubt")
    )
    unlabelled = rows.head(5).with_columns(
        id=pl.lit("new-") + pl.col("id"), label=pl.lit(None, pl.String)
    )
    more = pl.concat([rows, failed, chosen, unlabelled, rows.head(3)], how="diagonal_relaxed")
    more = more.with_columns(pl.col("status").fill_null("ok"))
    done = reproduce_scope({"mine": more}, sample=60, splits=5)
    plain = reproduce_scope({"mine": rows}, sample=60, splits=5)
    assert done.tables == plain.tables
    assert done.dropped == {
        "the same row again": 3,
        "no label": 5,
        "label sampled by doubt: not used, its row is unlabelled": 20,
        "status error": 10,
    }
    assert plain.dropped == {}


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
    )
    assert own.rows("sets") == [{"dataset": "rewardbench", "available": 60, "sampled": 40}]


def test_published_judgments_need_no_judge():
    rows = [
        {"instruction": f"q{i}", "outputs": ["a", "b"], "preferences": {"human": 1 + i % 2},
         "probs": [0.9, 0.1]}
        for i in range(50)
    ]  # fmt: skip
    own = reproduce_scope({"chatbot-arena": rows}, sample=40, splits=5)
    assert own.rows("sets") == [{"dataset": "chatbot-arena", "available": 50, "sampled": 40}]
    assert own.rows("qualities")[0]["signal"] == "trust-or-escalate"


def test_the_papers_own_judges_are_matched_by_name_and_counted():
    frame = pl.DataFrame(two_order_judge(60, seed=0))
    named = frame.with_columns(judge=pl.lit("vllm:Qwen2.5-7B-Instruct"))
    done = reproduce_scope({"MT-Bench": named}, sample=60, splits=5)
    items = {item.name: item for item in done.items}
    assert items["Table 3"].status == "with differences"
    assert items["Table 3"].reason == "4 of the paper's 12 rows"
    values = {value.name: value for value in items["Table 3"].values}
    [row] = done.rows("risks", method="scope")
    # Both sides are the rows that match, not ranges over other judges.
    coverage = values["coverage, scope, least"]
    assert (coverage.ours, coverage.published) == (row["coverage"], 0.246)
    assert values["error share, vanilla, mt-bench, most"].published == 0.269
    assert values["error share, scope, most"].published == 0.097
    assert items["Figure 2a"].status == "with differences"
    assert (items["Figure 2b"].status, items["Figure 2b"].reason) == (
        "not possible", "its data are not here",
    )  # fmt: skip
    assert items["Table 1"].status == "other judges or data"  # neither text names its data


def test_none_of_the_papers_judges_is_other_judges():
    """Rows named after the paper's judges must not hold other ones."""
    frame = pl.DataFrame(two_order_judge(60, seed=0))
    both = pl.concat([frame.with_columns(judge=pl.lit(name)) for name in ("gemma-2b", "glm-4-9b")])
    done = reproduce_scope({"mt-bench": both}, sample=60, splits=5)
    states = {item.name: item.status for item in done.items if item.status != "not possible"}
    assert set(states.values()) == {"other judges or data", "reproduced"}
    assert [name for name, state in states.items() if state == "reproduced"] == ["Appendix B.1"]
    assert all("7B" not in value.name for item in done.items for value in item.values)
    assert "paper |" not in "\n".join(line.strip() for line in str(done).splitlines())


def test_other_data_than_the_papers_have_no_claim_about_mt_bench():
    done = reproduce_scope(
        {"RewardBench": pl.DataFrame(two_order_judge(60, seed=0))}, sample=60, splits=5
    )
    states = {item.name: item.status for item in done.items}
    assert states["Figure 2b"] == "other judges or data"
    assert states["Figure 2a"] == states["Section 4.2, stability"] == "not possible"


def test_what_a_summary_gives_is_not_said_to_be_the_papers():
    [message] = [note for note in read_published("scope")["notes"] if "2.4 %" in note]
    assert "the summary 2.4 % without naming the data" in message
