"""A Hugging Face hub for tests, in a process of its own, reached as a proxy by the real address.

    python tests/support/hub_server.py FOLDER        prints "ready PORT" when it listens

Readers connect to https://huggingface.co through it (HTTPS_PROXY) and trust its certificate
(SSL_CERT_FILE), so their addresses are the real ones and nothing leaves the machine. It serves the
files OWNER/NAME/CONFIG/SPLIT/*.parquet of the folder, and prints every request.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

FIXTURES = Path(__file__).parents[1] / "fixtures" / "hub"
LIST, FILE = "/api/datasets/", "/datasets/"


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: Path

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        print(self.path, self.headers.get("Authorization", ""), flush=True)
        if path.startswith(LIST):
            name = path.removeprefix(LIST).partition("/tree/")[0]
            self.send_list(self.folder / name)
        else:
            name, _, file = path.removeprefix(FILE).partition("/resolve/~parquet/")
            self.send_file(self.folder / name / file)

    def send_list(self, data_set: Path) -> None:
        files = [
            {
                "type": "file",
                "path": str(file.relative_to(data_set)),
                "size": file.stat().st_size,
                "oid": "0",
            }
            for file in sorted(data_set.rglob("*.parquet"))
        ]
        status = 200 if data_set.is_dir() else 404
        self.answer(status, json.dumps(files).encode(), {"Content-Type": "application/json"})

    def send_file(self, file: Path) -> None:
        content = file.read_bytes()
        whole = len(content)
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        start = int(first) if first else max(0, whole - int(last))
        end = int(last) + 1 if first and last else whole
        part = content[start:end]
        place = {"Content-Range": f"bytes {start}-{start + len(part) - 1}/{whole}"}
        dated = {"Last-Modified": "Wed, 18 Nov 2026 07:28:00 GMT", "ETag": '"0"'}
        self.answer(206, part, {**place, **dated})

    def answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def serve(connection: socket.socket, context: ssl.SSLContext) -> None:
    asked = connection.recv(65536).split(b"\r\n")[0]
    if not asked.startswith(b"CONNECT huggingface.co:443 "):
        print(f"refused {asked!r}", flush=True)
        connection.close()
        return
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    with context.wrap_socket(connection, server_side=True) as channel:
        Hub(channel, ("reader", 0), None)  # type: ignore[arg-type]  # it needs no server


def main(folder: str) -> None:
    Hub.folder = Path(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FIXTURES / "cert.pem", FIXTURES / "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"ready {listening.getsockname()[1]}", flush=True)
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=serve, args=(connection, context), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
