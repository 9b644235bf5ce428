"""`adjudge plan`: how many labels, of which kind. One file per question beside this one."""

from __future__ import annotations

from importlib import import_module

import typer

#: Each names a module `plan_<question>` with `register(group)`.
QUESTIONS: tuple[str, ...] = ("rate", "selection", "battles")


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    group = typer.Typer(
        help="How many human labels, of which kind; which battles to judge next.",
        no_args_is_help=True,
    )
    for question in QUESTIONS:
        import_module(f"adjudge.cli.plan_{question}").register(group)
    app.add_typer(group, name="plan")
