"""Tests with torch that keep something every round."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

WEIGHT = torch.zeros(64, 64, requires_grad=True)
LOSSES: list[torch.Tensor] = []
BATCHES: dict[int, torch.Tensor] = {}

CULPRIT = {
    "test_losses_that_keep_their_graph": "LOSSES[*]",
    "test_batches_that_are_kept": "BATCHES[*]",
}


@pytest.fixture(autouse=True)
def _clean_up():
    yield
    LOSSES.clear()
    BATCHES.clear()


@pytest.mark.memory_budget(growth="100 kB")
def test_losses_that_keep_their_graph():
    for _ in range(4):
        LOSSES.append((torch.rand(256, 64) @ WEIGHT).tanh().square().mean())  # noqa: PERF401


@pytest.mark.memory_budget(growth="100 kB")
def test_batches_that_are_kept():
    BATCHES[len(BATCHES)] = torch.rand(1000, 64)
