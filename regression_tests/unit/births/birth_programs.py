"""Programs that record their births in a process of their own, where a crash ends a test only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from leakguard import load
from leakguard.capture.births.birth_record import _births

needs_births = pytest.mark.skipif(_births is None, reason="the compiled record was not built")
HERE = Path(__file__).parents[3]
# The interpreter may be another version, to which the extension was built.
PYTHON = os.environ.get("BIRTHS_PYTHON", sys.executable)
_BEGIN = """
import ctypes, gc, os, sys, threading, time, tracemalloc
from leakguard.capture.births import BirthRecord
record = BirthRecord(interval=2_048, seed=7)
record.start()
kept = []

def alive(rounds=0, **wanted):
    told = record.cohorts(rounds)
    places = [] if told is None else told.places
    return sum(p.bytes for p in places if all(getattr(p, k) == v for k, v in wanted.items()))

"""


def run(body, *, before="", python=PYTHON, **environment):
    """Run a program that has started a record; return what it printed, word by word."""
    program = textwrap.dedent(before) + _BEGIN + textwrap.dedent(body)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(program, "utf-8")
        done = subprocess.run(
            [python, "-X", "faulthandler", str(script)],
            env={**os.environ, "PYTHONPATH": str(HERE), **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.split()


def played(tmp_path, program, **environment):
    """Play a program under a guard; return its run."""
    script, out = tmp_path / "program.py", tmp_path / "run.jsonl"
    script.write_text(textwrap.dedent(program), "utf-8")
    subprocess.run(
        [sys.executable, script, out],
        env={**os.environ, "PYTHONPATH": str(HERE), **environment},
        check=True,
        timeout=120,
    )
    return load(out)
