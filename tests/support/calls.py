"""A call as the store keeps it, for tests to which only its key and its reply matter, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudge.records import Reply, Status
from adjudge.store import Call, Store
from adjudge.store.tables import decode_reply


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


def latest_replies(store: Store, keys: Sequence[str]) -> dict[str, Reply]:
    """The reply in the latest row of each call that has one, as a run reads it: without raw."""
    return {key: decode_reply(row, store.name) for key, row in store.lookup_rows(keys).items()}
