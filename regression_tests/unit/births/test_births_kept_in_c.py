"""What only C code keeps has its line; garbage that waits for the collector is no such thing."""

from __future__ import annotations

import pytest
from birth_programs import needs_births, played

from leakguard import diagnose

PROGRAM = """
import atexit, gc, sys
from leakguard import LeakGuard

class Writer:
    def __init__(self):
        self.parts = []

    def add(self):
        self.parts.append(bytes(50_000))

    def flush(self):
        self.parts.clear()

def write():
    writer = Writer()
    {keep}
    writer.add()

gc.disable()
with LeakGuard(out=sys.argv[1]) as guard:
    for generation in guard.generations(30):
        write()
"""
LINE = "program.py:10"


@needs_births
def test_objects_of_callbacks_at_exit_have_their_line(tmp_path):
    run = played(tmp_path, PROGRAM.format(keep="atexit.register(writer.flush)"))
    (finding,) = diagnose(run).findings
    assert (finding.verdict, finding.created_at) == ("leak", f"{LINE} in add")
    assert _unheld(run) > 30 * 40_000


@needs_births
def test_garbage_in_cycles_is_not_among_what_no_holder_has(tmp_path):
    run = played(tmp_path, PROGRAM.format(keep="writer.parts.append(writer)"))
    assert _unheld(run) < 5 * 50_000


def _unheld(run) -> float:
    last = next(snapshot for snapshot in reversed(run.snapshots) if snapshot.holders)
    return sum(place.bytes for place in last.unheld if place.place == LINE)


SECOND_ORDER = """
import sys, torch
from leakguard import LeakGuard

torch.set_num_threads(1)
def adapt():
    learner = torch.nn.Linear(150, 150)
    loss = learner(torch.ones(4, 150)).pow(2).mean()
    loss.backward(create_graph=True)
    {tidy}

with LeakGuard(out=sys.argv[1], report=None) as guard:
    for _ in guard.generations(range(40)):
        adapt()
"""


@needs_births
@pytest.mark.parametrize("tidy", ["", "learner.zero_grad(set_to_none=True)"])
def test_gradients_with_their_graph_have_a_line_unless_they_are_dropped(tmp_path, tidy):
    pytest.importorskip("torch")
    run = played(tmp_path, SECOND_ORDER.format(tidy=tidy))

    lines = {finding.created_at for finding in diagnose(run).findings}
    assert ("program.py:9 in adapt" in lines) == (not tidy)
    assert not tidy or not lines
