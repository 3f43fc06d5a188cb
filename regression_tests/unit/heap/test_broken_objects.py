"""A look survives whatever lies on the heap: broken, half-built and hostile objects, in a process.

Each engine looks in processes of their own, since what goes wrong ends them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from broken_objects import KINDS
from heap_engines import engine_names, slow_twin

import leakguard

pytestmark = pytest.mark.timeout(900)  # dozens of looks each, in pure Python too
HERE = Path(__file__).parent
WATCHED = """
import os
import sys
import numpy
sys.path.insert(0, {here!r})
from broken_objects import KINDS
from leakguard import LeakGuard
guard = LeakGuard(out={out!r}, max_overhead=None)
with guard:
    kept = [KINDS[kind](lambda: None) for kind in {kinds!r}]
    for _ in guard.generations(range(6)):
        with guard.phase("work"):
            sum(range(1000))
print("ended normally", flush=True)
os._exit(0)  # the interpreter itself does not survive taking such a heap down
"""


def _told(*arguments: str) -> object:
    script = [sys.executable, "-m", "broken_objects", *arguments]
    done = subprocess.run(script, capture_output=True, text=True, timeout=900, cwd=HERE)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_corpus_is_large() -> None:
    assert len(KINDS) >= 60


@engine_names
def test_no_broken_object_ends_a_look_or_the_process(engine: str) -> None:
    ends = _told(engine)
    assert isinstance(ends, dict)
    assert {kind: end for kind, end in ends.items() if end != "fine"} == {}


@engine_names
def test_no_broken_object_ends_a_look_while_threads_change_the_heap(engine: str) -> None:
    looks = _told(engine, "--mutate", "5")
    assert isinstance(looks, int)
    assert looks >= 1


@pytest.mark.parametrize("pure", ["0", pytest.param("1", marks=slow_twin)])
def test_a_run_with_broken_objects_ends_normally_with_a_verdict(pure: str, tmp_path: Path) -> None:
    """The watched process keeps every kind that its own collector survives."""
    kinds, out = _told("--survivors"), tmp_path / "run.jsonl"
    assert isinstance(kinds, list)
    assert len(kinds) >= 60
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(here=str(HERE), out=str(out), kinds=kinds)],
        capture_output=True,
        text=True,
        timeout=900,
        env={"LEAKGUARD_PURE": pure, "PATH": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().endswith("ended normally")
    report = leakguard.diagnose(leakguard.load(out))
    assert report.verdict in ("stable", "inconclusive")
    assert report.findings == ()
