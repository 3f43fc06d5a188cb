"""Learn a Gymnasium task with a fixed number of environment steps, beside stable-baselines3.

    python -m regression_tests.benchmarks.trainer.learning --out reports/trainer/pendulum.md ...

Every system gets the same steps (exactly), the same networks, batch size, rates, discount, scale
of rewards and start of learning. What is judged afterwards are whole episodes on fresh start
states, without noise; they and the validation episodes of the trainer decide nothing and are
not counted.
"""

from __future__ import annotations

import dataclasses
import io
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import TransformReward

from reference_trainer.__main__ import parse_setting
from reference_trainer.config import GYM, Config
from reference_trainer.rollout import Policy, play_episode
from reference_trainer.task import normalized
from reference_trainer.trainer import ERLTrainer

JUDGED_EPISODES = 20
FIRST_JUDGED_SEED = 1_000_000
SYSTEMS = ("evolution", "no evolution", "SB3 DDPG", "SB3 TD3")
CHOSEN_SEEDS = tuple(range(100, 108))
DEFAULTS_CHOSEN_ON = (
    "seeds 100 and 101 of MountainCarContinuous-v0, Pendulum-v1, InvertedDoublePendulum-v5 and "
    "SparsePendulum-v0 (one update a step, and that a learner may begin again, on the last: seed 0 "
    "of it had shown that half an update starves the learner); the penalty on saturated actors on "
    "seeds 100 to 107 of SparsePendulum-v0, MountainCarContinuous-v0 and Pendulum-v1; tau on seeds "
    "0 to 4 of InvertedDoublePendulum-v5 and 0 to 2 of Pendulum-v1"
)


@dataclass(frozen=True)
class Outcome:
    """One system on one seed: mean and worst return of the judged episodes, and the cost.

    `population` is the mean return of all agents, None for a single agent.
    """

    system: str
    seed: int
    steps: int
    best: float
    worst: float
    population: float | None
    agent_updates: int
    wall_s: float
    cpu_s: float


@click.command()
@click.option("--env", "env_id", default="InvertedDoublePendulum-v5", show_default=True)
@click.option("--steps", default=20_000, show_default=True)
@click.option("--seeds", default="0,1,2,3,4", show_default=True)
@click.option("--gate", type=float, default=9000.0, show_default=True, help="Return to reach.")
@click.option("--system", "systems", multiple=True, default=SYSTEMS,
              type=click.Choice(SYSTEMS))  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE")
@click.option("--chosen-on", default=None, help="Seeds that the settings were chosen on.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(
    env_id: str, steps: int, seeds: str, gate: float, systems: Sequence[str],
    settings: Sequence[str], chosen_on: str | None, out: Path,
) -> None:  # fmt: skip
    """Train every system on every seed; the table is written anew after each run.

    Runs go to a .jsonl file beside the table; those already there stay in it.
    """
    torch.set_num_threads(1)
    changed = dict(parse_setting(text) for text in settings)
    runs = out.with_suffix(".jsonl")
    runs.parent.mkdir(parents=True, exist_ok=True)
    for seed in (int(part) for part in seeds.split(",")):
        for system in systems:
            line = json.dumps(dataclasses.asdict(_run(system, env_id, steps, seed, changed)))
            click.echo(line)
            with runs.open("a") as stream:
                stream.write(line + "\n")
            outcomes = [Outcome(**json.loads(text)) for text in runs.read_text().splitlines()]
            outcomes.sort(key=lambda o: (SYSTEMS.index(o.system), o.seed))
            out.write_text(_table(env_id, steps, gate, outcomes, changed, chosen_on))


def _run(system: str, env_id: str, steps: int, seed: int, changed: dict[str, Any]) -> Outcome:
    config = erl_config(env_id, steps, seed, changed, evolution=system != "no evolution")
    wall, cpu = time.perf_counter(), time.process_time()
    if system.startswith("SB3"):
        policy, taken, updates = _stable_baselines(system, config)
        agents: list[Policy] = []
    else:
        policy, agents, taken, updates = _erl(config)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    returns = judged(env_id, policy, JUDGED_EPISODES)
    others = [float(np.mean(judged(env_id, agent, 2))) for agent in agents]
    return Outcome(
        system, seed, taken, float(np.mean(returns)), min(returns),
        float(np.mean(others)) if others else None, updates, wall, cpu,
    )  # fmt: skip


def erl_config(
    env_id: str, steps: int, seed: int, changed: dict[str, Any], evolution: bool
) -> Config:
    """The trainer's settings for Gymnasium tasks, with a limit of steps and without output."""
    settings = {
        **GYM,
        "env_id": env_id,
        "seed": seed,
        "max_env_steps": steps,
        "generations": 10**6,
        "evolution": evolution,
        "progress": False,
        "checkpoint_every": 10**6,
        "plot_every": 10**6,
        "out": Path(tempfile.mkdtemp(prefix="learning")),
        **changed,
    }
    return Config(**settings)


def _erl(config: Config) -> tuple[Any, list[Any], int, int]:
    trainer = ERLTrainer(config, log=io.StringIO())
    # Validation decides nothing; it would only cost time here.
    trainer.champion.validate = lambda: None  # type: ignore[method-assign]
    trainer.train()
    updates = sum(record["updates"] for record in trainer.history) * config.trained_agents
    agents = [agent.act for agent in trainer.population.agents]
    return trainer.population.best.act, agents, trainer.env_steps, updates


def _stable_baselines(system: str, config: Config) -> tuple[Any, int, int]:
    """The same steps, networks and rates, in the usual single-agent loop."""
    from stable_baselines3 import DDPG, TD3
    from stable_baselines3.common.noise import NormalActionNoise

    assert config.env_id is not None
    assert config.max_env_steps is not None
    scale = config.critic_reward_scale
    env: Any = TransformReward(
        normalized(gymnasium.make(config.env_id)), lambda reward: scale * float(reward)
    )
    size = int(np.prod(env.action_space.shape or ()))
    model = {"SB3 DDPG": DDPG, "SB3 TD3": TD3}[system](
        "MlpPolicy",
        env,
        learning_rate=config.critic_lr,
        buffer_size=config.buffer_capacity,
        learning_starts=config.random_steps,
        batch_size=config.batch_size,
        tau=config.tau,
        gamma=config.gamma,
        action_noise=NormalActionNoise(np.zeros(size), np.full(size, config.noise_scale)),
        policy_kwargs={"net_arch": list(config.hidden)},
        seed=config.seed,
        device="cpu",
    )
    model.learn(config.max_env_steps)
    space = env.action_space
    assert isinstance(space, gymnasium.spaces.Box)
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2

    def policy(observation: np.ndarray) -> np.ndarray:
        action = model.predict(observation, deterministic=True)[0]
        return (action - middle) / half

    return policy, int(model.num_timesteps), int(model._n_updates)


def judged(env_id: str, policy: Policy, episodes: int) -> list[float]:
    """Returns of whole episodes on fresh start states."""
    env = normalized(gymnasium.make(env_id))
    return [
        play_episode(env, policy, seed=FIRST_JUDGED_SEED + number).reward
        for number in range(episodes)
    ]


def _table(
    env_id: str, steps: int, gate: float, outcomes: Sequence[Outcome], changed: dict[str, Any],
    chosen_on: str | None = None,
) -> str:  # fmt: skip
    """The runs as Markdown, one line a system and one a run."""
    lines = [
        f"# {env_id}, {steps:,} environment steps",
        "",
        f"Best agent: mean return of {JUDGED_EPISODES} fresh episodes without noise; of "
        "stable-baselines3 the policy at the end is judged. Population: mean of all agents on "
        "the first 2 of these episodes, so it is not to be compared with the best.",
        "One thread of a shared machine: wall seconds hold waiting, CPU seconds do not.",
        f"Settings beside the defaults for Gymnasium tasks: {changed or 'none'}",
        *([f"Chosen on seeds {chosen_on}, with evolution on."] if chosen_on else []),
        f"The defaults were chosen on {DEFAULTS_CHOSEN_ON}.",
        "",
        f"| system | seeds with best >= {gate:g} | best, mean of seeds | lowest best | "
        "population | wall s | CPU s | agent updates per CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for system in dict.fromkeys(o.system for o in outcomes):
        runs = [o for o in outcomes if o.system == system]
        reached = sum(o.best >= gate for o in runs)
        population = [o.population for o in runs if o.population is not None]
        lines.append(
            f"| {system} | {reached} of {len(runs)} | {_mean(o.best for o in runs):,.1f} | "
            f"{min(o.best for o in runs):,.1f} | "
            f"{f'{_mean(population):,.1f}' if population else 'one agent'} | "
            f"{_mean(o.wall_s for o in runs):.0f} | {_mean(o.cpu_s for o in runs):.0f} | "
            f"{_mean(o.agent_updates / o.cpu_s for o in runs):,.0f} |"
        )
    lines += ["", "| system | seed | steps | best | worst episode | population | wall s |",
              "|---|---|---|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {o.system} | {o.seed} | {o.steps:,} | {o.best:,.1f} | {o.worst:,.1f} | "
        f"{'' if o.population is None else f'{o.population:,.1f}'} | {o.wall_s:.0f} |"
        for o in outcomes
    ]
    return "\n".join(lines) + "\n"


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


if __name__ == "__main__":
    main()
