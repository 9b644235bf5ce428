"""Ten thousand pairs with an image of 1 MB each: read when they are asked, and never kept."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from looking import draw_shape
from peak import run_for_peak

ROOT = Path(__file__).parents[2]
PAIRS = 10_000
MB = 1_000_000


@pytest.mark.crash
def test_ten_thousand_images_of_a_megabyte_take_less_than_500_mb() -> None:
    """The server reads only the length of a request, so that the run is measured."""
    folder = Path("images")
    folder.mkdir()
    for n in range(8):
        content = draw_shape("circle")
        (folder / f"{n}.png").write_bytes(content + random.Random(n).randbytes(MB - len(content)))
    with Path("pairs.jsonl").open("w") as rows:
        for n in range(PAIRS):
            (folder / f"i{n}.png").hardlink_to(folder / f"{n % 8}.png")
            image = {"type": "image", "path": f"images/i{n}.png"}
            answers = {"response_a": [image], "response_b": "a circle"}
            row = {"id": str(n), "prompt": f"Draw circle {n}.", **answers}
            rows.write(json.dumps(row) + "\n")
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks" / "instant_server.py")],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline().split()[-1]
        command = ["judge", "pairs.jsonl", "--judge", "openai:m", "--order", "ab"]
        command += ["--base-url", f"http://127.0.0.1:{port}/v1", "-o", "out.jsonl", "--json"]
        environment = {**os.environ, "OPENAI_API_KEY": "k" * 20}
        done, most = run_for_peak(command, stdout=subprocess.PIPE, env=environment)
    finally:
        server.kill()
        server.communicate()
    assert done.returncode in (0, 2), done.stderr
    assert json.loads(done.stdout)["statuses"] == {"ok": PAIRS}
    print(f"{most:.0f} MB")
    assert pl.read_ndjson("out.jsonl").height == PAIRS
    assert Path("adjudge.db").stat().st_size < 100 * MB
    assert most < 500
