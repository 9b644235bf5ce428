"""Write the JSON schema of every kind into a folder, for the site."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from adjudge.present.schema import schema, schema_kinds


def write_schemas(folder: Path) -> None:
    """One file for each kind: FOLDER/estimate.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in schema_kinds():
        text = json.dumps(schema(kind), indent=2) + "\n"
        (folder / f"{kind}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
