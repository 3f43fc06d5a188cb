"""leakguard reports which phase of a loop leaks memory, what leaks, since when, and its holder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from leakguard.display import display
from leakguard.errors import LeakguardError, StillAlive, UnreadableRun, UsageError
from leakguard.phase import phase
from leakguard.render import render

if TYPE_CHECKING:
    from leakguard.guard import LeakGuard, expect_freed
    from leakguard.model import Report, Run
    from leakguard.model.holding import Holdings

__version__ = "0.1.0"

__all__ = [
    "LeakGuard",
    "LeakguardError",
    "StillAlive",
    "UnreadableRun",
    "UsageError",
    "diagnose",
    "expect_freed",
    "load",
    "now",
    "phase",
    "render",
]

_OF_GUARD = ("LeakGuard", "expect_freed")


def __getattr__(name: str) -> object:
    """Load the guard only on first use: pytest imports this package in every test run."""
    if name not in _OF_GUARD:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from leakguard import guard

    globals().update({known: getattr(guard, known) for known in _OF_GUARD})
    return globals()[name]


def load(path: str | os.PathLike[str]) -> Run:
    """Read a run from a ``.jsonl`` file, a run folder or a text log.

    If the file holds several runs, one after each restart, return the last of them; ``Run.part``
    says which of them it is.

    Raises:
        UnreadableRun: the path is missing, empty, binary, or holds no snapshot.
    """
    from leakguard.store import load_runs

    return load_runs(Path(path))[-1]


def diagnose(run: Run) -> Report:
    """Return what grows in ``run``, since when, in which phase, and whether it is a leak."""
    from leakguard.analysis import diagnose

    return diagnose(run)


def now() -> Holdings:
    """Return what holds memory now and may be dropped, each with the statement that frees it.

    It looks at the last exception, results of cells, garbage, figures, caches of functions, copies,
    views, graphs, and the variables of the main module. In a notebook, ``%leakguard`` prints the
    same. Each statement was tried in a copy of the process. From the second call on, the result
    tells what came free since the call before.

    Raises:
        UsageError: no look can be taken here; the message says why.
    """
    from leakguard.live.present import now

    return now()


def load_ipython_extension(shell: object) -> None:
    """Add the magic ``%%leakguard`` to a notebook; ``%load_ext leakguard`` calls this."""
    from leakguard.integrations import notebook

    notebook.load(shell)


def _page(report: Report) -> str:
    from leakguard.render.notebook import page

    return page(report)


def _text(report: Report, width: int) -> str:
    from leakguard.render.brief import brief

    return brief(report, width)


display.page, display.text = _page, _text
