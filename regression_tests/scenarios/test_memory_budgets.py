"""The budgets that a healthy trainer keeps in every generation, and the leak that breaks each.

The sizes are those of a small training; at paper size the same budgets read 2 environments,
16 to 17 agents, 1 buffer, and less than 1 GB of growth a generation.
"""

from __future__ import annotations

import itertools

import pytest

from leakguard.model import Run

# One worker trains once for both files.
pytestmark = pytest.mark.xdist_group("trained")

MAX_GROWTH = 2_000_000  # bytes of live memory a generation, at this size of training

ENVIRONMENT = "reference_trainer.environment.TradingEnvironment"
AGENT = "reference_trainer.ddpg.DDPGAgent"
BUFFER = "reference_trainer.replay_buffer.ReplayBuffer"

COUNTS = {ENVIRONMENT: range(2, 3), AGENT: range(16, 18), BUFFER: range(1, 2)}


def counts(run: Run, name: str) -> list[int | None]:
    return [snapshot.count(name) for snapshot in run.generation_ends()]


def growth(run: Run) -> list[float]:
    """Live bytes that each generation after the first added; the first one warms up."""
    used = [snapshot.metrics["heap_in_use"] for snapshot in run.generation_ends()]
    return [later - earlier for earlier, later in itertools.pairwise(used)]


def broken_budgets(run: Run) -> set[str]:
    broken = {
        name.rsplit(".", 1)[-1]
        for name, allowed in COUNTS.items()
        if any(count not in allowed for count in counts(run, name))
    }
    if "heap_in_use" in run.snapshots[-1].metrics and max(growth(run)) > MAX_GROWTH:
        broken.add("growth")
    return broken


def test_healthy_training_keeps_every_budget_in_every_generation(trained):
    run = trained().run
    assert len(run.generation_ends()) == 5
    assert counts(run, ENVIRONMENT) == [2] * 5
    assert counts(run, BUFFER) == [1] * 5
    assert set(counts(run, AGENT)) <= {16, 17}
    assert broken_budgets(run) == set()


@pytest.mark.parametrize(
    ("leak", "budgets"),
    [
        ("env-per-episode", {"TradingEnvironment"}),
        ("old-population", {"DDPGAgent"}),
        ("loss-graph", {"growth"}),
    ],
)
def test_each_leak_breaks_exactly_its_budget(trained, leak, budgets):
    broken = broken_budgets(trained(leak).run)
    assert broken == budgets or broken == budgets | {"growth"}
