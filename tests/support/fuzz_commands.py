"""Every command that reads files, and a small valid file for each place in them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from peoples_files import write_workbook

from adjudge.auditing import check_audits
from adjudge.data import write_result, write_rows
from adjudge.gating import make_card
from adjudge.judges.judging import judge_pairs
from adjudge.monitoring import draw_audits, monitor_judge
from adjudge.monitoring.judge_monitor import Round
from adjudge.ranking import make_anchors
from adjudge.selection import Cascade, PlannedCascade, calibrate, plan_cascade, select
from adjudge.simulate.battles import simulate_battles
from adjudge.simulate.pairs import simulate_pairs
from simulators import BinaryModel, binary_rows, panel_rows, simulate_scores, simulate_tournaments

LOGS = Path(__file__).parents[1] / "fixtures" / "runner_logs"
JUDGE = "simulated:accuracy=0.85,position_bias=0.05,noise=0.3,seed=1"
#: A cheap judge and a strong one, and how a cascade names them.
STAGES = ["simulated:accuracy=0.75,seed=2", "simulated:accuracy=0.95,seed=3"]
CASCADE = (
    "accuracy=0.75,position_bias=0,noise=0,seed=2,accuracy=0.95,position_bias=0,noise=0,seed=3"
)
#: Every command that reads files: {name} is a file of `write_valid`, {out} a path to write to.
#: No server starts: `label` only exports, and `serve` is given a judge its policy was not made for.
COMMANDS: tuple[str, ...] = (
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.csv --summary {out}.json",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.jsonl --protocol likelihood",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.parquet --protocol verbalized",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.csv --protocol rubric",
    "judge {pairs} --judge JUDGE --store {out}.db --json --protocol criterion"
    " --criteria {criteria}",
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.tsv --protocol annotators"
    " --demonstrations {demonstrations}",
    "judge {items} --judge JUDGE --store {out}.db -o {out}.parquet --protocol likert",
    "judge {items} --judge JUDGE --store {out}.db -o {out}.csv --protocol grade",
    "judge {pairs} --judge JUDGE --prompt {prompt} --prices {prices} --dry-run --json",
    "judge {pairs} --judge replay:{replies} --store {out}.db -o {out}.jsonl.gz",
    "convert {log} -o {out}.jsonl --json",
    "convert {archive} -o {out}.csv --summary {out}.json",
    "calibrate {judgments} --json -o {out}.json",
    "calibrate {judgments} --labels {labels} --by topic --cluster prompt_id",
    "calibrate {judgments} --doubt learned --category topic --pairs {pairs} --alpha 0.3"
    " --cluster none -o {out}.json",
    "calibrate {staged} --jury learned --alpha 0.3 --cluster none --json",
    "select {staged} --policy {cascade} -o {out}.csv --json",
    "select {judgments} --policy {policy} -o {out}.csv --json",
    "select {judgments} --policy {policy} -o {out}.jsonl --summary {out}.json",
    "monitor draw {decided} --audit-rate 0.5 --secret-env PATH --earlier {audits} -o {out}.csv",
    "monitor check {audits} --labels {labels} --policy {policy} --state {out}.json --json",
    "monitor recalibrate {audits} --labels {labels} --state {monitor} --alpha 0.3 --json",
    "runs {answers} --gate 0.5 --json",
    "monitor judge {pairs} --judge JUDGE --store {out}.db --state {out}.json --json",
    "monitor renew {judgments} --policy {policy} --state {judge_state} --json",
    "policy show {policy} --json",
    "policy verify {policy} --json",
    "card make {answers} --labels {grades} -o {out}.json --json",
    "card make {judgments} --policy {policy} --json",
    "card verify {card} {answers} --json",
    "card diff {card} {card} --json",
    "gate {answers} --card {card} --by model --at-least 0.1 --json",
    "gate {answers} --card {card} --labels {grades} --at-least 0.1 --assume-same-errors",
    "gate {answers_of_m} --baseline {answers_of_m} --margin 0.5 --card {card} --json",
    "store check {store} --json",
    "store copy {store} {out}.db --json",
    "replies --store {store} --pairs {pairs} --limit 500 --json",
    "replies --store {store} --status ok --raw -o {out}.json",
    "evaluate {judgments} --splits 2 --json",
    "evaluate {judgments} --labels {labels} --splits 2",
    "evaluate {judgments} --doubt learned --learning-share 0.8 --cluster none --splits 2 --json",
    "estimate {answers} --json",
    "estimate {workbook} --json",
    "estimate {panel} --judge a --judge b --by model --labels-are-random --json",
    "estimate {answers} --labels {grades} --by model --cluster prompt_id",
    "estimate {wins} --model m --by opponent --labels {labels} --labels-are-random --json",
    "start {answers} --json",
    "start {judgments}",
    "compare {answers} --json",
    "compare {answers} --labels {grades} --plot {out}.svg",
    "compare {staged} --judges --labels {labels} --json",
    "abtest {answers} --labels {grades} --store :memory: --json",
    "plan compare {answers} --difference 0.9 --json",
    "plan rate {answers} --width 0.2 --write-ids {out}.csv --json",
    "plan selection {half} --cluster none --repeats 2 --write-ids {out}.csv --json",
    "plan labels {half} --surest 0.6 --n 2 --cluster none --write-ids {out}.csv --json",
    "plan cascade {staged} --cascade CASCADE --costs 1,9 --learning-share 0.5 --alpha 0.3 --json",
    "calibrate {staged} --cascade CASCADE --costs 1,9 --labels {labels} --alpha 0.3 --cluster none"
    " --learning-share 0.5",
    "calibrate {staged} --plan {cascade_plan} --alpha 0.3 -o {out}.json",
    "judge {pairs} --policy {cascade} --store {out}.db -o {out}.jsonl",
    "plan battles {battles} --budget 3 --judged {judged} --write-rows {out}.csv --json",
    "diagnose transitivity {tournaments} --replicates 2 --json",
    "diagnose scores {scores} --splits 1 --write-sets {out}.csv --families {families} --json",
    "diagnose bias {judgments} --pairs {pairs} --labels {labels} --json",
    "diagnose bias {battles} --families {families}",
    "diagnose prompts {judgments} {judgments} --json",
    "diagnose prompts {scores} {scores}",
    "rank {battles} --replicates 2 --json",
    "anchors make {battles} --replicates 2 -o {out}.json",
    "anchors check {battles} --anchors {anchors} --json",
    "anchors place {newcomers} --anchors {anchors} --alpha 0.4 --json",
    "label {pairs} --export-only --store {out}.db --import {labels} -o {out}.csv --json",
    "view {judgments} --labels {labels} --store {out}.db -o {out}.html",
    "view {answers} --store {out}.db -o {out}.jsonl",
    "label {pairs} --export-only --store {out}.db --plan {plan} -o {out}.jsonl",
    "label {pairs} --export-only --store {out}.db --abstentions {decided} --json",
    "serve --policy {policy} --judge simulated:accuracy=0.6,seed=9 --port 0",
    "report {results} --json",
    "reproduce scope --data mt-bench={judgments} --sample 20 --splits 2 --json",
    "reproduce reporting {answers} --splits 2 --repeats 10 --json",
    "reproduce soft-elo {battles} --splits 1 --replicates 2 --json",
)
#: The places of tables; the other files are JSON objects and a prompt.
TABLES = frozenset(
    (
        *("pairs", "items", "demonstrations", "labels", "replies", "judgments", "half", "answers"),
        *("grades", "tournaments", "scores", "battles", "judged", "newcomers", "plan", "decided"),
        *("staged", "audits", "panel", "wins", "answers_of_m"),
    )
)
#: Verbs that take no file of the user's.
READS_NOTHING = ("demo", "models list", "models pull", "schema")
#: They read as other verbs do, and then ask, simulate or draw for seconds.
READS_AS_OTHERS = ("align", "reproduce diagnosis", "reproduce all")


#: A round that raised an alarm.
ALARM = Round(
    repeat=2,
    asked_at="2026-11-01T06:00:00+00:00",
    delta=0.0125,
    n_compared=60,
    n_moved=20,
    log10_e=4.0,
    most_log10_e=4.0,
    alarm_after=50,
    served_models=(),
    cost=None,
    anchors=(60,),
    path=(4.0,),
)


def write_valid(folder: Path) -> dict[str, Path]:
    """A small valid file for every name in COMMANDS."""
    subjects = simulate_pairs(210, seed=1)
    everything = [
        {"id": p.id, "prompt": p.prompt, "response_a": p.response_a, "response_b": p.response_b,
         "label": p.label, "prompt_id": f"q{n // 2}", "topic": "xy"[n % 2], "note": "n"}
        for n, p in enumerate(subjects)
    ]  # fmt: skip
    pairs, others = everything[:60], everything[60:]
    items = [
        {"id": p.id, "prompt": p.prompt, "response": p.response_a, "model": "m"}
        for p in subjects[:8]
    ]
    judgments = folder / "judgments.jsonl"
    store = folder / "store.db"
    judge_pairs(pl.DataFrame(pairs), judge=JUDGE, output=judgments, store=store)
    half = [{**p, "label": p["label"] if n < 30 else None} for n, p in enumerate(others)]
    policy = calibrate(judgments, alpha=0.12)
    staged = judge_pairs(pl.DataFrame(pairs), judge=STAGES, store=None).judgments
    cascade_plan = plan_cascade(
        staged, Cascade(CASCADE, costs=[1, 9], share=0.5), alpha=0.3, cluster="none"
    )
    battles = simulate_battles(models=5, battles=60, seed=1).frame
    answers = binary_rows(
        {name: BinaryModel(rate=0.6, specificity=0.8, sensitivity=0.9) for name in ("m", "n")},
        prompts=60,
        labels=60,
        seed=1,
    ).drop("truth")
    tables: dict[str, Any] = {
        "pairs": pairs,
        "items": items,
        "demonstrations": others[:50],
        "half": judge_pairs(pl.DataFrame(half), judge=JUDGE, store=None).judgments,
        "labels": [{"id": p["id"], "label": p["label"], "rater": "r", "sampled_by": "random"}
                   for p in pairs],
        "replies": [{"id": p["id"], "p_fwd": 0.9, "p_rev": 0.8} for p in pairs],
        "answers": answers,
        "answers_of_m": answers.filter(pl.col("model") == "m"),
        "grades": answers.filter(pl.col("human").is_not_null()).select("id", "human"),
        "tournaments": simulate_tournaments(documents=6, models=4, seed=1).frame,
        "scores": simulate_scores(documents=12, models=3, seed=1).frame,
        "battles": battles,
        "judged": battles.head(10),
        "newcomers": battles.with_columns(pl.col("model_a").replace("model-0", "new")),
        "plan": [{"id": p["id"], "sampled_by": "plan", "sampling_probability": 0.5}
                 for p in pairs[:9]],
        "wins": [{"id": p["id"], "p_a": (n + 1) / 122, "model_a": "mn"[n % 2],
                  "model_b": "nm"[n % 2]} for n, p in enumerate(everything[:120])],
        "decided": select(judgments, policy).rows,
        "staged": staged,
        "panel": panel_rows({"m": 0.6, "n": 0.4}, {"a": 1.0, "b": 0.5}, questions=40, labels=20,
                            seed=1).drop("truth"),
    }  # fmt: skip
    files = {"judgments": judgments, "store": store}
    for name, rows in tables.items():
        files[name] = write_rows(rows, folder / f"{name}.jsonl")
    files["policy"] = write_result(policy, folder / "policy.json")
    files["cascade_plan"] = write_result(cascade_plan, folder / "cascade_plan.json")
    cascade = calibrate(staged, doubt=PlannedCascade(cascade_plan), alpha=0.3, cluster="none")
    files["cascade"] = write_result(cascade, folder / "cascade.json")
    audits = draw_audits(tables["decided"], audit_rate=1, secret="for malformed files").rows
    files["audits"] = write_rows(audits, folder / "audits.jsonl")
    wrong = pl.when(pl.col("drawn") < 9).then(pl.lit("tie")).otherwise("label")
    strict = replace(policy, ties="error")
    monitor = check_audits(audits.with_columns(label=wrong), strict)
    files["monitor"] = write_result(monitor, folder / "monitor.json")
    files["judge_state"] = folder / "judge_state.json"
    first = monitor_judge(pl.DataFrame(pairs), judge=JUDGE, state=files["judge_state"], store=None)
    write_result(replace(first, rounds=(ALARM,)), files["judge_state"])
    files["card"] = write_result(make_card(answers), folder / "card.json")
    files["anchors"] = write_result(make_anchors(battles), folder / "anchors.json")
    for name, held in {
        "criteria": {"clarity": "is it clear", "truth": {"definition": "is it true"}},
        "families": {"model-0": "f", "model-1": "f", "model-2": "g"},
        "prices": {"simulated": {"prompt": 1.0, "completion": 2.0}},
    }.items():
        files[name] = folder / f"{name}.json"
        files[name].write_text(json.dumps(held))
    for name, log in {"log": "promptfoo.json", "archive": "inspect.eval"}.items():
        files[name] = Path(shutil.copy(LOGS / log, folder / log))
    cells: list[list[Any]] = [[f"{n}", n % 2, n % 2 if n < 40 else None] for n in range(60)]
    cells.insert(0, ["id", "judge", "human"])
    files["workbook"] = write_workbook(folder / "workbook.xlsx", cells)
    files["prompt"] = folder / "prompt.txt"
    files["prompt"].write_text("Which is better?\n{prompt}\nA: {response_a}\nB: {response_b}\n")
    files["results"] = folder / "results"
    files["results"].mkdir()
    shutil.copy(files["policy"], files["results"] / "policy.json")
    return files
