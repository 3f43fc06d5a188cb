"""A compiled scan that is missing, or was built for something else, is done without, and told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leakguard

_PACKAGE = Path(leakguard.__file__).parent
_HEAP = Path("capture/heap")
_WATCHED = """
import json, leakguard
from leakguard.capture import heap
guard = leakguard.LeakGuard(report=None)
kept = []
with guard:
    for number in guard.generations(range(3)):
        kept.append(bytearray(1000))
print(json.dumps([leakguard.__file__, heap.ENGINE, guard.report().limits]))
"""
_SAID = "the heap was walked in Python, several times slower: "
_STALE = _SAID + "the compiled scan is of another version; reinstall leakguard"
_NONE = _SAID + "no compiled scan was built; reinstall leakguard from a wheel or with a C compiler"


def _limits_with(folder: Path, library: str | None) -> list[str]:
    """Return what a run says that it could not see, with this beside it in place of the scan."""
    copy = folder / "leakguard"
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("_scan.*.so", "__pycache__"))
    if library is not None:
        (copy / _HEAP / library).write_bytes(b"of another interpreter")
    told = subprocess.check_output(
        [sys.executable, "-c", _WATCHED], text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "LEAKGUARD_PURE": ""},
    )  # fmt: skip
    where, engine, limits = json.loads(told.splitlines()[-1])
    assert Path(where) == copy / "__init__.py"
    assert engine == "python"
    return [line for line in limits if line.startswith(_SAID)]


@pytest.mark.parametrize("tag", ["cpython-39-x86_64-linux-gnu", "abi3"])
def test_scan_of_another_interpreter_is_told_once(tmp_path: Path, tag: str) -> None:
    assert _limits_with(tmp_path, f"_scan.{tag}.so") == [_STALE]


def test_scan_that_was_not_built_is_told_once(tmp_path: Path) -> None:
    assert _limits_with(tmp_path, None) == [_NONE]


def test_scan_built_for_another_interface_is_refused_and_told() -> None:
    old = "import sys, types; sys.modules['leakguard.capture.heap._scan'] = types.ModuleType('old')"
    told = subprocess.check_output(
        [sys.executable, "-c", old + _WATCHED], text=True, env={**os.environ, "LEAKGUARD_PURE": ""}
    )
    _, engine, limits = json.loads(told.splitlines()[-1])
    assert engine == "python"
    # without a library beside it, that is one that was not built
    assert [line for line in limits if line.startswith(_SAID)] in ([_STALE], [_NONE])


def test_twin_that_was_asked_for_is_no_limit() -> None:
    told = subprocess.check_output(
        [sys.executable, "-c", _WATCHED], text=True, env={**os.environ, "LEAKGUARD_PURE": "1"}
    )
    _, engine, limits = json.loads(told.splitlines()[-1])
    assert engine == "python"
    assert not any(line.startswith(_SAID) for line in limits)
