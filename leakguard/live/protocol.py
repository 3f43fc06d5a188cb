"""The one way to ask a process: a line of JSON each way, over a Unix socket.

A request is ``{"version": 1, "ask": "look"}``, with the details of what is asked beside it. An
answer is ``{"version": 1, "told": ...}``, or ``{"version": 1, "problem": "the reason"}``. A guard
answers this way, and so does the thread that ``leakguard attach`` starts in a process. That process
runs the text of this file, so nothing of leakguard is imported here, and little else.
"""

from __future__ import annotations

import _socket
import json

TYPE_CHECKING = False  # defined here, so that the process need not import ``typing``
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

#: The version of requests and answers; a process that gets another one says so.
VERSION = 1
# Most bytes of a line; what is longer is no message. Chosen: far above the largest snapshot.
_MOST_OF_A_MESSAGE = 256_000_000
_AT_ONCE = 65_536  # bytes of one reading
# Without this flag, a program that has SIGPIPE at its default would end if its caller hangs up.
_QUIETLY = getattr(_socket, "MSG_NOSIGNAL", 0)


class NoMessage(Exception):
    """What came is no message of this protocol; the text says what the other process did."""


def send(connection: _socket.socket, message: dict[str, Any], more: Iterable[bytes] = ()) -> None:
    """Send a message as one line; ``more`` is the text of a JSON object with further members."""
    line = json.dumps({"version": VERSION, **message}).encode()
    for number, piece in enumerate(more):
        connection.sendall(piece if number else line[:-1] + b", " + piece[1:], _QUIETLY)
        line = b""
    connection.sendall(line + b"\n", _QUIETLY)


def receive(
    connection: _socket.socket,
    waiting: Callable[[], object] | None = None,
    longest: int = _MOST_OF_A_MESSAGE,
) -> dict[str, Any]:
    """Return the next message; ``waiting`` is called whenever the connection's timeout passes.

    Raises:
        NoMessage: the line ends early, or is no message of this version.
        TimeoutError: nothing came in time, and there is no ``waiting``.
        OSError: the connection broke.
    """
    line = bytearray()
    while not line.endswith(b"\n"):
        try:
            piece = connection.recv(_AT_ONCE)
        except TimeoutError:
            if waiting is None:
                raise
            waiting()
            continue
        if not piece or len(line) > longest:
            raise NoMessage(f"{'sent too long' if piece else 'ended in the middle of'} a message")
        line += piece
    return _parsed(bytes(line))


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if type(message) is not dict:
        raise NoMessage("sent no message that can be read")
    if message.get("version") != VERSION:
        version = str(message.get("version"))[:20]
        raise NoMessage(f"speaks version {version} of the protocol, and not {VERSION}")
    return message
