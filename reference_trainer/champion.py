"""The best agent so far: how it is found, validated, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reference_trainer.agent import DDPGAgent
from reference_trainer.baselines import Performance, baselines, performance, table
from reference_trainer.config import Config
from reference_trainer.environment import EpisodeSummary, TradingEnvironment
from reference_trainer.metrics import Metrics
from reference_trainer.population import Population
from reference_trainer.rollout import StepBudget, play_episode
from reference_trainer.task import EpisodePlan, Task

#: A challenger has to be better by this share: among equals, the one that has won often stays.
TITLE_MARGIN = 0.01


class Champion:
    """Keeps the last row of the population: the best agent so far, or nothing yet."""

    def __init__(
        self,
        config: Config,
        task: Task,
        population: Population,
        budget: StepBudget,
        metrics: Metrics,
        say: Callable[[str], None],
    ) -> None:
        self.config, self.task, self.population = config, task, population
        self.budget, self.metrics, self.say = budget, metrics, say
        self.is_new = False
        self.baselines: dict[str, Performance] = {}
        self.compared: dict[str, Performance] = {}

    def challenge(self, plans: Sequence[EpisodePlan]) -> None:
        """The fittest and the best so far play the same episodes without noise.

        A fitness of one generation says nothing about another's: the start days differ. The
        winner is copied now, before training changes the fittest.
        """
        fittest = int(np.argmax(self.population.fitnesses()))
        best = self.population.best
        if not self._qualifies(fittest, plans):
            return
        score = self._title_score(fittest, plans)
        title = None if best.fitness is None else self._score(best, plans)
        if score is None or (best.fitness is not None and title is None):
            return
        best.fitness = title
        if title is None or score > title + TITLE_MARGIN * abs(title):
            self._crown(fittest, score)

    def finals(self, contenders: Sequence[int], rewards: Sequence[Sequence[float]]) -> None:
        """The title goes to the best of the last episodes: rewards of the best agent, then theirs.

        As many episodes count as all have played, or the first where not all have played one.
        """
        rounds = max(1, min(map(len, rewards)))
        scores = [float(np.mean(r[:rounds])) if len(r) >= rounds else -np.inf for r in rewards]
        if scores[0] == -np.inf:
            return
        self.population.best.fitness = scores[0]
        first = int(np.argmax(scores[1:])) + 1
        if scores[first] > scores[0] + TITLE_MARGIN * abs(scores[0]):
            self._crown(contenders[first - 1], scores[first])

    def _crown(self, member: int, score: float) -> None:
        self.population.keep_as_best(member)
        self.population.best.fitness = score
        self.is_new = True

    def validate(self) -> None:
        """When the best agent is new, play the validation episodes without noise."""
        self.metrics.note(validation=None)
        if not self.is_new:
            return
        self.is_new = False
        plans, env, best = self.task.validation_plans(), self.task.val_env, self.population.best
        played = [
            play_episode(env, best.act, seed=plan.seed, options=plan.options) for plan in plans
        ]
        validation = float(np.mean([stats.reward for stats in played]))
        self.metrics.note(validation=validation)
        self.say(f"Best agent: validation reward {validation:.3f}")
        self._compare([stats.summary for stats in played if stats.summary])

    def _qualifies(self, member: int, plans: Sequence[EpisodePlan]) -> bool:
        """Whether a member beats the best so far in short episodes, where fitness is of such.

        Whole ones cost many times as much, and most often the fittest is the best agent's copy.
        """
        horizon, best = self.config.episode_steps, self.population.best
        if horizon is None or best.fitness is None or self.config.explores(member):
            return True
        fitness, to_beat = self.population.agents[member].fitness, self._score(best, plans, horizon)
        return fitness is not None and to_beat is not None and fitness > to_beat

    def _title_score(self, member: int, plans: Sequence[EpisodePlan]) -> float | None:
        """What a member earns in whole episodes without noise; fitness says it if it was that."""
        agent = self.population.agents[member]
        if self.config.explores(member) or self.config.episode_steps is not None:
            return self._score(agent, plans)
        return agent.fitness

    def _score(
        self, agent: DDPGAgent, plans: Sequence[EpisodePlan], horizon: int | None = None
    ) -> float | None:
        """Mean reward without noise; None when the run has too few steps left for it.

        The steps count, the transitions are not kept.
        """
        rewards = []
        for plan in plans:
            if not self.budget.left:
                return None
            stats = play_episode(
                self.task.eval_env,
                agent.act,
                seed=plan.seed,
                options=plan.options,
                horizon=horizon,
                limit=self.budget.left,
            )
            self.budget.spend(stats.steps)
            if stats.cut:
                return None
            rewards.append(stats.reward)
        return float(np.mean(rewards))

    def _compare(self, summaries: list[EpisodeSummary]) -> None:
        """The best agent beside the strategies that anybody can follow, on the same windows."""
        env = self.task.val_env.unwrapped
        if not isinstance(env, TradingEnvironment):
            return
        windows = [plan.options or {} for plan in self.task.validation_plans()]
        best = performance(summaries, env.equity_curve)
        # The last window played is the one whose curve is drawn, here and for the baselines.
        self.baselines = self.baselines or baselines(env, windows[::-1], self.config.seed)
        self.compared = {"best agent": best, **self.baselines}
        self.metrics.note(validation_return=best.total_return)
        self.say(table(self.compared))
