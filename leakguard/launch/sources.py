"""The sources of steps that leakguard knows: frameworks, optimizers, environments.

Of a framework the steps are counted, not the epochs: one epoch may last as long as the program. The
epochs, rollouts and evaluations are a level above; see ``Snapshot.outer``.

Nothing is imported for them: a library that the program does not import makes no steps.
"""

from __future__ import annotations

import contextlib
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
from leakguard.phase import phase


@dataclass(frozen=True, slots=True)
class Known:
    """A function of a library that is called when a step begins."""

    target: str
    rank: Rank
    unit: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class KnownRound:
    """A function of a library that is called for each round of an outer level.

    ``phase`` is the name of the phase in which the function runs; None if it only marks where a
    round begins.
    """

    target: str
    level: str
    phase: str | None = None


KNOWN = (
    Known("stable_baselines3.common.base_class:BaseAlgorithm._update_info_buffer",
          Rank.FRAMEWORK, "environment step", " of stable-baselines3"),
    Known("lightning.pytorch.loops.training_epoch_loop:_TrainingEpochLoop.advance",
          Rank.FRAMEWORK, "training batch", " of Lightning"),
    Known("pytorch_lightning.loops.training_epoch_loop:_TrainingEpochLoop.advance",
          Rank.FRAMEWORK, "training batch", " of Lightning"),
    Known("lightning.pytorch.loops.evaluation_loop:_EvaluationLoop._evaluation_step",
          Rank.BATCH, "batch", " of an evaluation of Lightning"),
    Known("pytorch_lightning.loops.evaluation_loop:_EvaluationLoop._evaluation_step",
          Rank.BATCH, "batch", " of an evaluation of Lightning"),
    Known("transformers.trainer_callback:CallbackHandler.on_step_begin",
          Rank.FRAMEWORK, "training step", " of transformers"),
    Known("transformers.trainer_callback:CallbackHandler.on_prediction_step",
          Rank.BATCH, "batch", " of an evaluation of transformers"),
    Known("keras.src.callbacks.callback_list:CallbackList.on_train_batch_begin",
          Rank.FRAMEWORK, "batch", " of Keras"),
    Known("ray.tune.trainable.trainable:Trainable.train",
          Rank.FRAMEWORK, "training iteration", " of Ray"),
    Known("keras.src.callbacks.callback_list:CallbackList.on_test_batch_begin",
          Rank.BATCH, "test batch", " of Keras"),
    Known("keras.src.callbacks.callback_list:CallbackList.on_predict_batch_begin",
          Rank.BATCH, "batch of predictions", " of Keras"),
    Known("torch.utils.data.dataloader:_BaseDataLoaderIter.__next__",
          Rank.BATCH, "batch", " of a DataLoader"),
    Known("gymnasium.wrappers.common:OrderEnforcing.reset", Rank.RESET, "environment reset"),
    Known("gym.wrappers.order_enforcing:OrderEnforcing.reset", Rank.RESET, "environment reset"),
)  # fmt: skip
KNOWN_ROUNDS = (
    KnownRound("stable_baselines3.common.on_policy_algorithm:OnPolicyAlgorithm.collect_rollouts",
               "rollout"),
    KnownRound("stable_baselines3.common.evaluation:evaluate_policy", "evaluation", "evaluate"),
    KnownRound("lightning.pytorch.loops.fit_loop:_FitLoop.on_advance_start", "epoch"),
    KnownRound("pytorch_lightning.loops.fit_loop:_FitLoop.on_advance_start", "epoch"),
    KnownRound("lightning.pytorch.loops.evaluation_loop:_EvaluationLoop.run",
               "validation", "validate"),
    KnownRound("pytorch_lightning.loops.evaluation_loop:_EvaluationLoop.run",
               "validation", "validate"),
    KnownRound("transformers.trainer_callback:CallbackHandler.on_epoch_begin", "epoch"),
    KnownRound("transformers.trainer:Trainer.evaluate", "evaluation", "evaluate"),
    KnownRound("keras.src.callbacks.callback_list:CallbackList.on_epoch_begin", "epoch"),
    KnownRound("keras.src.backend.torch.trainer:TorchTrainer.evaluate", "evaluation", "evaluate"),
    KnownRound("keras.src.backend.tensorflow.trainer:TensorFlowTrainer.evaluate",
               "evaluation", "evaluate"),
    KnownRound("keras.src.backend.jax.trainer:JAXTrainer.evaluate", "evaluation", "evaluate"),
)  # fmt: skip
#: Functions that a library calls at the end of a loop that it runs. Its frames still hold there
#: what the loop has kept, which may be gone when the function of the loop has returned.
KNOWN_ENDS = (
    "stable_baselines3.common.callbacks:BaseCallback.on_training_end",
    "lightning.pytorch.loops.fit_loop:_FitLoop.on_run_end",
    "pytorch_lightning.loops.fit_loop:_FitLoop.on_run_end",
    "transformers.trainer_callback:CallbackHandler.on_train_end",
    "keras.src.callbacks.callback_list:CallbackList.on_train_end",
)
_OPTIMIZERS = "torch.optim.optimizer"
# Another optimizer is counted instead if the counted optimizer has not stepped during this many
# steps of others, for example because it only pretrained a part.
_IDLE = 64


def listen(
    imports: Imports, pace: Pace, begins: Callable[[str], None], over: Callable[[], None]
) -> None:
    """Report to ``pace`` every kind of step that the program's libraries can make.

    ``begins`` is called with the level of each round of an outer level that begins, and ``over``
    when a loop of a library ends.
    """
    for known in KNOWN:
        target = Target.parse(known.target)
        imports.when_imported(target.module, functools.partial(_patch, pace, known, target))
    for outer in KNOWN_ROUNDS:
        target = Target.parse(outer.target)
        marked = functools.partial(_in_round, begins, outer)
        imports.when_imported(target.module, functools.partial(_change, target, marked))
    for end in KNOWN_ENDS:
        target = Target.parse(end)
        ending = functools.partial(announcing, announce=over)
        imports.when_imported(target.module, functools.partial(_change, target, ending))
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


def _change(target: Target, change: Callable[[Any], Any], module: ModuleType) -> None:
    """Replace a function of a library, unless this version of it has the function elsewhere."""
    with contextlib.suppress(AttributeError, TypeError):
        target.replace(module, change)


def _in_round(begins: Callable[[str], None], outer: KnownRound, function: Any) -> Any:
    """Return ``function`` so that each call is a round of an outer level."""
    inner = function if outer.phase is None else phase(outer.phase)(function)
    return announcing(inner, functools.partial(begins, outer.level))


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
