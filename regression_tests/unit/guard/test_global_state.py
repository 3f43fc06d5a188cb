"""No global state of the program changes by its being watched."""

from __future__ import annotations

import gc
import io
import os
import random
import signal
import sys
import threading
import warnings
from pathlib import Path

from leakguard import LeakGuard
from leakguard.testing import FakeClock


def global_state() -> dict[str, object]:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    import locale

    umask = os.umask(0o022)
    os.umask(umask)
    return {
        "random": random.getstate(),
        "numpy": None if numpy is None else numpy.random.get_state()[1].tolist(),
        "torch": None if torch is None else torch.get_rng_state().tolist(),
        "warnings": list(warnings.filters),
        "locale": locale.setlocale(locale.LC_ALL),
        "umask": umask,
        "signals": {n: signal.getsignal(n) for n in signal.valid_signals() if n not in (9, 19)},
        "mask": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug()),
        "recursion": sys.getrecursionlimit(),
        "trace": (sys.gettrace(), sys.getprofile()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        "folder": Path.cwd(),
        "files": len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0,
    }


def test_no_global_state_is_changed_by_a_loop_with_findings_tracing_and_reports(tmp_path):
    kept = []
    state = global_state()
    log = io.StringIO()
    with LeakGuard(out=tmp_path / "run.jsonl", log=log, clock=FakeClock()) as guard:
        for _ in guard.generations(range(1, 9)):
            with guard.phase("work"):
                kept.append([bytearray(500_000) for _ in range(4)])  # whatever lies free
    assert guard.report().verdict == "leak"
    assert "LEAK" in log.getvalue()
    after = global_state()
    assert {name for name in state if state[name] != after[name]} == set()
