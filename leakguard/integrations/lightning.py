"""Lightning: generations and phases of ``trainer.fit()``.

A generation is an epoch, or ``every`` optimizer steps. An epoch, or a validation, that lasts more
than two seconds is divided: a generation is then so many of its batches. Phases: ``train`` and
``validate``. This works with either package, ``lightning`` or ``pytorch_lightning``, whichever your
program imports.

Example::

    guard = LeakGuard(out="runs/fit.jsonl")
    trainer = Trainer(max_epochs=50, callbacks=[LeakGuardCallback(guard)])
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop

if TYPE_CHECKING or "lightning" in sys.modules or "pytorch_lightning" not in sys.modules:
    from lightning.pytorch.callbacks import Callback
else:
    from pytorch_lightning.callbacks import Callback


class LeakGuardCallback(Callback):
    """Follows ``fit()`` with a guard; the run ends with ``fit()``, also if that raises."""

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Use ``guard``, or a new guard if it is None.

        Args:
            guard: a guard with your own ``watch=``, ``out=`` and other settings.
            every: the number of optimizer steps in a generation; by default a generation is an
                epoch, or a part of an epoch that lasts long.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        super().__init__()
        self._loop = FrameworkLoop(guard, every, unit="training batch")

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the run."""
        epochs, steps = trainer.max_epochs, trainer.max_steps  # -1 means no limit
        self._loop.begin(
            epochs - trainer.current_epoch if (epochs or -1) > 0 else None,
            steps=steps - trainer.global_step if steps > 0 else None,
        )

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the generation of this epoch and the phase ``train``."""
        batches = trainer.num_training_batches  # infinite if the data has no length
        self._loop.round(int(batches) if batches < math.inf else None)
        self._loop.phase("train")

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Begin a generation if one is due; resume ``train`` after validation."""
        self._loop.step(trainer.global_step)
        self._loop.resume("train")

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the validation; the check of a few batches before the training is none."""
        if not trainer.sanity_checking:
            self._loop.evaluation("validate")

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin a generation within a validation that lasts long."""
        self._loop.batch("validate")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Note the end of the phase ``validate``, which is usually the last of an epoch."""
        self._loop.evaluated()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the phase ``train``; what follows belongs to the epoch but to no phase."""
        self._loop.leave()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """End the run."""
        self._loop.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the run after an exception."""
        self._loop.end(exception)
