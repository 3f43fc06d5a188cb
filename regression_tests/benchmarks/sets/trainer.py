"""The reference trainer: healthy, with each of its leaks, with pairs of them, and a long one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from reference_trainer.leaks import LEAKS
from regression_tests.benchmarks.gallery.__main__ import planted, settings
from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.playing.entry import ROOT, Entry, python
from regression_tests.benchmarks.playing.manifest import Manifest

_ROLLOUT, _UPDATE = ("evaluate_population",), ("train_population",)
_EVOLVE, _CHECKPOINT = ("evolve_population",), ("checkpoint",)
GENERATIONS, _LONG = 8, 40
#: Pairs of leaks that are trained with, drawn with this seed.
_PAIRS, _SEED = 5, 20


def _truth(phase: tuple[str, ...], types: str, holders: str, kinds: str = "") -> Truth:
    return Truth(phase, tuple(types.split()), tuple(holders.split()), 1, 2, tuple(kinds.split()))


#: The leaks that stay; those that only make a peak, or one copy, are in runs that have no leak.
_KEYS = {
    "loss-graph": _truth(_UPDATE, "Tensor", "_losses", "autograd tensors"),
    "episode-history": _truth(_ROLLOUT, "ndarray", ".episode_rewards .episode_actions", "arrays"),
    "env-per-episode": _truth(_ROLLOUT, "TradingEnvironment", ".episode_envs"),
    "env-cycle": _truth(_ROLLOUT, "TradingEnvironment", "", "cycles"),
    "old-population": _truth(_EVOLVE, "DDPGAgent", ".old_populations"),
    "best-agent-history": _truth(_ROLLOUT, "DDPGAgent", ".best_agents"),
    "loss-history": _truth(_UPDATE, "float", ".loss_history"),
    "figures": _truth((), "FigureManagerBase Figure", "Gcf"),
    "episode-stats": _truth(_ROLLOUT, "EpisodeSummary", ".all_episode_stats"),
    "batch-tensors": _truth(_UPDATE, "Tensor", ".seen_batches", "tensors"),
    "upload-backlog": _truth(_CHECKPOINT, "BufferedReader bytes", ".pending_uploads", "queue"),
}


def _entries() -> Iterator[Entry]:
    for leaks in trainings():
        yield entry_of(leaks)
    yield _entry("long", ("loss-history",), _LONG)


def trainings() -> list[tuple[str, ...]]:
    """Return the leaks of each training: none, each alone, some pairs."""
    pairs = random.Random(_SEED).sample(list(combinations(sorted(LEAKS), 2)), _PAIRS)
    return [(), *((leak,) for leak in LEAKS), *pairs]


def entry_of(leaks: tuple[str, ...]) -> Entry:
    """Return a training with these leaks."""
    return _entry("+".join(leaks) or "healthy", leaks, GENERATIONS)


def _entry(name: str, leaks: tuple[str, ...], generations: int) -> Entry:
    words = ["--generations", str(generations), "--no-progress", "--out", "run", "--data-dir",
             "market", "--leak", planted(leaks), *settings(leaks)]  # fmt: skip
    return Entry(
        "trainer",
        name,
        str(ROOT / "reference_trainer"),
        tuple(_KEYS[leak] for leak in leaks if leak in _KEYS),
        partial(python, "-m", "reference_trainer", *words),
        written=("run/run.jsonl",),
    )


SETS = (
    Manifest(
        "trainer",
        _entries,
        "The reference trainer: healthy, with each of its leaks, with pairs, and a long one.",
        ("type", "holder", "phase", "start"),
    ),
)
