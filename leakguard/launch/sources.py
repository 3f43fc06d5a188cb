"""The sources of steps that leakguard knows: frameworks, optimizers, environments.

Nothing is imported for them: a library that the program does not import makes no steps.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from leakguard.launch.imports import Imports
from leakguard.launch.pace import Pace
from leakguard.launch.steps import Rank, StepSource
from leakguard.launch.target import Target


@dataclass(frozen=True, slots=True)
class Known:
    """A function of a library that is called when a step begins."""

    target: str
    rank: Rank
    unit: str
    detail: str = ""


KNOWN = (
    Known("stable_baselines3.common.on_policy_algorithm:OnPolicyAlgorithm.collect_rollouts",
          Rank.FRAMEWORK, "rollout", " of stable-baselines3"),
    Known("stable_baselines3.common.off_policy_algorithm:OffPolicyAlgorithm.collect_rollouts",
          Rank.FRAMEWORK, "rollout", " of stable-baselines3"),
    Known("lightning.pytorch.loops.fit_loop:_FitLoop.on_advance_start",
          Rank.FRAMEWORK, "epoch", " of Lightning"),
    Known("pytorch_lightning.loops.fit_loop:_FitLoop.on_advance_start",
          Rank.FRAMEWORK, "epoch", " of Lightning"),
    Known("transformers.trainer_callback:CallbackHandler.on_step_begin",
          Rank.FRAMEWORK, "training step", " of transformers"),
    Known("keras.src.callbacks.callback_list:CallbackList.on_epoch_begin",
          Rank.FRAMEWORK, "epoch", " of Keras"),
    Known("ray.tune.trainable.trainable:Trainable.train",
          Rank.FRAMEWORK, "training iteration", " of Ray"),
    Known("keras.src.callbacks.callback_list:CallbackList.on_train_batch_begin",
          Rank.BATCH, "batch", " of Keras"),
    Known("keras.src.callbacks.callback_list:CallbackList.on_test_batch_begin",
          Rank.BATCH, "test batch", " of Keras"),
    Known("keras.src.callbacks.callback_list:CallbackList.on_predict_batch_begin",
          Rank.BATCH, "batch of predictions", " of Keras"),
    Known("torch.utils.data.dataloader:_BaseDataLoaderIter.__next__",
          Rank.BATCH, "batch", " of a DataLoader"),
    Known("gymnasium.wrappers.common:OrderEnforcing.reset", Rank.RESET, "environment reset"),
    Known("gym.wrappers.order_enforcing:OrderEnforcing.reset", Rank.RESET, "environment reset"),
)  # fmt: skip
_OPTIMIZERS = "torch.optim.optimizer"
# Another optimizer is counted instead if the counted optimizer has not stepped during this many
# steps of others, for example because it only pretrained a part.
_IDLE = 64


def listen(imports: Imports, pace: Pace) -> None:
    """Report to ``pace`` every kind of step that the program's libraries can make."""
    for known in KNOWN:
        target = Target.parse(known.target)
        imports.when_imported(target.module, functools.partial(_patch, pace, known, target))
    imports.when_imported(_OPTIMIZERS, functools.partial(_follow_optimizers, pace))


def announcing(function: Any, announce: Callable[[], object]) -> Any:
    """Return ``function`` with a call of ``announce`` before each of its calls."""
    if isinstance(function, staticmethod | classmethod):
        return type(function)(announcing(function.__func__, announce))
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            announce()
            return await function(*args, **kwargs)

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        announce()
        return function(*args, **kwargs)

    return called


def _patch(pace: Pace, known: Known, target: Target, module: ModuleType) -> None:
    source = StepSource(known.rank, known.unit, known.detail)
    try:
        target.replace(module, lambda f: announcing(f, lambda: pace.step(source)))
    except (AttributeError, TypeError):  # a version of the library that has it elsewhere
        return
    pace.add(source)


def _follow_optimizers(pace: Pace, module: ModuleType) -> None:
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(_OptimizerSteps(pace))


class _OptimizerSteps:
    """Counts the steps of one optimizer; of several, such as an actor's and a critic's, the first.

    If that optimizer is gone or idle, the next one that steps takes its place.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._source = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
        self._leader: Callable[[], object] = lambda: None
        self._others = 0

    def __call__(self, optimizer: object, args: object, kwargs: object) -> None:
        if optimizer is not self._leader():
            self._others += 1
            if self._leader() is not None and self._others < _IDLE:
                return
            self._leader = weakref.ref(optimizer)
        self._others = 0
        self._pace.step(self._source)
