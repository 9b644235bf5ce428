"""Write src/adjudge/__init__.pyi, so that names loaded on first use have types all the same."""

from __future__ import annotations

from pathlib import Path

import adjudge

TARGET = Path(adjudge.__file__).with_suffix(".pyi")


def render() -> str:
    """One explicit import per public name, grouped by room."""
    lines = [f'"""{(adjudge.__doc__ or "").strip()}"""', ""]
    for room, names in sorted(adjudge._ROOMS.items()):
        lines += [f"from {room} import {name} as {name}" for name in sorted(names.split())]
    listed = "".join(f'    "{name}",\n' for name in adjudge.__all__)
    lines += ["", "__version__: str", f"__all__ = [\n{listed}]"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
