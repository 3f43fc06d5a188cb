"""A network that fails on demand, between a client and a server on loopback."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REFUSALS = {"busy": (503, "SlowDown"), "forbidden": (403, "AccessDenied")}
#: Headers that belong to one connection and are not passed on.
OWN = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class FaultyProxy:
    """Passes requests on to `backend` (host, port); uploads meet the faults given to `fail`.

    A fault is `busy` (503), `forbidden` (403), `reset` (the connection breaks halfway through
    the body), `lost answer` (the server did the work, the client never hears of it) or `none`.
    """

    def __init__(self, backend: tuple[str, int]) -> None:
        self.backend = backend
        self.faults: deque[str] = deque()
        self.met: list[str] = []
        self.uploads: list[tuple[str, int]] = []
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def fail(self, *faults: str) -> None:
        """What the next uploads meet, in this order."""
        self.faults.extend(faults)

    def close(self) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: FaultyProxy

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        fault = self._fault(length)
        if fault == "reset":
            self.rfile.read(length // 2)
            self._break()
            return
        body = self._chunks() if "chunked" in self.headers.get("Transfer-Encoding", "") else (
            self.rfile.read(length)
        )  # fmt: skip
        if fault in REFUSALS:
            status, code = REFUSALS[fault]
            self._answer(status, {}, f"<Error><Code>{code}</Code></Error>".encode())
            return
        status, headers, answer = self._ask(body)
        if fault == "lost answer":
            self._break()
            return
        self._answer(status, headers, answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = _pass_on  # noqa: N815

    def _fault(self, length: int) -> str:
        if self.command not in ("PUT", "POST") or length < 8:
            return "none"
        self.owner.uploads.append((self.path, length))
        fault = self.owner.faults.popleft() if self.owner.faults else "none"
        if fault != "none":
            self.owner.met.append(fault)
        return fault

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(*self.owner.backend, timeout=30)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in OWN}
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), content

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        told = {k: v for k, v in headers.items() if k.lower() not in {*OWN, "date", "server"}}
        for name, value in told.items():
            self.send_header(name, value)
        size = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", size)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _break(self) -> None:
        """End the connection the hard way: the other side sees a reset, not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, *args: Any) -> None:
        """Tests print nothing."""
