"""Results that later commands use have a digest of their content, so that an edit is detected.

The digest is against mistakes, not attackers: anyone who changes a file on purpose can also write a
new digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from adjudge.errors import DataError
from adjudge.results.base import Result, frozen

DigestState = Literal["matches", "differs", "missing", "none"]
#: The field of a file that names the command that made it. It is not part of the result: results
#: are compared without it, no digest covers it, and editing it has no effect.
COMMAND = "command"
_NOT_CONTENT = ("digest", COMMAND)
#: Integers up to here are equal as floats and as integers.
_EXACT = 2**53


@frozen
class ResultWithDigest(Result):
    """A result whose file has a `digest`; files of a schema before `digest_since` have none."""

    digest_since: ClassVar[int]
    schema_version: int

    @property
    def digest(self) -> str | None:
        """The `digest` in its file; None in a schema without one."""
        return self.to_dict().get("digest")

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        if self.schema_version >= self.digest_since:
            values["digest"] = digest_of(values)
        return values


def digest_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of all fields but `digest` and `command`.

    They are written as canonical JSON: sorted keys, no blanks, ASCII. The order of keys,
    indentation and 1 for 1.0 are not content, because other programs change them.

    >>> digest_of({"alpha": 1.0, "digest": "x"}) == digest_of({"alpha": 1})
    True
    """
    content = {
        name: _canonical(value) for name, value in values.items() if name not in _NOT_CONTENT
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def check_digest(
    values: Mapping[str, Any], made: type[ResultWithDigest], source: str | Path
) -> None:
    """Refuse a file whose digest is missing or is not that of its content."""
    state = digest_state(values, made)
    if state in ("differs", "missing"):
        problem = "has no digest" if state == "missing" else "was changed: its digest differs"
        raise DataError(source, problem, remedy="write it again: do not edit it")


def digest_state(values: Mapping[str, Any], made: type[ResultWithDigest]) -> DigestState:
    """Whether the digest matches the content; "none" in a schema without one."""
    if "digest" in values:
        return "matches" if values["digest"] == digest_of(values) else "differs"
    version = values.get("schema_version")  # the first files had neither
    return "missing" if isinstance(version, int) and version >= made.digest_since else "none"


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, Mapping):
        return {name: _canonical(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    return value
