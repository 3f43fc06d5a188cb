"""A child that leaks is looked into, and the program is none the wiser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from leakguard.analysis.job import diagnose_job
from leakguard.store import load_job
from regression_tests.integration.test_attach import WHY_NOT

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

# A parent with a guard, and children that are started anew. The first one keeps what it makes until
# its run has enough looks; the parent says what it sees of us.
PROGRAM = """
import multiprocessing, os, pathlib, sys, time
from leakguard import LeakGuard

kept = []

def child(leaks):
    while True:
        row = [number * 0.5 for number in range(2500)]
        if leaks:
            kept.append(row)
        time.sleep(0.01)

def enough():
    files = list(pathlib.Path("job").glob("attached-*.jsonl"))
    return any(file.read_bytes().count(b'"generation"') >= 8 for file in files)

if __name__ == "__main__":
    until = time.monotonic() + float(sys.argv[1])
    context = multiprocessing.get_context("spawn")
    told = (True,), (False,)
    children = [context.Process(target=child, args=leaks, daemon=True) for leaks in told]
    with LeakGuard(out="job/", report=None) as guard:
        for one in children:
            one.start()
        for _ in guard.generations():
            time.sleep(0.5)
            if enough() or time.monotonic() > until:
                break
    try:
        os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        seen = len(multiprocessing.active_children())
    except ChildProcessError:
        seen = None
    print(children[0].pid, seen)
    for one in children:
        one.terminate()
        one.join()
"""


def wait_for_end(folder: Path) -> None:
    """Wait until the sidecar has ended: then it has written everything."""
    for _ in range(600):
        if not list(folder.glob(".sidecar-*.lock")):
            return
        time.sleep(0.1)
    raise AssertionError("the sidecar goes on after its job")


@pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
def test_child_that_leaks_is_named_with_its_holder_and_its_calm_sibling_is_left_alone(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py", "180"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "LEAKGUARD_SIDECAR": "1",
        },
    )
    assert (done.returncode, done.stderr) == (0, "")
    leaking, seen = done.stdout.split()
    assert seen == "2"  # its own children, and nothing of ours
    folder = tmp_path / "job"
    wait_for_end(folder)
    assert len(list(folder.glob("attached-*.jsonl"))) == 1
    report, each = diagnose_job(load_job(folder))
    assert report.verdict == "leak"
    (own,) = (one for one in each if one.run.info.pid == int(leaking))
    assert own.findings[0].held_by.startswith("__main__.kept")
    assert json.loads((folder / next(folder.glob("pod-*.json")).name).read_bytes())["pod"]
