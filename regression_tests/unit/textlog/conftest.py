"""A log written to a file and read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from leakguard.model import Run
from leakguard.store.textlog import read_runs

ReadAll = Callable[[str | bytes], list[Run]]
Read = Callable[[str | bytes], Run]


@pytest.fixture
def read_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReadAll:
    """Write a log and read all its runs, which a large log must give as well."""

    def read(log: str | bytes) -> list[Run]:
        path = tmp_path / "training.log"
        path.write_bytes(log if isinstance(log, bytes) else log.encode("utf-8", "surrogatepass"))
        runs = read_runs(path)
        monkeypatch.setattr("leakguard.store.textlog._LARGE_LOG", -1)
        as_large = read_runs(path)
        monkeypatch.setattr("leakguard.store.textlog._LARGE_LOG", 50_000_000)
        assert [shown(run) for run in as_large] == [shown(run) for run in runs]
        return runs

    return read


@pytest.fixture
def read(read_all: ReadAll) -> Read:
    """Write a log that holds one run, and read it."""

    def one(log: str | bytes) -> Run:
        (run,) = read_all(log)
        return run

    return one


def shown(run: Run) -> object:
    """Return what does not depend on whether single lines beside blocks were read."""
    moments = [replace(s, gauges={}) for s in run.snapshots]
    return replace(run, snapshots=tuple(moments), info=replace(run.info, memory_limit=None))
