"""Memory of the processes below a guard's own is read without a run directory, too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from leakguard import diagnose
from leakguard.live.children import Offspring
from leakguard.model import Run, RunInfo, Snapshot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")

_WAIT = "import sys; kept = bytearray(b'x' * 20_000_000); print(flush=True); sys.stdin.read()"
KB, MB = 1_000, 1_000_000


def test_child_process_is_read_by_its_number_and_what_it_runs():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", _WAIT], **pipes) as child:
        child.stdout.readline()
        seen = Offspring()()
        child.stdin.close()
    (name,) = [name for name in seen if str(child.pid) in name]
    assert name.startswith(f"process {child.pid} (python")
    assert seen[name] > 20 * MB
    assert str(os.getpid()) not in "".join(seen)


def test_without_children_nothing_is_said():
    assert dict(Offspring()()) == {}


def told(gained: int) -> Run:
    """Tell a run whose child has ``gained`` bytes more in each generation."""
    shots = tuple(
        Snapshot(
            number,
            f"Gen {number}: End of generation",
            "generation",
            generation=number,
            metrics={"rss": 50 * MB, "heap_in_use": 20 * MB, "children": 1},
            children={"process 7 (python serve.py)": 30 * MB + gained * number},
        )
        for number in range(1, 41)
    )
    return Run(RunInfo(), shots, finished=True)


def test_child_that_gains_in_every_generation_is_a_suspect_with_its_name():
    report = diagnose(told(300 * KB))
    (finding,) = report.findings
    assert (report.verdict, finding.kind) == ("suspect", "children")
    assert finding.held_by == "process 7 (python serve.py)"
    assert finding.bytes_per_generation == pytest.approx(300 * KB, rel=0.01)


@pytest.mark.parametrize("gained", [0, 1 * KB])
def test_child_that_gains_nothing_that_matters_is_not_told(gained):
    assert diagnose(told(gained)).findings == ()
