"""What a run leaves on the disk: for its owner's eyes alone, and no more than was asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge.judges import judge_pairs
from adjudge.judges.flow import Stop
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import use_store
from adjudge.store.sqlite import SQLiteStore

PAIRS = simulate_pairs(6, seed=4)


@pytest.fixture(autouse=True)
def _open_to_all(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_store_and_its_new_folders_are_for_their_owner(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    place = shared / "mine" / "deep" / "s.db"
    store = SQLiteStore(place)
    store.latest_call_id()
    files = sorted(path.name for path in place.parent.iterdir())
    assert files == ["s.db", "s.db-shm", "s.db-wal"]
    assert {mode(path) for path in place.parent.iterdir()} == {0o600}
    assert {mode(folder) for folder in (place.parent, place.parent.parent)} == {0o700}
    assert mode(shared) == 0o755, "a folder that was there is not ours to change"
    store.close()


def test_a_store_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    SQLiteStore(place).close()
    place.chmod(0o640)
    SQLiteStore(place).close()
    assert mode(place) == 0o640


def test_the_list_of_batches_is_for_its_owner(judge_server: Any, tmp_path: Path) -> None:
    judge_server.script("ok", polls_needed=99)
    stop = Stop()
    judge_pairs(
        PAIRS,
        judge="openai:m",
        base_url=judge_server.base_url,
        store="b.db",
        batch=True,
        batch_folder=tmp_path / "batches",
        poll_s=0.05,
        stop=stop,
        progress=lambda _: stop.interrupt(),
    )
    paths = list((tmp_path / "batches").rglob("*"))
    files = [path for path in paths if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".calls", ""}
    assert {mode(path) for path in files} == {0o600}
    assert {mode(path) for path in paths if path.is_dir()} == {0o700}


@pytest.mark.parametrize("options", [{}, {"samples": 2}, {"protocol": "verbalized"}])
def test_no_raw_gives_the_same_rows_and_resumes(judge_server: Any, options: dict[str, Any]) -> None:
    def judged(store: str, **more: Any) -> Any:
        url = judge_server.base_url
        return judge_pairs(PAIRS, judge="openai:m", base_url=url, store=store, **options, **more)

    if options.get("protocol") == "verbalized":
        judge_server.script('text:{"verdict": "A", "confidence": 80}')
    whole, bare = judged("whole.db"), judged("bare.db", keep_raw=False)
    assert bare.judgments.equals(whole.judgments)
    assert bare.summary.judge_fingerprint == whole.summary.judge_fingerprint
    assert judged("bare.db").summary.calls_made == 0
    with use_store("bare.db") as store:
        kept = store._execute("SELECT raw, reply_text, status, prompt_tokens FROM calls")
    assert {raw for raw, *_ in kept} == {None}
    assert all(status == "ok" and tokens for _, _, status, tokens in kept)
    texts = {text for _, text, *_ in kept}
    assert texts == {None} if not options else None not in texts
