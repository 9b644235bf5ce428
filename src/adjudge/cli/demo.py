"""`adjudge demo`: all steps, with a small judge that runs on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import echo, remark, show, write
from adjudge.cli._options import JsonFlag, SeedOption
from adjudge.errors import BackendMissingError, how_to_install
from adjudge.present.text import safe_json


def demo(
    out: Annotated[Path, typer.Option(help="Folder for all files of the demo.")] = Path("demo-out"),
    judge: Annotated[
        str,
        typer.Option(
            help="llamacpp:smollm2 (98 MB, fetched once), simulated (needs no model), "
            "or any judge that `adjudge judge` takes."
        ),
    ] = "llamacpp:smollm2",
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Run all steps on 163 pairs with known correct answers."""
    from rich.text import Text

    from adjudge.cli._progress import watch_run
    from adjudge.demo.run import EMBEDDED, run_demo
    from adjudge.judges.weights import KNOWN, is_cached

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
            Text.assemble(("adjudge demo", "bold"), f"  {judge}, files in {out}/"),
            "163 pairs of answers, one correct and one wrong. The judge says which is better;\n"
            "adjudge measures how far its verdicts can be trusted.",
        )
    demo = run_demo(out, judge=judge, seed=seed, show=None if as_json else show, watch=watch_run)
    write(demo, out / "demo.json")
    if as_json:
        echo(safe_json(demo.to_json()))
    remark(f"done in {demo.elapsed_s:.0f} s; a second run reuses all replies")
