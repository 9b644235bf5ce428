"""A package index for tests, run as a process of its own: one wheel, whole or spoilt.

    python tests/support/package_index.py WHEEL [half|slow]     prints "ready PORT" when it listens

`slow` sends two bytes a second.
`half` promises the whole file, sends half of it and closes the connection. GET /asked tells what
was asked for.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ASKED: list[str] = []


class Index(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/asked":
            return self._send(json.dumps(ASKED).encode())
        ASKED.append(self.path)
        if self.path.startswith("/simple/"):
            return self._send(f'<a href="/files/{WHEEL.name}">{WHEEL.name}</a>'.encode())
        content = WHEEL.read_bytes()
        if SLOW:
            self._send(content, b"PK")
            for _ in range(600):
                self.wfile.write(b"x")
                time.sleep(0.5)
        return self._send(content, content[: len(content) // 2] if HALF else content)

    def _send(self, promised: bytes, sent: bytes | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if sent is None else "application/zip")
        self.send_header("Content-Length", str(len(promised)))
        self.end_headers()
        self.wfile.write(promised if sent is None else sent)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    WHEEL, HALF, SLOW = Path(sys.argv[1]), sys.argv[2:] == ["half"], sys.argv[2:] == ["slow"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    print(f"ready {server.server_port}", flush=True)
    server.serve_forever()
