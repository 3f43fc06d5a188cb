"""Loops that the tests of the guard play, here or in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

from leakguard import LeakGuard


def played(guard: LeakGuard, count: int = 3) -> LeakGuard:
    with guard:
        for _ in guard.generations(range(1, count + 1)):
            with guard.phase("work"):
                pass
    return guard


def run_script(text: str, folder, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True, text=True, timeout=280, cwd=folder, check=check,
        env=with_this_leakguard(),
    )  # fmt: skip


def with_this_leakguard() -> dict[str, str]:
    """Return the environment in which a child imports what this process does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
