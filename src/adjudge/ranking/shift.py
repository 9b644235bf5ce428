"""Other prompts than those that were calibrated on: battles weighted to a given mix.

A judge can err more on one language, or on hard prompts, than on others. Conformal intervals hold
for the mix of prompts that the calibration battles had. If a new model meets another mix, each
battle of group g gets the weight

    w_g = target share of g / share of g in the battles

so that every model's residual, judge minus people, is that of the target mix (covariate shift,
Tibshirani et al. 2019, with known weights). Models stay exchangeable, so the quantile over models
keeps its promise: about models like these on that mix. The shares come from the user, not from the
votes. Weights cost precision: `effective_battles` is how many equal ones are worth as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from adjudge.data.battles import Battles
from adjudge.data.rows import merge_dropped
from adjudge.errors import ArgumentError
from adjudge.present import text
from adjudge.validation import FloatArray


def weigh_battles(battles: Battles, mix: Mapping[str, float] | None) -> Battles:
    """The battles weighted to the shares of `mix`; unchanged without one.

    Groups outside the mix are left out and counted. A group of the mix without battles is refused:
    no weight can replace it.

    >>> battles = Battles(names=("x", "y"), a=np.zeros(4, int), b=np.ones(4, int), by="language",
    ...     groups=("de", "en"), group_codes=np.array([0, 1, 1, 1]))
    >>> weigh_battles(battles, {"de": 0.5, "en": 0.5}).weights.round(3).tolist()
    [2.0, 0.667, 0.667, 0.667]
    """
    if mix is None:
        return battles
    if battles.groups is None or battles.group_codes is None:
        raise ArgumentError("mix", spell_mix(mix), "name the column of its values with --by (by=)")
    shares = np.array([float(mix.get(name, 0.0)) for name in battles.groups])
    missing = sorted(set(mix) - set(battles.groups))
    counts = np.bincount(battles.group_codes, minlength=len(shares))
    missing += [
        name for name, n in zip(battles.groups, counts, strict=True) if mix.get(name) and not n
    ]
    if missing:
        remedy = (
            f"no battle has this value of {battles.by}: choose among {', '.join(battles.groups)}"
        )
        raise ArgumentError("mix", missing[0], remedy)
    if not np.isfinite(shares).all() or np.any(shares < 0) or not shares.sum() > 0:
        raise ArgumentError("mix", spell_mix(mix), "give shares that are not negative, not all 0")
    used = shares[battles.group_codes] > 0
    taken = battles.take(used)
    weight = np.divide(shares, counts, out=np.zeros(len(shares)), where=counts > 0)
    weights = weight[np.asarray(taken.group_codes)]
    lost = {f"{battles.by} outside the mix": int((~used).sum())}
    return replace(
        taken, weights=weights / weights.mean(), dropped=merge_dropped(battles.dropped, lost)
    )


def effective_battles(battles: Battles) -> FloatArray | None:
    """(sum w)^2 / sum w^2 of each model's battles; None without weights."""
    if battles.weights is None:
        return None
    n = battles.n_models

    def per_model(values: FloatArray) -> FloatArray:
        as_a = np.bincount(battles.a, weights=values, minlength=n)
        return np.asarray(as_a + np.bincount(battles.b, weights=values, minlength=n))

    total = per_model(battles.weights)
    squares = per_model(battles.weights**2)
    equal = np.zeros(n)
    np.divide(total**2, squares, out=equal, where=squares > 0)
    return equal


def spell_mix(mix: Mapping[str, float]) -> str:
    """The shares, in a sentence.

    >>> spell_mix({"en": 1, "de": 3})
    'en 25 %, de 75 %'
    """
    total = sum(mix.values()) or 1.0
    return ", ".join(f"{name} {text.percent(share / total, 0)}" for name, share in mix.items())
