"""`adjudge diagnose`: where the judge breaks. One file per question beside this one."""

from __future__ import annotations

from importlib import import_module

import typer

#: Each names a module `diagnose_<question>` with `register(group)`.
QUESTIONS: tuple[str, ...] = ("transitivity", "scores", "bias")


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    group = typer.Typer(
        help="Where the judge breaks: cycles, scores people do not share, biases.",
        no_args_is_help=True,
    )
    for question in QUESTIONS:
        import_module(f"adjudge.cli.diagnose_{question}").register(group)
    app.add_typer(group, name="diagnose")
