"""."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.data.rows import Identity
from adjudge.errors import PolicyMismatchError
from adjudge.judges.judge import differing_parts, incomparable_parts
from adjudge.store import StorePlace, read_judge_parts


@dataclass(frozen=True)
class Match:
    """Which of the known judges this is (positions), and what could not be compared."""

    positions: tuple[int, ...]
    remark: str | None = None


def match_judge(
    known: Sequence[Identity],
    given: Identity,
    *,
    made: str = "the policy",
    remedy: str = "calibrate on judgments of this one",
    by_name: bool = False,
    store: StorePlace = None,
) -> Match:
    """Find `given` among the judges that something was `made` for; refuse another judge.

    Equal fingerprints are one judge (with `by_name`, name and protocol must also agree). If both
    sides have fingerprints and none is equal, it is another judge, whatever its name. If one side
    has none, name and protocol must agree as far as they are known.

    PolicyMismatchError names the part that differs: the parts of the two fingerprints if they are
    known (possibly from the `store`), else judge, protocol or judge_fingerprint.

    >>> old = [Identity("gpt", "preference", "f1")]
    >>> match_judge(old, Identity("gpt", "preference", "f1"))
    Match(positions=(0,), remark=None)
    >>> match_judge(old, Identity("gpt", "preference")).remark
    'rows of gpt (preference) have no judge_fingerprint: only its name was compared'
    """
    alike = [at for at, one in enumerate(known) if _names_agree(one, given)]
    if given.fingerprint is not None:
        pool = alike if by_name else range(len(known))
        equal = tuple(at for at in pool if known[at].fingerprint == given.fingerprint)
        if equal:
            return Match(equal)
    comparable = tuple(
        at for at in alike if given.fingerprint is None or known[at].fingerprint is None
    )
    if not comparable:
        older, remark = _but_for_later_parts(known, alike, given, made, store)
        if older:
            return Match(older, remark)
        raise _mismatch([known[at] for at in alike] or known, given, made, remedy, store)
    return Match(comparable, _remark(known[comparable[0]], given, made))


def _but_for_later_parts(
    known: Sequence[Identity], alike: Sequence[int], given: Identity, made: str, store: StorePlace
) -> tuple[tuple[int, ...], str]:
    """The judges that differ only in parts that earlier versions did not keep, and a note."""
    parts = _known_parts(given, store)
    if parts is None:
        return (), ""
    equal = []
    lacking: dict[str, None] = {}
    for at in alike:
        mine = known[at].parts
        if mine is not None and not differing_parts(mine, parts):
            equal.append(at)
            lacking |= dict.fromkeys(incomparable_parts(mine, parts))
    names = ", ".join(lacking)
    return tuple(equal), (
        f"{made} or the rows of {given} were made by an earlier version, which did not keep {names}"
        " of the judge: not compared"
    )


def _known_parts(given: Identity, store: StorePlace) -> Mapping[str, Any] | None:
    """The parts of a fingerprint, if they came with it or are in the store."""
    if given.parts is not None or given.fingerprint is None:
        return given.parts
    return read_judge_parts([given.fingerprint], store).get(given.fingerprint)


def _names_agree(one: Identity, other: Identity) -> bool:
    return all(
        mine is None or theirs is None or mine == theirs
        for mine, theirs in ((one.judge, other.judge), (one.protocol, other.protocol))
    )


def _remark(known: Identity, given: Identity, made: str) -> str | None:
    if known.judge is None or given.judge is None:
        return f"the rows do not name their judge: it must be the one {made} was made for"
    side = f"rows of {given} have" if given.fingerprint is None else f"{made} has"
    whose = "" if given.fingerprint is None else f" of {given}"
    return f"{side} no judge_fingerprint{whose}: only its name was compared"


def _mismatch(
    known: Sequence[Identity],
    given: Identity,
    made: str,
    remedy: str,
    store: StorePlace,
) -> PolicyMismatchError:
    parts = _known_parts(given, store)
    mine = next((one.parts for one in known if one.parts is not None), None)
    names = ", ".join(dict.fromkeys(str(one) for one in known))
    if parts is not None and mine is not None:
        differs = differing_parts(mine, parts)
        why = f" with another prompt, model or settings (differs: {', '.join(differs)})"
    elif any(_names_agree(one, given) for one in known):
        differs = ("judge_fingerprint",)
        old = ", ".join(dict.fromkeys(str(one.fingerprint)[:12] for one in known))
        why = f" with fingerprint {old}, but here it is {str(given.fingerprint)[:12]}"
        if given.judge is not None:
            why += (
                ": same judge name and protocol, so its prompt, weights, engine or settings differ"
            )
    else:
        differs = ("protocol" if given.judge in {one.judge for one in known} else "judge",)
        why = f", not for {given}"
    return PolicyMismatchError(f"{made} was made for {names}{why}; {remedy}", differs=differs)
