"""Many seeds of one configuration: each gives what it gives alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import load_file

from reference_trainer.__main__ import main
from reference_trainer.config import Config
from reference_trainer.errors import ConfigError
from reference_trainer.seeds import Outcome, each_seed, parse_seeds, summary

GYMNASIUM = (
    "population_size=3", "elite_fraction=0.3", "hidden=8,8", "batch_size=8", "random_steps=50",
    "buffer_ready=50", "episode_steps=20",
)  # fmt: skip


@pytest.fixture
def erl(tmp_path: Path) -> Callable[..., Result]:
    """Train Pendulum for some steps, without a guard's measurements."""

    def call(folder: str, *arguments: str) -> Result:
        settings = [word for setting in GYMNASIUM for word in ("--set", setting)]
        fixed = ["--env", "Pendulum-v1", "--out", str(tmp_path / folder), "--no-guard"]
        return CliRunner().invoke(main, [*fixed, *settings, *arguments])

    return call


def numbers(folder: Path) -> dict[str, np.ndarray]:
    """Every array of the newest checkpoint by its name."""
    newest = max((folder / "checkpoints").glob("gen_*"))
    return {
        f"{path.name} {name}": array
        for path in sorted(newest.glob("*.safetensors"))
        for name, array in load_file(path).items()
    }


def records(folder: Path) -> list[object]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("at_once", ["1", "2"])
def test_each_seed_gives_bit_for_bit_what_it_gives_alone(
    erl: Callable[..., Result], tmp_path: Path, at_once: str
) -> None:
    together = erl("many", "--seeds", "3-5", "--at-once", at_once, "--generations", "3")
    assert together.exit_code == 0, together.output
    assert "3 seeds: best agents' mean " in together.output
    for seed in ("3", "4", "5"):
        assert erl(f"alone_{seed}", "--seed", seed, "--generations", "3").exit_code == 0
        alone, one = tmp_path / f"alone_{seed}", tmp_path / "many" / f"seed_{seed}"
        assert records(one) == records(alone)
        expected, found = numbers(alone), numbers(one)
        assert len(expected) > 10
        assert expected.keys() == found.keys()
        assert all(np.array_equal(expected[name], found[name]) for name in expected)
        assert "Generation 3 / 3" in (one / "training.log").read_text()


def test_seeds_go_on_where_they_were_and_others_begin(
    erl: Callable[..., Result], tmp_path: Path
) -> None:
    erl("run", "--seeds", "0", "--generations", "1")
    erl("whole", "--seeds", "0", "--generations", "2")
    resumed = erl("run", "--seeds", "0-1", "--generations", "2", "--resume")
    assert resumed.exit_code == 0, resumed.output
    expected, found = numbers(tmp_path / "whole" / "seed_0"), numbers(tmp_path / "run" / "seed_0")
    assert all(np.array_equal(expected[name], found[name]) for name in expected)
    assert len(records(tmp_path / "run" / "seed_1")) == 2


def test_sigterm_lets_every_seed_finish_its_generation(tmp_path: Path) -> None:
    settings = [word for setting in GYMNASIUM for word in ("--set", setting)]
    command = [
        sys.executable, "-m", "reference_trainer", "--env", "Pendulum-v1", "--out", str(tmp_path),
        "--no-guard", "--generations", "1000000", "--seeds", "0-2", "--at-once", "2", *settings,
    ]  # fmt: skip
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    folders = [tmp_path / "seed_0", tmp_path / "seed_1"]
    while not all(list(folder.glob("checkpoints/gen_*")) for folder in folders):
        time.sleep(0.02)
        assert run.poll() is None
    run.terminate()
    told, _ = run.communicate()
    assert run.returncode == 128 + signal.SIGTERM
    assert told.endswith("Stopped; --resume goes on\n")
    assert told.startswith(("Seed 0", "Seed 1"))
    assert not (tmp_path / "seed_2").exists()
    for folder in folders:
        newest = max(folder.glob("checkpoints/gen_*")).name
        assert newest == f"gen_{len(records(folder)):06}"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--seeds", "0-9", "--env", "Nothing-v9"), "no environment 'Nothing-v9'"),
        (("--seeds", "0-9", "--leak", "memory"), "no leak called 'memory'"),
        (("--seeds", "0-"), "write them like 0-9 or 0,3,7-9"),
        (("--seeds", "9-0"), "the lowest first"),
        (("--seeds", "0-10000"), "1 to 10,000"),
        (("--at-once", "2"), "give --seeds"),
        (("--seed", "3", "--seeds", "0-9"), "give one of them"),
    ],
)
def test_what_cannot_be_trained_is_one_line_and_status_2(
    erl: Callable[..., Result], arguments: tuple[str, ...], complaint: str
) -> None:
    result = erl("run", *arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0-3", [0, 1, 2, 3]), ("7", [7]), ("0,3,7-9", [0, 3, 7, 8, 9]), ("2, 2,1-2", [2, 1])],
)
def test_seeds_are_read_each_once(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "-3", "a-b", "0..9", "1,,2", "1.5"])
def test_what_are_no_seeds_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_seeds(text)


def test_each_seed_has_a_folder_and_a_place_to_upload_to() -> None:
    one, other = each_seed(Config(out=Path("runs"), upload="s3://bucket/erl/"), [3, 4])
    assert (one.seed, one.out, one.upload) == (3, Path("runs/seed_3"), "s3://bucket/erl/seed_3")
    assert (other.seed, other.out) == (4, Path("runs/seed_4"))


def test_seeds_without_a_best_agent_are_counted() -> None:
    assert summary([Outcome(None, 5, 1.0)]) == "1 seeds: none has a best agent"
    told = summary([Outcome(None, 5, 1.0), Outcome(2.0, 5, 1.0), Outcome(4.0, 5, 1.0)])
    assert told == "3 seeds: best agents' mean 3.000, lowest 2.000, highest 4.000; 3 CPU s"
