"""`adjudge reproduce all`: every table and figure of the papers, and one page that lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import echo, remark, show
from adjudge.cli._options import (
    ColumnOption,
    JsonFlag,
    LabelsAsOption,
    SeedOption,
    StoreOption,
    column_map,
    label_map,
    parse_files,
    parse_place,
)
from adjudge.present.text import safe_json


def reproduce_papers(
    out: Annotated[Path, typer.Option(help="Folder for the page, results and pictures.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="scope: NAME=FILE, repeatable: labelled judgments, or pairs to be judged.",
            show_default=False,
        ),
    ] = None,
    grades: Annotated[
        Path | None,
        typer.Option(
            help="reporting: labelled grades, judgments or battles; with --judge, pairs or items.",
            show_default=False,
        ),
    ] = None,
    summeval: Annotated[
        Path | None, typer.Option(help="diagnosis: SummEval as published.", show_default=False)
    ] = None,
    tournaments: Annotated[
        Path | None,
        typer.Option(help="diagnosis: pairwise verdicts of your judges.", show_default=False),
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="diagnosis: scores of your judges.", show_default=False)
    ] = None,
    annotations: Annotated[
        Path | None,
        typer.Option(
            help="soft-elo: the release's data folder, or one file of it.", show_default=False
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="The judge to ask if --data or --grades hold texts to be judged, and about "
            "--summeval."
        ),
    ] = None,
    store: StoreOption = "adjudge.db",
    paper: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this paper, repeatable: scope, reporting, diagnosis, soft-elo.",
            show_default=False,
        ),
    ] = None,
    size: Annotated[
        float,
        typer.Option(
            help="Share of each paper's splits, repeats and simulated rows; 0.1 for a first look."
        ),
    ] = 1.0,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """All four papers on one page, with the data you have.

    Each item is reproduced, simulated, or listed with the reason why it is not possible. Writes
    OUT/index.html, which works without network, every result as JSON and every picture.
    """
    from adjudge.cli._progress import watch_run
    from adjudge.io.opening import name_columns
    from adjudge.present.blocks import Headline
    from adjudge.present.views._items import count_items, describe_items
    from adjudge.reproduce.everything import PAGE, reproduce_all

    with name_columns(column_map(column), label_map(labels_as)) as named:
        files = {name: named(path) for name, path in parse_files(data, "--data").items()}
        tables = {
            "grades": named(grades),
            "tournaments": named(tournaments),
            "scores": named(scores),
        }
    with watch_run("asked") as watch:
        items = reproduce_all(
            out,
            data=files,
            **tables,
            summeval=summeval,
            annotations=annotations,
            judge=judge,
            store=parse_place(store),
            papers=paper or (),
            size=size,
            seed=seed,
            progress=remark,
            watch=watch.show,
        )
    remark(f"wrote {out / PAGE}")
    if as_json:
        echo(safe_json(items.to_json()))
    else:
        show(Headline(describe_items(items.items)), count_items(items.items))
