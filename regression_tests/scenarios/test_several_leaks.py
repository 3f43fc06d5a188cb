"""Several leaks at once are told each, with holder, phase and line; their twins are calm."""

from __future__ import annotations

import pytest

from leakguard.capture.births.birth_record import _births
from regression_tests.benchmarks.several_leaks.__main__ import marks_of, played
from regression_tests.benchmarks.several_leaks.program import program_of

# Without torch, of two to five leaks in 8 to 60 generations.
_SEEDS = (2, 4, 6, 8)


@pytest.mark.skipif(_births is None, reason="the compiled record was not built")
@pytest.mark.parametrize("seed", _SEEDS)
def test_each_of_several_leaks_is_told_with_holder_phase_and_line(seed, tmp_path):
    program = program_of(seed, leaky=True)

    findings = played(program, tmp_path)

    assert not isinstance(findings, str), findings
    marks = [marks_of(leak, findings) for leak in program.leaks]
    assert all(mark.holder and mark.phase and mark.line for mark in marks), findings


@pytest.mark.parametrize("seed", _SEEDS)
def test_the_twin_of_several_leaks_is_calm(seed, tmp_path):
    findings = played(program_of(seed, leaky=False), tmp_path)

    assert not isinstance(findings, str), findings
    assert [f for f in findings if f.verdict in ("leak", "suspect")] == []
