"""A proxy in front of a PostgreSQL server that loses commits, or only their confirmations.

Before a COMMIT reaches the server the connection is cut (the server rolls back), or after it has
been carried out and before the client hears of it. Statements sent outside a transaction commit by
themselves; their answers are lost in the same way.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress


class CuttingProxy:
    """`share` of the commits is lost or not confirmed, at random; `cut` counts them."""

    def __init__(self, port: int, *, share: float, seed: int) -> None:
        self._server = port
        self._share = share
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cut = {"lost": 0, "not confirmed": 0}
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with closing(client), closing(socket.create_connection(("127.0.0.1", self._server))) as db:
            answers = threading.Thread(target=_copy, args=(db, client), daemon=True)
            deaf = False
            with suppress(OSError):
                while data := client.recv(65536):
                    fate = self._fate(data)
                    if fate == "lost":
                        break
                    if fate == "not confirmed":
                        if answers.ident is not None:
                            client.shutdown(socket.SHUT_RDWR)  # it hears nothing more
                        db.sendall(data)
                        deaf = True
                        break
                    db.sendall(data)
                    if answers.ident is None:
                        answers.start()
            if not deaf:
                with suppress(OSError):
                    db.shutdown(socket.SHUT_RDWR)  # the server hears of it at once
            if deaf:
                db.settimeout(5)
                with suppress(OSError):
                    db.recv(65536)  # done on the server

    def _fate(self, data: bytes) -> str | None:
        if b"COMMIT" not in data and b"INSERT INTO claims" not in data:
            return None
        with self._lock:
            if self._random.random() >= self._share:
                return None
            fate = self._random.choice(("lost", "not confirmed"))
            self.cut[fate] += 1
            return fate

    def close(self) -> None:
        self._listener.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        # A reset, as when a machine goes away.
        target.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        target.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting_proxy(port: int, *, share: float, seed: int = 0) -> Iterator[CuttingProxy]:
    """A proxy for a block."""
    proxy = CuttingProxy(port, share=share, seed=seed)
    try:
        yield proxy
    finally:
        proxy.close()
