"""The numbers of each generation for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reference_trainer.errors import ConfigError

#: Events that may wait in memory, and the seconds they may wait.
MAX_QUEUE, FLUSH_SECONDS = 100, 30


class Scalars:
    """Writes every number of a record under its name, at the step of its generation.

    Nothing is kept here: events go to a file through a queue of `MAX_QUEUE`.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as problem:
            raise ConfigError(
                f"--tensorboard needs the extra leakguard-training[tensorboard]: {problem}"
            ) from None
        self._open = SummaryWriter
        self.folder = folder
        self._writer: Any = None

    def write(self, record: Mapping[str, Any]) -> None:
        """Write one record; a resumed run takes back what was written after its checkpoint."""
        step = record["generation"]
        if self._writer is None:
            self._writer = self._open(
                str(self.folder), purge_step=step, max_queue=MAX_QUEUE, flush_secs=FLUSH_SECONDS
            )
        for name, value in record.items():
            if isinstance(value, int | float) and name != "generation":
                self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush what waits and close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
