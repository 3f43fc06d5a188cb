"""The sets of programs: a manifest each."""

from __future__ import annotations

from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.sets import (
    cases,
    first_sight,
    frameworks,
    gpu,
    job_children,
    keyed,
    leakbench,
    packages,
    psleak,
    several_leaks,
    silence,
    strangers_sets,
    trainer,
    unprepared,
)

#: A new set is a manifest in a file beside this one.
MANIFESTS: dict[str, Manifest] = {
    manifest.name: manifest
    for module in (leakbench, first_sight, keyed, trainer, frameworks, psleak, packages,
                   several_leaks, strangers_sets, unprepared, silence, gpu, cases, job_children)
    for manifest in module.SETS
}  # fmt: skip
