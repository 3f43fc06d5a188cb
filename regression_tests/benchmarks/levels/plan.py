"""What a training of this set is asked for, read from its command line.

``python PROGRAM.py MISTAKE [healthy]``. With ``LEVELS_OUT`` in the environment the training passes
the framework's own callback of leakguard; without it, it knows nothing of leakguard.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

#: The level at which the training leaks, or would leak: ``step``, ``evaluation`` or ``epoch``.
LEVEL = sys.argv[1] if len(sys.argv) > 1 else "step"
#: True for the twin that gives back what it takes.
HEALTHY = "healthy" in sys.argv[2:]
#: Steps in all, and seconds of waiting in each. An epoch of the third kind lasts some three
#: seconds: more than the two seconds from which on it is divided.
STEPS, WAIT = 1_200, 0.012 if LEVEL == "epoch" else 0.004
#: Epochs (rollouts) of each training.
EPOCHS = {"step": 1, "evaluation": 1, "epoch": 6}[LEVEL]
#: Evaluations of a training that has any.
EVALUATIONS = 3
#: Batches of an evaluation.
BATCHES = 20


def leaks(level: str) -> bool:
    """Return whether this training makes the mistake of this level."""
    return level == LEVEL and not HEALTHY


def wait() -> None:
    """Take as long as a step of a larger network would."""
    time.sleep(WAIT)


def callbacks(module: str) -> list[Any]:
    """Return leakguard's callback for a framework if this training is to pass it."""
    out = os.environ.get("LEVELS_OUT")
    if out is None:
        return []
    import importlib

    from leakguard import LeakGuard

    kind = importlib.import_module(f"leakguard.integrations.{module}").LeakGuardCallback
    return [kind(LeakGuard(out=out, report=None))]
