"""Long loops: when does it begin, how often does it come? Importing registers the programs."""

from __future__ import annotations

from regression_tests.benchmarks.leakbench.temporal import (
    calm_collector,
    calm_cycles,
    calm_fills,
    calm_traffic,
    idioms,
    late,
    lost,
    moving,
    periodic,
    resources,
    slow,
    tensors,
    uncollected,
)

__all__ = [
    "calm_collector",
    "calm_cycles",
    "calm_fills",
    "calm_traffic",
    "idioms",
    "late",
    "lost",
    "moving",
    "periodic",
    "resources",
    "slow",
    "tensors",
    "uncollected",
]

ABOUT = """
Loops of 60 to 2,000 generations of 5 to 100 ms each, half of it spent computing and half waiting:
late starts, every k-th generation, slow growth under a sawtooth, fills, warm-ups and periods of
many generations, and memory that no object holds.
"""
