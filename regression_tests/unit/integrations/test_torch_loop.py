"""A plain torch loop is followed by its optimizer."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from leakguard import LeakGuard, UsageError
from leakguard.integrations.torch_loop import follow_optimizer


def test_so_many_steps_are_a_generation_until_the_hook_is_removed():
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with LeakGuard(report=None) as guard:
        handle = follow_optimizer(optimizer, guard, every=5)
        for _ in range(19):
            layer(torch.ones(2)).sum().backward()
            optimizer.step()
        handle.remove()
        for _ in range(19):
            optimizer.step()
    assert guard.run.generations == (1, 2, 3, 4)


def test_no_steps_are_refused_before_the_run_begins():
    guard = LeakGuard(report=None)
    with pytest.raises(UsageError, match="every=0 is not a number of steps"):
        follow_optimizer(object(), guard, every=0)
    assert not guard.running
