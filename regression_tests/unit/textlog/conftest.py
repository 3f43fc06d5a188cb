"""A log written to a file and read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from leakguard.model import Run
from leakguard.store.textlog import read_runs

ReadAll = Callable[[str | bytes], list[Run]]
Read = Callable[[str | bytes], Run]


@pytest.fixture
def read_all(tmp_path: Path) -> ReadAll:
    """Write a log and read all its runs."""

    def read(log: str | bytes) -> list[Run]:
        path = tmp_path / "training.log"
        path.write_bytes(log if isinstance(log, bytes) else log.encode("utf-8", "surrogatepass"))
        return read_runs(path)

    return read


@pytest.fixture
def read(read_all: ReadAll) -> Read:
    """Write a log that holds one run, and read it."""

    def one(log: str | bytes) -> Run:
        (run,) = read_all(log)
        return run

    return one
