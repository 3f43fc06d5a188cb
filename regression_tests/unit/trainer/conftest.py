from __future__ import annotations

import gc
import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch")

from reference_trainer.config import Config
from reference_trainer.hooks import HookChain
from reference_trainer.leaks import planted
from regression_tests.integration.small_run import SETTINGS

if TYPE_CHECKING:
    from reference_trainer.trainer import ERLTrainer


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One synthetic market for the whole test session."""
    return tmp_path_factory.mktemp("market")


@pytest.fixture(scope="session")
def tiny_settings(data_dir: Path) -> dict[str, Any]:
    """Settings with which a generation takes a few hundredths of a second."""
    changed = {"data_dir": data_dir, "buffer_capacity": 200, "generations": 4, "progress": False}
    return {**SETTINGS, **changed}


@pytest.fixture
def tiny(tmp_path: Path, tiny_settings: dict[str, Any]) -> Callable[..., Config]:
    """A tiny configuration, changed at will."""
    return lambda **changes: Config(**{"out": tmp_path / "run", **tiny_settings, **changes})


@pytest.fixture
def trainer(tiny: Callable[..., Config]) -> Callable[..., ERLTrainer]:
    """A trainer on the tiny configuration that prints nowhere, with the leaks that are named."""
    from reference_trainer.trainer import ERLTrainer

    def make(*leaks: str, leak_size: int | None = None, **changes: Any) -> ERLTrainer:
        hooks = HookChain(planted(leaks, leak_size))
        return ERLTrainer(tiny(**changes), log=io.StringIO(), hooks=hooks)

    return make


@pytest.fixture
def run() -> Callable[[ERLTrainer, int], ERLTrainer]:
    """Run generations up to the given one, without a guard."""

    def to(trainer: ERLTrainer, last: int) -> ERLTrainer:
        for generation in range(trainer.generation + 1, last + 1):
            trainer.run_generation(generation)
        return trainer

    return to


@pytest.fixture
def live() -> Callable[..., list[int]]:
    """Counts the live instances of exactly these classes, in one look at the heap."""

    def count(*kinds: type) -> list[int]:
        gc.collect()
        found = Counter(type(thing) for thing in gc.get_objects())
        return [found[kind] for kind in kinds]

    return count
