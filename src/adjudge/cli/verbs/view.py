"""`adjudge view`: read verdicts, disagreements and doubt, on a page in the browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from adjudge.cli.output import remark, save_rows
from adjudge.cli.page import open_in_browser, page_options, require_server
from adjudge.cli.verb import Option, Values, Verb, store_option


def _run(arguments: Values, options: Values) -> Any:
    require_server()
    import polars as pl

    from adjudge.atomic import replacing
    from adjudge.server.view_page import view_app
    from adjudge.server.viewer import open_view

    page = open_view(**arguments)
    output = options["output"]
    if output is None:
        open_in_browser(partial(view_app, page), options, "viewer: {}  (Ctrl-C when done)")
        return False
    if output.suffix != ".html":
        save_rows(pl.concat(page.export(page.first)), output)
        return False
    with replacing(output) as scratch:
        scratch.write_text(page.static(page.first, options["limit"]), encoding="utf-8")
    remark(f"wrote {output}: it opens without a server")
    return False


COMMAND = Verb(
    "view",
    "adjudge.server.viewer:open_view",
    "Read verdicts, disagreements and doubt, on a page in the browser.",
    "view judgments.jsonl --labels labels.csv --only disagreements",
    "Filters, searches and sorts all rows; a label can be corrected blind, as a second opinion.",
    rows=("rows",),
    main="labels policy store judge only blind output port column",
    added="",
    options=[
        Option("judge", argument="judges"),
        store_option("Store of the judge's replies, and of second opinions.", "store"),
        Option(
            "output",
            "Write the rows shown, and stop: a page that opens without a server (.html), or a file "
            "(.jsonl, .csv, .parquet).",
            Path,
            short="-o",
            written=True,
        ),
        Option("limit", "The most rows on a page that -o writes.", int, default=300, least=1),
        *page_options(8478),
    ],
    run=_run,
    panel="Is the judge good",
    place=2,
)
