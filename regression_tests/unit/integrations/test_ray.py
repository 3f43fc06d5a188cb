"""Actors watch their own processes; trials report memory beside their metrics."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import time

import pytest

ray = pytest.importorskip("ray", reason="ray is not installed")

import leakguard
from leakguard import LeakGuard
from leakguard.analysis.job import diagnose_job
from leakguard.integrations import ray as watching
from leakguard.integrations.ray import ReportedVitals, process_file, watched_actor
from leakguard.integrations.ray_folder import RayFolder
from leakguard.store import load_job


@pytest.fixture(scope="module")
def cluster():
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers can't import it
    ray.init(
        "local", num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False
    )
    yield
    ray.shutdown()


class Worker:
    """A rollout worker; ``history`` is what some forget to clear."""

    def __init__(self, keeps: bool):
        self.keeps, self.history = keeps, []

    def rollout(self) -> int:
        return self._steps() + self.count()

    def count(self) -> int:
        return len(self.history)

    def _steps(self) -> int:
        if self.keeps:
            self.history.append(bytearray(500_000))
        return 1


@pytest.mark.heavy
def test_each_actor_writes_its_own_run_and_the_leaking_one_is_told(tmp_path, cluster):
    class Rollouts(Worker):
        pass

    Rollouts.rollout = Worker.rollout
    made = ray.remote(watched_actor(tmp_path, every=5, max_overhead=None, report=None)(Rollouts))
    actors = [made.remote(keeps) for keeps in (False, True)]
    for _ in range(60):
        ray.get([actor.rollout.remote() for actor in actors])
    ended = [actor.__ray_terminate__.remote() for actor in actors]
    ray.wait(ended, num_returns=2, timeout=60)
    runs = [leakguard.load(path) for path in tmp_path.glob("Rollouts-*.jsonl")]
    assert [len(run.generations) >= 11 for run in runs] == [True, True]
    assert {run.phases for run in runs} == {("rollout",)}
    reports = sorted((leakguard.diagnose(run) for run in runs), key=lambda told: told.verdict)
    assert [report.verdict for report in reports] == ["leak", "stable"]
    assert reports[0].findings[0].held_by.endswith(".history[*]")
    assert reports[0].findings[0].phase == "rollout"


@pytest.mark.heavy
def test_actors_that_share_no_folder_are_gathered_through_ray(tmp_path, cluster):
    class Gathered(Worker):
        pass

    Gathered.rollout = Worker.rollout
    runs = RayFolder(tmp_path / "job")
    made = ray.remote(watched_actor(runs, every=2, max_overhead=None, report=None)(Gathered))
    actors = [made.remote(keeps) for keeps in (False, True)]
    for _ in range(16):
        ray.get([actor.rollout.remote() for actor in actors])
    ray.kill(actors[0])  # what it has sent stays
    assert len(runs.end(actors)) == 2
    job = load_job(tmp_path / "job")
    assert sorted(member.state for member in job.members) == ["finished", "lost"]
    assert all(len(member.run.generations) >= 7 for member in job.members)
    report, _ = diagnose_job(job)
    assert report.verdict == "leak"
    assert report.findings[0].held_by.endswith(".history[*]")


@pytest.mark.heavy
def test_killed_actor_is_lost_while_the_others_go_on(tmp_path, cluster):
    class GoesOn(Worker):
        pass

    GoesOn.rollout = Worker.rollout
    runs = RayFolder(tmp_path / "job")
    made = ray.remote(watched_actor(runs, every=1, report=None)(GoesOn))
    actors = [made.remote(False) for _ in range(2)]
    for _ in range(4):
        ray.get([actor.rollout.remote() for actor in actors])
    assert len(runs.arrived()) == 2
    assert states(tmp_path) == ["running", "running"]
    ray.kill(actors[0])
    for _ in range(600):  # until the cluster knows
        ray.get(actors[1].rollout.remote())
        runs.arrived()
        if states(tmp_path) != ["running", "running"]:
            break
        time.sleep(0.1)
    assert states(tmp_path) == ["lost", "running"]
    runs.end(actors[1:])


def states(folder):
    return sorted(member.state for member in load_job(folder / "job").members)


def test_methods_stay_what_they_are_for_ray(tmp_path):
    class Streams:
        async def step(self, action: int) -> int:
            return action + 1

        def frames(self, count: int):
            yield from range(count)

        @staticmethod
        def version() -> int:
            return 7

    made = watched_actor(tmp_path, every=1, report=None)(Streams)
    actor = made()
    assert made is Streams
    assert inspect.iscoroutinefunction(made.step)
    assert inspect.isgeneratorfunction(made.frames)
    assert list(inspect.signature(made.step).parameters) == ["self", "action"]
    assert [asyncio.run(actor.step(action)) for action in (1, 2)] == [2, 3]
    assert (list(actor.frames(2)), actor.version()) == ([0, 1], 7)
    watching._loops.popitem()[1][0].end()  # as the end of an actor's process does
    [path] = tmp_path.glob("Streams-*.jsonl")
    assert leakguard.load(path).generations == (1, 2)


def test_worker_reports_the_numbers_of_its_last_generation(tmp_path):
    vitals = ReportedVitals()
    with LeakGuard(
        out=process_file(tmp_path / "tune", "trial"), sinks=[vitals], report=None
    ) as guard:
        for _ in guard.generations(4):
            pass
        assert vitals.values["leakguard/memory/rss"] > 0
    assert vitals.values["leakguard/verdict"] in (0, 1)


@pytest.mark.heavy
def test_search_is_followed_by_its_results(tmp_path, cluster):
    pytest.importorskip("pandas", reason="Ray Tune needs pandas")
    from ray import tune

    from leakguard.integrations.ray_tune import LeakGuardCallback

    def trial(config):
        for _ in range(4):
            tune.report({"loss": config["rate"]})

    guard = LeakGuard(report=None)
    tune.Tuner(
        trial,
        param_space={"rate": tune.grid_search([0.1, 0.2])},
        run_config=tune.RunConfig(
            storage_path=str(tmp_path), callbacks=[LeakGuardCallback(guard, every=2)], verbose=0
        ),
    ).fit()
    assert guard.run.generations == (1, 2, 3, 4)
    assert guard.run.finished


def train_loop(config):
    """Train on one rank; the second one keeps what it should not."""
    from ray import train

    kept = []
    rank = train.get_context().get_world_rank()
    with LeakGuard(**config["runs"].settings(), max_overhead=None, report=None) as guard:
        for _ in guard.generations(14):
            kept += [bytearray(500_000)] if rank == 1 else []
    train.report({"kept": len(kept)})


@pytest.mark.heavy
def test_ranks_of_ray_train_are_one_report_that_names_the_leaking_one(tmp_path, cluster):
    for package in ("pyarrow", "pandas", "torch"):
        pytest.importorskip(package, reason=f"Ray Train needs {package}")
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    runs = RayFolder(tmp_path / "job")
    TorchTrainer(
        train_loop,
        train_loop_config={"runs": runs},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.5}),
        run_config=RunConfig(storage_path=str(tmp_path / "train")),
    ).fit()
    runs.end([])
    job = load_job(tmp_path / "job")
    report, _ = diagnose_job(job)
    told = {member.run.info.rank: member.state for member in job.members}
    assert told == {0: "finished", 1: "finished"}
    assert report.verdict == "leak"
    assert report.findings[0].held_by == "local kept in train_loop()[*]"
    assert "rank 1" in report.findings[0].reason


RLLIB = """
import ray
from ray.rllib.algorithms.ppo import PPOConfig
ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
config = config.training(train_batch_size_per_learner=64, minibatch_size=32, num_epochs=1)
algorithm = config.build_algo()
for iteration in range(4):
    algorithm.train()
"""


@pytest.mark.heavy
def test_iterations_of_rllib_are_generations_of_a_script_that_nobody_prepared(tmp_path):
    for package in ("tree", "scipy", "torch"):
        pytest.importorskip(package, reason=f"RLlib needs {package}")
    (tmp_path / "train.py").write_text(RLLIB)
    command = [sys.executable, "-m", "leakguard", "run", "-o", "run.jsonl", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "a generation is 1 training iteration of Ray" in done.stderr
    run = leakguard.load(tmp_path / "run.jsonl")
    assert run.finished
    assert len(run.generations) >= 3
