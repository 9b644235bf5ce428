"""Options that several verbs share, each declared once, and the groups that help lists them in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from adjudge.errors import ArgumentError
from adjudge.present.theme import check_picture


def _check_picture(plot: Path | None) -> Path | None:
    """Refuse a format that cannot be saved, before the work starts."""
    return None if plot is None else check_picture(plot)


JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON object to standard output, nothing else.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the result to this file (JSON).")
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", help="Save a picture (.png, .svg or .pdf).", callback=_check_picture),
]
FiguresOption = Annotated[
    Path | None, typer.Option("--figures", help="Save all pictures into this folder.")
]
ExplainFlag = Annotated[
    bool,
    typer.Option("--explain", help="Also print what the result assumes and does not promise."),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of Ray workers.", show_default="one per available GPU, else per CPU"
    ),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        help="HOST:PORT of a Ray cluster's head.",
        show_default="RAY_ADDRESS, else a Ray for this run on this machine",
    ),
]
SummaryOption = Annotated[
    Path | None, typer.Option(help="Write the summary here as JSON, for `adjudge report`.")
]

JudgmentsArgument = Annotated[
    Path, typer.Argument(help="Judgments with p_a, or p_fwd and p_rev.", show_default=False)
]
LabelsOption = Annotated[
    Path | None, typer.Option(help="Human labels by id, for rows without a label.")
]
ModelLabelsFlag = Annotated[
    bool,
    typer.Option(
        "--model-labels",
        help="Use labels that a model made (labelled_by model); the result states it.",
    ),
]
BestFlag = Annotated[
    bool,
    typer.Option(
        "--best",
        help="A row is a prompt: which of all its responses is best? Read from comparisons of two "
        "responses (prompt_id, model_a, model_b).",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", help="Name of a public format, if it cannot be detected from content."
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="OURS=YOURS",
        help="Columns with other names: OURS=YOURS; repeatable, for all files of the command.",
    ),
]
LabelsAsOption = Annotated[
    str | None,
    typer.Option(
        "--labels-as",
        metavar="YOURS=OURS,...",
        help="Meaning of words in label and verdict columns, such as '0=A,1=B'.",
    ),
]
#: The earlier name of --format.
FormerFormatOption = Annotated[str | None, typer.Option("--from", hidden=True)]
#: A URL in the environment is not in the list of processes.
STORE_VARIABLE = "ADJUDGE_STORE"
StoreOption = Annotated[
    str,
    typer.Option(
        help="Store of all replies: a file or postgresql://... Stored replies are not asked again.",
        envvar=STORE_VARIABLE,
    ),
]
KnownStoreOption = Annotated[
    str,
    typer.Option(
        help="Store of the judge's replies, to name what differs between judges.",
        envvar=STORE_VARIABLE,
    ),
]
JudgeRowsOption = Annotated[str | None, typer.Option(help="Only this judge's rows.")]
ProtocolRowsOption = Annotated[str | None, typer.Option(help="Only this protocol's rows.")]

ReasonOption = Annotated[
    bool,
    typer.Option(
        "--reason",
        help="Let the judge write reasons before its verdict (preference, criterion, grade).",
    ),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(min=1, help="Maximum tokens of a written answer; raise it if the judge reasons."),
]
MinAnswerMassOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Minimum probability of the answer letters; below it a row is off_answer.",
        show_default="0.1",
    ),
]

AlphaOption = Annotated[float, typer.Option(help="Error level allowed among accepted verdicts.")]
GuaranteeOption = Annotated[
    str,
    typer.Option(
        help="scope: average over calibration sets; fdr: expected share in a batch; "
        "pac: this threshold, with probability 1 - delta; or one that a package adds."
    ),
]
DeltaOption = Annotated[
    float, typer.Option(help="How often a guarantee with high probability can fail.")
]
TiesOption = Annotated[
    str, typer.Option(help="Human ties: drop, or error (count each as an error).")
]
ClusterOption = Annotated[
    str,
    typer.Option(
        help="Column of rows that belong together, such as the prompt. auto: prompt_id if it "
        "repeats; none: all rows are independent."
    ),
]
TextsOption = Annotated[
    Path | None,
    typer.Option(help="The judged pairs, for a learned doubt that uses the length of the texts."),
]
JuryOption = Annotated[
    str | None,
    typer.Option(
        help="All judges of the file as one: mean (of log odds), or learned from a share of the "
        "labels."
    ),
]
DoubtOption = Annotated[
    str | None,
    typer.Option(help="learned: verdict and doubt of one judge, from a share of the labels."),
]
CascadeOption = Annotated[
    str | None,
    typer.Option(
        help="Judges of the file, cheap to strong, separated by commas. Each is needed only if "
        "those before it are not sure enough."
    ),
]
CostsOption = Annotated[
    str | None,
    typer.Option(
        help="Cost of a row for each judge of the cascade, such as 1,5,30.",
        show_default="the rows' column cost",
    ),
]
LearningShareOption = Annotated[
    float,
    typer.Option(help="Share of the labels that a learned doubt, jury or cascade learns from."),
]
CategoryOption = Annotated[
    str | None,
    typer.Option(help="Column of categories that a learned doubt or cascade can learn from."),
]
ConfidenceOption = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
JudgeColumnOption = Annotated[str, typer.Option(help="Column of the judge's verdicts.")]
HumanColumnOption = Annotated[str, typer.Option(help="Column of the human labels.")]
PositiveOption = Annotated[
    str | None, typer.Option(help="For labels that are words: the one that counts as 1.")
]


def parse_costs(costs: str | None) -> tuple[float, ...] | None:
    """The numbers of a text such as 1,5,30."""
    if costs is None:
        return None
    try:
        return tuple(float(part) for part in costs.split(","))
    except ValueError:
        raise ArgumentError("costs", costs, "give numbers, such as 1,5,30") from None


def parse_place(text: str) -> Path | str:
    """A file, or the URL of a store unchanged: a path would lose one of its slashes."""
    return text if "://" in text else Path(text)


AuditRateOption = Annotated[
    float | None,
    typer.Option(help="Share of accepted verdicts that people audit, such as 0.05."),
]
SecretOption = Annotated[
    str | None,
    typer.Option(
        "--secret-env",
        help="Environment variable with the secret for drawing audits (16 characters or more).",
    ),
]


def read_secret(name: str | None) -> str:
    """The secret for drawing audits, from the environment: process lists show options."""
    if name is None:
        raise ArgumentError("secret_env", None, "name an environment variable that holds a secret")
    secret = os.environ.get(name, "")
    if not secret:
        remedy = f"this environment variable is not set: export {name}=$(openssl rand -hex 32)"
        raise ArgumentError("secret_env", name, remedy)
    return secret


def column_map(given: Sequence[str] | None, **named: str | None) -> dict[str, str] | None:
    """Our column names to the file's, from --column and options such as --doc-column."""
    columns = {ours: theirs for ours, theirs in named.items() if theirs is not None}
    for pair in given or ():
        ours, equals, theirs = pair.partition("=")
        if not (ours.strip() and equals and theirs.strip()):
            raise ArgumentError("--column", pair, "write OURS=YOURS, like prompt=question")
        columns[ours.strip()] = theirs.strip()
    return columns or None


def parse_files(given: Sequence[str] | None, option: str) -> dict[str, Path]:
    """Files by name, from a repeatable option NAME=FILE."""
    files: dict[str, Path] = {}
    for pair in given or ():
        name, equals, path = pair.partition("=")
        if not equals or not name or not path:
            raise ArgumentError(option, pair, "write it as NAME=FILE")
        files[name] = Path(path)
    return files


def label_map(given: str | None) -> dict[str, str] | None:
    """The words of --labels-as."""
    from adjudge.data.words import parse_labels_as

    return None if given is None else parse_labels_as(given)


#: The groups of a verb's help, and the options in each.
PANELS: Mapping[str, tuple[str, ...]] = {
    "Rows": (
        *(
            "labels",
            "model_labels",
            "best",
            "format",
            "baseline",
            "column",
            "labels_as",
            "judge_column",
        ),
        *("human_column", "doc_column"),
        *("model_column", "raters", "positive", "human", "verdict", "score", "pairs", "limit"),
        *(
            "families",
            "cluster",
            "strata",
            "weights",
            "by",
            "choose_on",
            "leave_out",
            "scale",
            "target",
            "import_labels",
        ),
        *("abstentions", "plan", "sample", "scores", "earlier", "from_audits", "since_change"),
    ),
    "Judge": (
        *("judge_spec", "judge", "protocol", "prompt", "criteria", "demonstrations", "samples"),
        *("reason", "min_answer_mass", "keep_going"),
        *("max_tokens", "base_url", "api_key_env", "extra_body", "concurrency", "rpm", "timeout"),
        *("max_reply", "batch", "batch_folder", "retry", "store", "no_raw"),
    ),
    "Cost": ("dry_run", "max_cost", "prices", "costs"),
    "Workers": ("engine", "workers", "ray_address"),
    "Server": ("host", "port", "browser"),
    "Output": (
        *("output", "summary", "plot", "figure", "figures", "explain", "as_json"),
        *(
            "write_ids",
            "write_rows",
            "write_sets",
            "save_anchors",
            "title",
            "fail_above",
            "fail_below",
            "out",
            "help",
        ),
        *("export_only", "label_studio", "rescue"),
    ),
}
#: The group of all other options: those of the verb's method.
OTHER = "Method"


def panel_of(option: str) -> str:
    """The group an option is listed in."""
    return next((panel for panel, options in PANELS.items() if option in options), OTHER)
