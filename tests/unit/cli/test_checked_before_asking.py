"""What can be checked is checked before the first call to a judge, in every verb that asks one.

Each command has one fault. The judge is a server in another process that counts its requests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from summeval_file import write_summeval

from adjudge.cli import run as run_command
from adjudge.errors import ArgumentError, DataError, JudgeError
from adjudge.judges import judge_pairs
from adjudge.simulate.pairs import simulate_pairs
from adjudge_papers.reporting import reproduce_reporting
from adjudge_papers.scope import reproduce_scope

JUDGE = "--judge openai:m"
ONE = f"judge pairs.csv {JUDGE} -o rows.jsonl"
TWO = f"judge pairs.csv {JUDGE} --judge anthropic:m --samples 3 -o rows.jsonl"
SCOPE = f"reproduce scope --data mine=pairs.csv {JUDGE}"
REPORTING = f"reproduce reporting pairs.csv {JUDGE}"
DIAGNOSIS = f"reproduce diagnosis --summeval summeval.jsonl {JUDGE}"
ALL = f"reproduce all --out papers --grades pairs.csv {JUDGE} --size 0.01"
ONE_PAPER = f"{ALL} --paper reporting"
ALIGN = f"align many.csv {JUDGE} --proposer openai:n -o aligned"
DEMO = f"demo {JUDGE}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judge_server: Any) -> Path:
    """Files, good and bad, and a server for every judge that is asked."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k" * 20)
    monkeypatch.setattr(
        "adjudge.judges.backends.openai.OpenAIBackend.maker_url", judge_server.base_url
    )
    monkeypatch.setattr("adjudge.judges.backends.openai.OpenAIBackend.hosted", False)
    monkeypatch.setattr(
        "adjudge.judges.backends.anthropic.AnthropicBackend.maker_url", judge_server.base_url
    )
    pairs = simulate_pairs(60, seed=3)
    texts = {name: [getattr(pair, name) for pair in pairs] for name in
             ("id", "prompt", "response_a", "response_b", "label")}  # fmt: skip
    frame = pl.DataFrame({**texts, "model_a": "x", "model_b": "y"})
    frame.write_csv("pairs.csv")
    more = frame.with_columns(
        pl.format("{} more", "id").alias("id"), pl.format("{}, and why?", "prompt").alias("prompt")
    )
    pl.concat([frame, more]).write_csv("many.csv")
    frame.drop("label").write_csv("unlabelled.csv")
    frame.with_columns(label=pl.lit(None)).write_csv("empty.csv")
    frame.drop("response_b").write_csv("half.csv")
    items = frame.select("id", "prompt", response="response_a", human=pl.lit(1))
    items.write_csv("items.csv")
    frame.select("id", "prompt").write_csv("other.csv")
    Path("prompt.txt").write_text("{prompt} {response_a} {response_b} {persona} A or B?")
    Path("a-file").write_text("")
    write_summeval(Path("summeval.jsonl"), documents=4, systems=4)
    return tmp_path


FAULTS = [
    # judge, with one judge and with several
    (ONE.replace("pairs.csv", "half.csv"), "response_b"),
    (ONE.replace("pairs.csv", "missing.csv"), "missing.csv"),
    (f"{ONE} --prompt prompt.txt", "persona"),
    (f"{ONE} --prompt missing.txt", "missing.txt"),
    (f"{ONE} --column response_a=nope", "nope"),
    (f"{ONE} --labels-as A=1,A=0", "labels_as|labels-as"),
    (f"{ONE} --protocol nope", "nope"),
    (f"{ONE} --retry nope", "nope"),
    (f"{ONE} --format nope", "nope"),
    (f"{ONE} --engine nope", "nope"),
    (f"{ONE} --prices missing.json", "missing.json"),
    (f"{ONE} --max-cost 1", "no price"),
    (f"{ONE} --store a-file/s.db", "a-file"),
    (f"{ONE} --summary .", "is a folder"),
    (f"{ONE} --summary a-file/s.json", "a-file/s.json"),
    (f"judge pairs.csv {JUDGE}", "name a file for the rows"),
    (f"judge pairs.csv {JUDGE} -o folder.jsonl", "is a folder"),
    (f"judge pairs.csv {JUDGE} -o a-file/rows.jsonl", "a-file/rows.jsonl"),
    (f"judge pairs.csv {JUDGE} -o rows.xlsx", "end it in .jsonl"),
    (f"judge pairs.csv {JUDGE} -o /proc/rows.jsonl", "/proc/rows.jsonl"),
    (f"{TWO} --judge llamacpp:missing.gguf", "missing.gguf|llama"),
    (f"{TWO} --judge openai:m", "name each judge once"),
    (f"{TWO} NOKEY", "ANTHROPIC_API_KEY is not set"),
    # the papers
    (f"{SCOPE} --data other=other.csv", "response|other"),
    (f"{SCOPE} --data other=unlabelled.csv", "has no human labels"),
    (f"{SCOPE} --data other=missing.csv", "missing.csv"),
    (f"{SCOPE} --splits 0", "splits"),
    (f"{SCOPE} -o .", "is a folder"),
    (f"{SCOPE} --plot .", "png|folder"),
    (f"{SCOPE} --figures a-file", "a-file"),
    (f"{SCOPE} NOKEY", "OPENAI_API_KEY is not set"),
    (REPORTING.replace("pairs.csv", "unlabelled.csv"), "no row with a label"),
    (REPORTING.replace("pairs.csv", "empty.csv"), "no row with a label"),
    (REPORTING.replace("pairs.csv", "items.csv"), "model"),
    (REPORTING.replace("pairs.csv", "half.csv"), "response_b"),
    (f"{REPORTING} --judge-column nope", "nope"),
    (f"{REPORTING} --human-column nope", "nope"),
    (REPORTING.replace("pairs.csv", "items.csv --by nope"), "nope"),
    (f"{REPORTING} --sample 0", "sample"),
    (f"{REPORTING} --calibration 2", "calibration"),
    (f"{REPORTING} --figure nope --plot p.png", "nope"),
    (f"{REPORTING} --plot p.nope", "png"),
    (f"{REPORTING} -o a-file/r.json", "a-file/r.json"),
    (f"{REPORTING} --figures a-file", "a-file"),
    (f"{REPORTING} NOKEY", "OPENAI_API_KEY is not set"),
    (f"{DIAGNOSIS} --tournaments pairs.csv", "verdict|pairs"),
    (f"{DIAGNOSIS} --scores pairs.csv", "score|pairs"),
    (DIAGNOSIS.replace("summeval.jsonl", "pairs.csv"), "summeval|SummEval"),
    (f"{DIAGNOSIS} --figure nope --plot p.png", "nope"),
    (f"{DIAGNOSIS} --splits 0", "splits"),
    (f"{DIAGNOSIS} -o .", "is a folder"),
    (f"{DIAGNOSIS} NOKEY", "OPENAI_API_KEY is not set"),
    (f"{ALL} --data other=unlabelled.csv", "has no human labels"),
    (f"{ALL} --tournaments pairs.csv", "verdict|pairs"),
    (f"{ALL} --paper nope", "nope"),
    (ONE_PAPER.replace("pairs.csv", "empty.csv"), "no row with a label"),
    (ALL.replace("--out papers", "--out a-file"), "a-file"),
    (f"{ONE_PAPER} NOKEY", "OPENAI_API_KEY is not set"),
    # align
    (ALIGN.replace("many.csv", "unlabelled.csv"), "label"),
    (ALIGN.replace("many.csv", "empty.csv"), "label"),
    (ALIGN.replace("many.csv", "half.csv"), "response_b"),
    (ALIGN.replace("many.csv", "missing.csv"), "missing.csv"),
    (f"{ALIGN} --prompt prompt.txt", "persona"),
    (f"{ALIGN} --prompt missing.txt", "missing.txt"),
    (f"{ALIGN} --protocol nope", "nope"),
    (f"{ALIGN} --guarantee nope", "nope"),
    (f"{ALIGN} --shares 50,50", "shares"),
    (f"{ALIGN} --alpha 2", "alpha"),
    (f"{ALIGN} --looks 0", "looks"),
    (f"{ALIGN} --prices missing.json", "missing.json"),
    (f"{ALIGN} --max-cost 1", "no price"),
    (f"{ALIGN} --store a-file/s.db", "a-file"),
    (f"{ALIGN} --plot p.nope", "png"),
    (f"{ALIGN} --plot a-file/p.png", "a-file"),
    (ALIGN.replace("-o aligned", "-o a-file"), "a-file"),
    (ALIGN.replace("--proposer openai:n", "--proposer nope"), "nope"),
    (f"{ALIGN} NOKEY", "OPENAI_API_KEY is not set"),
    # demo and serve
    (f"{DEMO} --out a-file", "a-file"),
    (f"{DEMO} --seed -1", "seed"),
    (f"{DEMO} NOKEY", "OPENAI_API_KEY is not set"),
    ("demo --judge nope", "nope"),
]


@pytest.mark.attack("before asking")
@pytest.mark.parametrize(("command", "named"), FAULTS, ids=[command for command, _ in FAULTS])
def test_a_fault_is_found_before_the_first_call(
    folder: Path,
    judge_server: Any,
    command: str,
    named: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "folder.jsonl").mkdir()
    words = command.split()
    if "NOKEY" in words:
        words.remove("NOKEY")
        monkeypatch.delenv("ANTHROPIC_API_KEY" if "anthropic:m" in words else "OPENAI_API_KEY")
    # `reproduce all` goes on with the other papers if only one cannot run, and names it.
    one_paper_fails = "all" in words and ("empty.csv" in words or "NOKEY" in command)
    assert run_command(words) == (2 if one_paper_fails else 1)
    printed = capfd.readouterr().err
    line = printed if one_paper_fails else printed.strip().splitlines()[-1]
    assert any(word in line for word in named.split("|")), printed
    assert judge_server.counts()["requests"] == 0, printed


@pytest.mark.parametrize("command", [ONE, TWO, f"{REPORTING} --sample 20 --repeats 50 --splits 5"])
def test_without_a_fault_the_judge_is_asked(folder: Path, judge_server: Any, command: str) -> None:
    assert run_command(command.split()) == 0
    assert judge_server.counts()["requests"] >= 40


@pytest.mark.attack("before asking")
def test_a_cascade_needs_the_keys_of_all_its_judges(
    folder: Path, judge_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(JudgeError, match="ANTHROPIC_API_KEY is not set"):
        judge_pairs(
            folder / "pairs.csv",
            judge=["openai:m", "anthropic:m"],
            samples=3,
            store=None,
            stop_rule=lambda subjects, rows: ["doubt"] * len(subjects),
        )
    assert judge_server.counts()["requests"] == 0


@pytest.mark.attack("before asking")
def test_python_refuses_before_the_first_call_too(folder: Path, judge_server: Any) -> None:
    how: dict[str, Any] = {"judge": "openai:m", "store": None}
    (folder / "rows.jsonl").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        judge_pairs(folder / "pairs.csv", output=folder / "rows.jsonl", **how)
    with pytest.raises(NotADirectoryError, match=r"a-file/rows\.csv"):
        judge_pairs(folder / "pairs.csv", output=folder / "a-file" / "rows.csv", **how)
    with pytest.raises(DataError, match="model"):
        reproduce_reporting(folder / "items.csv", **how)
    with pytest.raises(ArgumentError, match="splits = 0"):
        reproduce_scope({"mine": folder / "pairs.csv"}, splits=0, **how)
    assert judge_server.counts()["requests"] == 0


SERVE_FAULTS = [
    ("NOKEY", "OPENAI_API_KEY is not set"),
    ("--prompt prompt.txt", "persona|prompt"),
    ("--protocol nope", "nope"),
    ("--judge openai:other", "policy was made for"),
    ("--audit-rate 2 --secret-env OPENAI_API_KEY", "audit_rate"),
    ("--audit-rate 0.1", "secret_env"),
    ("--audit-rate 0.1 --secret-env OPENAI_API_KEY --store a-file/s.db", "a-file"),
    ("--host nope.invalid", "nope.invalid"),
]


@pytest.fixture
def policy(folder: Path) -> Path:
    rows = pl.DataFrame(
        {
            "id": [str(at) for at in range(200)],
            "judge": "openai:m",
            "protocol": "preference",
            "p_a": [(37 * at) % 100 / 100 for at in range(200)],
            "label": ["A" if (37 * at) % 100 > 50 else "B" for at in range(200)],
        }
    )
    rows.write_csv("judged.csv")
    assert run_command(["calibrate", "judged.csv", "--alpha", "0.2", "-o", "policy.json"]) == 0
    return folder / "policy.json"


@pytest.mark.attack("before asking")
@pytest.mark.parametrize(("options", "named"), SERVE_FAULTS, ids=[o for o, _ in SERVE_FAULTS])
def test_a_service_with_a_fault_does_not_start(
    policy: Path,
    judge_server: Any,
    options: str,
    named: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["serve", "--policy", str(policy), "--judge", "openai:m", "--port", "0"]
    if options == "NOKEY":
        monkeypatch.delenv("OPENAI_API_KEY")
    else:
        words += options.split()
    assert run_command(words) == 1
    printed = capfd.readouterr().err
    assert any(word in printed for word in named.split("|")), printed
    assert "serving" not in printed
    assert judge_server.counts()["requests"] == 0
