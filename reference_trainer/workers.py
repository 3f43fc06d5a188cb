"""Independent pieces of work, each in a process of its own, several at once."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from reference_trainer.errors import TrainerError

T = TypeVar("T")
R = TypeVar("R")

#: A fork has all modules at once, and shares their memory. Only Linux's libraries bear it.
_CONTEXT: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


class WorkerDied(RuntimeError):
    """The process of an item ended without an answer; a negative status is a signal's number."""

    def __init__(self, item: Any, status: int | None) -> None:
        super().__init__(f"ended with status {status}")
        self.item = item


class Workers(Generic[T, R]):
    """`work(item)` for each item, `at_once` at once; iterate over the answers as they come.

    Each item has a process that begins as this one is, and ends with it: what one leaves behind,
    no other sees. A `TrainerError` of `work` is raised here, and `WorkerDied` where a process ends
    in another way; before that the others get SIGTERM, and are waited for.
    """

    def __init__(self, work: Callable[[T], R], items: Iterable[T], at_once: int) -> None:
        self._work, self._items, self._at_once = work, iter(items), at_once
        self._running: dict[Connection, tuple[T, BaseProcess]] = {}
        self.stopped = False

    def __iter__(self) -> Iterator[tuple[T, R]]:
        try:
            while self._begin() or self._running:
                for receiver in wait(list(self._running)):
                    assert isinstance(receiver, Connection)
                    yield from self._answers(receiver)
        finally:
            if self._running:
                self.stop()
            for _, process in self._running.values():
                process.join()

    def stop(self) -> None:
        """Begin nothing more, and send SIGTERM to what runs, which may answer yet."""
        self.stopped = True
        for _, process in self._running.values():
            process.terminate()

    def _begin(self) -> bool:
        """Fill the free places; whether any item was begun."""
        free = self._at_once - len(self._running)
        begun = False
        for item in islice(self._items, 0 if self.stopped else free):
            self._begin_one(item)
            begun = True
        return begun

    def _begin_one(self, item: T) -> None:
        receiver, sender = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(target=_answer, args=(self._work, item, sender))
        process.start()
        sender.close()  # the end of the process is then the end of the pipe
        self._running[receiver] = item, process
        if self.stopped:  # meanwhile, by a signal
            process.terminate()

    def _answers(self, receiver: Connection) -> Iterator[tuple[T, R]]:
        """The answer of a process that has one or has ended; none where it was stopped before."""
        item, process = self._running[receiver]
        try:
            found, problem = receiver.recv()
        except EOFError:
            process.join()
            found, problem = None, WorkerDied(item, process.exitcode)
        del self._running[receiver]
        receiver.close()
        process.join()
        if isinstance(problem, WorkerDied) and self.stopped:
            return
        if problem is not None:
            raise problem
        yield item, found


def _answer(work: Callable[[T], R], item: T, sender: Connection) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork has its parent's handler
    try:
        sender.send((work(item), None))
    except TrainerError as problem:
        sender.send((None, problem))
    except KeyboardInterrupt:  # the parent has it as well, and says so
        pass
