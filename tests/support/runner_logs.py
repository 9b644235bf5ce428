"""Logs of other tools as their own versions wrote them, and how to change one entry of a copy."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

LOGS = Path(__file__).parents[1] / "fixtures" / "runner_logs"
#: What each file is recognised as and read as; the others in the folder are refused.
READ_AS = {
    "argilla.json": ("argilla", "judgments"),
    "deepeval.json": ("deepeval", "grades"),
    "deepeval_conversations.json": ("deepeval", "grades"),
    "deepeval_latest.json": ("deepeval", "grades"),
    "inspect.eval": ("inspect", "grades"),
    "inspect.json": ("inspect", "grades"),
    "inspect_agent.eval": ("inspect", "grades"),
    "inspect_people.eval": ("inspect", "grades"),
    "inspect_ratings.eval": ("inspect", "grades"),
    "judgearena.jsonl": ("judgearena", "battles"),
    "label_studio.json": ("label-studio", "judgments"),
    "label_studio_tasks.json": ("label-studio", "judgments"),
    "langfuse.json": ("langfuse", "grades"),
    "langfuse_blob.jsonl": ("langfuse", "grades"),
    "langfuse_on_trace.csv": ("langfuse", "grades"),
    "langfuse_ui.csv": ("langfuse", "grades"),
    "langfuse_ui.json": ("langfuse", "grades"),
    "langfuse_v2.json": ("langfuse", "grades"),
    "langfuse_v3.json": ("langfuse", "grades"),
    "langsmith_feedback.json": ("langsmith-feedback", "grades"),
    "lm_eval.jsonl": ("lm-eval", "grades"),
    "mlflow.json": ("mlflow", "grades"),
    "mlflow_trace.json": ("mlflow", "grades"),
    "autoevals.jsonl": ("autoevals", "grades"),
    "openevals.json": ("openevals", "grades"),
    "openinference.jsonl": ("otlp", "grades"),
    "opik.jsonl": ("opik", "grades"),
    "opik_results.json": ("opik-results", "grades"),
    "phoenix.csv": ("phoenix", "grades"),
    "phoenix.json": ("phoenix", "grades"),
    "promptfoo.json": ("promptfoo", "grades"),
    "promptfoo.jsonl": ("promptfoo", "grades"),
    "pydantic_evals.json": ("pydantic-evals", "grades"),
    "ragas.csv": ("ragas", "grades"),
    "weave.jsonl": ("weave", "grades"),
}
#: Logs that do not say who gave a score: a metric of people's, and what it is the label of.
PEOPLES = {
    "braintrust.json": ("human", "Factuality"),
    "langsmith.json": ("human", "correctness"),
    "langsmith_table.csv": ("human", "correctness"),
    "otel_events.jsonl": ("Correctness (evaluator.kind human)", "Correctness"),
}


def load_log(name: str) -> Any:
    """A log's content, to be changed."""
    text = (LOGS / name).read_text(encoding="utf-8")
    return (
        [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)
    )


def write_log(content: Any, path: Path) -> Path:
    """The content as JSON, JSON lines where it is a list of a .jsonl file."""
    lines = (
        [json.dumps(row) for row in content] if path.suffix == ".jsonl" else [json.dumps(content)]
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def write_two_runs(folder: Path, questions: int = 200) -> None:
    """Two runs of Inspect and of lm-eval on the same questions: real samples, made-up outcomes."""
    sample = json.loads((LOGS / "lm_eval.jsonl").read_text(encoding="utf-8").splitlines()[0])
    log = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))
    for seed, (run, rate) in enumerate((("old", 0.55), ("new", 0.7))):
        rng = random.Random(seed)
        right = [rng.random() < rate for _ in range(questions)]
        rows = [
            {**sample, "doc_id": n, "doc_hash": f"d{n}", "exact_match": float(ok)}
            for n, ok in enumerate(right)
        ]
        (folder / run).mkdir(exist_ok=True)
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / run / "samples_facts.jsonl").write_text(lines, encoding="utf-8")
        graded = log["samples"][0]
        qa = graded["scores"]["model_graded_qa"]
        samples = [
            {
                **graded,
                "id": f"q{n}",
                "scores": {"model_graded_qa": {**qa, "value": "C" if ok else "I", "history": []}},
            }
            for n, ok in enumerate(right)
        ]
        named = {**log["eval"], "model": f"example/{run}"}
        text = json.dumps({**log, "eval": named, "samples": samples})
        (folder / f"{run}.json").write_text(text, encoding="utf-8")
