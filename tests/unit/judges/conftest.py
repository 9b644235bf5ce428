"""What several files of tests of judges need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from adjudge.judges.interface import Backend


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop for a backend that is started once for a file of tests."""
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def start(loop: asyncio.AbstractEventLoop) -> Iterator[Callable[[Backend], Backend]]:
    """Starts backends in `loop`, and closes them at the end."""
    started: list[Backend] = []

    def start(backend: Backend) -> Backend:
        loop.run_until_complete(backend.start())
        started.append(backend)
        return backend

    yield start
    for backend in started:
        loop.run_until_complete(backend.close())
