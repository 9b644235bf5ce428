"""Bradley-Terry at equal style: a million battles with four features against logit regressions.

The peers get the same matrix: a column for each model but one (+1 at model_a, -1 at model_b) and
the features. statsmodels' is dense, so it gets fewer battles by default; scikit-learn's is sparse.
Times are of the processor.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.sparse import csr_array

from adjudge.ranking.bradley_terry import wins_table
from adjudge.statistics.bradley_terry import fit_strengths, fit_with_features

MODELS = 130
FEATURES = 4


def make_battles(size: int) -> tuple[Any, Any, Any, Any]:
    """Random pairs with four features, and votes."""
    draw = np.random.default_rng(0)
    theta = draw.normal(0, 0.8, MODELS)
    a = draw.integers(0, MODELS, size)
    b = (a + draw.integers(1, MODELS, size)) % MODELS
    z = draw.normal(0, 1, (size, FEATURES))
    gap = theta[a] - theta[b] + z @ np.array([0.5, 0.2, -0.1, 0.05])
    return a, b, z, (draw.random(size) < 1 / (1 + np.exp(-gap))).astype(float)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def ours(a: Any, b: Any, z: Any, y: Any) -> Any:
    """Strengths relative to the last model, then the coefficients."""
    start = fit_strengths(wins_table(a, b, y, MODELS), l2=1e-9)
    fit = fit_with_features(a, b, y, z, MODELS, start=start, l2=0.0)
    if fit is None:
        raise SystemExit("the features separate the votes")
    return np.concatenate([fit.theta[:-1] - fit.theta[-1], fit.beta])


def matrix(a: Any, b: Any, z: Any) -> Any:
    rows = np.arange(len(a))
    places = np.concatenate([rows, rows]), np.concatenate([a, b])
    signs = np.repeat([1.0, -1.0], len(a))
    models = csr_array((signs, places), shape=(len(a), MODELS))[:, : MODELS - 1]
    every = np.arange(z.size)
    style = csr_array((z.ravel(), (every // FEATURES, every % FEATURES)), shape=z.shape)
    from scipy.sparse import hstack

    return csr_array(hstack([models, style]))


def main() -> None:
    from sklearn.linear_model import LogisticRegression
    from statsmodels.discrete.discrete_model import Logit

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--battles", type=int, default=1_000_000)
    options.add_argument("--dense", type=int, default=50_000, help="battles for statsmodels")
    chosen = options.parse_args()

    a, b, z, y = make_battles(chosen.battles)
    seconds, mine = min((timed(lambda: ours(a, b, z, y)) for _ in range(3)), key=lambda run: run[0])
    x = matrix(a, b, z)
    model = LogisticRegression(
        C=np.inf, fit_intercept=False, solver="lbfgs", tol=1e-10, max_iter=1000
    )
    theirs, _ = timed(lambda: model.fit(x, y))
    apart = np.abs(model.coef_[0] - mine).max()
    print(f"{chosen.battles:,} battles: {seconds:.2f} s, scikit-learn {theirs:.2f} s, "
          f"{theirs / seconds:.1f}x; largest difference {apart:.1e}")  # fmt: skip

    few = slice(0, chosen.dense)
    seconds, mine = timed(lambda: ours(a[few], b[few], z[few], y[few]))
    dense = x[: chosen.dense].toarray()
    theirs, fit = timed(lambda: Logit(y[few], dense).fit(disp=False, tol=1e-12))
    apart = np.abs(fit.params - mine).max()
    print(f"{chosen.dense:,} battles: {seconds:.3f} s, statsmodels {theirs:.2f} s, "
          f"{theirs / seconds:.1f}x; largest difference {apart:.1e}")  # fmt: skip


if __name__ == "__main__":
    main()
