"""Leave-one-model-out Soft-Elo against a straightforward fit, row by row, with scipy.

    python benchmarks/bench_soft_elo.py [--models 55] [--battles 25000] [--folds 3]

Both run Algorithm 1 for people's votes, hard verdicts and soft targets, with 20 resamples per model
for the standard error. The plain version reads a pandas frame row by row for every fit, averages
the criteria of each row's score dicts, builds a dense design and calls scipy, like the authors'
release. It is timed on a few folds and scaled up to all of them. Seconds are CPU seconds, which do
not grow on a busy machine. The difference of the estimates is printed.
"""

from __future__ import annotations

import os

for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse  # noqa: E402  (BLAS reads its thread count when numpy is first imported)
import math  # noqa: E402
import time  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy.optimize import minimize, minimize_scalar  # noqa: E402

from adjudge.data.battles import code_battles  # noqa: E402
from adjudge.ranking.evaluation import hold_out_each, human_reference  # noqa: E402
from adjudge.ranking.targets import fixed_rule, soft_rule  # noqa: E402
from adjudge.simulate.battles import simulate_battles  # noqa: E402

L2 = 0.01
RESAMPLES = 20
CRITERIA = ("adherence", "helpfulness", "factuality", "completeness", "clarity", "fluency")
VOTES = {"A": 1.0, "B": 0.0, "tie": 0.5}


def sigma(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def difference(row: Any) -> float:
    """Mean over the criteria that both sides have."""
    both = [name for name in CRITERIA if name in row["scores_a"] and name in row["scores_b"]]
    return float(np.mean([row["scores_a"][name] - row["scores_b"][name] for name in both]))


def target(row: Any, kind: str, beta: float) -> float:
    if kind == "human":
        return VOTES[row["human_pref"]]
    s = difference(row)
    if kind == "hard":
        return 0.5 + 0.5 * float(np.sign(round(s, 6)))
    return 1 / (1 + math.exp(-beta * s))


def plain_beta(kept: pd.DataFrame) -> float:
    differences, votes = [], []
    for _, row in kept.iterrows():
        if row["human_pref"] in ("A", "B"):
            differences.append(difference(row))
            votes.append(VOTES[row["human_pref"]])
    s, y = np.array(differences), np.array(votes)

    def loss(beta: float) -> float:
        p = np.clip(sigma(beta * s), 1e-12, 1 - 1e-12)
        return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).sum())

    return float(minimize_scalar(loss, bounds=(1e-3, 20), method="bounded").x)


def plain_anchors(kept: pd.DataFrame, anchors: list[str], kind: str, beta: float) -> Any:
    position = {name: k for k, name in enumerate(anchors)}
    design, targets = [], []
    for _, row in kept.iterrows():
        x = np.zeros(len(anchors))
        x[position[row["model_a"]]] = 1
        x[position[row["model_b"]]] = -1
        design.append(x)
        targets.append(target(row, kind, beta))
    matrix, aims = np.vstack(design), np.array(targets)

    def loss(theta: Any) -> tuple[float, Any]:
        p = np.clip(sigma(matrix @ theta), 1e-12, 1 - 1e-12)
        value = -(aims * np.log(p) + (1 - aims) * np.log(1 - p)).sum() + L2 * theta @ theta
        return float(value), matrix.T @ (p - aims) + 2 * L2 * theta

    return minimize(
        loss,
        np.zeros(len(anchors)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-12, "gtol": 1e-8},
    ).x


def plain_fold(frame: pd.DataFrame, models: list[str], left_out: str) -> dict[str, float]:
    """One model left out, in the most direct way."""
    anchors = [name for name in models if name != left_out]
    mine = (frame["model_a"] == left_out) | (frame["model_b"] == left_out)
    kept, own = frame[~mine], frame[mine]
    beta = plain_beta(kept)
    found = {}
    draw = np.random.default_rng(0)
    for kind in ("human", "hard", "soft"):
        strength = dict(zip(anchors, plain_anchors(kept, anchors, kind, beta), strict=True))
        rivals, won = [], []
        for _, row in own.iterrows():
            first = row["model_a"] == left_out
            rivals.append(strength[row["model_b" if first else "model_a"]])
            aim = target(row, kind, beta)
            won.append(aim if first else 1 - aim)
        against, aims = np.array(rivals), np.array(won)
        found[kind] = 1500 + 400 / math.log(10) * one_model(against, aims)
        if kind != "human":
            drawn = []
            for _ in range(RESAMPLES):
                at = draw.integers(0, len(aims), len(aims))
                drawn.append(one_model(against[at], aims[at]))
            found[f"{kind}_se"] = 400 / math.log(10) * float(np.std(drawn, ddof=1))
    return found


def with_criteria(frame: Any) -> pd.DataFrame:
    """The frame as the release publishes it: six criteria per side, in a dict."""
    made = {name: frame[name].to_list() for name in ("model_a", "model_b", "human_pref")}
    for side in ("a", "b"):
        made[f"scores_{side}"] = [dict.fromkeys(CRITERIA, v) for v in frame[f"score_{side}"]]
    return pd.DataFrame(made)


def one_model(against: Any, aims: Any) -> float:
    theta = 0.0
    for _ in range(100):
        p = sigma(theta - against)
        step = float((aims.sum() - p.sum() - 2 * L2 * theta) / ((p * (1 - p)).sum() + 2 * L2))
        theta += step
        if abs(step) < 1e-10:
            break
    return theta


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=55)
    parser.add_argument("--battles", type=int, default=25_000)
    parser.add_argument("--folds", type=int, default=2)
    options = parser.parse_args()
    world = simulate_battles(models=options.models, battles=options.battles, seed=1)
    print(f"leave-one-model-out, {options.models} models, {options.battles:,} battles")

    seconds = {}
    results: dict[str, Any] = {}
    for part in ("human and soft", "human, hard and soft"):
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            battles = code_battles(world.frame)
            human = human_reference(battles, l2=L2)
            soft = hold_out_each(soft_rule(battles), l2=L2, replicates=RESAMPLES)
            if part != "human and soft":
                verdict = np.asarray(battles.verdict)
                rule = fixed_rule("hard-elo", battles, verdict)
                hard = hold_out_each(rule, l2=L2, replicates=RESAMPLES)
                results = {"human": human, "hard": hard, "soft": soft}
            best = min(best, time.process_time() - began)
        seconds[part] = best
        print(f"  adjudge, {part:<22} {best:8.3f} s")

    rows = with_criteria(world.frame)
    models = sorted(world.names)
    began = time.process_time()
    apart = 0.0
    errors: list[float] = []
    for name in models[: options.folds]:
        plain = plain_fold(rows, models, name)
        at = battles.names.index(name)
        apart = max(apart, *(abs(plain[kind] - results[kind].elo[at]) for kind in results))
        errors += [results[kind].se[at] / plain[f"{kind}_se"] for kind in ("hard", "soft")]
    peer = (time.process_time() - began) * options.models / options.folds
    ours = seconds["human, hard and soft"]
    print(
        f"  plain scipy, row by row        {peer:8.1f} s   (scaled up from {options.folds} folds)"
    )
    print(
        f"  largest difference {apart:.1e} Elo; standard errors' mean ratio {np.mean(errors):.2f}"
    )
    print(f"  goal 1000x, under half a second: {peer / ours:.0f}x, {ours:.2f} s")


if __name__ == "__main__":
    main()
