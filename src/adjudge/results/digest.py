"""Results that later commands obey carry a digest of their content, so that an edit is noticed.

The digest is against mistakes, not attackers: whoever changes a file on purpose can write a new
digest into it too.
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
#: The field of a file that names the command which made it. It is not part of the result: results
#: are equal without it, no digest covers it, and editing it changes nothing.
COMMAND = "command"
_NOT_CONTENT = ("digest", COMMAND)
#: Whole numbers up to here are the same as floats and as integers.
_EXACT = 2**53


@frozen
class ResultWithDigest(Result):
    """A result whose file ends in `digest`; files of a schema before `digest_since` have none."""

    digest_since: ClassVar[int]
    schema_version: int

    @property
    def digest(self) -> str | None:
        """What its file carries as `digest`; None in a schema that has none."""
        return self.to_dict().get("digest")

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        if self.schema_version >= self.digest_since:
            values["digest"] = digest_of(values)
        return values


def digest_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of all fields but `digest` and `command`.

    They are canonical JSON for it: sorted keys, no blanks, ASCII. Order of keys, indentation and 1
    for 1.0 are not content: other programs change them.

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
        raise DataError(source, problem, remedy="write it again: it is not for editing")


def digest_state(values: Mapping[str, Any], made: type[ResultWithDigest]) -> DigestState:
    """Whether the digest is that of the content; "none" in a schema that has none."""
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
