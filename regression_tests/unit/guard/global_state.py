"""The global state of a process, and a watched loop that must leave it as it was.

Run as a program it prints what was changed, one line each; nothing where nothing was.
"""

from __future__ import annotations

import gc
import importlib
import io
import locale
import os
import random
import signal
import sys
import threading
import time
import tracemalloc
import warnings
from pathlib import Path

from leakguard import LeakGuard, render
from leakguard.testing import FakeClock

#: What each part of the state is, where the program can see it.
STATE = {
    "random": lambda: random.getstate(),
    "numpy": lambda: _of("numpy", lambda numpy: _listed(numpy.random.get_state())),
    "torch": lambda: _of("torch", lambda torch: torch.get_rng_state().tolist()),
    "torch settings": lambda: _of("torch", _torch_settings),
    "numpy settings": lambda: _of("numpy", lambda numpy: numpy.geterr()),
    "warnings": lambda: list(warnings.filters),
    "warnings shown": lambda: (warnings.showwarning, warnings.formatwarning),
    "locale": lambda: locale.setlocale(locale.LC_ALL),
    "umask": lambda: _umask(),
    "signals": lambda: {n: signal.getsignal(n) for n in signal.valid_signals() if n not in (9, 19)},
    "mask": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, []),
    "timers": lambda: [signal.getitimer(n) for n in range(3)],
    "wakeup": lambda: _wakeup(),
    "threads": lambda: [(thread.name, thread.daemon) for thread in threading.enumerate()],
    "collector": lambda: (gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks)),
    "frozen": lambda: gc.get_freeze_count(),
    "recursion": lambda: (sys.getrecursionlimit(), sys.getswitchinterval()),
    "trace": lambda: (sys.gettrace(), sys.getprofile(), threading.gettrace()),
    "hooks": lambda: (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook),
    "streams": lambda: (id(sys.stdout), id(sys.stderr), id(sys.stdin)),
    "folder": lambda: Path.cwd(),
    "environment": lambda: dict(os.environ),
    "path": lambda: list(sys.path),
    "import hooks": lambda: (list(sys.meta_path), list(sys.path_hooks)),
    "files": lambda: _files(),
    "tracemalloc": lambda: tracemalloc.is_tracing(),
    "time zone": lambda: time.tzname,
}


def _of(name, read):
    module = sys.modules.get(name)
    return None if module is None else read(module)


def _listed(state):
    return [part.tolist() if hasattr(part, "tolist") else part for part in state]


def _torch_settings(torch):
    return (
        torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
    )  # fmt: skip


def _umask() -> int:
    now = os.umask(0o022)
    os.umask(now)
    return now


def _wakeup() -> int:
    now = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(now)
    return now


def _files() -> dict[str, str]:
    """Each open descriptor, with what it is of; the one that reads the folder is closed by then."""
    if sys.platform != "linux":
        return {}
    found = {}
    for number in Path("/proc/self/fd").iterdir():
        try:
            found[number.name] = str(number.readlink())
        except OSError:  # the folder's own
            continue
    return found


def global_state() -> dict[str, object]:
    return {name: read() for name, read in STATE.items()}


def changed(before: dict[str, object], after: dict[str, object]) -> dict[str, object]:
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


class Rollout:
    """What the loop keeps."""

    def __init__(self) -> None:
        self.rewards = [float(step) for step in range(20_000)]


def watched_loop(out: Path) -> LeakGuard:
    """Run a loop that leaks, with tracing, a log, a signal, a report in mid-loop and one after it.

    Raises:
        AssertionError: there was no finding, or nothing was traced.
    """
    kept, log = [], io.StringIO()
    guard = LeakGuard(
        out=out, log=log, clock=FakeClock(), trace="tracemalloc", max_overhead=None,
        on_signal="SIGUSR1",
    )  # fmt: skip
    with guard:
        for number in guard.generations(range(1, 10)):
            with guard.phase("work"):
                kept.append(Rollout())
            if number == 7:
                assert guard.report().findings
                guard.inspect("who holds what")
    told = guard.report()
    assert [finding.type for finding in told.findings] == [f"{Rollout.__module__}.Rollout"]
    assert told.findings[0].created_at is not None
    assert "LEAK" in log.getvalue()
    for form in ("terminal", "markdown", "html", "json", "junit"):
        assert render(told, form)
    return guard


def main() -> None:
    for name in sys.argv[2:]:
        importlib.import_module(name)
    before, modules = global_state(), list(sys.modules)
    watched_loop(Path(sys.argv[1]))
    for name, (then, now) in changed(before, global_state()).items():
        print(f"{name}: {then} -> {now}")
    if list(sys.modules)[: len(modules)] != modules:
        print("the order of modules that the program had imported")
    print("imported:", *sorted({name.partition(".")[0] for name in sys.modules} - _tops(modules)))


def _tops(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


if __name__ == "__main__":
    main()
