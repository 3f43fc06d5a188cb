"""Every number of a run, in one place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_trainer.errors import CheckpointError, ConfigError


@dataclass(frozen=True)
class Config:
    """The settings of one run; the defaults are small enough for two slow cores.

    `Config.paper()` gives the sizes of the original: 3781 days x 669 stocks, 16 agents,
    25 generations, episodes of 145 steps, a buffer of 50,000 transitions.
    """

    # Run
    seed: int = 0
    generations: int = 25
    max_env_steps: int | None = None
    out: Path = Path("runs/erl")

    # Data: a Parquet file, or a synthetic market of this shape
    data: Path | None = None
    data_dir: Path = Path("data")
    days: int = 600
    stocks: int = 20
    signal_strength: float = 0.0

    # Task: the trading environment, or any continuous-action Gymnasium task
    env_id: str | None = None
    context_days: int = 60
    trading_days: int = 25
    settlement_days: int = 5
    validation_days: int = 120
    validation_episodes: int = 2
    # Days of the market that one observation shows, today first.
    window: int = 1
    max_positions: int = 16
    # One side of a trade, half the spread included, in hundredths of a per cent of its value.
    cost_bps: float = 12.0
    reward: str = "log"

    # How a population comes to its next genomes: one file of `methods` each
    method: str = "erl"

    # Agents
    population_size: int = 16
    # Agents that gradients train while evolution has the others to itself, as in ERL, where there
    # is one; 0: evolution alone. None: all are trained, and selected among as well.
    learners: int | None = None
    network: str = "mlp"
    hidden: tuple[int, ...] = (64, 64)
    # Hidden layers of the actors, where they have others than the critics; none: linear policies.
    actor_hidden: tuple[int, ...] | None = None
    gamma: float = 0.99
    tau: float = 0.005
    # Critics of an agent. With two a target is the lower of what both expect, and actors learn at
    # each second step (TD3, Fujimoto et al. 2018): one critic comes to expect too much.
    critics: int = 1
    actor_lr: float = 1e-3
    critic_lr: float = 1e-3
    # What an actor pays for the squares of what it says before the tanh: without it, one that a
    # sparse reward has driven to the bounds of all actions stays there.
    saturation_penalty: float = 0.0
    # Standard deviation of the noise on a learner's actions; several have half to double of it.
    noise_scale: float = 0.1

    # Training
    batch_size: int = 64
    gradient_steps: int = 16
    accumulation_steps: int = 2
    # What critics see of a reward; fitness is never scaled. Values far from 1 are learnt slowly.
    critic_reward_scale: float = 1.0
    updates_per_step: float | None = None
    # Small networks by compiled code, where it was built; false: by PyTorch, as larger ones are.
    compiled: bool = True

    # Replay buffer
    buffer_capacity: int = 5_000
    buffer_ready: int = 600

    # Evaluation
    episodes_per_agent: int = 1
    # One episode both measures and explores; False measures without noise, as ERL does.
    explore_in_fitness: bool = True
    # A time limit for the population's episodes
    episode_steps: int | None = None
    random_steps: int = 0
    # Generations from one fight of the fittest with the best so far to the next. Where one differs
    # little from the next, as in a search, to fight each time costs more steps than it finds.
    title_every: int = 1

    # Evolution (Khadka & Tumer 2018)
    evolution: bool = True
    elite_fraction: float = 0.125
    mutation_probability: float = 0.9
    # Generations from one entry of the fittest learner among those that evolve to the next. Let in
    # each time, a learner in a local optimum soon is the parent of all (ERL: 10 on most tasks).
    admit_every: int = 10
    # Whether a learner that earns less than most who evolve begins again as the fittest of them.
    # It leads out of a saturated actor, and interrupts one that falls while it learns to walk.
    restart_behind: bool = True

    # Search along directions (ARS, Mania et al. 2018) or by a distribution (CMA-ES): the standard
    # deviation of what is tried (CMA-ES: at first), the length of a step, the share of the
    # directions that decide it, and whether actors read normalised observations (ARS: V2, or V1).
    perturbation: float = 0.03
    step_size: float = 0.02
    top_fraction: float = 0.5
    normalize_observations: bool = True

    # Output
    checkpoint_every: int = 1
    keep_checkpoints: int = 2
    plot_every: int = 5
    upload: str | None = None
    progress: bool = True
    force: bool = False

    def __post_init__(self) -> None:
        """Raise `ConfigError` on the first value that cannot work."""
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name}={getattr(self, name)!r}: choose {', '.join(allowed)}")
        for name, least in MINIMUM.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{name}={getattr(self, name)!r} is too small, {least} or more")
        if not 0 <= self.signal_strength < 1:
            raise ConfigError(
                f"signal_strength={self.signal_strength} is no correlation, give 0 to below 1"
            )
        if self.buffer_ready > self.buffer_capacity:
            raise ConfigError(
                f"buffer_ready={self.buffer_ready} is more than buffer_capacity="
                f"{self.buffer_capacity}: training would never start"
            )
        if self.method in SEARCHES:
            self._check_search()
        elif self.evolution:
            self._check_evolution()

    def _check_search(self) -> None:
        """ARS and CMA-ES write all members but learners, of which only ARS may have some."""
        needed: dict[str, Any] = {"evolution": True, "network": "mlp"}
        if self.method == "cma" or self.learners is None:
            needed["learners"] = 0
        for name, value in needed.items():
            if getattr(self, name) != value:
                raise ConfigError(
                    f"method={self.method} needs {name}={value}, got {getattr(self, name)!r}"
                )
        if not 0 < self.top_fraction <= 1:
            raise ConfigError(
                f"top_fraction={self.top_fraction} is no share: give 0.5, or 1 for all"
            )
        if self.method == "cma" and self.population_size < LEAST_SAMPLES:
            raise ConfigError(
                f"population_size={self.population_size}: CMA-ES needs {LEAST_SAMPLES} members"
            )
        searching = self.population_size - self.evolving_from
        if self.method == "ars" and (searching < 2 or searching % 2 or self.evolving_from < 0):
            raise ConfigError(
                f"population_size={self.population_size} with learners={self.learners}: ARS plays "
                "each direction both ways, give an even number beside the learners"
            )

    def _check_evolution(self) -> None:
        if not 0 <= self.evolving_from < self.population_size:
            raise ConfigError(
                f"learners={self.learners} of {self.population_size} agents leave nobody to "
                "evolve: give fewer, or evolution=false"
            )
        if self.elites >= self.population_size - self.evolving_from:
            raise ConfigError(
                f"elite_fraction={self.elite_fraction} makes all that evolve elites, with "
                f"population_size={self.population_size} and learners={self.learners}: nobody "
                "would be left to change"
            )
        if self.learners == 0 and self.method == "pderl":
            raise ConfigError("method=pderl asks a critic: learners=0 trains none")

    @classmethod
    def paper(cls, **changes: Any) -> Config:
        """The sizes of the original trainer; any field can be changed by name."""
        return dataclasses.replace(cls(**PAPER), **changes)

    @property
    def episode_days(self) -> int:
        """Steps of one trading episode: trading days plus settlement days."""
        return self.trading_days + self.settlement_days

    @property
    def cost_rate(self) -> float:
        """Cost of one side of a trade as a fraction of its value."""
        return self.cost_bps / 10_000

    @property
    def trained_agents(self) -> int:
        """How many agents gradients train, the first ones; all where nobody is selected."""
        apart = self.evolution and self.learners is not None
        return int(self.learners or 0) if apart else self.population_size

    @property
    def evolving_from(self) -> int:
        """The first agent that evolution may write over: 0 unless learners are kept apart."""
        return int(self.learners or 0) if self.evolution else 0

    @property
    def elites(self) -> int:
        """How many agents go through evolution untouched."""
        return max(1, round(self.elite_fraction * (self.population_size - self.evolving_from)))

    def explores(self, member: int) -> bool:
        """Whether an agent plays with noise: those do that learn from what they try."""
        return self.explore_in_fitness and member < self.trained_agents

    def algorithm_settings(self) -> dict[str, Any]:
        """The fields that decide the numbers of a run, as JSON values."""
        values = dataclasses.asdict(self)
        for name in VOLATILE:
            values.pop(name)
        values["data"] = None if self.data is None else Path(self.data).name
        for name in ("hidden", "actor_hidden"):
            values[name] = None if values[name] is None else list(values[name])
        return values

    def check_settings(self, stored: Mapping[str, Any]) -> None:
        """Raise `CheckpointError` when a checkpoint was made with other numbers."""
        fields = type(self).__dataclass_fields__
        for name, value in self.algorithm_settings().items():
            # A setting that is younger than the checkpoint had the effect of its default.
            known = stored.get(name, fields[name].default)
            if known != value:
                raise CheckpointError(
                    f"the checkpoint was made with {name}={known!r}, this run has "
                    f"{value!r}: resume with the settings of the first run"
                )


#: Fields that never decide a number of the run, so a resumed run may change them; `compiled`
#: decides the last digits, as another processor does.
VOLATILE = (
    "out", "data_dir", "generations", "max_env_steps", "upload", "progress",
    "plot_every", "keep_checkpoints", "checkpoint_every", "force", "compiled",
)  # fmt: skip
#: The settings that a method needs instead of the defaults. One whose policy is linear in its paper
#: has a linear one here.
METHOD_SETTINGS: dict[str, dict[str, Any]] = {
    "erl": {},
    "pderl": {},
    "ars": {"learners": 0, "actor_hidden": (), "population_size": 8, "title_every": 5},
    "cma": {"learners": 0, "actor_hidden": (), "perturbation": 0.1},
}
#: Methods that search all members' genomes at once, without gradients.
SEARCHES = ("ars", "cma")
#: With five samples a resumed run differs in the last digits, with six and more it does not.
LEAST_SAMPLES = 6
CHOICES: dict[str, tuple[str, ...]] = {
    "method": tuple(METHOD_SETTINGS),
    "reward": ("log", "excess"),
    "network": ("mlp", "per_asset"),
}
MINIMUM: dict[str, float] = {
    "generations": 1,
    "population_size": 1,
    "perturbation": 1e-9,
    "step_size": 1e-9,
    "stocks": 1,
    "trading_days": 1,
    "settlement_days": 0,
    "context_days": 0,
    "validation_episodes": 1,
    "window": 1,
    "max_positions": 1,
    "critics": 1,
    "batch_size": 1,
    "gradient_steps": 1,
    "accumulation_steps": 1,
    "episodes_per_agent": 1,
    "admit_every": 1,
    "title_every": 1,
    "buffer_ready": 1,
    "checkpoint_every": 1,
    "keep_checkpoints": 1,
    "plot_every": 1,
}

#: What a Gymnasium task needs instead of the trading defaults: a small population and one learner
#: apart from it, as in ERL, and faster targets (reports/trainer).
GYM: dict[str, Any] = {
    "population_size": 10,
    "learners": 1,
    "tau": 0.02,
    "batch_size": 64,
    "accumulation_steps": 1,
    "updates_per_step": 1.0,
    "saturation_penalty": 1e-3,
    "random_steps": 500,
    "buffer_capacity": 50_000,
    "buffer_ready": 500,
}
PAPER: dict[str, Any] = {
    "days": 3781,
    "stocks": 669,
    "context_days": 504,
    "trading_days": 125,
    "settlement_days": 20,
    "validation_days": 504,
    "hidden": (4096, 4096),
    "actor_lr": 1e-4,
    "critic_lr": 1e-3,
    "gradient_steps": 32,
    "accumulation_steps": 6,
    "buffer_capacity": 50_000,
    "buffer_ready": 10_000,
}
