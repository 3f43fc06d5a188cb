from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reference_trainer.__main__ import build_config, main, parse_setting
from reference_trainer.config import GYM, Config
from reference_trainer.leaks import LEAKS
from reference_trainer.trainer import ERLTrainer

SMALL = (
    "days=200", "stocks=6", "context_days=20", "trading_days=8", "settlement_days=3",
    "validation_days=40", "population_size=4", "hidden=8,8", "gradient_steps=2",
    "batch_size=8", "buffer_capacity=200", "buffer_ready=40",
)  # fmt: skip


@pytest.fixture
def erl(tmp_path: Path, data_dir: Path) -> Callable[..., Result]:
    """Call the command line in this process, without a guard's measurements."""

    def call(*arguments: str) -> Result:
        settings = [word for setting in SMALL for word in ("--set", setting)]
        place = ["--out", str(tmp_path / "run"), "--data-dir", str(data_dir), "--no-guard"]
        return CliRunner().invoke(main, [*place, *settings, *arguments])

    return call


def test_a_run_leaves_checkpoints_metrics_and_a_plot(
    erl: Callable[..., Result], tmp_path: Path
) -> None:
    result = erl("--generations", "2")
    assert result.exit_code == 0, result.output
    assert "Generation 2 / 2" in result.output
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["generation"] for line in lines] == [1, 2]
    assert (tmp_path / "run" / "checkpoints" / "gen_000002").is_dir()
    assert (tmp_path / "run" / "plots" / "fitness.png").exists()


def test_resume_goes_on_at_the_next_generation(erl: Callable[..., Result]) -> None:
    erl("--generations", "1")
    result = erl("--generations", "3", "--resume")
    assert result.exit_code == 0, result.output
    assert "Resuming after generation 1" in result.output
    assert "Generation 1 / 3" not in result.output
    assert "Generation 3 / 3" in result.output


def test_a_fresh_run_keeps_the_checkpoints_of_the_last_one_aside(
    erl: Callable[..., Result], tmp_path: Path
) -> None:
    erl("--generations", "2")
    erl("--generations", "1")
    names = [path.name for path in (tmp_path / "run" / "checkpoints.old").glob("gen_*")]
    assert sorted(names) == ["gen_000001", "gen_000002"]
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--leak", "memory"), "no leak called 'memory': choose from loss-graph"),
        (("--leak", "figures=much"), "'much' is not a size: write it like \"20 MB\""),
        (("--leak-size", "20 apples"), "'20 apples' is not a size"),
        (("--leak-size", "0 MB"), "is no leak"),
        (("--resume",), "nothing to resume"),
        (("--data", "nowhere.parquet"), "no market data at nowhere.parquet"),
        (("--env", "Nothing-v9"), "no environment 'Nothing-v9'"),
        (("--env", "CartPole-v1"), "needs boxes of numbers"),
        (("--set", "colour=red"), "no field 'colour'"),
        (("--set", "gamma=high"), "'high' is not a number"),
        (("--set", "generations=2.5"), "'2.5' is not a whole number"),
        (("--set", "hidden=wide"), "'wide' is not sizes: write them like 64,64"),
        (("--set", "evolution=1"), "'1' is not true or false"),
        (("--set", "validation_days=5"), "the validation range has 5 days"),
        (("--set", "network=deep"), "network='deep'"),
        (("--set", "population_size=1"), "population_size=1"),
        (("--set", "batch_size=0"), "batch_size=0"),
        (("--generations", "0"), "0 is not in the range"),
    ],
)
def test_unusable_argument_is_one_clear_line_and_exit_2(
    erl: Callable[..., Result], arguments: tuple[str, ...], complaint: str
) -> None:
    result = erl(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


def test_damaged_checkpoint_is_one_clear_line_and_exit_2(
    erl: Callable[..., Result], tmp_path: Path
) -> None:
    erl("--generations", "1")
    state = tmp_path / "run" / "checkpoints" / "gen_000001" / "trainer_state.json"
    state.write_text(state.read_text() + " ")
    result = erl("--resume")
    assert result.exit_code == 2
    assert "gen_000001 is damaged: trainer_state.json" in result.stderr


def test_a_population_that_does_not_fit_is_refused_with_its_bill(
    erl: Callable[..., Result],
) -> None:
    result = erl("--paper-size", "--set", "hidden=500000,500000")
    assert result.exit_code == 2
    assert "Memory bill of the population:" in result.stdout
    assert "GB are available" in result.stderr


def test_sigterm_ends_the_run_with_a_checkpoint(
    erl: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated_in_the_second(self: ERLTrainer, generation: int) -> None:
        if generation == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        run_generation(self, generation)

    run_generation = ERLTrainer.run_generation
    monkeypatch.setattr(ERLTrainer, "run_generation", terminated_in_the_second)
    result = erl("--generations", "5", "--set", "checkpoint_every=10")
    assert result.exit_code == 143
    assert "Stopped after generation 2; --resume goes on" in result.output
    assert (tmp_path / "run" / "checkpoints" / "gen_000002").is_dir()


def test_help_names_every_option() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    for option in ("--generations", "--leak", "--leak-size", "--out", "--resume", "--seed",
                   "--paper-size", "--env", "--no-evolution"):  # fmt: skip
        assert option in text
    for name in LEAKS:
        assert name in text


def test_paper_size_is_the_original() -> None:
    config = Config.paper()
    assert (config.days, config.stocks, config.population_size) == (3781, 669, 16)
    assert (config.context_days, config.trading_days, config.settlement_days) == (504, 125, 20)
    assert (config.buffer_capacity, config.buffer_ready) == (50_000, 10_000)
    assert (config.gradient_steps, config.accumulation_steps) == (32, 6)
    assert config.generations == 25


def test_a_field_is_set_to_a_value_of_its_type_or_to_none_by_name() -> None:
    assert parse_setting("learners=none") == ("learners", None)
    assert parse_setting("learners=2") == ("learners", 2)
    assert parse_setting("max_env_steps=1e6") == ("max_env_steps", 1_000_000)
    assert parse_setting("env_id=Pendulum-v1") == ("env_id", "Pendulum-v1")
    assert parse_setting("data=panel.parquet") == ("data", Path("panel.parquet"))
    assert parse_setting("hidden=32,16") == ("hidden", (32, 16))
    assert parse_setting("updates_per_step=0.5") == ("updates_per_step", 0.5)


def test_a_task_that_is_set_as_a_field_has_the_settings_of_tasks_too() -> None:
    def config(*words: str) -> Config:
        options = main.make_context("train", list(words)).params
        for name in ("resume", "guard", "leaks", "leak_size", "seeds", "at_once"):
            del options[name]
        return build_config(**options)

    by_option = config("--env", "Pendulum-v1")

    assert by_option.learners == GYM["learners"]
    assert config("--set", "env_id=Pendulum-v1") == by_option
