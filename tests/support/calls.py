"""A call as the store keeps it, for tests to which only its key and its reply matter."""

from __future__ import annotations

from typing import Any

from adjudge.records import Reply, Status
from adjudge.store import Call


def make_call(key: str, status: Status = "ok", *, subject_id: str = "s", **reply: Any) -> Call:
    return Call(
        call_key=key,
        judge_fingerprint="f",
        subject_id=subject_id,
        content_hash="c",
        order="ab",
        repeat=0,
        slot="",
        reply=Reply(status=status, **reply),
    )
