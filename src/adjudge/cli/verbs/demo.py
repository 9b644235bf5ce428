"""`adjudge demo`: the whole chain on pairs with known answers."""

from __future__ import annotations

from importlib.util import find_spec

from adjudge.cli.output import echo, remark, show, watch_run, write
from adjudge.cli.verb import Option, Values, Verb
from adjudge.errors import BackendMissingError, how_to_install
from adjudge.present.text import safe_json


def _run(arguments: Values, options: Values) -> bool:
    from rich.text import Text

    from adjudge.demo.run import EMBEDDED, run_demo
    from adjudge.judges.weights import KNOWN, is_cached

    as_json = options["json"]
    judge = arguments["judge"]
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


COMMAND = Verb(
    "demo",
    "adjudge.demo.run:run_demo",
    "Run all steps on 163 pairs with known correct answers.",
    "demo --judge simulated",
    rows=(),
    added="json",
    options=[Option("out", always=True), Option("judge", always=True)],
    run=_run,
    panel="Begin",
    place=2,
)
