"""A real PostgreSQL server in a temporary folder, from the programs that Debian installs.

`initdb` refuses root: then the server runs as the user postgres or nobody. Connections need a
password, over loopback and over the socket.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

USER, PASSWORD, DATABASE = "judge", "correct horse/battery@staple", "judgments"
ENCODED = "correct%20horse%2Fbattery%40staple"
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None where no PostgreSQL is installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    place = folders[-1] if folders else None if on_path is None else Path(on_path).resolve()
    return None if place is None else place.parent


class PostgresServer:
    """One server with one database. `fast` leaves the disk out: for tests that cut no power."""

    def __init__(self, folder: Path, port: int, *, fast: bool = False) -> None:
        installed = programs()
        assert installed is not None, "PostgreSQL is not installed"
        self._programs = installed
        self._user = _unprivileged()
        self.folder = folder
        self.port = port
        self._data = folder / "data"
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb", "-D", self._data, "-U", USER, "--auth=scram-sha-256",
            f"--pwfile={secret}", "-E", "UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip
        settings = [
            f"port={self.port}",
            "listen_addresses='127.0.0.1'",
            f"unix_socket_directories='{folder}'",
            "max_connections=80",
            "shared_buffers=16MB",
            *(_FAST if fast else ()),
        ]
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("\n" + "\n".join(settings) + "\n")
        self.start()
        with self.connect("postgres") as db:
            db.execute(f"CREATE DATABASE {DATABASE}")

    def url(self, *, schema: str | None = None, password: str = ENCODED) -> str:
        """The URL of a store; of one nobody has used yet unless `schema` names one."""
        own = f"s{uuid.uuid4().hex[:12]}" if schema is None else schema
        place = f"127.0.0.1:{self.port}/{DATABASE}?schema={own}"
        return f"postgresql://{USER}:{password}@{place}"

    def connect(self, database: str = DATABASE) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=database,
            autocommit=True,
        )  # fmt: skip

    def start(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-l", self.folder / "log", "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def restart(self, mode: str = "immediate") -> None:
        self.stop(mode)
        self.start()

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _run(self, program: str, *arguments: object) -> None:
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(
            [str(self._programs / program), *map(str, arguments)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            env=environment, preexec_fn=self._become(),
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stderr}"

    def _become(self) -> Callable[[], None] | None:
        user = self._user
        if user is None:
            return None

        def become() -> None:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)

        return become


@contextmanager
def running_server(*, fast: bool = False) -> Iterator[PostgresServer]:
    """A server for a block. Its folder is short: the path of a socket may have 107 characters."""
    with tempfile.TemporaryDirectory(prefix="adjudge-pg-") as folder, _own_port() as port:
        server = PostgresServer(Path(folder), port, fast=fast)
        try:
            yield server
        finally:
            server.stop()


def _unprivileged() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("root, and no user postgres or nobody to run the server as")


@contextmanager
def _own_port() -> Iterator[int]:
    """A port that no other process is given, also not while the server starts or is stopped."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
