"""Ten generations: how little is enough? Importing this package registers the programs."""

from __future__ import annotations

from regression_tests.benchmarks.leakbench.short import (
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

ABOUT = """
Ten generations of a few phases each. leakguard looks in depth at eight of the ten (with
`leakguard-unlimited` at all of them and all their phases). psleak is not among the tools: it calls
a function hundreds of times until growth fades, which ten generations cannot serve.
"""
