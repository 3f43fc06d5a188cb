"""Objects that only cycles kept alive have the line that made them."""

from __future__ import annotations

import pytest
from birth_programs import needs_births, played

from leakguard import diagnose

_TREES = """
import gc, sys
from leakguard import LeakGuard, phase
gc.disable()

class Node:
    def __init__(self, parent):
        self.children = []
        self.parent = parent

def grow(depth, parent=None):
    node = Node(parent)
    node.children += [grow(depth - 1, node) for _ in range(2 if depth else 0)]
    return node

@phase("search")
def search():
    OTHERS
    grow(9)

with LeakGuard(out=sys.argv[1], report=None) as guard:
    for _ in guard.generations(range(12)):
        search()
"""


@needs_births
@pytest.mark.parametrize("others", ["pass", "kept = [Node(None) for _ in range(1_000)]"])
def test_garbage_in_cycles_has_the_line_that_made_its_objects(tmp_path, others):
    run = played(tmp_path, _TREES.replace("OTHERS", others))

    (finding,) = diagnose(run).findings
    assert (finding.kind, finding.type, finding.phase) == ("cycles", "__main__.Node", "search")
    assert finding.created_at == "program.py:12 in grow"
