"""What the viewer shows of rows: filters, orders, counts, the place of a doubt, several files."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import write_result, write_rows
from adjudge.errors import ArgumentError, DataError
from adjudge.selection import calibrate, select
from adjudge.server.view_reading import read_viewing
from adjudge.server.viewer import open_view
from adjudge.server.viewing import Choice, Curve, Viewing
from adjudge.simulate.pairs import two_order_judge

LOGS = Path(__file__).parents[2] / "fixtures" / "runner_logs"
PAIRS = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d", "e"],
        "prompt": ["Add ONE", "Äpfel (x+y)?", "three", "four", "five"],
        "p_fwd": [0.9, 0.8, 0.3, 0.6, None],
        "p_rev": [0.7, 0.4, 0.1, 0.5, 0.2],
        "label": ["A", "B", "A", "tie", "A"],
        "category": ["math", "math", "law", None, "law"],
    }
)


def ids(viewing: Viewing, **choice: Any) -> list[str]:
    wanted = Choice(**{"judge": viewing.usual.judge, "order": viewing.usual.order, **choice})
    at = viewing.listed(wanted, viewing.matching(viewing.masks(wanted)))
    return viewing.items["id"][at].to_list()


def counts(viewing: Viewing) -> dict[str, int]:
    rows = viewing.judges[viewing.usual.judge]
    return {key: int(rows.marks[key].sum()) for key in viewing.chips(rows.name)}


def test_the_chips_of_pairs() -> None:
    viewing = read_viewing([PAIRS])
    # At exactly one half a judge prefers neither: d does not flip. Of e one order failed. Nothing
    # can be accepted on so few labels.
    assert counts(viewing) == {
        "wrong": 2, "agree": 1, "tie": 1, "flips": 1, "doubtful": 2, "error": 1, "abstained": 4,
    }  # fmt: skip
    assert ids(viewing, only=("wrong",)) == ["c", "b"]
    assert ids(viewing, only=("error",)) == ["e"]


def test_orders_put_the_most_and_the_missing_where_they_belong() -> None:
    viewing = read_viewing([PAIRS])
    # Distances from the label: c .8, b .6, a .2, d .05; e has no number.
    assert ids(viewing, order="disagreement") == ["c", "b", "a", "d", "e"]
    # Doubts grow towards one half: d .55, b .6, then a and c alike; e has none.
    assert ids(viewing, order="doubt") == ["d", "b", "a", "c", "e"]
    assert ids(viewing, order="file") == list("abcde")


def test_filters_are_and_between_kinds_and_either_within_one() -> None:
    viewing = read_viewing([PAIRS])
    assert ids(viewing, only=("wrong", "agree"), order="file") == ["a", "b", "c"]
    assert ids(viewing, only=("wrong", "agree"), groups={"category": "math"}, order="file") == [
        "a", "b",
    ]  # fmt: skip
    assert ids(viewing, only=("wrong", "flips")) == ["b"]
    assert ids(viewing, groups={"category": "(none)"}) == ["d"]
    assert ids(viewing, groups={"category": "no such"}) == []
    assert ids(viewing, groups={"no such": "x"}, order="file") == list("abcde")


@pytest.mark.parametrize(
    ("words", "expected"), [("add one", ["a"]), ("(X+Y)", ["b"]), ("äPFEL", ["b"]), (".*", [])]
)
def test_search_reads_words_as_words_whatever_their_case(words: str, expected: list[str]) -> None:
    assert ids(read_viewing([PAIRS]), find=words) == expected


def test_grades_have_false_passes_and_false_fails() -> None:
    grades = {
        "id": [1, 2, 3, 4],
        "p_pass": [0.9, 0.2, 0.8, None],
        "human": [0, 1, 1, 1],
        "status": ["ok", "ok", "ok", "unparsed"],
    }
    shown = counts(read_viewing([grades]))
    assert shown["false_pass"] == shown["false_fail"] == shown["agree"] == shown["unparsed"] == 1
    assert "wrong" not in shown


@pytest.mark.parametrize(
    "rows",
    [
        {"id": [1, 2, 3], "verdict": ["A", "B", "tie"], "label": ["A", "A", "tie"]},
        {"id": [1, 2, 3], "judge": [1, 0, 1], "human": [1, 1, 1]},
        {"id": [1, 2, 3], "verdict": ["pass", "fail", "pass"], "label": ["pass", "pass", "pass"]},
    ],
)
def test_verdicts_alone_open_and_have_no_doubt(rows: dict[str, list[Any]]) -> None:
    viewing = read_viewing([rows])
    judge = viewing.judges[viewing.usual.judge]
    assert int(judge.marks["agree"].sum()) == 2
    assert int(judge.marks["wrong"].sum()) == 1
    assert not judge.has_doubt
    assert judge.curves == ()
    assert "no threshold" in judge.why
    assert "doubtful" not in judge.marks


def test_pairs_that_no_judge_has_judged_open() -> None:
    rows = [{"id": "x", "prompt": "q", "response_a": "1", "response_b": "2", "label": "A"}]
    viewing = read_viewing([pl.DataFrame(rows)])
    judge = viewing.judges["no judge"]
    assert judge.why == "These rows have no verdict of a judge yet."
    assert viewing.items["label"].to_list() == ["A"]


def test_a_curve_counts_errors_from_the_surest_row_on() -> None:
    group = calibrate(two_order_judge(40, seed=1)).groups[0]
    curve = Curve.of([0.3, 0.1, 0.1, 0.6], [1, 0, 0, 1], group)
    assert curve.ends.tolist() == [2, 3, 4]
    assert curve.wrong.tolist() == [0, 0, 1, 2]


def test_the_best_judge_is_shown_first_and_rows_all_judges_miss_have_a_chip() -> None:
    rows = pl.DataFrame(
        {
            "id": [1, 2, 3] * 2,
            "judge": ["bad"] * 3 + ["good"] * 3,
            "p_a": [0.9, 0.9, 0.9, 0.1, 0.9, 0.1],
            "label": ["B", "B", "B"] * 2,
        }
    )
    viewing = read_viewing([rows])
    assert list(viewing.judges) == ["good", "bad"]
    assert viewing.judges["bad"].marks["every"].tolist() == [False, True, False]
    assert viewing.usual.order == "jury"
    # The means of both are 0.5, 0.9 and 0.5; all labels are B.
    assert ids(viewing) == ["2", "1", "3"]
    assert "jury" not in read_viewing([PAIRS]).orders


def test_two_files_of_one_judge_are_two_judges(tmp_path: Path) -> None:
    for name, p in (("before", 0.2), ("after", 0.9)):
        write_rows(
            pl.DataFrame({"id": ["x"], "p_a": [p], "label": ["A"]}), tmp_path / f"{name}.csv"
        )
    viewing = read_viewing([tmp_path / "before.csv", tmp_path / "after.csv"])
    assert sorted(viewing.judges) == ["the judge", "the judge (after)"]
    assert viewing.judges["the judge (after)"].error_share == 0


def test_files_of_pairs_and_of_grades_are_not_mixed() -> None:
    with pytest.raises(DataError, match="has grades"):
        read_viewing([PAIRS, {"id": ["x"], "p_pass": [0.9]}])


def test_the_policy_decides_what_is_accepted() -> None:
    rows = two_order_judge(300, seed=3)
    policy = calibrate(rows, alpha=0.2)
    viewing = read_viewing([rows], policy=policy)
    judge = viewing.judges[viewing.usual.judge]
    accepted = select(rows, policy).rows.sort("id")["accepted"]
    table = pl.DataFrame([judge.frame["id"], pl.Series("accepted", judge.marks["accepted"])])
    assert table.sort("id")["accepted"].equals(accepted)
    # Without a policy the same threshold is calibrated on the labels.
    again = read_viewing([rows], alpha=0.2).judges[judge.name]
    assert (again.marks["accepted"] == judge.marks["accepted"]).all()


def test_a_policy_by_group_has_a_curve_for_each_group() -> None:
    topic = pl.Series("topic", ["law", "math", "math", None] * 100)
    rows = two_order_judge(400, seed=4).with_columns(topic)
    policy = calibrate(rows, alpha=0.2, by="topic")
    page = open_view([rows], policy=policy, store=None)
    judge = page.viewing.judges[page.viewing.usual.judge]
    sizes = {group.group: group.n_calibration for group in policy.groups}
    for at, name in enumerate(["law", "math"]):
        curve = judge.curve_of(at)
        assert curve is not None
        assert len(curve) == sizes[name] == {"law": 100, "math": 200}[name]
        doubts = judge.doubt[topic.eq_missing(name).to_numpy()]
        assert judge.place[at] == np.mean(doubts <= judge.doubt[at])
        html = page.threshold({"by.topic": name})["html"]
        assert f"of the verdicts of the judge where topic is {name} can be accepted" in html
        assert f"{sizes[name]} labelled rows, " in html
        row = page.listing({"row": judge.frame["id"][at]})["one"]
        assert f"{sizes[name]} labelled rows where topic is {name} have no more" in row
    assert "--by topic" in page.threshold({"cut": "20"})["html"].replace("</span> <span>", " ")


def test_labels_of_a_file_and_texts_of_another_are_joined(tmp_path: Path) -> None:
    judged = PAIRS.drop("label", "prompt")
    labels = pl.DataFrame({"id": ["a", "a", "b"], "rater": ["x", "y", "x"],
                           "label": ["A", "A", "B"], "comment": ["short", None, None]})  # fmt: skip
    texts = pl.DataFrame({"id": list("abcde"), "prompt": ["q"] * 5, "response_a": ["1"] * 5,
                          "response_b": ["2"] * 5})  # fmt: skip
    page = open_view([judged], labels=labels, pairs=texts, store=None)
    row = page.pages.one(0, page.viewing.usual.judge, ())
    assert [given["words"] for given in row["labels"]] == ["x", "y"]
    assert row["labels"][0]["comment"] == "short"
    assert [str(part["text"]).strip() for part in row["answers"]] == ["<p>1</p>", "<p>2</p>"]


def test_a_folder_opens_with_its_labels_texts_and_policy(tmp_path: Path) -> None:
    rows = two_order_judge(200, seed=4)
    write_rows(rows.drop("label"), tmp_path / "judgments.csv")
    write_rows(rows.select("id", "label"), tmp_path / "labels.csv")
    (tmp_path / "broken.json").write_text("{")
    write_result(calibrate(rows, alpha=0.2), tmp_path / "policy.json")
    said: list[str] = []
    page = open_view([tmp_path], announce=said.append)
    judge = page.viewing.judges[page.viewing.usual.judge]
    assert judge.policy is not None
    assert judge.policy.alpha == 0.2
    assert page.viewing.labelled
    assert page.store == tmp_path / "adjudge.db"
    assert any("broken.json" in line for line in said)


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no judged rows"):
        open_view([tmp_path])


@pytest.mark.parametrize(
    ("word", "first"),
    [("disagreements", "wrong"), ("flips", "flips"), ("abstained", "abstained"),
     ("disagreements,doubtful", "wrong.doubtful"), ("error", "error")],
)  # fmt: skip
def test_only_names_the_first_filter(word: str, first: str) -> None:
    assert open_view([PAIRS], only=word, store=None).first == {"only": first}


def test_only_refuses_a_word_and_says_which_it_takes() -> None:
    with pytest.raises(ArgumentError, match="use disagreements, false_pass"):
        open_view([PAIRS], only="wrongs", store=None)


def test_the_numbers_above_the_list_are_of_the_rows_in_it() -> None:
    page = open_view([PAIRS], store=None)
    everything = page.listing({})
    assert "<strong>5</strong> of 5 rows." in everything["tally"]
    assert "<strong>2</strong> of 4 labelled against people (50\xa0%)" in everything["tally"]
    chosen = page.listing({"by.category": "law"})
    assert "Of these rows, chosen by you: <strong>1</strong> of 1" in chosen["tally"]
    # A chip's number is what a click on it gives.
    assert page.listing({"by.category": "law", "only": "wrong"})["n"] == 1
    assert 'data-chip="wrong" aria-pressed="false">against people <b>1</b>' in chosen["chips"]


def test_pages_of_fifty_rows_and_the_place_of_a_row() -> None:
    rows = pl.DataFrame({"id": [f"r{i}" for i in range(120)], "p_a": np.linspace(0.51, 0.99, 120)})
    page = open_view([rows], store=None)
    first = page.listing({"order": "file"})
    assert (first["n"], first["start"], first["at"], first["row"]) == (120, 0, 0, "r0")
    assert first["items"].count("<li>") == 50
    last = page.listing({"order": "file", "start": "100"})
    assert (last["start"], last["row"], last["items"].count("<li>")) == (100, "r100", 20)
    link = page.listing({"order": "file", "row": "r77"})
    assert (link["start"], link["at"]) == (50, 77)
    assert "51–100 of 120" in link["foot"]
    assert page.listing({"row": "r77", "find": "r1"})["at"] is None
    assert page.listing({"order": "file", "at": "50"})["row"] == "r50"
    # A phone shows the list first.
    assert page.listing({"narrow": "1"})["row"] is None
    for strange in (
        {"start": "-3"},
        {"start": "9" * 30},
        {"at": "²"},
        {"judge": "?", "order": "?"},
    ):
        assert page.listing(strange)["n"] == 120


def test_a_response_of_parts_and_other_columns_are_shown_as_text() -> None:
    parts = json.dumps([{"type": "text", "text": "*a*"}])
    rows = pl.DataFrame({"id": ["x"], "p_pass": [0.9], "response": [parts], "prompt": ["q"],
                         "explanation": ["<b>because</b>"]})  # fmt: skip
    one = open_view([rows], store=None).listing({})["one"]
    assert "<em>a</em>" in one
    assert "&lt;b&gt;because&lt;/b&gt;" in one
    # A list that is no list of parts is the answer itself.
    other = rows.with_columns(response=pl.lit('[{"type": "cat"}]'))
    assert "&quot;cat&quot;" in open_view([other], store=None).listing({})["one"]


def test_each_metric_is_a_judge_with_labels_of_its_own() -> None:
    rows = pl.DataFrame(
        {
            "id": ["x", "y"] * 3,
            "judge_name": ["large"] * 6,
            "metric": ["tone"] * 2 + ["truth"] * 2 + ["stars"] * 2,
            "judge": ["1", "0", "0", "1", "4", "2"],
            "human": ["1", "1", "0", "0", None, None],
        }
    )
    viewing = read_viewing([rows])
    assert sorted(viewing.judges) == ["large · tone", "large · truth"]
    wrong = {name: judge.marks["wrong"].tolist() for name, judge in viewing.judges.items()}
    assert wrong == {"large · tone": [False, True], "large · truth": [False, True]}
    assert viewing.judges["large · truth"].labels.to_list() == ["fail", "fail"]
    # What was asked differs: no order of all judges, and no row that all are wrong about.
    assert "jury" not in viewing.orders
    assert "every" not in viewing.judges["large · tone"].marks
    assert [n for why, n in viewing.dropped.items() if why.startswith("metric stars")] == [2]


@pytest.mark.parametrize(
    "log", ["inspect.eval", "promptfoo.json", "deepeval.json", "label_studio.json", "mlflow.json",
            "phoenix.json", "langfuse.json", "opik.jsonl"],
)  # fmt: skip
def test_logs_of_other_tools_open(log: str) -> None:
    page = open_view([LOGS / log], store=None)
    assert page.listing({})["n"] > 0
    for rows in page.viewing.judges.values():
        assert rows.judged.any()
    page.static({})


def test_a_log_of_metrics_is_named_read_and_counted_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    once = open_view([LOGS / "langfuse.json"], store=None).viewing
    assert once.name == "langfuse.json"
    assert caplog.text.count("read as 4 grades") == 1
    assert sum(once.dropped.values()) == 1


def test_a_folder_with_the_log_of_another_tool_opens(tmp_path: Path) -> None:
    copy(LOGS / "promptfoo.json", tmp_path / "log.json")
    (tmp_path / "other.json").write_text('{"name": "no log"}')
    page = open_view([tmp_path])
    assert page.viewing.name == "log.json"


def test_judges_in_columns_are_named_as_evaluate_names_them() -> None:
    answers = pl.DataFrame({"id": [1, 2, 3], "human": [1, 0, 1], "GPT-4": [1, 0, 0]})
    with pytest.raises(DataError, match="if these are judges: --judge GPT-4"):
        read_viewing([answers])
    assert list(read_viewing([answers], judges=["GPT-4"]).judges) == ["GPT-4"]


def test_a_row_without_texts_is_called_by_its_id() -> None:
    rows = {"id": ["r7"], "prompt_id": ["q"], "p_pass": [0.9], "human": [1]}
    assert ">row r7<" in open_view([rows], store=None).listing({})["items"]


def test_suspect_labels_of_align_open_as_texts_to_read_blind() -> None:
    suspects = pl.DataFrame({"id": ["x"], "prompt": ["q"], "response": ["a"]})
    page = open_view([suspects], store=None, blind=True)
    shown = page.listing({"reader": "reader-1", **page.first})
    assert shown["row"] == "x"
    assert "hidden until you decide" in shown["items"]
    assert 'data-side="pass"' in shown["one"]


@pytest.mark.parametrize("about", ["pairs", "grades"])
def test_the_disagreements_that_evaluate_writes_open(about: str, tmp_path: Path) -> None:
    rows = two_order_judge(80, seed=6)
    if about == "grades":
        passed = (pl.col("label") == "A").cast(pl.Int8).alias("human")
        rows = rows.select("id", passed, p_pass=pl.col("p_fwd"), response=pl.lit("text"))
    write_rows(rows, tmp_path / "rows.csv")
    written = tmp_path / "wrong.csv"
    command = ["evaluate", str(tmp_path / "rows.csv"), "--splits", "10", "--errors", str(written)]
    assert run(command) == 0
    viewing = open_view([written], store=None).viewing
    judge = viewing.judges[viewing.usual.judge]
    assert viewing.about == about
    assert judge.marks["wrong"].all()
    assert judge.has_doubt


@pytest.mark.parametrize(
    ("options", "judges"),
    [
        (["--judge", "one", "--judge", "two"], {"one": 20, "two": 30}),
        (["--judge", "two"], {"two": 30}),
        (["--judge-column", "two", "--human-column", "gold"], {"the judge": 30}),
        (["--column", "judge=one"], {"the judge": 20}),
    ],
)
def test_the_step_after_evaluate_opens_however_the_rows_were_read(
    options: list[str],
    judges: dict[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    people = [1, 0] * 30
    one = [1 - said if i < 20 else said for i, said in enumerate(people)]
    two = [1 - said if i < 30 else said for i, said in enumerate(people)]
    gold = "gold" if "--human-column" in options else "human"
    rows = {"id": [str(i) for i in range(60)], "one": one, "two": two, gold: people}
    write_rows(pl.DataFrame(rows), "rows.csv")
    assert run(["evaluate", "rows.csv", *options, "--errors", "wrong.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "next: adjudge view wrong.csv"
    assert run(["view", "wrong.csv", "-o", "wrong.jsonl"]) == 0
    viewing = open_view(["wrong.csv"], store=None).viewing
    assert {name: int(rows.marks["wrong"].sum()) for name, rows in viewing.judges.items()} == judges


def test_disagreements_can_be_read_also_if_the_next_step_is_to_calibrate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    right = [i % 20 > 8 or i % 4 > 0 for i in range(200)]  # errors are among the doubtful rows
    p_a = [0.5 + 0.02 * (i % 20 + 1) for i in range(200)]
    label = ["A" if sure else "B" for sure in right]
    write_rows(pl.DataFrame({"id": [*range(200)], "p_a": p_a, "label": label}), "rows.csv")
    assert run(["evaluate", "rows.csv", "--splits", "20", "--errors", "wrong.csv"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1].startswith("next: adjudge calibrate")
    assert "to read them: adjudge view wrong.csv" in printed.err


def test_judges_in_columns_are_read_side_by_side() -> None:
    rows = {"id": ["x", "y", "z"], "one": [1, 0, 1], "two": [1, 1, 0], "human": [1, 1, 1]}
    page = open_view([rows], judges=["one", "two"], store=None)
    assert [*page.viewing.judges] == ["one", "two"]
    assert "1 gained, 1 lost" in page.compare({"before": "one", "after": "two"})["html"]
    assert [*read_viewing([rows], judges=["two"]).judges] == ["two"]
    named = pl.DataFrame({"id": ["x", "x"], "judge": ["one", "two"], "p_a": [0.9, 0.1]})
    assert [*read_viewing([named], judges=["two"]).judges] == ["two"]
    with pytest.raises(ArgumentError, match="choose of the judges: one, two"):
        read_viewing([named], judges=["three"])


@pytest.mark.parametrize("about", ["pairs", "grades"])
def test_a_label_of_another_text_is_not_shown(about: str) -> None:
    texts = {
        "pairs": {"response_a": ["x", "y"], "response_b": ["y", "x"]},
        "grades": {"response": ["x", "y"]},
    }[about]
    judged = {"pairs": {"p_a": [0.9, 0.8]}, "grades": {"judge": [1, 1]}}[about]
    label = {"pairs": "A", "grades": "pass"}[about]
    shown = pl.DataFrame({"id": ["1", "2"], "prompt": ["p", "q"], **texts})
    labels = shown.with_columns(label=pl.lit(label))
    rows = pl.DataFrame({"id": ["1", "2"], **judged})
    same = read_viewing([rows], labels=labels, pairs=shown)
    assert same.judges[same.usual.judge].labels.to_list() == [label, label]
    other = shown.with_columns(prompt=pl.Series(["p", "another question"]))
    viewing = read_viewing([rows], labels=labels, pairs=other)
    assert viewing.judges[viewing.usual.judge].labels.to_list() == [label, None]
    assert viewing.dropped == {"label of another text with the id of a row": 1}


@pytest.mark.parametrize(
    "place", ["PGPASSWORD=s3cret", "sqlite:///x.db?key=s3cret", "mysql://u:s3cret@h/d"]
)
def test_a_store_that_would_show_a_password_is_refused(place: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        open_view([PAIRS], store=place)
    assert "s3cret" not in str(refused.value)
