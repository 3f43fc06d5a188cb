"""No global state of the program changes by its being watched."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("global_state.py")
FRAMEWORKS = {"numpy", "torch", "scipy", "pandas", "matplotlib"}


@pytest.mark.parametrize("modules", [[], ["numpy", "torch"]], ids=len)
def test_no_global_state_is_changed_by_a_loop_with_findings_tracing_and_reports(tmp_path, modules):
    """Generators, warnings, locale, umask, signals, threads, descriptors, order of modules, ..."""
    if lacking := [name for name in modules if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{lacking[0]} is not installed")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path / "run.jsonl"), *modules],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *changed, imported = done.stdout.splitlines()
    assert changed == []
    assert not FRAMEWORKS.intersection(imported.split())
