"""Memory that rises steadily is noticed; memory that only moves is not."""

from __future__ import annotations

import pytest

from leakguard.live.sidecar.ascent import Ascent

MB = 1_000_000


def widths(samples):
    ascent = Ascent()
    return [width for width in map(ascent.add, samples) if width is not None]


def test_steady_rise_is_noticed_at_the_narrowest_width():
    found = widths(100 * MB + n * MB for n in range(20))
    assert found[0] == 2


def test_it_takes_three_rises_after_the_imports():
    ascent = Ascent()
    first = next(n for n in range(100) if ascent.add(100 * MB + n * MB) is not None)
    assert first == 4 + 8 - 1


def test_slow_rise_is_noticed_at_a_wider_width():
    found = widths(100 * MB + n * MB // 50 for n in range(400))
    assert found and found[0] >= 16


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(lambda n: 100 * MB, id="flat"),
        pytest.param(lambda n: 100 * MB + (n % 10) * 5 * MB, id="sawtooth"),
        pytest.param(lambda n: 100 * MB + (n % 7 == 0) * 50 * MB, id="peaks"),
        pytest.param(lambda n: min(n, 3) * 100 * MB, id="imports"),
        pytest.param(lambda n: 100 * MB + (n > 50) * 80 * MB, id="a step"),
        pytest.param(lambda n: 100 * MB - n * MB // 10, id="falls"),
    ],
)
def test_what_only_moves_is_left_alone(size):
    assert widths(map(size, range(600))) == []


def test_what_was_looked_into_must_rise_anew():
    ascent = Ascent()
    assert any(ascent.add(n * MB) for n in range(12))
    ascent.begin_anew()
    assert not any(ascent.add(n * MB) for n in range(12, 18))


def test_few_samples_are_kept_however_long_it_lasts():
    ascent = Ascent()
    for _ in range(20_000):
        ascent.add(MB)
    assert len(ascent._samples) <= 4096
