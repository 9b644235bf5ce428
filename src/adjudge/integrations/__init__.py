"""Plugins for other tools. Each file imports its host tool; no other file imports it."""

from __future__ import annotations

from importlib.util import find_spec


def missing_host(error: ModuleNotFoundError, host: str) -> ModuleNotFoundError:
    """The error with the install command if the host is missing; other errors are unchanged.

    >>> str(missing_host(ModuleNotFoundError("No module named 'anyio'"), "no-such-host"))
    'this module works inside no-such-host, which is not installed; pip install no-such-host'
    """
    module = host.replace("-", "_")
    if find_spec(module) is not None:
        return error
    return ModuleNotFoundError(
        f"this module works inside {host}, which is not installed; pip install {host}", name=module
    )
