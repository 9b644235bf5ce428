"""Connect to Ray for one run: an existing cluster, or a new Ray on this machine for the run."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from adjudge.errors import ArgumentError, BackendMissingError, JudgeError, how_to_install
from adjudge.judges.cluster import head as keeper
from adjudge.store import store_name
from adjudge.store.interface import StorePlace, scheme_of

if TYPE_CHECKING:
    from adjudge.judges.cluster.team import WorkOrder


T = TypeVar("T")
#: Two slow cores need half a minute.
START_S = 120.0
_LOOK_S = 0.1
#: Seconds to wait for the end of Ray.
_END_S = 1.0
#: Workers get their rows as arguments of calls; little else is stored. Ray's minimum is 75 MB.
_OBJECT_STORE_BYTES = 80_000_000
#: What Ray adds to its folder in the path of a socket, which can have 107 characters.
_LONGEST_FOLDER = 40


class RayCluster:
    """The Ray of a run. Call `join` first and `leave` at the end."""

    def __init__(
        self,
        address: str | None,
        *,
        workers: int | None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        if self._address is not None and self._address.startswith("ray://"):
            remedy = "run adjudge on a machine of the cluster and give HOST:PORT of its head"
            raise ArgumentError("ray_address", self._address, remedy)
        self._wanted = workers
        self._announce = announce or (lambda _: None)
        self._ray: Any = None
        self._ends = ExitStack()

    async def join(self) -> None:
        """Connect once; start Ray on this machine if no address was given."""
        if self._ray is not None:
            return
        if self._address is None and "ray" not in sys.modules:
            # Ray listens on all interfaces and runs what it gets: only this run has the key.
            os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        try:
            ray = await asyncio.to_thread(importlib.import_module, "ray")
        except ImportError as error:
            raise BackendMissingError(f"engine ray: {error}; {how_to_install('ray')}") from error
        if not ray.is_initialized():
            address = self._address or await self._start_head()
            await _in_daemon_thread(lambda: _connect(ray, address))
            handler = signal.getsignal(signal.SIGTERM)
            if handler is not None and threading.current_thread() is threading.main_thread():
                # Ray installs its own handler, which prints a stack.
                signal.signal(signal.SIGTERM, handler)
            self._ends.callback(ray.shutdown)
        self._ray = ray

    def leave(self) -> None:
        """Disconnect, and end a Ray that was started here."""
        self._ends.close()
        self._ray = None

    def check_store(self, place: StorePlace) -> None:
        """Refuse a file if workers on several machines have to share it."""
        if place is None or not isinstance(place, (str, Path)):
            raise ArgumentError("store", place, "workers share it: name a file or a URL")
        hosts = {node["NodeManagerHostname"] for node in self._ray.nodes() if node["Alive"]}
        if len(hosts) > 1 and scheme_of(place) in (None, "sqlite"):
            remedy = f"the cluster has {len(hosts)} machines; give postgresql://HOST/DATABASE"
            raise ArgumentError("store", store_name(place), remedy)

    def seats(self, *, uses_gpu: bool) -> tuple[int, int]:
        """The number of workers, and of GPUs per worker: one or zero."""
        has = self._ray.cluster_resources()
        cpus = int(has.get("CPU", 0))
        gpus = int(has.get("GPU", 0))
        each = 1 if uses_gpu and gpus else 0
        most, of = (min(gpus, cpus), "GPUs") if each else (cpus, "CPUs")
        if self._wanted is not None and self._wanted > most:
            raise ArgumentError("workers", self._wanted, f"the cluster has {most} {of}; give fewer")
        if not most:
            raise JudgeError("the Ray cluster has no CPU to run a worker on")
        return self._wanted or most, each

    def place(self, order: WorkOrder, *, gpus: int) -> Any:
        """A new worker, placed by Ray: the handle of an actor."""
        from adjudge.judges.cluster.team import Worker

        actor = self._ray.remote(Worker).options(num_cpus=1, num_gpus=gpus, max_restarts=0)
        try:
            return actor.remote(order)
        except TypeError as error:
            problem = f"it cannot be sent to a worker: {error}"
            raise ArgumentError("judge", order.options.judge, problem) from error

    def dismiss(self, actor: Any) -> None:
        """End a worker immediately."""
        self._ray.kill(actor)

    @property
    def died(self) -> type[Exception]:
        """The exception that is raised if a worker has died."""
        kind: type[Exception] = self._ray.exceptions.RayActorError
        return kind

    async def _start_head(self) -> str:
        """Start a Ray on this machine; returns its address."""
        self._announce("starting Ray on this machine, which takes ten seconds or more")
        place = tempfile.gettempdir()
        folder = tempfile.mkdtemp(
            prefix="adjudge-",
            dir=place if len(place) < _LONGEST_FOLDER else "/tmp",  # noqa: S108  (a new folder in it)
        )
        head, port = _launch_head(folder, cpus=self._wanted or os.cpu_count() or 1)
        self._ends.callback(_end_head, head)
        await _wait_until_started(head, Path(folder))
        return f"127.0.0.1:{port}"


def _launch_head(folder: str, *, cpus: int) -> tuple[subprocess.Popen[bytes], int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(5)]
        for listener in sockets:
            listener.bind(("", 0))
        port, *agents = [listener.getsockname()[1] for listener in sockets]
    arguments = [
        *("--port", port, "--num-cpus", cpus, "--object-store-memory", _OBJECT_STORE_BYTES),
        # By default the agents of a slow machine exceed Ray's limit of 15 seconds.
        *("--dashboard-agent-listen-port", agents[0], "--dashboard-agent-grpc-port", agents[1]),
        *("--metrics-export-port", agents[2], "--runtime-env-agent-port", agents[3]),
        *("--include-dashboard", "false", "--disable-usage-stats"),
    ]
    head = subprocess.Popen(  # noqa: S603  (our own arguments)
        [sys.executable, "-m", keeper.__name__, folder, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # An interrupt at the terminal goes to the run, which then ends Ray.
        start_new_session=True,
    )
    return head, port


def _end_head(head: subprocess.Popen[bytes]) -> None:
    """Close the keeper's standard input, so that it ends Ray."""
    with suppress(subprocess.TimeoutExpired):  # then it ends Ray by itself
        head.communicate(timeout=_END_S)


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = f"Ray cannot be joined there: {reason}"
        raise ArgumentError("ray_address", address, problem) from error


async def _wait_until_started(head: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + START_S
    log = folder / keeper.LOG
    while True:
        output = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if keeper.STARTED in output:
            return
        ended = head.poll() is not None
        if ended or time.monotonic() > until:
            if ended:
                shutil.rmtree(folder, ignore_errors=True)
            last = (output.strip() or "no output").splitlines()[-1]
            why = "ended" if ended else f"was not ready after {START_S:g} s"
            raise JudgeError(f"Ray did not start on this machine: it {why}; it says: {last}")
        await asyncio.sleep(_LOOK_S)


async def _in_daemon_thread(work: Callable[[], T]) -> T:
    """Like `asyncio.to_thread`, but an interrupted program does not wait for the thread."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(future)
