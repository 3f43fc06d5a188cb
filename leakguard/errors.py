"""The few ways in which leakguard says no.

LeakguardError
├── UsageError (also ValueError)         an argument that cannot be used
│   └── NobodyListens                    a process without a guard that could be asked
├── UnreadableRun                        a file that holds no readable run
└── MemoryAssertionError (also AssertionError)
    ├── StillAlive                       an object that was expected to be freed is still held
    └── MemoryBudgetBroken               a test uses more than its budget allows

Every message names the fact, the place and the next step in one line.
"""

from __future__ import annotations

# The name of this package for pip: the name `leakguard` belongs to another project on the index.
DISTRIBUTION = "leakguard-training"


def install(extra: str) -> str:
    """Return the command that installs this package with one of its extras."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class LeakguardError(Exception):
    """Base class of everything that leakguard raises on purpose."""


class UsageError(LeakguardError, ValueError):
    """An argument cannot be used; the message says which, and what can be used instead."""


class NobodyListens(UsageError):
    """A process has no guard that could be asked."""


class UnreadableRun(LeakguardError):
    """A path holds no run: it is missing, empty or binary, or contains no snapshot."""


class MemoryAssertionError(LeakguardError, AssertionError):
    """A memory expectation of a test does not hold."""


class StillAlive(MemoryAssertionError):
    """Objects that were expected to be freed are still referenced."""


class MemoryBudgetBroken(MemoryAssertionError):
    """A limit of a memory budget is broken; the message names limit, fact, cause and fix."""


def shown(value: object) -> str:
    """Return a rejected argument as shown in messages: on one line, at most 60 characters long."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:59]}…"
