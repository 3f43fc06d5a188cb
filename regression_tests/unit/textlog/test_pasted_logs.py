"""Logs that people paste are read as they are, and judged by what they show."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from leakguard.analysis import diagnose
from leakguard.model import Run
from leakguard.store import load_runs
from regression_tests.benchmarks.textlog.pasted_logs import FORMATS, Curve, Pasted, calm, leaking

# Logs of these seeds took no part in making the reader.
SEEDS = (7001, 7002)
each_format = pytest.mark.parametrize("format_", FORMATS)
each_seed = pytest.mark.parametrize("seed", SEEDS)


def read(
    folder: Path, format_: str, seed: int, curve: Curve
) -> tuple[Pasted, dict[str | None, Run]]:
    pasted = FORMATS[format_](random.Random(f"{format_} {seed}"), curve)
    path = folder / ("gpu.csv" if "CSV" in format_ else "pasted.log")
    path.write_text(pasted.text, encoding="utf-8")
    return pasted, {run.info.role: run for run in load_runs(path)}


def sizes(run: Run) -> list[float]:
    return [s.metrics.get("rss", s.metrics.get("gpu_used", -1)) for s in run.generation_ends()]


@each_seed
@each_format
@pytest.mark.parametrize("curve", [leaking, calm])
def test_every_sample_of_every_series_is_read(tmp_path, format_, seed, curve):
    pasted, runs = read(tmp_path, format_, seed, curve)
    assert runs.keys() == pasted.series.keys()
    for who, values in pasted.series.items():
        assert sizes(runs[who]) == pytest.approx(values, abs=1)


@each_seed
@each_format
def test_series_that_grows_is_suspected_and_no_other(tmp_path, format_, seed):
    pasted, runs = read(tmp_path, format_, seed, leaking)
    for who, run in runs.items():
        report = diagnose(run)
        if who in pasted.rates:
            assert report.verdict == "suspect"
            rate = report.findings[0].bytes_per_generation
            assert rate == pytest.approx(pasted.rates[who], rel=0.1)
        else:
            assert report.verdict == "stable", who


@each_seed
@each_format
def test_calm_twin_is_stable(tmp_path, format_, seed):
    _, runs = read(tmp_path, format_, seed, calm)
    assert {who: diagnose(run).verdict for who, run in runs.items()} == dict.fromkeys(
        runs, "stable"
    )
