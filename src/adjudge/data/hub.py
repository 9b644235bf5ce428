"""Data sets of the Hugging Face hub by name: hf://datasets/OWNER/NAME[/CONFIG][:SPLIT].

Polars' own reader fetches the Parquet files that the hub makes of a data set, with the token in
HF_TOKEN if there is one. They are fetched once in a process, into a temporary file. Nothing is
fetched unless its address was given.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

import polars as pl

from adjudge.data.names import LOG
from adjudge.errors import FileError

_NAMED = re.compile(
    r"datasets/(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<config>[\w.-]+))?(?::(?P<split>[\w.-]+))?"
)
_FILE = "__file"
#: As polars takes them: without limits a broken connection is tried again for minutes.
_PATIENCE = {"max_retries": 2, "retry_timeout_ms": 20_000}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="adjudge-hub-")


@cache
def fetch_rows(address: str) -> Path:
    """The path of a file with the rows of this data set, whose address is without hf://."""
    named = _NAMED.fullmatch(address)
    shown = f"hf://{address}"
    if named is None:
        remedy = "write hf://datasets/OWNER/NAME:SPLIT"
        raise FileError(shown, "is no address of a data set", remedy=remedy)
    name, config, split = named["name"], named["config"] or "*", named["split"] or "*"
    # The hub keeps a copy of every data set as Parquet, by configuration and split.
    pattern = f"hf://datasets/{name}@~parquet/{config}/{split}/*.parquet"
    local = Path(_folder().name) / f"{re.sub('[^A-Za-z0-9.-]', '-', address)}.parquet"
    try:
        # Only the ends of the files are read for this; parts can differ in their columns.
        listing = pl.scan_parquet(
            pattern,
            storage_options=_PATIENCE,
            include_file_paths=_FILE,
            extra_columns="ignore",
            missing_columns="insert",
        )
        files = listing.select(pl.col(_FILE).unique()).collect()[_FILE]
        parts = sorted({tuple(Path(file).parts[-3:-1]) for file in files})
        if len(parts) > 1:
            listed = ", ".join(f"hf://datasets/{name}/{part}:{of}" for part, of in parts[:8])
            raise FileError(shown, f"has {len(parts)} parts", remedy=f"name one: {listed}")
        pl.scan_parquet(pattern, storage_options=_PATIENCE).sink_parquet(local)
    except (pl.exceptions.PolarsError, OSError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        remedy = "check the name, the split and the network; a private data set needs HF_TOKEN"
        raise FileError(shown, f"cannot be fetched ({reason})", remedy=remedy) from None
    LOG.warning("%s: fetched %d bytes from the hub", shown, local.stat().st_size)
    return local
