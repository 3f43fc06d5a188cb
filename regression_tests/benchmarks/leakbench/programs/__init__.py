"""The programs; importing this package registers all of them."""

from __future__ import annotations

from regression_tests.benchmarks.leakbench.programs import (
    calm_bounded,
    calm_caches,
    calm_memory,
    pipelines,
    reported,
    resources,
    services,
    trainers,
    when_and_where,
)

__all__ = [
    "calm_bounded",
    "calm_caches",
    "calm_memory",
    "pipelines",
    "reported",
    "resources",
    "services",
    "trainers",
    "when_and_where",
]
