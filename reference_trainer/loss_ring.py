"""The last losses of an agent, in memory that never grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np


class LossRing:
    """The last `capacity` losses, oldest first; made at its full size, unlike a deque."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a history of losses keeps at least one, got {capacity}")
        self._values = np.full(capacity, np.nan)
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, len(self._values))

    def __iter__(self) -> Iterator[float]:
        return iter(self[:])

    def __getitem__(self, which: int | slice) -> float | list[float]:
        """The loss at an index, or the losses of a slice, counted from the oldest."""
        first = self._added % len(self._values) if self._added > len(self._values) else 0
        ordered = np.roll(self._values[: len(self)], -first)
        return ordered[which].tolist()

    def append(self, loss: float) -> None:
        """Add the newest loss; the oldest makes room when the ring is full."""
        self._values[self._added % len(self._values)] = loss
        self._added += 1

    def extend(self, losses: Iterable[float]) -> None:
        """Add several losses, the newest last."""
        for loss in losses:
            self.append(loss)

    def clear(self) -> None:
        """Forget all losses."""
        self._added = 0
