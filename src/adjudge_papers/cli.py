"""`adjudge reproduce`: the papers' protocols from the command line.

The entry point `reproduce` of the group `adjudge.verbs` is REPRODUCE: the line of help and the
verbs of the group, each the name of a function with typer's annotations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adjudge.cli._common import deliver, echo, remark, show
from adjudge.cli._options import (
    STORE_VARIABLE,
    ColumnOption,
    ConfidenceOption,
    FiguresOption,
    JsonFlag,
    LabelsAsOption,
    MinAnswerMassOption,
    OutputOption,
    PlotOption,
    ReasonOption,
    SeedOption,
    StoreOption,
    column_map,
    label_map,
    parse_files,
    parse_place,
)
from adjudge.present.text import safe_json

REPRODUCE = (
    "Run the papers' protocols; compare with their figures.",
    {
        "scope": "adjudge_papers.cli:scope",
        "reporting": "adjudge_papers.cli:reporting",
        "diagnosis": "adjudge_papers.cli:diagnosis",
        "soft-elo": "adjudge_papers.cli:soft_elo",
        "all": "adjudge_papers.cli:reproduce_papers",
    },
)
#: An example command for the help of each verb.
EXAMPLES = {
    "reproduce scope": "adjudge reproduce scope --data mine=judgments.jsonl",
    "reproduce reporting": "adjudge reproduce reporting",
    "reproduce diagnosis": "adjudge reproduce diagnosis",
    "reproduce soft-elo": "adjudge reproduce soft-elo --figures pictures",
    "reproduce all": "adjudge reproduce all --out papers",
}


def scope(
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FILE, repeatable: labelled judgments, or pairs to be judged. Names with "
            "published figures: mt-bench, rewardbench, chatbot-arena.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="The judge to ask if a file holds pairs: in both orders, for its confidence, "
            "and as five annotators."
        ),
    ] = None,
    store: Annotated[
        str, typer.Option(help="Store of that judge's replies.", envvar=STORE_VARIABLE)
    ] = "adjudge.db",
    sample: Annotated[int, typer.Option(min=10, help="Items sampled from each data set.")] = 2000,
    splits: Annotated[int, typer.Option(min=1, help="Random 50/50 splits.")] = 1000,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="What --plot draws: figure-02, figure-03, table-03 or quality.",
            show_default="figure-02",
        ),
    ] = None,
    figures: FiguresOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the SCOPE paper.

    Ties dropped, 2,000 items, 1,000 halves, alphas 0.05 to 0.25. Without data, it runs on simulated
    judgments of the same shape.
    """
    from adjudge.data.source import name_columns
    from adjudge_papers.scope import reproduce_scope

    with name_columns(column_map(column), label_map(labels_as)) as named:
        tables = {name: named(path) for name, path in parse_files(data, "--data").items()}
    done = reproduce_scope(tables, judge=judge, n=sample, splits=splits, seed=seed, store=store)
    deliver(done, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)


def reporting(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="Your own rows for section 8.2, all labelled: grades, judgments or battles; with "
            "--judge, pairs or items. Without it, simulated battles.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="The judge to ask about the pairs or items of TABLE.")
    ] = None,
    store: StoreOption = "adjudge.db",
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rows of TABLE to ask about, drawn at random; without TABLE, battles to simulate.",
            show_default="all; 4500",
        ),
    ] = None,
    reason: ReasonOption = False,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Written answers per question, for judges without logprobs."),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Continue even if the first ten replies have no score."),
    ] = False,
    repeats: Annotated[int, typer.Option(help="Samples per rate and setting.", min=10)] = 10_000,
    splits: Annotated[int, typer.Option(help="Random splits of section 8.2.", min=1)] = 100,
    calibration: Annotated[
        float, typer.Option(help="Share of rows whose labels are used in a split.")
    ] = 0.1,
    judge_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the judge's verdicts, or of its probability that the answer is right "
            "or that A wins.",
            show_default="p_a, p_pass or judge",
        ),
    ] = None,
    human_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the human labels.", show_default="human, label, winner or human_pref"
        ),
    ] = None,
    by: Annotated[str, typer.Option(help="Column of the model (not for battles).")] = "model",
    confidence_level: ConfidenceOption = 0.95,
    figures: FiguresOption = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="What --plot draws: figure2 to figure7, figure9 to figure16.",
            show_default="figure2",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the reporting paper.

    Coverage, bias and length of the corrected rate: 21 rates, 8 settings, label shift. Section 8.2,
    splits of labelled rows, runs on your own data.
    """
    from adjudge.cli._progress import watch_run
    from adjudge.data.source import name_columns
    from adjudge_papers.reporting import reproduce_reporting

    with name_columns(column_map(column), label_map(labels_as)) as named:
        given = named(table)
    with watch_run("asked") as watch:
        result = reproduce_reporting(
            given,
            judge=judge,
            judge_column=judge_column,
            human_column=human_column,
            by=by,
            repeats=repeats,
            splits=splits,
            calibration=calibration,
            sample=sample,
            confidence_level=confidence_level,
            seed=seed,
            store=parse_place(store),
            reason=reason or None,
            samples=samples,
            keep_going=keep_going,
            progress=watch.show,
        )
    deliver(result, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)


def diagnosis(
    summeval: Annotated[
        Path | None,
        typer.Option(
            help="SummEval as published (model_annotations.aligned.jsonl, with its articles for "
            "--judge). Its crowd workers are compared with its experts.",
            show_default=False,
        ),
    ] = None,
    tournaments: Annotated[
        Path | None,
        typer.Option(
            help="Your judges' pairwise verdicts: a tournaments file.", show_default=False
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="Scores of your judges, in the scores format.", show_default=False),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Ask this judge about SummEval with both protocols of the paper, all pairs and "
            "all scores; repeatable: several are asked one after the other.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = "adjudge.db",
    repeats: Annotated[
        int, typer.Option(min=1, help="How often each pair is asked in one order.")
    ] = 3,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Written answers per question, for judges without logprobs."),
    ] = None,
    min_answer_mass: MinAnswerMassOption = None,
    documents: Annotated[int, typer.Option(min=2, help="Documents of SummEval.")] = 30,
    systems: Annotated[int, typer.Option(min=2, help="Systems of SummEval, of its 16.")] = 8,
    whole: Annotated[
        bool, typer.Option("--whole", help="All of SummEval, not the paper's 30 by 8.")
    ] = False,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the rows.")] = 20,
    column: ColumnOption = None,
    seed: SeedOption = 0,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(help="What --plot draws: figure-02 to figure-06.", show_default="figure-02"),
    ] = None,
    figures: FiguresOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the diagnosis paper.

    Cycles, rankings, score sets and the meaning of their width: on your files, on judges asked
    about SummEval, on its crowd workers, or simulated if no data is given.
    """
    from adjudge.data.source import name_columns
    from adjudge_papers.diagnosis import reproduce_diagnosis

    with name_columns(column_map(column)) as named:
        compared, scored = named(tournaments), named(scores)
    asking: dict[str, Any] = {}
    if judge:
        asking = {"store": store, "announce": remark, "min_answer_mass": min_answer_mass}
    result = reproduce_diagnosis(
        summeval,
        tournaments=compared,
        scores=scored,
        judge=judge,
        documents=None if whole else documents,
        systems=None if whole else systems,
        repeats=repeats,
        samples=samples,
        splits=splits,
        seed=seed,
        **asking,
    )
    deliver(result, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)


def soft_elo(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="The release's data folder, a folder of annotations_*.csv, or one file; without "
            "it, simulated battles of the same shape.",
            show_default=False,
        ),
    ] = None,
    l2: Annotated[
        float, typer.Option(help="Penalty l2 |theta|^2; 0.005 is the released code's.")
    ] = 0.01,
    alpha: Annotated[float, typer.Option(help="Error level of conformal intervals.")] = 0.1,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of the models.")] = 5,
    replicates: Annotated[int, typer.Option(min=2, help="Resamples per model.")] = 20,
    output: OutputOption = None,
    plot: PlotOption = None,
    figure: Annotated[
        str | None,
        typer.Option(
            help="What --plot draws: errors, or figure-01 to figure-17.", show_default="errors"
        ),
    ] = None,
    figures: FiguresOption = None,
    seed: SeedOption = 42,
    as_json: JsonFlag = False,
) -> None:
    """The tables and figures of the Soft-Elo paper.

    Leave-one-model-out Elo, conformal intervals, smoothing, temperature, languages, biases.
    """
    from adjudge_papers.soft_elo import reproduce_soft_elo

    result = reproduce_soft_elo(
        source, l2=l2, alpha=alpha, splits=splits, replicates=replicates, seed=seed
    )
    deliver(result, as_json=as_json, output=output, plot=plot, figure=figure, figures=figures)


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
    from adjudge.data.source import name_columns
    from adjudge.present.blocks import Headline
    from adjudge_papers.everything import PAGE, reproduce_all
    from adjudge_papers.items import count_items, describe_items

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
