"""Bradley-Terry from a frame of names, and its bootstrap, against evalica, choix and scikit-learn.

    python benchmarks/bench_bradley_terry.py [--battles 1000000] [--models 130] [--replicates 100]

Every method starts from the same polars frame of names. Seconds are CPU seconds, which do not grow
on a busy machine. The best of three runs is kept, except if one run takes long. Ratios above 1 mean
that adjudge is that many times faster. choix needs a table of counts, so it gets ours.
"""

from __future__ import annotations

import os

for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse  # noqa: E402  (BLAS reads its thread count when numpy is first imported)
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

from adjudge.data.battles import Battles  # noqa: E402
from adjudge.data.outcomes import code_names, outcome_targets  # noqa: E402
from adjudge.ranking import bradley_terry, count_wins  # noqa: E402
from adjudge.ranking.bradley_terry import bootstrap_strengths  # noqa: E402


def best_of(run: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """Seconds of the fastest run, and its return value."""
    seconds, result = float("inf"), None
    for _ in range(times):
        began = time.process_time()
        result = run()
        seconds = min(seconds, time.process_time() - began)
    return seconds, result


def make_frame(battles: int, models: int) -> pl.DataFrame:
    """Battles of models of normal strength, a tenth of them tied."""
    draw = np.random.default_rng(0)
    names = np.array([f"provider/model-name-{k:03d}" for k in range(models)])
    theta = draw.normal(0, 1, models)
    a = draw.integers(0, models, battles)
    b = (a + draw.integers(1, models, battles)) % models
    u = draw.random(battles)
    p = 0.9 / (1 + np.exp(theta[b] - theta[a]))
    winner = np.where(u < p, "model_a", np.where(u < 0.9, "model_b", "tie"))
    return pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner})


def centred(strength: Any) -> Any:
    """Log-strengths with mean 0."""
    values = np.asarray(strength, dtype=float)
    return values - values.mean()


def ours(frame: pl.DataFrame) -> Any:
    names, wins = count_wins(frame["model_a"], frame["model_b"], frame["winner"])
    return bradley_terry(wins, names=names, l2=0.0)


def evalica_inputs(frame: pl.DataFrame) -> tuple[list[str], list[str], list[Any]]:
    import evalica

    words = {
        "model_a": evalica.Winner.X,
        "model_b": evalica.Winner.Y,
        "tie": evalica.Winner.Draw,
    }
    return (
        frame["model_a"].to_list(),
        frame["model_b"].to_list(),
        [words[word] for word in frame["winner"].to_list()],
    )


def theirs_evalica(frame: pl.DataFrame, names: tuple[str, ...], tolerance: float) -> Any:
    import evalica

    xs, ys, winners = evalica_inputs(frame)
    found = evalica.bradley_terry(xs, ys, winners, tolerance=tolerance, limit=10_000).scores
    return centred(np.log(found.loc[list(names)].to_numpy()))


def theirs_choix(frame: pl.DataFrame, names: tuple[str, ...]) -> Any:
    import choix

    _, wins = count_wins(frame["model_a"], frame["model_b"], frame["winner"])
    return centred(choix.ilsr_pairwise_dense(wins, alpha=0.0, tol=1e-10))


def theirs_sklearn(frame: pl.DataFrame, names: tuple[str, ...]) -> Any:
    from scipy.sparse import csr_array, vstack
    from sklearn.linear_model import LogisticRegression

    position = {name: k for k, name in enumerate(names)}
    a = np.array([position[name] for name in frame["model_a"].to_list()])
    b = np.array([position[name] for name in frame["model_b"].to_list()])
    y = outcome_targets(frame["winner"], "winner")
    rows = np.arange(len(a))
    x = csr_array(
        (
            np.concatenate([np.ones(len(a)), -np.ones(len(a))]),
            (np.concatenate([rows, rows]), np.concatenate([a, b])),
        ),
        shape=(len(a), len(names)),
    )
    model = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-8, max_iter=1000)
    model.fit(vstack([x, x]), np.repeat([1, 0], len(a)), np.concatenate([y, 1 - y]))
    return centred(model.coef_[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--battles", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=130)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--peer-replicates", type=int, default=10, help="evalica's, scaled up")
    options = parser.parse_args()
    frame = make_frame(options.battles, options.models)
    print(f"Bradley-Terry, {options.battles:,} battles, {options.models} models, frame of names")
    seconds, fit = best_of(lambda: ours(frame))
    print(f"  adjudge            {seconds:8.3f} s")
    ratio = 0.0
    for name, run, times in (
        ("evalica", lambda: theirs_evalica(frame, fit.names, 1e-6), 3),
        ("evalica 1e-12", lambda: theirs_evalica(frame, fit.names, 1e-12), 1),
        ("choix, our counts", lambda: theirs_choix(frame, fit.names), 1),
        ("scikit-learn", lambda: theirs_sklearn(frame, fit.names), 1),
    ):
        peer, strength = best_of(run, times)
        apart = float(np.abs(strength - fit.theta).max())
        ratio = ratio or peer / seconds
        print(
            f"  {name:<18} {peer:8.3f} s   {peer / seconds:7.1f}x   largest difference {apart:.1e}"
        )
    print(f"  goal 10x against evalica: {ratio:.1f}x")

    import evalica

    _, a, b = code_names(frame["model_a"], frame["model_b"])
    y = outcome_targets(frame["winner"], "winner")
    battles = Battles(names=fit.names, a=a, b=b)
    seconds, drawn = best_of(
        lambda: bootstrap_strengths(fit, battles, y, replicates=options.replicates, seed=0), 2
    )
    print(f"{options.replicates} bootstraps of it")
    print(f"  adjudge            {seconds:8.3f} s")
    xs, ys, winners = evalica_inputs(frame)
    k = options.peer_replicates
    began = time.process_time()
    peer_drawn = evalica.bootstrap(
        evalica.bradley_terry,
        xs,
        ys,
        winners,
        n_resamples=k,
        bootstrap_method="percentile",
        random_state=0,
    )
    peer = (time.process_time() - began) * options.replicates / k
    print(f"  evalica            {peer:8.1f} s   {peer / seconds:7.1f}x   (scaled up from {k})")
    table = np.log(peer_drawn.distribution[list(fit.names)].to_numpy())
    peer_se = (table - table.mean(axis=1, keepdims=True)).std(axis=0, ddof=1)
    our_se = drawn.std(axis=0, ddof=1)
    print(
        f"  standard errors: mean ratio {float((our_se / peer_se).mean()):.2f}, median ours "
        f"{float(np.median(our_se)):.4f}, evalica's {float(np.median(peer_se)):.4f}"
    )
    print(f"  goal 100x against evalica: {peer / seconds:.0f}x")


if __name__ == "__main__":
    main()
