"""A run that is killed anywhere resumes from a complete generation and ends the same."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("torch")
from small_run import small_arguments

GENERATIONS = 8


def command(out: Path, data: Path, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "reference_trainer", "--no-guard", "--generations", str(GENERATIONS),
        "--out", str(out), "--data-dir", str(data), "--upload", f"file://{out}/bucket",
        *small_arguments(), *more,
    ]  # fmt: skip


def killed_after_one_generation(words: list[str], delay: float) -> bool:
    """Start the command, kill it `delay` seconds into its first generation; True if it finished."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Generation"):
            time.sleep(delay)
            process.kill()
            break
    process.stdout.read()
    return process.wait() == 0


@pytest.mark.parametrize("most", [2, pytest.param(6, marks=pytest.mark.heavy)])
def test_killed_at_random_moments_it_ends_like_an_unbroken_run(tmp_path: Path, most: int) -> None:
    unbroken, broken, data = tmp_path / "unbroken", tmp_path / "broken", tmp_path / "data"
    subprocess.run(command(unbroken, data), check=True, capture_output=True)
    rng, resume, kills = random.Random(0), [], 0
    while kills < most:
        finished = killed_after_one_generation(
            command(broken, data, *resume), rng.uniform(0.0, 0.25)
        )
        if finished:
            break
        kills += 1
        if list((broken / "checkpoints").glob("gen_??????")):
            resume = ["--resume"]
    assert kills
    last = subprocess.run(command(broken, data, *resume), capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    assert (broken / "metrics.jsonl").read_text() == (unbroken / "metrics.jsonl").read_text()
    name = f"checkpoints/gen_{GENERATIONS:06d}/best_agent.safetensors"
    one, two = load_file(unbroken / name), load_file(broken / name)
    assert all(np.array_equal(one[key], two[key], equal_nan=True) for key in one)
