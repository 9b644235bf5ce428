"""Logs of other tools: what the judge said first, what people said, and what is neither."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from io_files import open_labels
from polars.testing import assert_frame_equal
from runner_logs import LOGS, READ_AS, load_log, write_log

from adjudge.data import convert_log, open_table, sniff, write_rows
from adjudge.data.formats import UNMATCHED, UNSAID
from adjudge.data.grades import prepare_grades
from adjudge.data.tables import first_row
from adjudge.errors import DataError

Change = Callable[[Any], None]


def rows(name: str, **options: Any) -> pl.DataFrame:
    return convert_log(LOGS / name, **options).rows


def changed(name: str, change: Change, folder: Path) -> Path:
    content = load_log(name)
    change(content)
    return write_log(content, folder / name)


def one(frame: pl.DataFrame, **where: object) -> dict[str, Any]:
    (row,) = frame.filter(*(pl.col(k) == v for k, v in where.items())).to_dicts()
    return row


@pytest.mark.parametrize("name", READ_AS)
def test_every_log_is_recognised_by_content_and_read(name: str, tmp_path: Path) -> None:
    format, kind = READ_AS[name]
    anything = tmp_path / "anything"
    anything.write_bytes((LOGS / name).read_bytes())
    assert sniff(anything) == format
    table = open_table(anything)
    assert (table.format, table.kind) == (format, kind)
    assert table.frame.height > 0


def test_an_archive_holds_what_the_json_holds() -> None:
    assert_frame_equal(rows("inspect.eval"), rows("inspect.json"))


def test_both_shapes_of_deepeval_and_of_phoenix_hold_the_same() -> None:
    assert_frame_equal(rows("deepeval.json"), rows("deepeval_latest.json"))
    assert_frame_equal(rows("phoenix.json"), rows("phoenix.csv"))


# The judge's word is not the person's. In each of these files a person disagrees with the judge.


@pytest.mark.parametrize(
    ("name", "where", "judge", "person"),
    [
        ("inspect.eval", {"id": "q2_epoch_1", "metric": "model_graded_qa"}, 0, 1),
        ("inspect.json", {"id": "q2_epoch_1", "metric": "model_graded_qa"}, 0, 1),
        ("promptfoo.json", {"template": "Answer: {{answer}}", "test": 1}, 0, 1),
        ("mlflow.json", {"id": "tr-0cb1ae3b7d66e8ac1c14abc7aa64d3e3"}, 1, 0),
        ("phoenix.json", {"id": "ed1f217524b54a5e"}, 1, 0),
        ("phoenix.csv", {"id": "ed1f217524b54a5e"}, 1, 0),
        ("langfuse.json", {"id": "t2"}, 1, 0),
    ],
)
def test_a_persons_verdict_is_not_taken_for_the_judges(
    name: str, where: dict[str, object], judge: int, person: int
) -> None:
    row = one(rows(name), **where)
    said = row["judge"] if name.startswith("promptfoo") else row["p_pass"]
    assert (said, row["human"], row["labelled_by"]) == (judge, person, "person")


@pytest.mark.parametrize("name", ["label_studio.json", "argilla.json"])
def test_a_persons_preference_is_not_taken_for_the_judges(name: str) -> None:
    row = one(rows(name), id="p1")
    assert (row["verdict"], row["p_a"], row["label"]) == ("A", 0.91, "B")


def test_people_and_judge_in_one_list_of_battles_are_told_apart() -> None:
    frame = rows("judgearena.jsonl")
    judged = frame.filter(pl.col("source") == "llm-judge")
    assert judged["winner"].to_list() == [None, None]
    assert judged["verdict"].to_list() == ["A", "B"]
    assert judged["p_a"].to_list() == pytest.approx([0.9, 0.2])
    voted = frame.filter(pl.col("source") == "human")
    assert voted["winner"].to_list() == ["model_a", "model_b", "model_b"]
    assert voted["p_a"].to_list() == [None] * 3


# A grader that failed did not say that the answer fails.


@pytest.mark.attack("log status")
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("inspect.eval", {"id": "q4_epoch_1", "metric": "model_graded_qa"}),
        ("promptfoo.json", {"test": 2, "template": "{{answer}}"}),
        ("promptfoo.jsonl", {"test": 2, "template": "{{answer}}"}),
        ("deepeval.json", {"id": "q3"}),
        ("deepeval_latest.json", {"id": "q3"}),
        ("mlflow.json", {"id": "tr-782471034e26ee74485c33ce75cf1193"}),
    ],
)
def test_a_failed_grader_is_a_status_and_no_fail(name: str, where: dict[str, object]) -> None:
    row = one(rows(name), **where)
    assert row["status"] == "unparsed"
    assert row["detail"]
    assert [row.get(c) for c in ("judge", "p_pass", "judge_score", "uncertainty")] == [None] * 4


def without_a_number(content: Any) -> None:
    content["data"][4]["result"] = {"label": None, "score": None, "explanation": None}


def without_a_value(content: Any) -> None:
    content["data"][0]["value"] = None


def without_the_metric(content: Any) -> None:
    content[1]["exact_match"] = None


@pytest.mark.parametrize(
    ("name", "change", "key"),
    [
        ("phoenix.json", without_a_number, "3267b61a47ac7f12"),
        ("langfuse.json", without_a_value, "t1"),
        ("lm_eval.jsonl", without_the_metric, "1"),
    ],
)
def test_a_grade_that_is_not_there_is_an_error_and_no_fail(
    name: str, change: Change, key: str, tmp_path: Path
) -> None:
    frame = convert_log(changed(name, change, tmp_path)).rows
    row = one(frame.filter(pl.col("metric") != "tone"), id=key)
    assert (row["status"], row["p_pass"]) == ("error", None)


def test_an_empty_cell_of_a_ragas_metric_is_an_error_and_no_fail(tmp_path: Path) -> None:
    path = tmp_path / "ragas.csv"
    path.write_text(
        "user_input,response,faithfulness,topic\nq,a,0.75,x\nr,b,,\ns,c,nan,y\n", encoding="utf-8"
    )
    frame = convert_log(path).rows
    assert frame["metric"].unique().to_list() == ["faithfulness"]
    assert frame["status"].to_list() == ["ok", "error", "error"]
    assert frame["p_pass"].to_list() == [0.75, None, None]
    assert frame["topic"].to_list() == ["x", None, "y"]


def test_a_reply_that_judgearena_could_not_read_is_no_tie() -> None:
    made = convert_log(LOGS / "judgearena.jsonl")
    assert made.summary.dropped == {"a judge's reply that could not be read": 1}
    assert made.rows.filter(pl.col("verdict") == "tie").height == 0


# Inspect


def test_inspect_gives_partial_credit_epochs_and_who_graded() -> None:
    frame = rows("inspect.eval")
    assert one(frame, id="q6_epoch_1", metric="model_graded_qa")["p_pass"] == 0.5
    assert frame.filter(pl.col("prompt_id") == "q1")["id"].unique().sort().to_list() == [
        "q1_epoch_1",
        "q1_epoch_2",
    ]
    judges = frame.select("metric", "judge_name").unique().sort("metric").rows()
    assert judges == [("match", "match"), ("model_graded_qa", "mockllm/judge")]
    assert frame["topic"].unique().to_list() == ["general"]


def inspect_sample(change: Change, folder: Path, at: int = 0) -> list[dict[str, Any]]:
    def apply(content: Any) -> None:
        del content["samples"][at + 1 :]
        del content["eval"]["scorers"][1:]  # one scorer is the judge, whatever its name is
        change(content["samples"][at])

    return convert_log(changed("inspect.json", apply, folder)).rows.to_dicts()


def test_inspect_before_it_wrote_nan_called_a_failed_grade_incorrect(tmp_path: Path) -> None:
    def change(sample: Any) -> None:
        said = "Grade not found in model output: I cannot decide."
        sample["scores"] = {"qa": {"value": "I", "explanation": said}}

    (row,) = inspect_sample(change, tmp_path)
    assert (row["status"], row.get("p_pass")) == ("unparsed", None)


def test_an_object_of_values_becomes_a_metric_for_each(tmp_path: Path) -> None:
    def change(sample: Any) -> None:
        sample["scores"] = {"rubric": {"value": {"tone": 1, "facts": "I", "words": "lots"}}}

    made = inspect_sample(change, tmp_path)
    assert [(row["metric"], row["p_pass"]) for row in made] == [
        ("rubric.tone", 1.0),
        ("rubric.facts", 0.0),
    ]


def test_an_edit_that_left_the_value_alone_is_no_label(tmp_path: Path) -> None:
    def change(sample: Any) -> None:
        author = {"provenance": {"author": "ann", "timestamp": "t"}}
        history = [{"value": "C"}, {"value": "UNCHANGED", "explanation": "typo", **author}]
        sample["scores"] = {"qa": {"value": "C", "history": history}}

    (row,) = inspect_sample(change, tmp_path)
    assert (row["p_pass"], row["human"]) == (1.0, None)


def test_the_last_of_several_edits_is_the_label_and_the_first_word_stays_the_judges(
    tmp_path: Path,
) -> None:
    def change(sample: Any) -> None:
        edits = [
            {"value": value, "provenance": {"author": who, "timestamp": "t"}}
            for value, who in (("I", "ann"), ("C", "bob"))
        ]
        sample["scores"] = {"qa": {"value": "C", "history": [{"value": "I"}, *edits]}}

    (row,) = inspect_sample(change, tmp_path)
    assert (row["p_pass"], row["human"], row["rater"]) == (0.0, 1.0, "bob")


def test_a_score_that_only_a_person_gave_has_no_judge(tmp_path: Path) -> None:
    def change(sample: Any) -> None:
        history = [{"value": "C", "provenance": {"author": "ann", "timestamp": "t"}}]
        sample["scores"]["mine"] = {"value": "C", "history": history}

    path = changed("inspect.json", lambda content: change(content["samples"][0]), tmp_path)
    made = convert_log(path)
    (reason,) = made.summary.dropped
    assert reason.endswith(UNMATCHED)
    assert "mine" not in made.rows["metric"].to_list()


# promptfoo


def test_promptfoo_reads_model_graded_assertions_alone() -> None:
    made = convert_log(LOGS / "promptfoo.json")
    assert made.rows["metric"].unique().to_list() == ["correctness"]
    assert made.summary.dropped == {
        "assertion contains: not graded by a model": 2,
        "assertion select-best: compares answers and grades none": 2,
    }
    # A label of the test itself keeps its value under a name of its own.
    assert one(made.rows, test=0, template="{{answer}}")["input_human"] == 1


def test_a_thumb_on_an_output_with_two_metrics_is_a_label_of_neither(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        components = content["results"]["results"][0]["gradingResult"]["componentResults"]
        tone = {"type": "llm-rubric", "metric": "tone", "threshold": 0.8}
        components.append({"assertion": tone, "pass": False, "score": 0.7, "reason": "curt"})

    frame = convert_log(changed("promptfoo.json", change, tmp_path)).rows
    both = frame.filter(pl.col("id").str.starts_with("e89a24ab"))
    assert both["human"].to_list() == [None, None]
    assert both["human_overall"].to_list() == [1.0, 1.0]
    tone = one(both, metric="tone")
    assert (tone["judge"], tone["judge_score"], tone["uncertainty"]) == (0, 0.7, 0.9)


def test_a_failed_grader_is_known_by_its_reason_where_no_flag_is_written(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        for row in content:
            for component in row["gradingResult"]["componentResults"]:
                component.pop("metadata", None)

    frame = convert_log(changed("promptfoo.jsonl", change, tmp_path)).rows
    assert frame["status"].to_list() == ["ok"] * 4 + ["unparsed"] * 2


# MLflow


def override(content: Any) -> None:
    """A person overrides the judge: MLflow marks the judge's assessment as invalid."""
    judge, person = content[1]["assessments"]
    judge["valid"] = False
    person |= {"overrides": judge["assessment_id"], "feedback": {"value": False}}


def test_a_person_who_overrides_the_judge_began_from_its_answer(tmp_path: Path) -> None:
    made = convert_log(changed("mlflow.json", override, tmp_path))
    row = one(made.rows, id="tr-08633599debca13688218d649b6cbe9a")
    assert (row["p_pass"], row["human"], row["started_from"]) == (1.0, 0.0, "judge")
    assert [part.from_judge for part in made.summary.metrics] == [1]


def test_a_judge_that_ran_twice_is_taken_at_its_first_word(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        again = json.loads(json.dumps(content[3]["assessments"][0]))
        again |= {"create_time": "2026-11-16T00:00:00Z", "feedback": {"value": False}}
        content[3]["assessments"].insert(0, again)

    made = convert_log(changed("mlflow.json", change, tmp_path))
    assert one(made.rows, id="tr-25d378c36c2ed6bd5de9112578b995fa")["p_pass"] == 1.0
    assert made.summary.dropped == {"a second grade by the same judge": 1}


def test_people_who_disagree_leave_no_label(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        other = json.loads(json.dumps(content[3]["assessments"][1]))
        other["source"]["source_id"], other["feedback"]["value"] = "annotator-2", False
        content[3]["assessments"].append(other)

    made = convert_log(changed("mlflow.json", change, tmp_path))
    assert one(made.rows, id="tr-25d378c36c2ed6bd5de9112578b995fa")["human"] is None
    assert made.summary.dropped == {"raters without a majority": 1}


def test_what_is_neither_a_judges_nor_a_persons_is_counted(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content[0]["assessments"][0]["source"]["source_type"] = "CODE"
        expected = {"assessment_name": "truth", "expectation": {"value": "4"}}
        content[3]["assessments"].append(expected)

    made = convert_log(changed("mlflow.json", change, tmp_path))
    assert made.summary.dropped == {
        "a score of code, neither of a judge nor of a person": 1,
        "an assessment that is not feedback": 1,
    }


def test_a_score_of_unknown_origin_and_a_name_of_its_own_in_langfuse() -> None:
    made = convert_log(LOGS / "langfuse.json")
    assert made.summary.dropped == {f"clicks: {UNSAID}": 1}
    assert sorted(made.rows["metric"].unique()) == ["correctness", "tone"]


# Label Studio


@pytest.mark.attack("log status")
def test_a_cancelled_annotation_is_no_label() -> None:
    made = convert_log(LOGS / "label_studio.json")
    assert made.rows["label"].to_list() == ["A", "B", "tie", None]
    assert made.summary.dropped == {"a cancelled annotation": 1}


def test_an_annotation_that_began_from_the_prediction_is_marked(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content[0]["annotations"][0]["parent_prediction"] = 1

    frame = convert_log(changed("label_studio.json", change, tmp_path)).rows
    assert frame["started_from"].to_list() == ["judge", None, None, None]
    labels = convert_log(tmp_path / "label_studio.json", kind="labels").rows
    assert labels.select("id", "label", "rater", "labelled_by", "started_from").rows() == [
        ("p0", "A", "1", "person", "judge"),
        ("p1", "B", "1", "person", None),
        ("p2", "tie", "1", "person", None),
    ]


def test_a_second_person_who_did_not_begin_from_the_prediction_is_the_label(
    tmp_path: Path,
) -> None:
    def change(content: Any) -> None:
        first = content[0]["annotations"][0]
        first["parent_prediction"] = 1
        other = json.loads(json.dumps(first)) | {"parent_prediction": None, "completed_by": 2}
        other["result"][0]["value"]["selected"] = "right"
        content[0]["annotations"].append(other)

    row = one(convert_log(changed("label_studio.json", change, tmp_path)).rows, id="p0")
    assert (row["label"], row["rater"], row["started_from"]) == ("B", "2", None)


def test_an_answer_that_cannot_be_read_leaves_the_judges_verdict(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content[0]["annotations"][0]["result"][0]["value"]["selected"] = "up"
        content[1]["predictions"] = [content[1]["annotations"][0]["prediction"]] * 2

    made = convert_log(changed("label_studio.json", change, tmp_path))
    assert made.rows.select("verdict", "label").rows()[:2] == [("A", None), ("A", "B")]
    assert made.summary.dropped == {
        "an answer that is neither a side nor a tie": 1,
        "another prediction of the same task": 1,
        "a cancelled annotation": 1,
    }
    labels = convert_log(tmp_path / "label_studio.json", kind="labels").rows
    assert labels["id"].to_list() == ["p1", "p2"]


def test_people_who_disagree_on_a_pair_leave_no_label(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        other = json.loads(json.dumps(content[0]["annotations"][0])) | {"completed_by": 2}
        other["result"][0]["value"]["selected"] = "right"
        content[0]["annotations"].append(other)

    made = convert_log(changed("label_studio.json", change, tmp_path))
    assert one(made.rows, id="p0")["label"] is None
    assert made.summary.dropped["raters without a majority"] == 1


@pytest.mark.parametrize("name", ["label_studio.json", "argilla.json"])
def test_a_column_of_the_task_is_not_taken_for_a_label(name: str, tmp_path: Path) -> None:
    def change(content: Any) -> None:
        for task in content:
            task.pop("annotations", None)
            task.pop("responses", None)
            task.get("data", task.get("metadata")).update(label="B", topic="x")
            task.update({"predictions": []} if "data" in task else {"responses": {}})

    frame = convert_log(changed(name, change, tmp_path), kind="pairs").rows
    assert "label" not in frame.columns or frame["label"].null_count() == frame.height
    assert frame.select("input_label", "topic").row(0) == ("B", "x")


def test_a_project_of_pass_and_fail_gives_grades_and_labels(tmp_path: Path) -> None:
    def answer(word: str) -> list[dict[str, Any]]:
        return [{"from_name": "ok", "type": "choices", "value": {"choices": [word]}}]

    tasks = [
        {
            "id": at,
            "data": {"id": f"x{at}", "prompt": "q", "response": "a", "sampled_by": "random"},
            "predictions": [{"model_version": "gpt", "result": answer("Pass")}],
            "annotations": [{"completed_by": 7, "result": answer(word)}],
        }
        for at, word in enumerate(("Fail", "Pass"))
    ]
    path = write_log(tasks, tmp_path / "tasks.json")
    frame = open_table(path).frame
    assert frame.select("id", "p_pass", "human", "sampled_by").rows() == [
        ("x0", 1.0, 0.0, "random"),
        ("x1", 1.0, 1.0, "random"),
    ]
    assert convert_log(path, kind="labels").rows["label"].to_list() == ["0", "1"]


def test_choices_that_name_the_response_and_how_rows_were_drawn_come_back(tmp_path: Path) -> None:
    """As where the sides were shuffled for people and the export names the response itself."""
    choice = {"from_name": "answer", "type": "choices", "value": {"choices": ["response_b"]}}
    data = {"id": "p7", "prompt": "q", "response_a": "x", "response_b": "y", "left": "y"}
    drawn = {"sampled_by": "plan", "sampling_probability": 0.25, "shown_order": "ba"}
    task = {"id": 1, "data": data | drawn, "annotations": [{"completed_by": 3, "result": [choice]}]}
    path = write_log([task], tmp_path / "tasks.json")
    assert open_table(path).kind == "labels"
    row = one(open_labels(path).frame, id="p7")
    assert (row["label"], row["rater"], row["labelled_by"]) == ("B", "3", "person")
    assert {name: row[name] for name in drawn} == drawn


@pytest.mark.parametrize("name", ["label_studio_min.json", "label_studio.csv"])
def test_exports_that_lose_who_began_from_the_judge_are_refused(name: str) -> None:
    with pytest.raises(
        DataError, match="started from the judge's answer.*export the project as JSON"
    ):
        convert_log(LOGS / name)


def test_comments_of_people_come_with_their_labels(tmp_path: Path) -> None:
    def write(tasks: Any) -> None:
        area = {"from_name": "comment", "type": "textarea", "value": {"text": ["both", "wrong"]}}
        other = {"from_name": "notes", "type": "textarea", "value": {"text": ["not this"]}}
        tasks[0]["annotations"][0]["result"] += [area, other]

    changed("label_studio.json", write, tmp_path)
    labels = convert_log(tmp_path / "label_studio.json", kind="labels").rows
    assert dict(labels.select("id", "comment").rows()) == {
        "p0": "both\nwrong", "p1": None, "p2": None,
    }  # fmt: skip


def test_argilla_comments_are_no_question(tmp_path: Path) -> None:
    before = convert_log(LOGS / "argilla.json", kind="labels")

    def write(records: Any) -> None:
        (answer,) = next(iter(records[0]["responses"].values()))
        records[0]["responses"]["comment"] = [{**answer, "value": "too long"}]

    changed("argilla.json", write, tmp_path)
    labels = convert_log(tmp_path / "argilla.json", kind="labels")
    assert_frame_equal(labels.rows.drop("comment"), before.rows)
    assert labels.rows["comment"].to_list()[0] == "too long"


@pytest.mark.attack("log status")
def test_argilla_leaves_out_drafts(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content[0]["responses"]["preference"][0]["status"] = "draft"

    made = convert_log(changed("argilla.json", change, tmp_path))
    assert made.rows["label"].to_list() == [None, "B", "tie"]
    assert made.summary.dropped == {"a response that was draft": 1}


# Other shapes


def test_a_test_that_was_run_twice_keeps_both_rows_under_one_prompt(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        again = json.loads(json.dumps(content["testCases"][0]))
        content["testCases"] += [again, {**again, "runDuration": 12.5}]

    conversion = convert_log(changed("deepeval.json", change, tmp_path))
    frame = conversion.rows
    assert frame["id"].to_list() == ["q1", "q2", "q3", "q1#2"]
    assert frame["prompt_id"][0] == frame["prompt_id"][3]
    assert conversion.summary.dropped == {"the same row again": 1}


def test_a_verdict_stays_where_the_score_is_on_another_scale(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        first, second, _ = (case["metricsData"][0] for case in content["testCases"])
        first |= {"score": 8, "threshold": 7}
        second |= {"score": 8, "threshold": None}

    frame = convert_log(changed("deepeval.json", change, tmp_path)).rows
    assert frame.select("judge", "judge_score", "uncertainty").rows()[:2] == [
        (1, 8.0, 0.0),
        (0, 0.0, 0.5),
    ]


def test_the_filter_of_lm_eval_is_part_of_the_metrics_name(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content[1]["filter"] = "strict-match"
        content[2] |= {"metrics": ["exact_match", "ppl"], "ppl": [1, 2]}

    made = convert_log(changed("lm_eval.jsonl", change, tmp_path))
    assert made.rows["metric"].to_list()[:2] == ["exact_match", "exact_match,strict-match"]
    assert made.summary.dropped == {"metric ppl: no number from 0 to 1": 1}


def test_answers_of_a_log_can_be_judged_again() -> None:
    items = rows("inspect.eval", kind="items")
    assert items.height == 12
    assert one(items, id="q2_epoch_1")["human"] == 1.0
    assert {"metric", "p_pass", "judge_name"} & set(items.columns) == set()


def test_a_python_object_is_read_as_the_file_is() -> None:
    frame = convert_log(load_log("argilla.json")).rows
    assert_frame_equal(frame, rows("argilla.json"))


def test_what_convert_writes_is_read_as_the_log_is(tmp_path: Path) -> None:
    path = write_rows(rows("inspect.eval"), tmp_path / "rows.csv")
    again = open_table(path)
    assert again.frame.select("id", "p_pass", "human").rows() == (
        rows("inspect.eval").select("id", "p_pass", "human").rows()
    )


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("x.json", b'{"evalId": "e", "results": {"results": [{"id": ', "row 1: is not valid JSON"),
        ("x.json", b'{"evalId": "e", "results": {"version": 3}}', "has no list results.results"),
        ("x.json", b'{"evalId": "e", "results": {"results": []}}', "has no rows"),
        ("x.json", b'{"testCases": [1]}', "row 1: is a JSON int"),
        ("x.json", b'{"testCases": [{"input": "q", "metricsData": []}]}', "no row can be used"),
        ("x.json", b'{"data": [{"a": 1}]}', "looks like no known log"),
    ],
)
def test_a_broken_log_is_refused_in_one_line(
    name: str, content: bytes, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        convert_log(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_summary_of_lm_eval_is_sent_to_the_samples() -> None:
    with pytest.raises(DataError, match=r"summary of lm-eval, without rows; give the samples_"):
        convert_log(LOGS / "lm_eval_results.json")


def test_promptfoos_csv_is_refused_with_the_reason() -> None:
    with pytest.raises(DataError, match="promptfoo's CSV.*; export the results as JSON or JSONL"):
        convert_log(LOGS / "promptfoo.csv")


def test_our_own_rows_need_no_conversion(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"id": 1, "prompt": "p", "response_a": "a", "response_b": "b"}')
    with pytest.raises(DataError, match="a pairs file of adjudge: it does not need conversion"):
        convert_log(path)


def damage(data: bytes, member: bytes) -> bytes:
    """The archive with a bit turned inside the packed content of a member."""
    at = data.index(member) + len(member) + 400
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_a_damaged_archive_names_its_member(tmp_path: Path) -> None:
    whole = (LOGS / "inspect.eval").read_bytes()
    path = tmp_path / "x.eval"
    path.write_bytes(damage(whole, b"samples/q3_epoch_1.json"))
    with pytest.raises(DataError, match=r"member 'samples/q3_epoch_1.json' cannot be read"):
        convert_log(path)
    path.write_bytes(whole[:30_000])
    with pytest.raises(DataError, match="is a zip archive or a spreadsheet, but not complete"):
        convert_log(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("missing", {"a sample that is not in the archive": 1}),
        ("twice", {"a sample that is in the archive again": 1}),
        ("huge", {}),
    ],
)
def test_samples_that_an_archive_lacks_or_has_twice_are_counted(
    change: str, reason: dict[str, int], tmp_path: Path
) -> None:
    path = tmp_path / "x.eval"
    log = load_log("inspect.json")
    header = {key: log[key] for key in ("eval", "results", "status")}
    if change == "huge":
        header["results"]["total_samples"] = 10**15
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")  # zipfile's own, of a name that is there again
        archive.writestr("header.json", json.dumps(header))
        for number, sample in enumerate(log["samples"]):
            times = {"missing": 0, "twice": 2}.get(change, 1) if number == 0 else 1
            for _ in range(times):
                archive.writestr(f"samples/{number}.json", json.dumps(sample))
    whole = convert_log(LOGS / "inspect.json")
    read = convert_log(path)
    assert {why: n for why, n in read.summary.dropped.items() if "archive" in why} == reason
    lost = whole.rows.height - read.rows.height
    assert lost == (len(log["samples"][0]["scores"]) if change == "missing" else 0)


def member_of_blocks(path: Path, block: bytes, times: int) -> Path:
    """An Inspect log whose sample is one zstd frame of these blocks; the directory says 9 bytes."""
    heads = [int.from_bytes(block[:3], "little") | (n == times - 1) for n in range(times)]
    blocks = b"".join(head.to_bytes(3, "little") + block[3:] for head in heads)
    frame = 0xFD2FB528.to_bytes(4, "little") + bytes([0, 13 << 3]) + blocks
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m"}}))
        archive.writestr("samples/q1_epoch_1.json", frame)
        member = archive.infolist()[1]
        member.compress_type, member.file_size = 93, 9
    return path


@pytest.mark.attack("archives")
def test_a_member_that_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    """A block of 4 bytes that says: 128 KiB of blanks. 9,000 of them would be 1.2 GB."""
    repeated = (131072 << 3 | 1 << 1).to_bytes(3, "little") + b" "
    bomb = member_of_blocks(tmp_path / "bomb.eval", repeated, 9_000)
    assert bomb.stat().st_size < 40_000
    with pytest.raises(DataError, match=r"its member 'samples/q1.* unpacks to more than 1,024 MiB"):
        convert_log(bomb)
    small = member_of_blocks(tmp_path / "small.eval", repeated, 2)
    with pytest.raises(DataError, match=r"cannot be read \(its checksum is wrong"):
        convert_log(small)


@pytest.mark.attack("archives")
def test_an_archive_of_many_members_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.eval"
    sample = load_log("inspect.json")["samples"][0]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m"}, "status": "success"}))
        for number in range(20):
            text = json.dumps({**sample, "id": f"q{number}", "padding": " " * 2**24})
            archive.writestr(f"samples/q{number}_epoch_1.json", text)
    assert path.stat().st_size < 2**20
    with pytest.raises(DataError, match="the archive unpacks to more than 256 MiB; export it"):
        convert_log(path)


def test_an_archive_packed_in_the_common_way_and_another_tools(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    sample = load_log("inspect.json")["samples"][0]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m"}}))
        archive.writestr("samples/q1_epoch_1.json", json.dumps(sample))
    assert convert_log(path).rows["model"].to_list() == ["m", "m"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(DataError, match="is a zip archive or a spreadsheet"):
        convert_log(path)


def test_a_log_is_read_one_sample_at_a_time(tmp_path: Path) -> None:
    """The first row of a long log is known before the rest is read: here the rest is broken."""
    path = tmp_path / "log.json"
    sample = json.dumps(load_log("inspect.json")["samples"][0])
    head = json.dumps({"version": 2, "status": "success", "eval": {"model": "m"}})[:-1]
    path.write_text(head + ', "samples": [' + ", ".join([sample] * 300) + ", oops")
    first = first_row(path)
    assert first is not None
    assert (first["id"], first["eval"]) == ("q1", {"model": "m"})
    with pytest.raises(DataError, match="row 301: is not valid JSON"):
        convert_log(path)


def test_columns_and_words_of_another_file_leave_a_log_as_it_is() -> None:
    grades = prepare_grades(LOGS / "deepeval.json")
    first = grades.frame["id"][0]
    votes = {"id": [first], "said": ["fine"]}
    named = prepare_grades(
        LOGS / "deepeval.json", labels=votes, columns={"human": "said"}, labels_as={"fine": "1"}
    )
    assert named.judge.tolist() == grades.judge.tolist()
    assert named.human[0] == 1.0


@pytest.mark.parametrize("name", ["promptfoo.json", "promptfoo.jsonl", "label_studio.json"])
def test_columns_of_a_log_are_not_named(name: str) -> None:
    with pytest.raises(DataError, match=r"whose rows .*; leave out --column \(columns=\)$"):
        prepare_grades(LOGS / name, columns={"human": "said"})
    with pytest.raises(DataError, match=r"leave out --labels-as \(labels_as=\)$"):
        open_table(LOGS / name, labels_as={"fine": "1"})


def test_a_log_of_one_row_is_read_as_one_grade(caplog: pytest.LogCaptureFixture) -> None:
    open_table(LOGS / "mlflow_trace.json")
    assert "read as 1 grade\n" in caplog.text


@pytest.mark.attack("log status")
def test_inspect_samples_that_do_not_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = convert_log(LOGS / "inspect.json").rows

    def change(content: Any) -> None:
        content["status"] = "cancelled"
        content["samples"][0]["invalidation"] = {"author": "ann", "reason": "wrong target"}
        content["samples"][1]["error"] = {"message": "out of memory", "traceback": ""}

    made = convert_log(changed("inspect.json", change, tmp_path))
    assert made.summary.dropped["a sample that was invalidated"] == 1
    assert made.summary.dropped["a sample that failed"] == 1
    assert made.rows["id"].n_unique() == whole["id"].n_unique() - 2
    assert "the log's status is cancelled, not success" in caplog.text


@pytest.mark.attack("headers")
@pytest.mark.parametrize("epochs", ["3", [1, 2], {"n": 3}, 2.5, None])
def test_inspect_epochs_of_any_type(epochs: Any, tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["eval"]["config"]["epochs"] = epochs

    assert convert_log(changed("inspect.json", change, tmp_path)).rows.height


@pytest.mark.attack("headers")
def test_half_a_character_in_the_header_of_a_log(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["eval"]["model"] = "gpt \ud83d"

    with pytest.raises(DataError, match="contains half of a character"):
        convert_log(changed("inspect.json", change, tmp_path))


@pytest.mark.attack("log status")
def test_mlflow_traces_that_failed_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    text = (LOGS / "mlflow_trace.json").read_text()
    assert '"state": "OK"' in text
    path.write_text(text.replace('"state": "OK"', '"state": "ERROR"'))
    with pytest.raises(DataError, match="no row can be used .1 a trace in state ERROR"):
        convert_log(path)


@pytest.mark.attack("log status")
def test_promptfoo_outputs_that_failed_are_counted(tmp_path: Path) -> None:
    whole = convert_log(LOGS / "promptfoo.json")

    def change(content: Any) -> None:
        content["results"]["results"][0]["failureReason"] = 2
        content["results"]["results"][1]["response"]["error"] = "rate limit"

    made = convert_log(changed("promptfoo.json", change, tmp_path))
    assert made.summary.dropped["an output that failed"] == 2
    assert made.rows.height < whole.rows.height


@pytest.mark.attack("log status")
def test_a_skipped_metric_of_deepeval_is_counted(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["testCases"][0]["metricsData"][0]["skipped"] = True

    made = convert_log(changed("deepeval.json", change, tmp_path))
    assert made.summary.dropped == {"a metric that was skipped": 1}


def test_a_chat_prompt_of_lm_eval_is_a_conversation(tmp_path: Path) -> None:
    """With a chat template the prompt is a list of one text, which is JSON itself."""
    content = load_log("lm_eval.jsonl")[:1]
    chat = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "2+2?"}]
    content[0]["arguments"]["gen_args_0"]["arg_0"] = [json.dumps(chat)]
    (row,) = convert_log(write_log(content, tmp_path / "x.jsonl")).rows.to_dicts()
    assert row["prompt"] == "[system]\nBe short.\n\n[user]\n2+2?"


def test_the_model_of_lm_eval_is_that_of_the_results_next_to_it(tmp_path: Path) -> None:
    path = tmp_path / "samples_facts_2026-11-15T09-00-40.478234.jsonl"
    path.write_bytes((LOGS / "lm_eval.jsonl").read_bytes())
    assert "model" not in convert_log(path).rows.columns
    other = tmp_path / "x" / path.name
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())
    results = (LOGS / "lm_eval_results.json").read_bytes()
    (other.parent / "results_2026-11-15T09-00-40.478234.json").write_bytes(results)
    assert set(convert_log(other).rows["model"]) == {json.loads(results)["model_name"]}
