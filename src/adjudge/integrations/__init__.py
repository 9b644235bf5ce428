"""What other tools load. Each file imports its host, and nothing else here imports that file."""

from __future__ import annotations

from importlib.util import find_spec


def missing_host(error: ModuleNotFoundError, host: str) -> ModuleNotFoundError:
    """What to install where the host is missing; any other missing module as it is.

    >>> str(missing_host(ModuleNotFoundError("No module named 'anyio'"), "no-such-host"))
    'this module works inside no-such-host, which is not installed; pip install no-such-host'
    """
    module = host.replace("-", "_")
    if find_spec(module) is not None:
        return error
    return ModuleNotFoundError(
        f"this module works inside {host}, which is not installed; pip install {host}", name=module
    )
