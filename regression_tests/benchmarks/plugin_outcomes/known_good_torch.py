"""Tests with torch that keep no memory."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

WEIGHT = torch.zeros(64, 64, requires_grad=True)
ADAM = torch.optim.Adam([WEIGHT])
LOSSES: list[float] = []


@pytest.mark.memory_budget(growth="200 kB")
def test_tensors_that_are_updated_in_place():
    for _ in range(10):
        with torch.no_grad():
            WEIGHT.add_(torch.ones(64, 64))


@pytest.mark.memory_budget(growth="200 kB")
def test_losses_that_are_kept_as_floats():
    """The first step makes the optimizer's state: a legitimate step, no leak."""
    for _ in range(10):
        loss = (torch.ones(32, 64) @ WEIGHT).square().mean()
        ADAM.zero_grad()
        loss.backward()
        ADAM.step()
        LOSSES.append(loss.item())
