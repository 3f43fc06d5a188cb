"""A guard around an unchanged program: what is reported to it, and when it starts."""

from __future__ import annotations

import atexit
import contextlib
import inspect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from os import getpid  # the program may have put a double in its place
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TextIO

from leakguard.errors import LeakguardError, UsageError
from leakguard.guard import LeakGuard
from leakguard.launch import sources
from leakguard.launch.imports import Imports
from leakguard.launch.loops import Loops
from leakguard.launch.main_code import Change, compiled_module
from leakguard.launch.main_wait import MainWait
from leakguard.launch.pace import Pace
from leakguard.launch.plan import Plan
from leakguard.launch.steps import Rank, StepSource
from leakguard.launch.target import MAIN, Target
from leakguard.live.answering import Answering
from leakguard.live.call_stack import with_room
from leakguard.live.generations import Generation
from leakguard.live.sidecar.start import start_sidecar
from leakguard.live.sinks import complain
from leakguard.model import Run, Snapshot
from leakguard.phase import phase

# In the path of our own modules that a copy of this process imports for ``leakguard attach``. They
# are none of the program, and a guard that began with their loops would be that of the copy.
_LODGED = "/leakguard-attach-"


class Watching:
    """Follows the program of a plan; the guard starts with the first generation.

    Nothing is measured before that, because what a program imports and loads is not a leak.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.imports = Imports(self._compiled)
        self._main_wait = MainWait()
        self.pace = Pace(
            self._begin, plan.every, self._loop_over, self._begin_anew, main_wait=self._main_wait
        )
        self.mentioned: set[str] = set()  # names that the program's own code calls outside of loops
        self._guard: LeakGuard | None = None
        self._generation: Generation | None = None
        self._is_over = False
        self._log: TextIO | None = None
        self._what = ""
        self._counted: Counter[str] = Counter()  # generations, by what a generation is
        self._outer: Counter[str] = Counter()  # rounds of outer levels that have begun
        self._before: list[
            tuple[str, Run | None]
        ] = []  # what was counted, and the run that is over
        self._home = getpid()
        self._broken = False
        self._changes = tuple(self._wanted())
        self._is_directory = plan.out is not None and _is_directory(plan.out)

    def start(self) -> None:
        """Observe what the program will import.

        Raises:
            UsageError: the log or the run file cannot be written.
        """
        self._open()
        for target, change in self._changes:
            if target.module != MAIN:
                self.imports.when_imported(target.module, partial(_replace, target, change))
        sources.listen(self.imports, self.pace, self._outer_round, self._loop_over)
        self._main_wait.listen()
        self.imports.listen()
        atexit.register(self._say_what_was_missed)
        if self._is_directory and "://" not in (self.plan.out or ""):
            start_sidecar(Path(self.plan.out or ""))

    def loops_of(self, file: str) -> Loops:
        """Return the object whose methods the marks in the code of a file call."""
        return Loops(self.pace, file)

    def _compiled(self, source: str, file: str) -> CodeType | None:
        if _LODGED in file:
            return None
        return compiled_module(source, file, self.loops_of(file), self.mentioned)

    def changes_of_main(self) -> dict[Target, Change]:
        """Return the changes of functions in the script itself."""
        changes: dict[Target, Change] = {}
        for target, change in self._changes:
            if target.module == MAIN:
                changes[target] = _both(changes.get(target), change)
        return changes

    def program_ended(self) -> None:
        """Record that the script's code ended without an exception."""
        if self._guard is not None and not _others_run():
            self._is_over = True
            self.pace.finish()

    # -- generations --------------------------------------------------------------------------

    def _begin(self, what: str, number: int, taken: int) -> Callable[[], None]:
        """Begin a generation, and with the first generation the run."""
        if self._broken or not (self._is_directory or getpid() == self._home):
            return _nothing
        if self._guard is None:
            try:
                self._guard = with_room(partial(self._started, what))
            except LeakguardError as error:
                self._broken = True
                complain(str(error))
                return _nothing
        self._generation = generation = self._guard.generation(number)
        generation.take_together(taken)
        if what != self._what:
            generation.means(what)
        self._what = what
        self._counted[what] += 1
        return lambda: self._end(generation)

    def _outer_round(self, level: str) -> None:
        """Record that a round of an outer level begins, such as an epoch."""
        self._outer[level] += 1
        if self._guard is not None:
            self._guard.outer_round(level)

    def _begin_anew(self) -> None:
        """Record that another, longer loop is counted from now on, in a separate run.

        What an earlier loop filled, for example by loading the data, is no growth of that run.
        """
        if self._guard is not None:
            guard, self._guard, self._generation = self._guard, None, None
            words = f"{self._counted.total():,} generations of {self._most_counted}"
            self._before.append((words, _run_of(guard)))
            guard.abandon()
            self._counted.clear()

    def _end(self, generation: Generation) -> None:
        if self._is_over:
            generation.end_with_program()
        else:
            generation.__exit__(None, None, None)

    def _loop_over(self, is_outermost: bool = False) -> None:
        if self._generation is not None:
            self._generation.loop_over(outermost=is_outermost)

    def _started(self, what: str) -> LeakGuard:
        self._what = what
        watched = [cls for target in self.plan.watches for cls in _watched(Target.parse(target))]
        guard = LeakGuard(watched, out=self.plan.out, log=self._log, generation_means=what).start()
        for level in self._outer.elements():
            guard.outer_round(level)
        if not self._before:
            self._answer()
        return guard

    def _answer(self) -> None:
        """Let the guard answer ``leakguard snapshot PID``, if that is possible."""
        if getpid() != self._home:
            return
        answering = Answering(self._look_at_once, self.plan.out)
        # Without a folder for the socket there is a run all the same, but it cannot be asked.
        with contextlib.suppress(OSError):
            answering.start()
            atexit.register(answering.stop)

    def _look_at_once(self) -> Snapshot | None:
        """Return a look with the holders; None if there is no run."""
        return None if self._guard is None else self._guard.look_now()

    @property
    def _most_counted(self) -> str:
        """What a generation is; in a run of several loops, what most of its generations are."""
        return max(self._counted, key=self._counted.__getitem__, default=self._what)

    # -- phases and calls -----------------------------------------------------------------------

    def _wanted(self) -> Iterator[tuple[Target, Change]]:
        for text in self.plan.phases:
            target = Target.parse(text)
            yield target, partial(_in_phase, target.name)
        if self.plan.generation is not None:
            target = Target.parse(self.plan.generation)
            source = self.pace.add(StepSource(Rank.NAMED, "call", f" of {target.name}"))
            yield target, partial(_announcing, lambda: self.pace.step(source))

    # -- files and words ------------------------------------------------------------------------

    def _open(self) -> None:
        """Open the output before the program begins, so that a wrong path costs no time."""
        if self.plan.out is not None and not self._is_directory:
            _check_writable(Path(self.plan.out))
        if self.plan.log == "-":
            self._log = sys.stderr
        elif self.plan.log is not None:
            try:
                self._log = open(self.plan.log, "a", encoding="utf-8")  # noqa: SIM115
            except OSError as error:
                raise UsageError(f"cannot write {self.plan.log}: {error.strerror}") from None

    def _say_what_was_missed(self) -> None:
        if getpid() != self._home:
            return
        named = {target.module for target in self.plan.targets()}
        for module in sorted(named.intersection(self.imports.missing)):
            complain(f"{module} was never imported: nothing of it was watched")
        if self._guard is not None:
            size = "" if self.plan.every else "; --every N sets how many"
            complain(f"a generation is {self._most_counted}{size}")
            for before, run in self._before:
                told = f"{before}{_left_behind(run)}"
                complain(f"before that came {told}: leakguard report --all tells of them")
        elif not self._broken:
            complain(
                "no generation was found, so nothing was measured; name a function that the "
                "program calls again and again: --generation module:function"
            )


def _run_of(guard: LeakGuard) -> Run | None:
    """Return the run of a guard; None if it has none, or if that fails: the program goes on."""
    with contextlib.suppress(Exception):
        return guard.run if guard.running else None
    return None


def _left_behind(run: Run | None) -> str:
    """Return what grew in an earlier loop as a part of a sentence; empty if that is not known."""
    with contextlib.suppress(Exception):  # the program is over, and its status must stay
        from leakguard.analysis.earlier import left_behind

        left = None if run is None else left_behind(run)
        return "" if left is None else f", in which {left}"
    return ""


def _in_phase(name: str, function: Any) -> Any:
    """Return a function as a phase of its name; return anything else unchanged, with a message."""
    if inspect.isclass(function) or not (
        callable(function) or isinstance(function, staticmethod | classmethod)
    ):
        complain(f"--phase {name} is no function but a {type(function).__name__}: not a phase")
        return function
    return phase(name)(function)


def _announcing(announce: Callable[[], object], function: Any) -> Any:
    return sources.announcing(function, announce)


def _both(first: Change | None, second: Change) -> Change:
    return second if first is None else lambda function: second(first(function))


def _replace(target: Target, change: Change, module: ModuleType) -> None:
    try:
        target.replace(module, change)
    except AttributeError:
        complain(f"{target.module} has no {target.name}: it is not watched")
    except TypeError as error:
        complain(f"{target} cannot be watched: {error}")


def _watched(target: Target) -> Iterator[type]:
    """Yield the class with that name, if it has been imported by now."""
    module = sys.modules.get(target.module)
    with contextlib.suppress(AttributeError):
        cls = None if module is None else target.of(module)
        if isinstance(cls, type):
            yield cls
            return
    complain(f"--watch {target}: there is no such class when the first generation begins")


def _others_run() -> bool:
    """Return whether other threads still run for which the process will wait."""
    main = threading.main_thread()
    return any(t is not main and not t.daemon for t in threading.enumerate())


def _check_writable(path: Path) -> None:
    """Raise ``UsageError`` if no run can be written to ``path``; leave no file behind."""
    existed = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another -o") from None


def _is_directory(out: str) -> bool:
    """Return whether each process is to write its own file there."""
    return out.endswith("/") or "://" in out


def _nothing() -> None:
    pass
