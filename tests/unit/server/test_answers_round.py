"""Labelling single answers, and serving a judge of them: real processes, over the wire."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from serving import ask, running, served, write_policy

from adjudge.cli import run
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Question
from adjudge.judges.judge import make_judge, parse_judge, parse_protocol
from adjudge.judges.judging import judge_pairs
from adjudge.records import Item, Reply, Subject
from adjudge.selection import Learned, calibrate, read_policy, select
from adjudge.server.label_summary import labels_frame, summarise
from adjudge.server.labelling import GRADES, LabellingRound, scores
from adjudge.server.rounds import random_queue
from adjudge.server.service import JudgeService
from adjudge.store import use_store
from adjudge.store.labels import LabelBook

JUDGE = "simulated:accuracy=0.85,seed=1"
ITEMS = [Item(id=f"i{n}", prompt="Q", response="R", extra={"reference": "T"}) for n in range(3)]
IDS = [item.id for item in ITEMS]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(tmp_path_factory.mktemp("grades"), judge=JUDGE, about="grades")


def test_the_service_passes_fails_or_abstains(policy: Path) -> None:
    threshold = read_policy(policy).threshold
    assert threshold is not None
    with served(policy, judge=JUDGE) as port:
        items = [{"prompt": f"{n}?", "response": "4", "id": f"q{n}"} for n in range(60)]
        items[0] |= {"reference": "4", "context": "sums"}
        status, message = ask(port, "/v1/judge/batch", {"items": items})
        assert status == 200
        seen = set()
        for one in message["rulings"]:
            assert one["accepted"] == (one["uncertainty"] <= threshold)
            assert one["verdict"] == ("pass" if one["p_pass"] > 0.5 else "fail")
            assert one["reason"] == (None if one["accepted"] else "too uncertain")
            seen.add((one["verdict"], one["accepted"]))
        assert len(seen) == 4
        assert ask(port, "/v1/judge", items[5]) == (200, message["rulings"][5])
        assert ask(port, "/v1/policy")[1]["about"] == "grades"
        refused = ask(port, "/v1/judge", {"prompt": "?", "response_a": "a", "response_b": "b"})
        assert refused[0] == 422


def test_a_policy_about_answers_serves_no_protocol_for_pairs(policy: Path) -> None:
    judge = make_judge(parse_judge(JUDGE), parse_protocol("preference"))
    with pytest.raises(PolicyMismatchError, match="about grades of single answers"):
        JudgeService(judge, read_policy(policy))


def test_a_doubt_learned_from_grades_is_that_of_select(tmp_path: Path) -> None:
    items = [Item(id=f"i{n}", prompt=f"{n}?", response="R", extra={"human": n % 3 > 0})
             for n in range(200)]  # fmt: skip
    out = tmp_path / "g.jsonl"
    judge_pairs(items, judge=JUDGE, protocol="grade", output=out, store=":memory:")
    graded = pl.read_ndjson(out).with_columns(
        kind=pl.when(pl.int_range(200) % 2 == 0).then(pl.lit("code")).otherwise(pl.lit("math"))
    )
    policy = calibrate(graded, alpha=0.25, doubt=Learned(category="kind"))
    chosen = select(graded.drop("human"), policy).rows
    service = JudgeService(make_judge(parse_judge(JUDGE), parse_protocol("grade")), policy)
    for at in (0, 1, 50, 199):
        row = chosen.row(at, named=True)
        ruling = asyncio.run(service.rule(items[at], category=row["kind"]))
        assert (ruling.verdict, ruling.judge_verdict, ruling.learned_doubt, ruling.accepted) == (
            row["verdict"], row["judge_verdict"], row["learned_doubt"], row["accepted"]
        )  # fmt: skip


class Unsure(SimulatedBackend):
    """Gives the letters asked for hardly any probability."""

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        reply = await super().ask_about(subject, question)
        return replace(reply, answer_mass=0.05)


def test_the_policys_answer_mass_holds_for_grades(policy: Path) -> None:
    rules = read_policy(policy)
    assert rules.min_answer_mass == 0.1
    protocol = parse_protocol("grade", min_answer_mass=0.0)
    judge = make_judge(Unsure.parse("accuracy=0.85,seed=1"), protocol)
    own = replace(rules, groups=tuple(
        replace(group, judge_fingerprint=judge.fingerprint, fingerprint_parts={})
        for group in rules.groups))  # fmt: skip
    ruling = asyncio.run(JudgeService(judge, own).rule(ITEMS[0]))
    assert (ruling.verdict, ruling.reason) == (None, "status off_answer")


def test_labels_of_one_store_do_not_mix(tmp_path: Path) -> None:
    with use_store(tmp_path / "labels.db") as store:
        book = LabelBook(store, GRADES.labels)
        round_ = LabellingRound(ITEMS, random_queue(IDS, seed=0), book, kind=GRADES)
        shown = round_.next("ann")
        assert shown is not None
        assert shown.shown_order is None
        assert shown.texts == {"prompt": "Q", "context": None, "reference": "T", "response": "R"}
        click = {"rater": "ann", "shown_order": None}
        round_.record(**click, subject_id="i0", side="pass", nonce="nonce-0001")
        round_.record(**click, subject_id="i1", side="skip", nonce="nonce-0002")
        for side in ("A", "left", "3"):
            with pytest.raises(ArgumentError, match="use pass or fail"):
                round_.record(**click, subject_id="i2", side=side, nonce="nonce-0003")
        stars = scores((1, 5))
        scored = LabelBook(store, stars.labels)
        LabellingRound(ITEMS, random_queue(IDS, seed=0), scored, kind=stars).record(
            **click, subject_id="i0", side="4", nonce="nonce-0004"
        )
        frame = labels_frame(book, kind=GRADES)
        assert frame.select("id", "label", "human", "sampled_by").rows() == [
            ("i0", "pass", 1, "random")
        ]
        assert labels_frame(scored, kind=stars)["human_score"].to_list() == [4]
        assert LabelBook(store).answers("ann") == [
            answer for answer in book.answers("ann") if answer.label is None
        ]
        summary = summarise(book, ITEMS, GRADES)
        assert (summary.about, summary.n_labels, summary.raters[0].mean) == ("grades", 1, 1.0)


def test_a_round_over_http_with_instructions(tmp_path: Path) -> None:
    rows = [{"id": item.id, "prompt": "**Q**", "response": "<b>R</b>"} for item in ITEMS]
    pl.DataFrame(rows).write_ndjson(tmp_path / "items.jsonl")
    (tmp_path / "told.md").write_text("Be *fair*. <script>alert(1)</script>")
    options = ("--no-browser", "--instructions", "told.md", "-o", "labels.csv", "--scale", "0-100")
    with running("label", "items.jsonl", *options, cwd=tmp_path) as service:
        status, state = ask(service.port, "/api/next?rater=ann")
        assert status == 200
        assert state["instructions"] == (
            "<p>Be <em>fair</em>. &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
        )
        assert "<p>&lt;b&gt;R&lt;/b&gt;</p>" in state["item"]["texts"]
        click = {"rater": "ann", "id": state["item"]["id"], "nonce": "nonce-0001"}
        for side, code in (("101", 409), ("pass", 409), ("A", 422), ("-1", 422), ("7.5", 422)):
            assert ask(service.port, "/api/label", {**click, "side": side})[0] == code, side
        for more, code in (({"shown_order": "ab"}, 409), ({"extra": 1}, 422)):
            assert ask(service.port, "/api/label", {**click, "side": "88", **more})[0] == code
        for comment, code in (("x" * 2001, 409), ("\0", 409), (7, 422)):
            sent = {**click, "side": "88", "comment": comment}
            assert ask(service.port, "/api/label", sent)[0] == code, comment
        commented = {**click, "side": "88", "comment": "<b>short</b>"}
        assert ask(service.port, "/api/label", commented)[0] == 200
        undo = {"rater": "ann", "nonce": "nonce-0002"}
        assert ask(service.port, "/api/undo", undo)[1] == {"undone": click["id"], "side": "88"}
        assert ask(service.port, "/api/next?rater=ann")[1]["item"]["comment"] == "<b>short</b>"
        assert ask(service.port, "/api/label", {**commented, "nonce": "nonce-0003"})[0] == 200
        assert service.stop(signal.SIGINT)[0] == 0
    labels = pl.read_csv(tmp_path / "labels.csv")
    assert labels.select("label", "human_score", "rater", "comment").rows() == [
        (88, 88, "ann", "<b>short</b>")
    ]


def test_scores_of_people_join_a_diagnosis_by_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    n = 60
    pl.DataFrame(
        {
            "id": [f"i{k}" for k in range(n)],
            "doc_id": [f"d{k}" for k in range(n)],
            "judge_score": [1 + k % 5 for k in range(n)],
        }
    ).write_csv("scores.csv")
    raters = [(f"i{k}", 1 + (k + j) % 5, f"r{j}") for k in range(n) for j in (0, 1)]
    pl.DataFrame(
        [*raters, ("zz", 3, "r0")], schema=["id", "human_score", "rater"], orient="row"
    ).write_csv("labels.csv")
    words = ["diagnose", "scores", "scores.csv", "--labels", "labels.csv", "--splits", "2"]
    assert run([*words, "--scale", "1-5", "--json"]) in (0, 2)
    said = json.loads(capsys.readouterr().out)
    assert said["dropped"] == {"label of an id without a row": 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pairs.csv", "--scale", "1-5"], "only single answers can be scored"),
        (["items.csv", "--scale", "5-1"], "write LOW-HIGH"),
        (["items.csv", "--instructions", "nowhere.md"], "nowhere.md"),
        (["items.csv", "--import", "labels.csv", "--export-only"], "'A' is neither pass nor fail"),
    ],
)
def test_what_label_refuses(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("id,prompt,response_a,response_b\n1,q,a,b\n")
    Path("items.csv").write_text("id,prompt,response\n1,q,a\n")
    Path("labels.csv").write_text("id,label\n1,A\n")
    assert run(["label", "--no-browser", *words]) == 1
    assert said in capsys.readouterr().err
