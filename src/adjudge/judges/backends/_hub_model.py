"""A model of the Hugging Face hub or of a local folder: its version, and loading its parts.

Code in a model's repository is never run.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adjudge.errors import BackendMissingError

_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model", "*.txt")


def model_version(source: str, revision: str | None, *, name: str) -> Mapping[str, str]:
    """The commit of a model on the hub, or the SHA-256 of a folder's files."""
    folder = Path(source)
    if folder.is_dir():
        digest = hashlib.sha256()
        for path in sorted({file for kind in _WEIGHTS for file in folder.glob(kind)}):
            digest.update(path.name.encode() + b"\0")
            with path.open("rb") as handle:
                while block := handle.read(1 << 20):
                    digest.update(block)
        return {"weights_sha256": digest.hexdigest()}
    from transformers.utils.hub import cached_file, extract_commit_hash

    try:
        config = cached_file(source, "config.json", revision=revision)
    except OSError as error:
        raise _missing(name, error) from error
    commit = extract_commit_hash(config, None)
    if commit is None:
        raise BackendMissingError(f"{name}: the hub gives no commit; give a local folder")
    return {"revision": commit}


def read_model(
    source: str, revision: str | None, *, name: str, dtype: str, device: str
) -> tuple[Any, Any]:
    """The tokenizer, and the causal model on its device."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
        model = AutoModelForCausalLM.from_pretrained(source, revision=revision, dtype=dtype)
        return tokenizer, model.to(device)
    except (OSError, ValueError) as error:
        raise _missing(name, error) from error


def _missing(name: str, error: Exception) -> BackendMissingError:
    why = textwrap.shorten(str(error), 160, placeholder=" ...")
    return BackendMissingError(
        f"{name}: cannot be loaded ({why}); check the name, the network, or give a folder"
    )
