"""Answers ``leakguard snapshot PID`` from inside the process, over a private Unix socket.

A thread waits for callers, so a program that sleeps or runs C code answers, too. During its look,
the thread holds the interpreter, as the guard's own looks do. Each side asks the kernel which
process is at the other end of the connection; no file is trusted for that.

The thread is not one of ``threading``, because a program that joins all of its threads would wait
for it. The thread ends before the process forks and starts again afterwards. Otherwise the process
would be multi-threaded when it forks, which Python 3.12 and later warn about.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import socket
import struct
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from leakguard.capture.probe import reason_of
from leakguard.errors import UsageError
from leakguard.live.private_folder import check_private, owner_of, private_folder
from leakguard.model import Snapshot
from leakguard.store import schema

#: The label of a look that a caller asked for.
ASKED = "Requested by leakguard snapshot"
# pid, uid and gid of the other end of a connection. Source: unix(7), ``struct ucred``.
_CREDENTIALS = struct.Struct("iII")
# Seconds that a caller may take to read the answer. ``pause`` waits at most as long until the
# answering thread has ended. This thread may be taking a look, which takes some 1.5 s at a million
# objects. Chosen.
_ANSWER_PATIENCE = 10.0
_CALLERS = 4  # callers that may wait while one is answered
_AT_ONCE = 65_536
_LONGEST_ANSWER = 256_000_000


class Answer(msgspec.Struct, omit_defaults=True):
    """The answer to a caller: a snapshot as a line of a run file, or why there is none.

    ``out`` is the file or folder of the run, if it has one.
    """

    out: str | None = None
    line: str | None = None
    problem: str | None = None


def _inode(listening: socket.socket) -> tuple[int, ...]:
    status = os.fstat(listening.fileno())
    return status.st_dev, status.st_ino


def socket_path(pid: int, user: int | None = None) -> Path:
    """Return where process ``pid`` answers; ``user`` owns it."""
    return private_folder(user) / f"{pid}.sock"


class Answering:
    """Answers each caller of the same user with a look, from ``start`` to ``stop``."""

    def __init__(self, look: Callable[[], Snapshot | None], out: str | None) -> None:
        """Store where the run is written (``out``); ``start`` starts the thread that answers."""
        self._look = look
        self._out = None if out is None or "://" in out else os.path.abspath(out)  # noqa: PTH100
        self._path = socket_path(os.getpid())
        self._socket: socket.socket | None = None
        self._identity: tuple[int, ...] = ()
        self._working = _thread.allocate_lock()  # held by the thread until it ends

    def start(self) -> None:
        """Start answering.

        Raises:
            OSError: there is no private folder, or the kernel does not identify callers.
        """
        if not hasattr(socket, "SO_PEERCRED"):
            raise OSError(0, "the system does not name the other end of a socket")
        folder = self._path.parent
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        check_private(folder, os.getuid())
        _sweep(folder)
        self._listen()
        _answering.add(self)

    def stop(self) -> None:
        """Stop answering, after a look in progress has ended."""
        _answering.discard(self)
        self.pause()
        with contextlib.suppress(OSError):
            self._path.unlink()

    def pause(self) -> None:
        """End the thread."""
        listening, self._socket = self._socket, None
        if listening is None:
            return
        if not self._is_still_open(listening):
            self._abandon(listening)
            return
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # wakes the thread from accept()
        self._working.acquire(timeout=_ANSWER_PATIENCE)
        listening.close()

    def _is_still_open(self, listening: socket.socket) -> bool:
        """Return whether our descriptor is still open: the program may have closed or reused it."""
        try:
            return _inode(listening) == self._identity
        except OSError:
            return False

    def _abandon(self, listening: socket.socket) -> None:
        """Give up a descriptor that is no longer ours; a connection wakes the thread's accept()."""
        listening.detach()
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
            caller.setblocking(False)
            caller.connect(os.fspath(self._path))

    def go_on(self) -> None:
        """Start again after a pause. If that fails, no caller is answered any more."""
        with contextlib.suppress(OSError):
            self._listen()

    def _listen(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()  # left by a killed process with this pid
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(os.fspath(self._path))
            listening.listen(_CALLERS)
        except BaseException:
            listening.close()
            raise
        working = _thread.allocate_lock()
        working.acquire()
        try:
            _thread.start_new_thread(self._answer_all, (listening, working))
        except RuntimeError as error:  # no thread can be started, or the interpreter ends
            listening.close()
            raise OSError(0, str(error)) from None
        self._socket, self._working = listening, working
        self._identity = _inode(listening)

    def _answer_all(self, listening: socket.socket, working: _thread.LockType) -> None:
        try:
            while True:
                caller, _ = listening.accept()
                with caller, contextlib.suppress(OSError):
                    self._serve(caller)
        except OSError:
            pass  # the socket was shut down
        finally:
            working.release()

    def _serve(self, caller: socket.socket) -> None:
        if _other_end(caller)[1] != os.getuid():
            return
        caller.settimeout(_ANSWER_PATIENCE)
        caller.sendall(msgspec.json.encode(self._answered()))

    def _answered(self) -> Answer:
        try:
            seen = self._look()
            line = None if seen is None else schema.encode_snapshot(_whole(seen)).decode()
        except Exception as error:  # the thread is a guest in the program: it must not print there
            return Answer(self._out, problem=reason_of(error))
        return Answer(self._out, line, None if line else "its run is over")


def ask(pid: int, wait: float) -> tuple[Snapshot, str | None]:
    """Return a look that process ``pid`` takes now, and the path of its run.

    ``wait`` is the most seconds to wait for the answer.

    Raises:
        FileNotFoundError: the process has no socket to answer on.
        UsageError: the socket is not to be trusted, or the process does not answer in time.
    """
    user = owner_of(pid)
    path = socket_path(pid, user)
    check_private(path.parent, user)
    with socket.socket(socket.AF_UNIX) as call:
        call.settimeout(wait)
        try:
            call.connect(os.fspath(path))
        except ConnectionRefusedError:
            raise FileNotFoundError(0, "nobody listens there any more") from None
        if _other_end(call)[:2] != (pid, user):
            raise UsageError(f"{path} is not of process {pid}; delete it")
        try:
            text = _read_all(call)
        except TimeoutError:
            raise UsageError(
                f"process {pid} did not answer within {wait:g} s; it may be stopped, or in C code "
                "that keeps Python's lock"
            ) from None
    return _parsed_answer(pid, text)


def _whole(seen: Snapshot) -> Snapshot:
    """Return a snapshot with a complete census, not a difference from an earlier census."""
    if seen.census is None:
        return seen
    return replace(seen, census=replace(seen.census, types=dict(seen.census.types)))


def _parsed_answer(pid: int, text: bytes) -> tuple[Snapshot, str | None]:
    if not text:
        raise UsageError(f"process {pid} answers its own user only, {owner_of(pid)}")
    try:
        answer = msgspec.json.decode(text, type=Answer)
        seen = None if answer.line is None else schema.decode(answer.line.encode()).snapshot
    except (ValueError, msgspec.DecodeError):
        raise UsageError(f"process {pid} gave no answer that can be read") from None
    if seen is None:
        raise UsageError(f"process {pid} cannot answer: {answer.problem}")
    return seen, answer.out


def _read_all(call: socket.socket) -> bytes:
    text = bytearray()
    while len(text) < _LONGEST_ANSWER and (more := call.recv(_AT_ONCE)):
        text += more
    return bytes(text)


def _other_end(connection: socket.socket) -> tuple[int, int, int]:
    """Return pid, uid and gid of the process at the other end, as the kernel reports them."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, group = _CREDENTIALS.unpack(told)
    return pid, user, group


def _sweep(folder: Path) -> None:
    """Remove the sockets of processes that were killed."""
    for path in folder.glob("*.sock"):
        with contextlib.suppress(OSError, ValueError):
            if not Path(f"/proc/{int(path.stem)}").exists():
                path.unlink()


_answering: weakref.WeakSet[Answering] = weakref.WeakSet()


def _before_fork() -> None:
    for one in tuple(_answering):
        one.pause()


def _after_in_parent() -> None:
    for one in tuple(_answering):
        one.go_on()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_answering.clear
)
