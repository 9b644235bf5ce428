"""`adjudge reproduce`: the papers' tables and figures. One file per paper beside this one."""

from __future__ import annotations

from importlib import import_module

import typer

#: Each names a module `reproduce_<paper>` with `register(group)`.
PAPERS: tuple[str, ...] = ("scope", "reporting", "diagnosis", "soft_elo")


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    group = typer.Typer(
        help="Run a paper's protocol and print its published figures beside ours.",
        no_args_is_help=True,
    )
    for paper in PAPERS:
        import_module(f"adjudge.cli.reproduce_{paper}").register(group)
    app.add_typer(group, name="reproduce")
