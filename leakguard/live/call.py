"""Asks another process, from outside, over the socket on which it answers."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from leakguard.errors import NobodyListens, UsageError
from leakguard.live.private_folder import check_private, owner_of, private_folder
from leakguard.live.protocol import NoMessage, receive, send
from leakguard.model import Snapshot
from leakguard.store import schema

#: The request for a look at who holds what.
LOOK = "look"
# pid, uid and gid of the other end of a connection. Source: unix(7), ``struct ucred``.
_CREDENTIALS = struct.Struct("iII")


class Call:
    """A connection to one process, until ``close``."""

    def __init__(self, path: str | Path, pid: int, patience: float) -> None:
        """Connect; ``patience`` is the most seconds to wait each time.

        Raises:
            OSError: nobody listens at ``path``, or it may not be opened.
            UsageError: another process than ``pid`` listens there.
        """
        self._pid = pid
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(patience)
            self._socket.connect(os.fspath(path))
            if other_end(self._socket)[0] != pid:
                raise UsageError(f"{path} is not of process {pid}; delete it")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(
        self, word: str, waiting: Callable[[], object] | None = None, **details: object
    ) -> dict[str, Any]:
        """Send a request and return the answer; ``waiting`` is called while none comes.

        Raises:
            UsageError: the answer is none, or the process has ended.
            TimeoutError: no answer came in time, and there is no ``waiting``.
        """
        try:
            self.tell(word, **details)
            return receive(self._socket, waiting)
        except NoMessage as problem:
            raise UsageError(f"process {self._pid} {problem}") from None
        except TimeoutError:
            raise
        except OSError:
            raise UsageError(f"process {self._pid} has ended") from None

    def tell(self, word: str, **details: object) -> None:
        """Send a request and do not wait for the answer.

        Raises:
            OSError: the process has ended.
        """
        send(self._socket, {"ask": word, **details})

    def fileno(self) -> int:
        """Return the descriptor, for ``select``."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def ask(pid: int, wait: float) -> tuple[Snapshot, str | None]:
    """Return a look that process ``pid`` takes now, and the file or folder of its run, if any.

    ``wait`` is the most seconds to wait for the answer.

    Raises:
        NobodyListens: the process has no guard that answers.
        UsageError: the guard does not answer in time, or is not to be trusted.
    """
    try:
        user = owner_of(pid)
        path = socket_path(pid, user)
        check_private(path.parent, user)
        call = Call(path, pid, wait)
    except (FileNotFoundError, ConnectionRefusedError, ProcessLookupError):
        raise NobodyListens(
            f"no guard listens in process {pid}; start it with "
            "LeakGuard(out=..., on_signal='SIGUSR1') or by leakguard run"
        ) from None
    except OSError as error:
        raise NobodyListens(f"process {pid} cannot be asked: {error.strerror}") from None
    with call:
        try:
            answer = call.ask(LOOK)
        except TimeoutError:
            raise UsageError(
                f"process {pid} did not answer within {wait:g} s; it may be stopped, or in C code "
                "that keeps Python's lock"
            ) from None
    return _seen(pid, answer)


def _seen(pid: int, answer: dict[str, Any]) -> tuple[Snapshot, str | None]:
    if "problem" in answer:
        raise UsageError(f"process {pid} cannot answer: {answer['problem']}")
    out = answer.get("out")
    try:
        seen = schema.decode(json.dumps(answer.get("told")).encode()).snapshot
    except (ValueError, msgspec.DecodeError):
        seen = None
    if seen is None or not (out is None or isinstance(out, str)):
        raise UsageError(f"process {pid} sent no snapshot that can be read")
    return seen, out


def socket_path(pid: int, user: int | None = None) -> Path:
    """Return where process ``pid`` answers; ``user`` owns it."""
    return private_folder(user) / f"{pid}.sock"


def other_end(connection: socket.socket) -> tuple[int, int, int]:
    """Return pid, uid and gid of the process at the other end, as the kernel reports them."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, group = _CREDENTIALS.unpack(told)
    return pid, user, group
