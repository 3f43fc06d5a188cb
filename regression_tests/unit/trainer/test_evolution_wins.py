"""The benchmark that says where evolution helps: its statistics, its task, its going on."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner

from reference_trainer.config import SEARCHES
from regression_tests.benchmarks.trainer.evolution_wins import __main__ as command
from regression_tests.benchmarks.trainer.evolution_wins import contest, ours, table, theirs
from regression_tests.benchmarks.trainer.evolution_wins.contest import Curve, Memory, Run, Task
from regression_tests.benchmarks.trainer.evolution_wins.sparse_pendulum import SPARSE_PENDULUM
from regression_tests.benchmarks.trainer.evolution_wins.statistics import difference, estimate, iqm

SHORT = Task("Pendulum-v1", 900, -200.0, contest.PENDULUM, "short")


@pytest.fixture
def one_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy is judged by one episode: it is the counting that is tested."""
    for module in (ours, theirs):
        monkeypatch.setattr(module, "CURVE_EPISODES", 1)
        monkeypatch.setattr(module, "FINAL_EPISODES", 1)


def a_run(method: str, seed: int, score: float) -> Run:
    points = [(100 * point, score) for point in range(1, 11)]
    memory = Memory(1_000_000, 2_000_000, {"DDPGAgent": [11]})
    return Run("Pendulum-v1", method, seed, 1000, score, points, 500, 2.0, 1.0, memory)


def test_a_quarter_is_cut_at_each_end() -> None:
    assert iqm(np.array([100.0, 1.0, 2.0, 3.0, -100.0])) == 2.0
    assert iqm(np.array([1.0, 2.0, 6.0])) == 3.0


def test_seeds_are_redrawn_within_their_task() -> None:
    value, low, high = estimate([[0.0] * 5, [10.0] * 5])
    assert (value, low, high) == (iqm(np.array([0.0] * 5 + [10.0] * 5)),) * 3
    value, low, high = estimate([[1.0, 2.0, 3.0, 4.0, 5.0]])
    assert low < value < high


def test_an_interval_of_a_difference_tells_chance_from_effect() -> None:
    _, low, _ = difference([[9.0, 10.0, 11.0, 10.0, 10.0]], [[1.0, 2.0, 1.0, 0.0, 2.0]])
    assert low > 0
    _, low, high = difference([[0.0, 9.0, 3.0, 5.0, 7.0]], [[1.0, 8.0, 4.0, 5.0, 6.0]])
    assert low < 0 < high


def test_a_hanging_pendulum_earns_nothing_and_a_standing_one_each_step() -> None:
    env = gymnasium.make(SPARSE_PENDULUM)
    env.reset(seed=0)
    assert sum(float(env.step(np.zeros(1))[1]) for _ in range(100)) == 0
    env.unwrapped.state = np.array([0.0, 0.0])  # type: ignore[attr-defined]
    assert env.step(np.zeros(1))[1] == 1.0


def test_a_curve_has_a_point_for_each_share_of_the_steps() -> None:
    curve = Curve(1000, lambda: 0.0)
    for steps in (50, 130, 150, 480, 500, 1000):
        curve.reached(steps)
    assert [steps for steps, _ in curve.points] == [130, 480, 500, 1000]


@pytest.mark.usefixtures("one_episode")
@pytest.mark.parametrize("method", contest.OURS)
def test_every_method_takes_the_same_steps_and_judges_off_the_record(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    small = {"population_size": 3, "elite_fraction": 0.4, "hidden": (8, 8), "random_steps": 0,
             "buffer_ready": 50, "updates_per_step": 0.1, **contest.OURS[method]}  # fmt: skip
    has_learner = small.get("learners") != 0
    if small.get("method") in SEARCHES and not has_learner:
        small["population_size"], small["episode_steps"] = 6, 100
    monkeypatch.setitem(contest.OURS, method, small)
    played = ours.run(SHORT, method, 100)
    assert played.steps == 900
    assert (played.agent_updates > 0) == has_learner
    assert played.curve
    assert played.memory is not None
    agents = 2 if method.startswith("gradient only") else small["population_size"] + 1
    assert played.memory.counts["DDPGAgent"] == [agents]


@pytest.mark.usefixtures("one_episode")
@pytest.mark.parametrize("method", ["SB3 DDPG, published", "SB3 SAC, default"])
def test_stable_baselines_takes_the_same_steps(method: str) -> None:
    pytest.importorskip("stable_baselines3")
    played = theirs.run(dataclasses.replace(SHORT, steps=200), method, 100)
    assert played.steps == 200
    assert len(played.curve) == contest.POINTS


@pytest.mark.usefixtures("one_episode")
def test_where_all_steps_take_too_long_stable_baselines_gets_some_and_the_table_says_so() -> None:
    pytest.importorskip("stable_baselines3")
    task = dataclasses.replace(SHORT, steps=1000, steps_of_theirs=200)
    played = theirs.run(task, "SB3 SAC, default", 100)
    assert played.steps == 200
    assert len(played.curve) == contest.POINTS
    marks = np.array([100.0, 200.0, 300.0, 1000.0])
    assert list(np.isnan(table._at(played, marks))) == [False, False, True, True]
    assert table._rows(task, [played]).endswith("| 200 |")


def test_finished_runs_are_not_played_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ours, "run", lambda task, method, seed: a_run(method, seed, 1.0))
    arguments = ["--task", "Pendulum-v1", "--method", "evolution", "--method", "no evolution",
                 "--seeds", "0,1", "--out", str(tmp_path)]  # fmt: skip
    first = CliRunner().invoke(command.main, arguments, catch_exceptions=False)
    assert first.exit_code == 0
    assert not (tmp_path / "runs.jsonl").exists()  # no minutes were given
    for _ in range(2):
        CliRunner().invoke(command.main, [*arguments, "--minutes", "5"], catch_exceptions=False)
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [(line["method"], line["seed"]) for line in lines] == [
        (method, seed) for seed in (0, 1) for method in ("evolution", "no evolution")
    ]
    assert "| evolution | 2 | 1.0 | 1.0 to 1.0 | 2 of 2 |" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("line", ['{"task": "Pendulum-v1", "met', "[]", '{"task": "Pendulum-v1"}'])
def test_a_torn_line_is_one_clear_error_and_nothing_is_lost(line: str, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text(line)

    result = CliRunner().invoke(command.main, ["--out", str(tmp_path)])

    assert result.exit_code == 2
    assert "runs.jsonl, line 1: not a finished run" in result.output
    assert file.read_text() == line


def test_settings_are_played_as_published_only_where_somebody_published_them() -> None:
    playable = {
        task.env_id: [method for method in contest.METHODS if task.has(method)]
        for task in contest.TASKS.values()
    }
    assert playable["Pendulum-v1"] == list(contest.METHODS)
    without = [method for method in contest.METHODS if not method.endswith("published")]
    assert playable[SPARSE_PENDULUM] == without
    assert "SB3 SAC, published" in playable["Swimmer-v5"]
    assert "SB3 DDPG, published" not in playable["Swimmer-v5"]


@pytest.mark.parametrize(
    ("on", "off", "word"),
    [
        ([90.0, 95.0, 92.0], [0.0, 1.0, 0.0], "as the learner: more, +"),
        ([0.0, 1.0, 0.0], [90.0, 95.0, 92.0], "as the learner: less, -"),
        ([90.0, 0.0, 92.0], [91.0, 1.0, 90.0], "as the learner: no difference that shows"),
    ],
)
def test_the_sentence_follows_from_the_interval(
    on: list[float], off: list[float], word: str
) -> None:
    runs = [
        a_run(method, seed, score)
        for method, scores in (("evolution", on), ("no evolution", off))
        for seed, score in enumerate(scores)
    ]
    assert word in table.markdown(runs, "seeds 100 and 101")


@pytest.mark.parametrize(("seed", "is_flattered"), [(3, False), (100, True)])
def test_a_table_says_that_its_seeds_chose_the_defaults(seed: int, is_flattered: bool) -> None:
    text = table.markdown([a_run("evolution", seed, 1.0)], "some seeds")
    assert f"Seeds: {seed}." in text
    assert ("which flatters it" in text) == is_flattered
