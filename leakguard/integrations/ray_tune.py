"""Ray Tune: watches the process that runs the search.

Callbacks, loggers and searchers in this process may leak too. A generation is ``every`` results of
trials. The trials run in processes of their own; see ``leakguard.integrations.ray`` for these.

Example::

    tune.Tuner(train_function, run_config=tune.RunConfig(callbacks=[LeakGuardCallback(guard)]))
"""

from __future__ import annotations

from typing import Any

from ray.tune import Callback

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop


class LeakGuardCallback(Callback):
    """Follows ``tuner.fit()`` with a guard; the run ends with ``fit()``."""

    def __init__(self, guard: LeakGuard | None = None, every: int = 10) -> None:
        """Use ``guard``, or a new guard if it is None; ``every`` results are a generation.

        Raises:
            UsageError: ``every`` is no number of results.
        """
        self._loop = FrameworkLoop(guard, every)
        self._results = 0

    def setup(self, *args: Any, **info: Any) -> None:
        """Start the run."""
        self._loop.begin()

    def on_trial_result(
        self, iteration: int, trials: Any, trial: Any, result: Any, **info: Any
    ) -> None:
        """Count a result."""
        self._loop.step(self._results)
        self._results += 1

    def on_experiment_end(self, trials: Any, **info: Any) -> None:
        """End the run."""
        self._loop.end()
