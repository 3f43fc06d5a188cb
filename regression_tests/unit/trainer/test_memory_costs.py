"""What must cost no memory: each beside the way that does."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reference_trainer.checkpoint import CheckpointStore
from reference_trainer.config import Config
from reference_trainer.ddpg import AgentStack
from reference_trainer.evolution import EvolutionRules, evolve
from reference_trainer.networks import mlp_architecture
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.state_storage import VectorStates

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="reads the kernel's high-water mark"
)
ROWS, OBSERVATION = 60_000, 240


def peak(call: Callable[[], object]) -> int:
    """Resident bytes that a call needs above what was there before it."""
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


@pytest.fixture
def buffer() -> ReplayBuffer:
    made = ReplayBuffer(ROWS, VectorStates(ROWS, OBSERVATION, 6), ROWS, gamma=0.99)
    made.columns["observation"][:] = np.arange(ROWS, dtype=np.float32)[:, None]
    made.rows_written = made.transitions_written = ROWS
    return made


def test_saving_and_loading_a_buffer_copies_less_than_pickling_it(
    buffer: ReplayBuffer, tmp_path: Path
) -> None:
    population = Population(
        Config(population_size=2, elite_fraction=0.1), mlp_architecture(4, 2, (8,))
    )
    store, state = CheckpointStore(tmp_path, keep=1), {"settings": {}}
    assert peak(lambda: store.save(1, population, buffer, state)) < 16_000_000
    buffer.columns["observation"][:] = 0.0
    path = tmp_path / "gen_000001"
    assert peak(lambda: store.load(path, population, buffer, lambda _: None)) < 24_000_000
    assert buffer.columns["observation"][-1, 0] == ROWS - 1
    assert peak(lambda: pickle.dumps(buffer.columns, protocol=4)) > 50_000_000


def test_evolution_takes_no_second_population() -> None:
    stack = AgentStack.create(
        mlp_architecture(24, 6, (512, 512)),
        16,
        tau=0.005,
        actor_lr=1e-4,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
    )
    rng, fitness = np.random.default_rng(0), list(range(16))
    population = sum(network.nbytes for network in stack.networks)
    assert peak(lambda: evolve(stack, fitness, EvolutionRules(), rng)) < 0.1 * population
    assert peak(stack.copy) > 0.9 * population
