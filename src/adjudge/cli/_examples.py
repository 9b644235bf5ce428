"""An example command for each verb's help, with the files of examples/example_data.py."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "demo": "adjudge demo --judge simulated",
    "judge": "adjudge judge pairs.jsonl --judge openai:gpt-4.1-mini -o judgments.jsonl",
    "replies": "adjudge replies --status off_answer",
    "convert": "adjudge convert promptfoo.json -o grades.csv",
    "calibrate": "adjudge calibrate judgments.jsonl --alpha 0.1 -o policy.json",
    "select": "adjudge select new.jsonl --policy policy.json -o accepted.csv",
    "policy show": "adjudge policy show policy.json",
    "policy verify": "adjudge policy verify policy.json",
    "evaluate": "adjudge evaluate judgments.jsonl --plot evaluation.png",
    "estimate": "adjudge estimate answers.csv --by model --labels-are-random",
    "plan rate": "adjudge plan rate answers.csv --labels 100",
    "plan selection": "adjudge plan selection judgments.jsonl --alpha 0.1",
    "plan battles": "adjudge plan battles pool.csv --budget 500",
    "plan labels": "adjudge plan labels judgments.jsonl --surest 0.6 --write-ids rows.csv",
    "plan cascade": "adjudge plan cascade judgments.jsonl --cascade cheap,strong -o plan.json",
    "monitor draw": "adjudge monitor draw accepted.csv --audit-rate 0.1 -o audits.csv",
    "monitor check": "adjudge monitor check audits.csv --policy policy.json --labels labels.csv",
    "diagnose transitivity": "adjudge diagnose transitivity tournaments.csv",
    "diagnose scores": "adjudge diagnose scores scores.jsonl --alpha 0.1",
    "diagnose bias": "adjudge diagnose bias judgments.jsonl",
    "diagnose prompts": "adjudge diagnose prompts first.jsonl second.jsonl",
    "rank": "adjudge rank battles.csv --plot board.png",
    "label": "adjudge label pairs.jsonl -o labels.csv",
    "serve": "adjudge serve --policy policy.json --judge openai:gpt-4.1-mini",
    "report": "adjudge report .",
    "store check": "adjudge store check adjudge.db",
    "store copy": "adjudge store copy adjudge.db postgresql://localhost/judging",
    "models list": "adjudge models list",
    "models pull": "adjudge models pull smollm2",
}
