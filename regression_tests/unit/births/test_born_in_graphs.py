"""What a backward graph keeps is its tensor's, however many generations long it is."""

from __future__ import annotations

import pytest
from birth_programs import needs_births, played

from leakguard import diagnose

AVERAGED = """
import sys, torch
from leakguard import LeakGuard

torch.set_num_threads(1)
weights, average = torch.ones(200, 200, requires_grad=True), None
with LeakGuard(out=sys.argv[1], report=None) as guard:
    for _ in guard.generations(range(80)):
        loss = (torch.ones(200, 200) * weights).exp().mean()
        average = loss if average is None else 0.9 * average + 0.1 * loss
"""


@needs_births
def test_average_with_its_graph_is_one_holder_with_all_that_each_generation_made(tmp_path):
    pytest.importorskip("torch")
    run = played(tmp_path, AVERAGED)

    (finding,) = diagnose(run).findings
    assert (finding.verdict, finding.kind) == ("leak", "autograd")
    assert (finding.held_by, finding.created_at) == ("__main__.average", "program.py:9")
    holders = [h for h in run.snapshots[-1].holders if h.path.startswith("__main__.average")]
    (graph,) = holders
    born = sum(place.bytes for place in graph.born)
    assert graph.retained_bytes > 80 * 320_000
    assert born == pytest.approx(graph.retained_bytes, rel=0.3)
