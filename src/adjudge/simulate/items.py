"""Single answers that are known to be right or wrong, for judges that pass or fail them."""

from __future__ import annotations

from adjudge.errors import ArgumentError
from adjudge.records import Item
from adjudge.validation import Seed, count, generator, unit


def simulate_items(
    n: int, *, seed: Seed = None, rate: float = 0.7, labels: int | None = None
) -> list[Item]:
    """Short sums with one answer each, right with probability `rate`; the right one is `reference`.

    `truth` is 1 if the answer is right, else 0. `human` is the same for `labels` of them, drawn at
    random (None: for all).

    >>> item = simulate_items(1, seed=0)[0]
    >>> item.extra["truth"] == item.extra["human"] == int(item.response == item.extra["reference"])
    True
    """
    source = generator(seed)
    size = count(n, "n", least=1)
    if labels is not None and count(labels, "labels") > size:
        raise ArgumentError("labels", labels, f"give at most {size}, the number of items")
    left, right, slip = (source.integers(low, 1000, size) for low in (10, 10, 1))
    is_right = source.random(size) < unit(rate, "rate")
    labelled = set(source.permutation(size)[:labels].tolist())
    width = len(str(size - 1))
    items = []
    for i in range(size):
        good = int(left[i] + right[i])
        truth = int(is_right[i])
        human = truth if i in labelled else None
        items.append(
            Item(
                id=f"item-{i:0{width}d}",
                prompt=f"What is {left[i]} + {right[i]}?",
                response=str(good if is_right[i] else good + slip[i]),
                extra={"reference": str(good), "truth": truth, "human": human},
            )
        )
    return items
