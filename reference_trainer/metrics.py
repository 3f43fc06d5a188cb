"""One record a generation: in memory for plots, on disk as JSON lines."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

KEPT = 10_000

Record = dict[str, Any]


class Metrics:
    """The records of a run; `open` starts one, `close` writes it as a line of `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.history: deque[Record] = deque(maxlen=KEPT)
        self.record: Record = {}

    def open(self, generation: int) -> None:
        """Start the record of a generation."""
        self.record = {"generation": generation}

    def note(self, **values: Any) -> None:
        """Add values to the open record."""
        self.record.update(values)

    def close(self) -> None:
        """Keep the open record and append it to the file."""
        self.history.append(self.record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as stream:
            stream.write(json.dumps(self.record) + "\n")

    def restore(self, records: Iterable[Record]) -> None:
        """Take over the records of a checkpoint; lines written after it are dropped."""
        self.history.extend(records)
        staging = self.path.with_suffix(".tmp")
        staging.write_text("".join(json.dumps(record) + "\n" for record in self.history))
        staging.replace(self.path)
