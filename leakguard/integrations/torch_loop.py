"""A plain torch loop, followed by a hook of its optimizer; the loop itself does not change.

A generation is ``every`` steps of the optimizer. Phases are yours: ``leakguard.phase``.

Example::

    with LeakGuard(out="runs/train.jsonl") as guard:
        follow_optimizer(optimizer, guard, every=100)
        for batch in loader: ...
"""

from __future__ import annotations

import itertools
from typing import Any

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import checked_every


def follow_optimizer(optimizer: Any, guard: LeakGuard, every: int = 100) -> Any:
    """Make ``every`` steps of ``optimizer`` a generation; the first generation begins now.

    Returns:
        torch's handle of the hook. Its ``remove()`` stops counting steps, but does not end the run.

    Raises:
        UsageError: ``every`` is no number of steps, or the run file cannot be written.
    """
    checked_every(every)
    guard.generation()
    steps = itertools.count(1)

    def after_step(*_: object) -> None:
        if next(steps) % every == 0:
            guard.generation()

    return optimizer.register_step_post_hook(after_step)
