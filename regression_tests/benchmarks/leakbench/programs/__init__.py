"""The programs; importing this package registers all of them."""

from __future__ import annotations

from regression_tests.benchmarks.leakbench.programs import (
    calm_caches,
    calm_memory,
    pipelines,
    resources,
    services,
    trainers,
    when_and_where,
)

__all__ = [
    "calm_caches",
    "calm_memory",
    "pipelines",
    "resources",
    "services",
    "trainers",
    "when_and_where",
]
