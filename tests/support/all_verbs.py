"""Every verb once, in one process, on small files: for comparing the bytes that they write.

    python tests/support/all_verbs.py FOLDER [ORDER]

The files are the same in every run; with ORDER their rows are shuffled with that seed. What is
written goes into FOLDER/out. The summary of `adjudge judge` is not among it: it holds seconds; nor
are replies, which hold the time when each was given.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import polars as pl

from adjudge.cli import run
from adjudge.data import write_rows
from adjudge.simulate.battles import simulate_battles
from adjudge.simulate.pairs import simulate_pairs

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from simulators import BinaryModel, binary_rows, panel_rows, simulate_scores, simulate_tournaments

#: The most lines that a verb prints by default, tables aside, the `next:` line included.
MOST_LINES = {
    "judge": 8,
    "calibrate": 6,
    "select": 5,
    "estimate": 8,
    "evaluate": 8,
    "plan rate": 6,
    "diagnose": 10,
    "rank": 4,
}

LOG = Path(__file__).parents[1] / "fixtures" / "runner_logs" / "promptfoo.json"
JUDGE = "simulated:accuracy=0.85,position_bias=0.1,noise=0.3"
VERBS = """
judge pairs.jsonl --judge {judge} -o out/judgments.jsonl --store a.db
judge pairs.jsonl --judge {judge} -o out/judgments.csv --store a.db
evaluate out/judgments.jsonl --splits 50 -o out/evaluation.json --plot out/evaluation.svg
calibrate out/judgments.jsonl --alpha 0.1 -o out/policy.json
calibrate out/judgments.jsonl --alpha 0.2 --guarantee fdr --by topic --cluster prompt_id -o out/fdr.json
calibrate out/judgments.jsonl --alpha 0.2 --guarantee pac -o out/pac.json
select out/judgments.jsonl --policy out/policy.json -o out/selected.csv --summary out/selection.json
judge pairs.jsonl --judge {judge} --judge simulated:accuracy=0.97 -o out/staged.jsonl --store a.db
plan cascade out/staged.jsonl --cascade {judge},seed=0,accuracy=0.97,position_bias=0,noise=0,seed=0 --costs 1,9 -o out/plan_cascade.json --plot out/cascade.svg
calibrate out/staged.jsonl --plan out/plan_cascade.json --alpha 0.2 -o out/cascade.json
judge pairs.jsonl --policy out/cascade.json -o out/cascade.jsonl --store b.db
select out/cascade.jsonl --policy out/cascade.json -o out/cascade_selected.csv --summary out/cascade_selection.json
plan selection out/judgments.jsonl --alpha 0.1 -o out/plan_selection.json
estimate answers.csv --by model -o out/estimate.json
plan rate answers.csv --budget 300 --write-ids out/ids.csv -o out/plan_rate.json
plan battles battles.csv --budget 200 --write-rows out/battles.csv -o out/plan_battles.json
diagnose bias out/judgments.jsonl -o out/bias.json
diagnose transitivity tournaments.csv -o out/cycles.json
diagnose scores scores.jsonl -o out/scores.json
diagnose prompts out/judgments.jsonl out/judgments.csv -o out/prompts.json
rank battles.csv --replicates 50 -o out/leaderboard.json
rank battles.csv --evaluate --replicates 20 -o out/ranking.json
evaluate out/judgments.jsonl --doubt learned --category topic --splits 10 -o out/doubts.json
evaluate out/staged.jsonl --jury learned --splits 10 -o out/juries.json
calibrate out/judgments.jsonl --alpha 0.2 --doubt learned --category topic --cluster none -o out/learned.json
calibrate out/staged.jsonl --alpha 0.2 --jury learned --cluster none -o out/jury.json
select out/staged.jsonl --policy out/jury.json -o out/jury_selected.csv --summary out/jury_selection.json
judge pool.jsonl --judge {judge} -o out/pool.jsonl --store a.db
plan labels out/pool.jsonl --surest 0.6 --n 40 --write-ids out/surest.csv -o out/plan_labels.json
monitor draw out/selected.csv --audit-rate 0.5 --secret-env AUDITS -o out/audits.csv --summary out/audit_draw.json
monitor check out/audits.csv --policy out/policy.json -o out/monitor.json --plot out/monitor.svg
convert log.json -o out/converted.jsonl --summary out/conversion.json
estimate panel.csv --judge a --judge b --by model --share --labels-are-random -o out/shared.json
reproduce scope --data mt-bench=out/judgments.jsonl --sample 60 --splits 5 -o out/reproduce_scope.json
reproduce reporting answers.csv --splits 5 -o out/reproduce_reporting.json
reproduce soft-elo arena/battles.csv --splits 2 --replicates 5 -o out/reproduce_soft_elo.json
report out -o out/report.html
"""  # noqa: E501  (one command per line)


def write_files(order: int | None) -> None:
    pairs = [
        {
            "id": pair.id, "prompt": pair.prompt, "response_a": pair.response_a,
            "response_b": pair.response_b, "label": pair.label, "prompt_id": f"q{n % 90}",
            "topic": ("code", "prose")[n % 2],
        }
        for n, pair in enumerate(simulate_pairs(180, seed=1))
    ]  # fmt: skip
    models = {
        "small": BinaryModel(rate=0.55, specificity=0.7, sensitivity=0.9),
        "large": BinaryModel(rate=0.75, specificity=0.65, sensitivity=0.95),
    }
    files = {
        "pairs.jsonl": pl.DataFrame(pairs),
        "pool.jsonl": pl.DataFrame(pairs).drop("label"),
        "answers.csv": binary_rows(models, prompts=120, labels=80, seed=1).drop("truth"),
        "tournaments.csv": simulate_tournaments(documents=12, models=6, seed=1).frame,
        "scores.jsonl": simulate_scores(documents=14, models=5, seed=1).frame,
        "panel.csv": panel_rows(
            {"v": 0.7, "w": 0.5, "x": 0.6, "y": 0.4}, {"a": 1.0, "b": 0.5},
            questions=90, labels=60, seed=1,
        ).drop("truth"),
        "battles.csv": (battles := simulate_battles(models=8, battles=900, seed=1).frame),
        "arena/battles.csv": battles,
    }  # fmt: skip
    for name, frame in files.items():
        write_rows(
            frame if order is None else frame.sample(fraction=1, shuffle=True, seed=order), name
        )


def main(folder: str, order: str | None = None) -> None:
    os.chdir(folder)
    for made in ("out", "arena"):
        Path(made).mkdir()
    os.environ["AUDITS"] = "no secret: a test"
    shutil.copy(LOG, "log.json")
    write_files(None if order is None else int(order))
    for line in VERBS.strip().splitlines():
        code = run(line.format(judge=JUDGE).split())
        assert code in (0, 2), f"adjudge {line}: exit code {code}"


if __name__ == "__main__":
    main(*sys.argv[1:])
