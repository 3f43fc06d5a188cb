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
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from leakguard.capture.probe import reason_of
from leakguard.live.call import LOOK, other_end, socket_path
from leakguard.live.private_folder import check_private
from leakguard.live.protocol import NoMessage, receive, send
from leakguard.model import Snapshot
from leakguard.store import schema

# Seconds that a caller may take to ask, and to read the answer. ``pause`` waits at most as long
# until the answering thread has ended. This thread may be taking a look, which takes some 1.5 s at
# a million objects. Chosen.
_ANSWER_PATIENCE = 10.0
_CALLERS = 4  # callers that may wait while one is answered
_LONGEST_REQUEST = 65_536  # bytes


def _inode(listening: socket.socket) -> tuple[int, ...]:
    status = os.fstat(listening.fileno())
    return status.st_dev, status.st_ino


class Answering:
    """Answers each caller of the same user with a look, from ``start`` to ``stop``."""

    def __init__(
        self, look: Callable[[], Snapshot | None], out: str | os.PathLike[str] | None
    ) -> None:
        """Store where the run is written (``out``); ``start`` starts the thread that answers."""
        self._look = look
        is_here = out is not None and "://" not in os.fspath(out)
        self._out = os.path.abspath(out) if out is not None and is_here else None  # noqa: PTH100
        self._home = os.getpid()
        self._path = socket_path(self._home)
        self._socket: socket.socket | None = None
        self._identity: tuple[int, ...] = ()
        self._working = _thread.allocate_lock()  # held by the thread until it ends

    def start(self) -> None:
        """Start answering.

        Raises:
            OSError: there is no private folder, another guard of this process answers already, or
                the kernel does not identify callers.
        """
        if not hasattr(socket, "SO_PEERCRED"):
            raise OSError(0, "the system does not name the other end of a socket")
        if _answering:
            raise OSError(0, "another guard of this process answers")
        folder = self._path.parent
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        check_private(folder, os.getuid())
        _sweep(folder)
        _answering.add(self)
        try:
            self._listen()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop answering, after a look in progress has ended; a second call does nothing.

        A forked child leaves alone what its parent answers on.
        """
        if self not in _answering or os.getpid() != self._home:
            return
        self.pause()
        with contextlib.suppress(OSError):
            self._path.unlink()
        _answering.discard(self)

    def pause(self) -> None:
        """End the thread. What an interrupt leaves undone, the next call does."""
        listening = self._socket
        if listening is None:
            return
        if self._is_still_open(listening):
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)  # wakes the thread from accept()
            if self._working.acquire(timeout=_ANSWER_PATIENCE):
                self._working.release()
            listening.close()
        else:
            self._abandon(listening)
        self._socket = None

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
        working = _thread.allocate_lock()
        listening = socket.socket(socket.AF_UNIX)
        try:
            self._identity = _inode(listening)
            self._socket = listening
            listening.bind(os.fspath(self._path))
            listening.listen(_CALLERS)
            working.acquire()
            self._working = working
            _thread.start_new_thread(self._answer_all, (listening, working))
        except BaseException as error:
            self._socket = None
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)  # the thread may have started all the same
            listening.close()
            if isinstance(error, RuntimeError):  # no thread can be started, or Python ends
                raise OSError(0, str(error)) from None
            raise

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
        caller.settimeout(_ANSWER_PATIENCE)
        if other_end(caller)[1] != os.getuid():
            send(caller, {"problem": "it answers its own user only"})
            return
        try:
            request = receive(caller, longest=_LONGEST_REQUEST)
        except NoMessage as problem:
            send(caller, {"problem": f"the other process {problem}"})
            return
        if request.get("ask") != LOOK:
            send(caller, {"problem": f"it can be asked for a {LOOK} only"})
            return
        send(caller, *self._answered())

    def _answered(self) -> tuple[dict[str, object], tuple[bytes, ...]]:
        """Return the answer, and the rest of its line."""
        try:
            seen = self._look()
            if seen is None:
                return {"problem": "its run is over"}, ()
            line = schema.encode_snapshot(_whole(seen)).rstrip()
        except Exception as error:  # the thread is a guest in the program: it must not print there
            return {"problem": reason_of(error)}, ()
        return {"out": self._out}, (b'{"told": ', line, b"}")


def _whole(seen: Snapshot) -> Snapshot:
    """Return a snapshot with a complete census, not a difference from an earlier census."""
    if seen.census is None:
        return seen
    return replace(seen, census=replace(seen.census, types=dict(seen.census.types)))


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
