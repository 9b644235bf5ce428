"""Verdicts as other tools take them: through their own models, and back through our readers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from langfuse.api import CreateScoreRequest, GetScoresV3Response
from langfuse.api.core import parse_obj_as
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.proto_json.logs.v1.logs import LogsData
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

from adjudge import calibrate, estimate, evaluate, select
from adjudge.cli import run
from adjudge.data import convert_log, export_scores, write_result, write_rows
from adjudge.errors import ArgumentError, DataError


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    """Graded answers, two to a prompt, some failed, all but these labelled."""
    rng = random.Random(3)
    rows = []
    for n in range(120):
        human = int(rng.random() < 0.7)
        p_pass = round(min(0.99, max(0.01, rng.gauss(0.75 if human else 0.4, 0.2))), 3)
        row: dict[str, Any] = {
            "id": f"answer-{n}",
            "prompt_id": f"prompt-{n // 2}",
            "metric": "correct",
        }
        row |= {"judge_name": "judge-1", "protocol": "correct", "human": human}
        if n % 20 == 7:
            row |= {"status": "unparsed", "detail": "no letter", "human": None}
        else:
            row |= {"status": "ok", "p_pass": p_pass, "reason": f"because {n}"}
        rows.append(row)
    path = tmp_path / "grades.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def decisions(grades: Path, tmp_path: Path) -> Path:
    policy = calibrate(grades, alpha=0.25)
    path = tmp_path / "decisions.csv"
    write_rows(select(grades, policy=policy).rows, path)
    return path


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def events(path: Path) -> list[dict[str, Any]]:
    """The records in a file of OTLP, their attributes by name."""
    records = [
        record
        for line in lines(path)
        for scope in line["resourceLogs"][0]["scopeLogs"]
        for record in scope["logRecords"]
    ]
    return [
        {
            **record,
            "attributes": {
                one["key"]: next(iter(one["value"].values())) for one in record["attributes"]
            },
        }
        for record in records
    ]


def numbers(source: Any, **options: Any) -> tuple[Any, ...]:
    rate = estimate(source, **options)
    return (evaluate(source, **options).judges, rate.estimate, rate.interval, rate.naive)


@pytest.mark.parametrize("to", ["otlp", "langfuse"])
def test_what_was_written_is_read_back_with_equal_numbers(
    grades: Path, tmp_path: Path, to: str
) -> None:
    path = tmp_path / "out.jsonl"
    export_scores(grades, to=to, output=path)
    assert numbers(path, labels=grades) == numbers(grades)
    back = convert_log(path).rows
    before = pl.read_ndjson(grades).filter(pl.col("status") == "ok")
    ok = back.filter(pl.col("status") == "ok")
    for column in ("id", "p_pass", "prompt_id", "judge_name", "metric", "reason"):
        assert ok[column].to_list() == before[column].to_list(), column
    if to == "otlp":
        assert back.filter(pl.col("status") != "ok").height == 6


def test_opentelemetrys_own_models_read_every_line(decisions: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    export_scores(decisions, to="otlp", output=path)
    written = lines(path)
    assert [LogsData.from_dict(line).to_dict() for line in written] == written
    event = events(path)[0]
    assert event["eventName"] == "gen_ai.evaluation.result"
    row = pl.read_csv(decisions).to_dicts()[0]
    assert event["attributes"] == {
        "gen_ai.evaluation.name": "correct",
        "gen_ai.evaluation.score.value": row["p_pass"],
        "gen_ai.evaluation.score.label": row["verdict"],
        "gen_ai.evaluation.explanation": "because 0",
        "gen_ai.response.id": "answer-0",
        "adjudge.about": "answer",
        "adjudge.judge": "judge-1",
        "adjudge.prompt_id": "prompt-0",
        "adjudge.uncertainty": row["uncertainty"],
        "adjudge.accepted": row["accepted"],
    }


def test_the_sdk_of_opentelemetry_writes_the_same_event(decisions: Path, tmp_path: Path) -> None:
    """The file is what its exporter writes, but for times and its own names."""
    path = tmp_path / "out.jsonl"
    export_scores(decisions, to="otlp", output=path)
    provider = LoggerProvider()
    sdks = tmp_path / "sdk.jsonl"
    with sdks.open("w") as file:
        provider.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(stream=file)))
        logger = provider.get_logger("adjudge")
        for event in events(path):
            record = LogRecord(event_name=event["eventName"], attributes=event["attributes"])
            logger.emit(record)
        provider.shutdown()
    theirs, ours = events(sdks), events(path)
    assert [one["attributes"] for one in theirs] == [one["attributes"] for one in ours]
    assert {one["eventName"] for one in theirs} == {"gen_ai.evaluation.result"}
    assert convert_log(sdks).rows.equals(convert_log(path).rows)


def test_ids_of_spans_and_traces_are_found_by_their_form(tmp_path: Path) -> None:
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    rows = {"id": [span, trace, "x"], "p_pass": [0.9, 0.8, 0.2], "trace": [trace, None, "t"]}
    export_scores(rows, to="otlp", output=tmp_path / "o.jsonl", trace="trace")
    places = [(e.get("traceId"), e.get("spanId")) for e in events(tmp_path / "o.jsonl")]
    assert places == [(trace, span), (trace, None), (None, None)]
    asked = [e["attributes"].get("gen_ai.response.id") for e in events(tmp_path / "o.jsonl")]
    assert asked == [None, None, "x"]
    assert convert_log(tmp_path / "o.jsonl").rows["prompt_id"].to_list() == [trace, trace, "t"]


def test_langfuse_takes_every_line_and_gives_it_back(decisions: Path, tmp_path: Path) -> None:
    """Its published models: what its endpoint takes, and what its API returns for it."""
    path = tmp_path / "out.jsonl"
    summary = export_scores(decisions, to="langfuse", output=path, trace="prompt_id")
    requests = [parse_obj_as(CreateScoreRequest, line) for line in lines(path)]
    assert all(not request.model_extra for request in requests)
    assert {request.source for request in requests} == {"API"}
    assert len({request.id for request in requests}) == len(requests) == 3 * 114
    assert summary.dropped == {"no score: unparsed": 6}
    names = {(request.name, request.data_type) for request in requests}
    assert {(name, str(kind and kind.value)) for name, kind in names} == {
        ("correct", "NUMERIC"),
        ("correct.doubt", "NUMERIC"),
        ("correct.accepted", "BOOLEAN"),
    }
    returned = []
    for at, line in enumerate(lines(path)):
        time = f"2026-11-18T09:{at // 60:02}:{at % 60:02}Z"
        score = {
            **{name: line[name] for name in ("id", "name", "source", "metadata", "dataType")},
            "value": bool(line["value"]) if line["dataType"] == "BOOLEAN" else line["value"],
            "comment": line.get("comment"),
            "subject": {
                "kind": "observation",
                "id": line["observationId"],
                "traceId": line["traceId"],
            },
            "projectId": "p",
            "environment": "default",
            **dict.fromkeys(("timestamp", "createdAt", "updatedAt"), time),
        }
        returned.append(score)
    response = parse_obj_as(GetScoresV3Response, {"data": returned, "meta": {"limit": 1000}})
    assert not any(score.model_extra for score in response.data)
    api = tmp_path / "api.json"
    api.write_text(json.dumps(json.loads(response.json())))
    back, direct = convert_log(api), convert_log(path)
    assert back.rows.equals(direct.rows)
    assert back.rows["prompt_id"].to_list()[:3] == ["prompt-0", "prompt-0", "prompt-1"]
    assert back.summary.dropped == {
        "what adjudge wrote about a verdict: doubt": 114,
        "what adjudge wrote about a verdict: acceptance": 114,
    }


def test_a_score_of_langfuse_keeps_its_id_when_it_is_written_again(
    grades: Path, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        export_scores(grades, to="langfuse", output=tmp_path / f"{name}.jsonl")
    assert (tmp_path / "first.jsonl").read_bytes() == (tmp_path / "second.jsonl").read_bytes()


def test_a_table_has_a_row_for_each_verdict(decisions: Path, tmp_path: Path) -> None:
    export_scores(decisions, to="csv", output=tmp_path / "out.csv")
    frame = pl.read_csv(tmp_path / "out.csv")
    source = pl.read_csv(decisions)
    assert frame.columns == [
        *("id", "name", "judge", "value", "label", "explanation", "error", "uncertainty"),
        "accepted",
    ]
    assert frame["value"].to_list() == source["p_pass"].to_list()
    assert frame["accepted"].to_list() == source["accepted"].to_list()
    assert frame["error"].drop_nulls().to_list() == ["unparsed"] * 6


@pytest.mark.parametrize("to", ["otlp", "langfuse"])
def test_corrected_rates_go_out_with_their_intervals(grades: Path, tmp_path: Path, to: str) -> None:
    frame = pl.read_ndjson(grades).with_columns(run=pl.Series(["run-a", "run-b"] * 60))
    result: Any = estimate(frame, by="run")
    write_result(result, tmp_path / "rate.json")
    out = tmp_path / "out.jsonl"
    export_scores(tmp_path / "rate.json", to=to, output=out)
    first = result.groups[0]
    if to == "otlp":
        written = events(out)[0]["attributes"]
        value, group = written["gen_ai.evaluation.score.value"], written["adjudge.group"]
        low, high = written["adjudge.interval.low"], written["adjudge.interval.high"]
    else:
        score = lines(out)[0]
        value, group = score["value"], score["datasetRunId"]
        low, high = score["metadata"]["low"], score["metadata"]["high"]
    assert (value, group) == (first.estimate, "run-a")
    assert (low, high) == (first.interval.low, first.interval.high)
    # A rate is not read as an answer's grade.
    with pytest.raises(DataError, match="2 .*rate"):
        convert_log(out)


def test_pairs_go_out_as_words_and_are_no_grades(tmp_path: Path) -> None:
    rows = {"id": ["1", "2", "3"], "p_a": [0.9, 0.2, 0.5], "judge": ["m"] * 3}
    out = tmp_path / "out.jsonl"
    summary = export_scores(rows, to="langfuse", output=out)
    verdicts = [line for line in lines(out) if line["dataType"] == "CATEGORICAL"]
    assert [line["value"] for line in verdicts] == ["A", "B"]
    assert summary.dropped == {"no verdict": 1}
    export_scores(rows, to="otlp", output=out)
    assert [e["attributes"]["gen_ai.evaluation.score.value"] for e in events(out)] == [
        0.9,
        0.2,
        0.5,
    ]
    with pytest.raises(DataError, match="3 a verdict on a pair"):
        convert_log(out)


def test_a_log_of_one_tool_becomes_one_of_another(tmp_path: Path) -> None:
    fixtures = Path(__file__).parents[2] / "fixtures" / "runner_logs"
    out = tmp_path / "out.jsonl"
    export_scores(fixtures / "promptfoo.json", to="otlp", output=out)
    before = convert_log(fixtures / "promptfoo.json").rows.filter(pl.col("status") == "ok")
    back = convert_log(out).rows.filter(pl.col("status") == "ok")
    assert back["metric"].to_list() == before["metric"].to_list()
    assert back["p_pass"].to_list() == before["judge"].to_list()
    summary = export_scores(fixtures / "promptfoo.json", to="langfuse", output=out)
    assert summary.rows == before.height * 2  # the verdict and its doubt


def test_what_a_log_leaves_out_is_counted(tmp_path: Path) -> None:
    log = Path(__file__).parents[2] / "fixtures" / "runner_logs" / "langfuse_v2.json"
    summary = export_scores(log, to="otlp", output=tmp_path / "out.jsonl")
    assert summary.dropped == convert_log(log).summary.dropped != {}


def test_the_command_writes_a_file_and_says_so(
    decisions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "scores.jsonl"
    assert run(["convert", str(decisions), "--to", "langfuse", "-o", str(out), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["rows"] == len(lines(out)) == 342
    assert f"written to {out} for langfuse; nothing was sent" in summary["notes"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "banana", "-o", "x.jsonl"], "otlp"),
        (["--to", "otlp"], "name it with -o"),
        (["--to", "otlp", "-o", "x.jsonl", "--rows", "items"], "leave it out"),
        (["--to", "otlp", "-o", "x.jsonl", "--trace", "nope"], "columns here: id, judge"),
        (["--to", "csv", "-o", "x.txt"], "end it in .jsonl, .csv"),
        (["--trace", "id"], "add --to"),
    ],
)
def test_what_cannot_be_written_is_refused(
    grades: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["convert", str(grades), *options]) == 1
    assert message in capsys.readouterr().err
    assert not Path("x.jsonl").exists()


def test_a_rate_of_no_run_has_no_place_in_langfuse(grades: Path, tmp_path: Path) -> None:
    write_result(estimate(grades), tmp_path / "rate.json")
    with pytest.raises(DataError, match="a rate of no dataset run"):
        export_scores(tmp_path / "rate.json", to="langfuse", output=tmp_path / "x.jsonl")
    assert not (tmp_path / "x.jsonl").exists()
    write_result(evaluate(grades), tmp_path / "other.json")
    with pytest.raises(DataError, match="without a corrected rate"):
        export_scores(tmp_path / "other.json", to="otlp", output=tmp_path / "x.jsonl")
    with pytest.raises(ArgumentError, match="nope"):
        export_scores(grades, to="otlp", output=tmp_path / "x.jsonl", trace="nope")


def test_the_records_after_one_that_cannot_be_used_are_read(tmp_path: Path) -> None:
    """One line of OTLP holds many records."""
    rows = {"id": ["a", "b"], "p_pass": [0.9, 0.2], "judge_name": ["m"] * 2}
    out = tmp_path / "out.jsonl"
    export_scores(rows, to="otlp", output=out)
    (line,) = lines(out)
    records = line["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    unsaid = {**records[0], "attributes": records[0]["attributes"][:3]}
    unsaid["attributes"] += [{"key": "gen_ai.response.id", "value": {"stringValue": "z"}}]
    records.insert(0, unsaid)
    out.write_text(json.dumps(line))
    assert convert_log(out).rows["id"].to_list() == ["a", "b"]
