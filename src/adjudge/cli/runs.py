"""Verbs that are more than the call of a function. Each takes the arguments and the options.

It returns the result, or whether the finding is bad if it has shown what there is to show.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pkgutil import resolve_name
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, get_args

from adjudge.cli.output import (
    Watch,
    command_line,
    echo,
    remark,
    save_rows,
    show,
    watch_run,
    write,
)
from adjudge.cli.signature import read_arguments
from adjudge.cli.verb import Values
from adjudge.errors import (
    AdjudgeError,
    ArgumentError,
    BackendMissingError,
    JudgeError,
    StoreError,
    how_to_install,
)
from adjudge.present.text import count, number, safe, safe_json

if TYPE_CHECKING:
    from adjudge.judges.judging import JudgingRun
    from adjudge.judges.options import JudgingOptions
    from adjudge.server.guard import Guard

#: Options of rank that --anchors refuses: the anchors fix them, or only a full board has them.
_NOT_WITH_ANCHORS = (
    *("method", "human", "beta", "smoothing", "l2", "interval", "confidence_level", "replicates"),
    *("cluster", "by", "against", "jury", "evaluate", "mix", "splits", "time_limit"),
    *("engine", "workers", "ray_address"),
)


def _some(values: Values, *names: str) -> Values:
    return {name: values[name] for name in names if name in values}


def _prepare(reader: str, arguments: Values) -> Any:
    """The rows that a reader makes of those arguments that it takes; the others stay."""
    names = [name for name in read_arguments(reader) if name in arguments]
    return resolve_name(reader)(**{name: arguments.pop(name) for name in names})


def require_extra(extra: str, *modules: str) -> None:
    """Raise a one-line error if the packages of an extra are not installed."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise BackendMissingError(f"{', '.join(missing)} not installed; {how_to_install(extra)}")


def run_demo(arguments: Values, options: Values) -> bool:
    from rich.text import Text

    from adjudge.demo.run import EMBEDDED, run_demo
    from adjudge.judges.weights import KNOWN, is_cached

    as_json, judge = options["json"], arguments["judge"]
    if judge == EMBEDDED and find_spec("xllamacpp") is None:
        raise BackendMissingError(
            f"the embedded judge needs llama.cpp; {how_to_install('embedded')}, or run without "
            "a model: adjudge demo --judge simulated"
        )
    if judge == EMBEDDED and not is_cached("smollm2"):
        weights = KNOWN["smollm2"]
        remark(f"fetching {weights.description}, {weights.size / 1e6:.0f} MB, once ...")
    if not as_json:
        show(
            Text.assemble(("adjudge demo", "bold"), f"  {judge}, files in {arguments['out']}/"),
            "163 pairs of answers, one correct and one wrong. The judge says which is better;\n"
            "adjudge measures how far its verdicts can be trusted.",
        )
    demo = run_demo(**arguments, show=None if as_json else show, watch=watch_run)
    write(demo, arguments["out"] / "demo.json")
    if as_json:
        echo(safe_json(demo.to_json()))
    remark(f"done in {demo.elapsed_s:.0f} s; a second run reuses all replies")
    return False


def run_judge(arguments: Values, options: Values) -> Any:
    from adjudge.judges.flow import Stop
    from adjudge.judges.judging import make_plans
    from adjudge.judges.options import JudgingOptions

    pairs, policy = arguments.pop("pairs"), options["policy"]
    if arguments.get("engine") == "ray":
        # Ray prints events of its workers to standard output, which is only for the result.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    if (policy is None) == ("judge" not in arguments):
        remedy = "name a judge with --judge openai:MODEL or the like, or give the --policy of a "
        remedy += "cascade, not both"
        raise ArgumentError("judge", list(arguments.get("judge", ())) or None, remedy)
    asking = JudgingOptions(**{"judge": [], **arguments}, handle_signals=True)
    if policy is not None:
        from adjudge.selection import read_policy
        from adjudge.selection.cascade_judging import cascade_options

        asking = cascade_options(read_policy(policy), asking, protocol=arguments.get("protocol"))
    if options["dry_run"]:
        if policy is not None:
            remark("at most: every judge about every row; a cascade asks fewer")
        return make_plans(pairs, asking)
    if asking.output is None and not options["json"]:
        raise ArgumentError("output", None, "name a file for the rows: -o judgments.jsonl")

    with watch_run(str(asking.protocol)) as watch:
        stopping = "stopping: complete rows are written; press Ctrl-C again to exit without them"
        stop = Stop(on_interrupt=lambda: watch.end_with(stopping))
        run = _ask(pairs, replace(asking, progress=watch.show, stop=stop), watch)
    if run.summaries[0].stopped == "interrupted":
        # The run is ending: another Ctrl-C would only lose its last messages.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    remark(f"replies are kept in {run.summaries[0].store}")
    return run.result


def _ask(pairs: Any, options: JudgingOptions, watch: Watch) -> JudgingRun:
    from adjudge.judges.judging import run_options
    from adjudge.store import store_name

    try:
        return run_options(pairs, options)
    except (JudgeError, StoreError):
        made = sum(watch.made.values())
        if made:
            watch.end_with(
                f"{made:,} replies of this run are kept in {store_name(options.store)}; repair "
                "what the next line names and run the same command again to resume"
            )
        raise


def run_convert(arguments: Values, options: Values) -> Any:
    from adjudge.data import convert_log
    from adjudge.data.formats import Kind
    from adjudge.data.writing import check_output
    from adjudge.validation import one_of

    if options["output"] is not None:
        check_output(options["output"])
    if "kind" in arguments:
        one_of(arguments["kind"], get_args(Kind), "rows")
    return convert_log(**arguments)


def run_estimate(arguments: Values, options: Values) -> Any:
    from adjudge.estimation import estimate

    result: Any = estimate(**arguments)
    if options["json"]:
        for text in getattr(result, "all_warnings", result.warnings):
            remark(f"warning: {text}")
    return result


def run_compare(arguments: Values, options: Values) -> Any:
    from adjudge.estimation import Comparison, ReadingSystems, compare
    from adjudge.estimation.systems import read_systems

    result, path = compare(**arguments), options["write_ids"]
    if isinstance(result, Comparison):
        if path is not None:
            raise ArgumentError("write_ids", str(path), "is for --until-sure")
        if options["json"]:
            for text in result.warnings:
                remark(f"warning: {text}")
        return result
    if options["plot"] is not None:
        raise ArgumentError("plot", str(options["plot"]), "--until-sure has no picture")
    reading = ("data", "other", "a", "b", *ReadingSystems.__annotations__)
    texts = read_systems(**_some(arguments, *reading))[None].texts()
    if path is not None:
        rows = result.rows_to_label()
        save_rows(rows if texts is None else rows.join(texts, "id", maintain_order="left"), path)
    asks = path is None and not options["json"] and "labels" not in arguments
    if asks and result.next and sys.stdin.isatty() and sys.stderr.isatty():
        if texts is None:
            remark("no page: the rows have no id, or no texts to label (prompt, response)")
        else:
            result = _ask_people(result, texts, arguments, options)
    return result


def _ask_people(result: Any, rows: Any, arguments: Values, options: Values) -> Any:
    """Open the labelling page on the questions drawn, with a look after every label."""
    require_extra("server", "fastapi", "uvicorn")
    from adjudge.estimation import compare
    from adjudge.server.labelling import Draw
    from adjudge.server.rounds import open_round

    errors, looking = list[AdjudgeError](), Lock()
    # The page asks for the next answer first, and hears that there is none.
    stop = Timer(2.0, signal.raise_signal, [signal.SIGINT])

    def look() -> None:
        nonlocal result
        with looking:
            try:
                result = compare(**arguments)
            except AdjudgeError as error:
                errors.append(error)
            following = [Draw(name, "random") for name in result.rows_to_label()["id"]]
            round_.queue = tuple(dict.fromkeys([*round_.queue, *following]))
            if result.finished or errors:
                labelled = {answer.subject_id for answer in round_.book.answers() if answer.label}
                round_.queue = tuple(draw for draw in round_.queue if draw.id in labelled)
                if stop.ident is None:
                    stop.start()

    remark(result.reach)
    plan, store, scale = result.rows_to_label(), arguments["store"], arguments.get("scale")
    how: Values = {"scale": scale and "{}-{}".format(*scale), "share_out": True, "announce": remark}
    with open_round(rows, store=store, plan=plan, **how) as round_:
        round_.on_label = look
        _open_page(round_, store, options)
        stop.cancel()
    if errors:
        raise errors[0]
    again = (command_line() or "").removeprefix("adjudge ")
    options["next_step"] = options["next_step"] if result.finished else lambda _: again
    return result


def run_plan_rate(arguments: Values, options: Values) -> Any:
    from adjudge.data import Source, open_table
    from adjudge.estimation import plan_rate, rows_to_label

    if (labels := str(arguments.get("labels", ""))).isdigit():
        remedy = f"is a file of human labels; a number of labels is --budget {labels}"
        raise ArgumentError("--labels", labels, remedy)
    names = {name: arguments.pop(name, None) for name in ("columns", "labels_as")}
    if "data" in arguments:
        with Source(arguments["data"], labels=arguments.get("labels"), **names) as source:
            arguments["data"] = open_table(source.rows)
            if source.labels is not None:
                arguments["labels"] = open_table(source.labels)
    plan = plan_rate(**arguments)
    if options["plot"] is not None and plan.rate is None:
        remark("adjudge plan rate: no picture, this judge cannot be corrected")
        options["plot"] = None
    if (write_ids := options["write_ids"]) is not None and not plan.can_draw(options["draw"]):
        remark("adjudge plan rate: no rows written, the plan cannot be carried out")
    elif write_ids is not None:
        columns = _some(arguments, "labels", "judge_column", "human_column", "positive")
        drawn = rows_to_label(
            arguments.get("data"), plan, **columns, draw=options["draw"], seed=options["seed"]
        )
        if drawn.height:
            save_rows(drawn, write_ids, "row")
            if options["draw"] == "verdict":
                remark(
                    f"{plan.verdict_m1:,} labels of verdict 1, {plan.verdict_m0:,} of verdict 0 "
                    f"({plan.labelled:,} exist): width {number(plan.verdict_width)}"
                )
        else:
            remark(f"the table has enough labels for this plan: {write_ids} not written")
    return plan


def run_plan_selection(arguments: Values, options: Values) -> Any:
    from adjudge.selection import plan_labels, plan_selection

    prepared = _prepare("adjudge.data.judgments:prepare_judgments", arguments)
    plan = plan_selection(prepared, **arguments)
    if (write_ids := options["write_ids"]) is not None:
        wanted = (plan.recommended or plan.points[-1].n) - plan.n_labelled
        if wanted <= 0:
            remark(f"no more labels are needed, {plan.n_labelled} exist: {write_ids} not written")
        else:
            drawn = plan_labels(prepared, n=wanted, **_some(arguments, "cluster", "seed"))
            save_rows(drawn.to_frame(), write_ids, "id")
    return plan


def run_plan_battles(arguments: Values, options: Values) -> Any:
    from adjudge.data import Source, open_table
    from adjudge.ranking import plan_battles

    names = {name: arguments.pop(name, None) for name in ("columns", "labels_as")}
    others = {"judged": arguments.pop("judged", None)}
    with Source(arguments.pop("pool"), others=others, **names) as source:
        pool = open_table(source.rows)
        plan = plan_battles(pool, judged=source.other("judged"), **arguments)
    if (target := options["write_rows"]) is not None:
        save_rows(pool.frame[list(plan.rows)], target)
    return plan


def run_plan_labels(arguments: Values, options: Values) -> Any:
    from adjudge.selection import plan_labels

    plan = plan_labels(**arguments)
    if (write_ids := options["write_ids"]) is not None:
        save_rows(plan.to_frame(), write_ids, "id")
    elif options["output"] is None and not options["json"]:
        remark("nothing was written: give --write-ids FILE to write the ids")
    return plan


def run_monitor_draw(arguments: Values, options: Values) -> Any:
    from adjudge.monitoring import draw_audits
    from adjudge.monitoring.drawing import read_served_audits
    from adjudge.selection import read_policy
    from adjudge.store import is_store, store_name

    served, policy = arguments["served"], options["policy"]
    if is_store(served):
        if "audit_rate" in arguments or "earlier" in arguments:
            remedy = "serve has already drawn these audits: leave out the rate"
            raise ArgumentError("served", store_name(served), remedy)
        rules = None if policy is None else read_policy(policy).rules_id
        run = read_served_audits(served, rules_id=rules)
    else:
        if "audit_rate" not in arguments:
            raise ArgumentError("audit_rate", None, "give a share, such as --audit-rate 0.05")
        _required_secret(arguments.get("secret"))
        run = draw_audits(**arguments)
    if options["output"] is None and options["summary"] is None and not options["json"]:
        remark("nothing was written: give -o FILE to write the rows to label")
    return run


def _required_secret(secret: str | None) -> str:
    if secret is None:
        raise ArgumentError("secret_env", None, "name a variable with a secret: --secret-env NAME")
    return secret


def run_monitor_check(arguments: Values, _: Values) -> Any:
    from adjudge.auditing import check_audits

    monitor = check_audits(**arguments)
    if "state" not in arguments:
        remark("no --state: the next check starts again without these counts")
    return monitor


def run_diagnose_scores(arguments: Values, options: Values) -> Any:
    from adjudge.data import write_rows
    from adjudge.diagnosis import diagnose_scores, score_set_rows
    from adjudge.diagnosis.scores.diagnose import ALPHAS

    alphas = arguments.pop("alphas", None) or [str(level) for level in ALPHAS]
    prepared = _prepare("adjudge.data.scores:prepare_scores", arguments)
    result = diagnose_scores(prepared, alphas=alphas, **arguments)
    if (write_sets := options["write_sets"]) is not None:
        how = _some(arguments, "sets", "scale", "target", "seed")
        rows = score_set_rows(prepared, alpha=alphas[0], **how)
        used = ", ".join(rows["sets"].drop_nulls().unique())
        remark(f"wrote {write_rows(rows, write_sets)}: {rows.height:,} rows, {used} sets")
    options["first_alpha"] = float(alphas[0])
    return result


def run_rank(arguments: Values, options: Values) -> Any:
    from adjudge.ranking import make_anchors, place, rank

    anchors, save_anchors = options["anchors"], options["save_anchors"]
    if anchors is not None:
        _refuse_with_anchors({**_some(arguments, *_NOT_WITH_ANCHORS), "save_anchors": save_anchors})
    if options["fail_above"] is not None and not arguments.get("evaluate"):
        raise ArgumentError("--fail-above", options["fail_above"], "add --evaluate")
    # Prepared once for both the board and the anchors.
    prepared = _prepare("adjudge.data.battles:prepare_battles", arguments)
    if anchors is not None:
        how = _some(arguments, "alpha", "families", "seed")
        board = place(prepared, anchors, quantile=options["quantile"], **how)
    else:
        plain = {} if arguments.get("evaluate") or save_anchors is None else {"mix": None}
        board = rank(prepared, **{**arguments, **plain})
    if save_anchors is not None:
        how = _some(arguments, "method", "smoothing", "l2", "mix", "seed")
        saved = make_anchors(prepared, **how)
        write(saved, save_anchors)
        remark(f"wrote {save_anchors}: {str(saved).splitlines()[0]}")
    if board.held_out:
        options["figure"] = options["figure"] or "evaluation"
    if not board.feasible:
        options["plot"] = None
    return board


def _refuse_with_anchors(values: Values) -> None:
    """Refuse options that have no effect when models are placed."""
    for name, value in values.items():
        if value is not None:
            remedy = "leave it out: --anchors uses the values that were saved"
            if name == "confidence_level":
                remedy = "use --alpha: with --anchors intervals are conformal"
            raise ArgumentError("--" + name.replace("_", "-"), str(value), remedy)


def run_align(arguments: Values, options: Values) -> Any:
    from adjudge.alignment import align, plan_alignment
    from adjudge.atomic import check_writable

    folder = options.pop("output")
    if options["dry_run"]:
        return plan_alignment(**arguments)
    if folder is not None:
        check_writable(folder / "result.json")
    run = align(**arguments)
    if folder is not None:
        for path in run.write(folder, command=command_line()):
            remark(f"wrote {path}")
    return run.result


def run_report(arguments: Values, options: Values) -> bool:
    from adjudge.report import FORMATS, read_folder, render_report, write_report
    from adjudge.validation import one_of

    how = {"title": arguments.get("title")}
    chosen = one_of("json" if options["json"] else arguments["format"], FORMATS, "format")
    folder = read_folder(arguments["folder"], store=options["store"])
    for state, files in (("", folder.skipped), ("damaged, ", folder.damaged)):
        for name, reason in files.items():
            remark(f"{state}not in the report: {name} ({reason})")
    output = options["output"]
    if output is None and chosen == "html":
        output = arguments["folder"] / "report.html"
    if output is None:
        text = render_report(folder, format=chosen, **how)
        echo(safe_json(text) if chosen == "json" else safe(text), end="")
    else:
        remark(f"wrote {write_report(folder, output, format=chosen, **how)}")
    return bool(folder.damaged)


def run_pull(arguments: Values, _: Values) -> bool:
    from adjudge.judges.weights import is_cached, known, pull

    name, force = arguments["name"], arguments.get("force", False)
    weights = known(name)
    if force or not is_cached(name):
        remark(f"fetching {weights.description}, {weights.size / 1e6:.0f} MB ...")
    path = pull(name, force=force)
    remark(f"SHA-256 {weights.sha256[:16]}... as expected")
    echo(str(path))
    return False


def run_label(arguments: Values, options: Values) -> Any:
    page = not options["export_only"] and options["label_studio"] is None
    if page:
        require_extra("server", "fastapi", "uvicorn")
    from adjudge.server.label_summary import labels_frame, summarise
    from adjudge.server.rounds import open_round
    from adjudge.store import check_not_store

    limit, plan = options["limit"], arguments.get("plan")
    if limit is not None and options["label_studio"] is None:
        remedy = "use it with --label-studio: the page runs until Ctrl-C"
        raise ArgumentError("limit", limit, remedy)
    for written in (options["output"], options["label_studio"]):
        if written is not None:
            check_not_store(arguments["store"], written)
    with open_round(**arguments) as round_:
        if options["label_studio"] is not None:
            _write_tasks(round_, options["label_studio"], limit, plan)
        if page:
            _open_page(round_, arguments["store"], options)
        if options["output"] is not None:
            save_rows(labels_frame(round_.book, plan=plan, kind=round_.kind), options["output"])
        return summarise(round_.book, list(round_.subjects.values()), round_.kind)


def _write_tasks(round_: Any, path: Any, limit: int | None, plan: Any) -> None:
    from adjudge.integrations.label_studio import write_tasks
    from adjudge.server.label_summary import plan_columns

    if round_.instructions is not None:
        remedy = "paste them into the instructions of the Label Studio project"
        raise ArgumentError("instructions", "a file", remedy)
    columns = None if plan is None else plan_columns(plan)
    tasks, config = write_tasks(round_, path, limit=limit, plan=columns)
    remark(f"wrote {count(tasks, 'task')} to {path} and their labelling config to {config}")
    remark("export the labels as JSON, then: adjudge label ROWS --import EXPORT -o labels.csv")


def _open_page(round_: Any, store: str, options: Values) -> None:
    import webbrowser

    from adjudge.server.label_page import label_app
    from adjudge.store import store_name

    def ready(address: str) -> None:
        place = store_name(store)
        remark(f"labelling page: {address}  (Ctrl-C when done; labels are in {place})")
        if os.environ.get("ADJUDGE_TOKEN"):
            remark("the page asks for the token in ADJUDGE_TOKEN")
        if options["browser"]:
            webbrowser.open(address)

    _listen(partial(label_app, round_), options, ready)


def _listen(make_app: Callable[..., Guard], options: Values, ready: Callable[[str], None]) -> None:
    from adjudge.server.running import serve

    host, token = options["host"], os.environ.get("ADJUDGE_TOKEN") or None
    app = partial(make_app, host=host, token=token)
    serve(lambda port: app(port=port), host=host, port=options["port"], token=token, ready=ready)


def run_serve(arguments: Values, options: Values) -> bool:
    require_extra("server", "fastapi", "uvicorn", "prometheus_client")
    from adjudge.monitoring import AuditCoin
    from adjudge.policy.result import policy_headline
    from adjudge.server.audits import AuditTrail, MonitorMetrics
    from adjudge.server.guard import Limits
    from adjudge.server.judge_app import judge_app
    from adjudge.server.service import PolicyFile, make_service
    from adjudge.store import open_store, store_name

    path, audit_rate, store = arguments.pop("policy"), options["audit_rate"], options["store"]
    source = PolicyFile(path)
    service = make_service(source.policy, **arguments)
    for judge in service.judges:
        judge.backend.check()
    trail = monitor = None
    if audit_rate is not None:
        open_store(store).close()  # so that a bad store is an error before the first request
        secret = _required_secret(options["secret_env"])
        trail = AuditTrail(AuditCoin(audit_rate, secret), service, store)
    if options["state"] is not None:
        monitor = MonitorMetrics(options["state"], source.policy)
    limits = Limits(
        body_bytes=4_000_000, answer_seconds=options["timeout"], stop_seconds=options["grace"]
    )

    def ready(address: str) -> None:
        names = " -> ".join(judge.backend.name for judge in service.judges)
        remark(f"serving {names} with {path}: {address}v1/judge")
        remark(f"policy {service.policy_id}: {policy_headline(service.policy).text}")
        remark(service.policy.value)
        if audit_rate is not None:
            place = store_name(store)
            remark(f"{audit_rate:.3g} of accepted verdicts are drawn for audits, stored in {place}")

    app = partial(judge_app, service, source, limits=limits, trail=trail, monitor=monitor)
    _listen(app, options, ready)
    return False
