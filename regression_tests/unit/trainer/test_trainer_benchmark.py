from __future__ import annotations

import re
from pathlib import Path

import pytest

from reference_trainer import benchmark

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="reads the kernel's high-water mark"
)


def megabytes(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"([+-]\d+) MB", text)]


def test_saving_a_buffer_copies_less_than_pickling_it() -> None:
    saved, pickled = megabytes(benchmark._saving(60_000_000))
    assert saved < 32
    assert pickled > 40


def test_evolution_takes_no_second_population() -> None:
    measured = benchmark._evolution()
    extra, population = re.findall(r"([+-]?\d+(?:\.\d+)?) MB", measured)
    assert float(extra) < 0.1 * float(population)
