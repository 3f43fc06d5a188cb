"""Arrays and tensors."""

from __future__ import annotations

from typing import Any

from regression_tests.benchmarks.leakbench.program import healthy, leaking, pace


class Sampler:
    def __init__(self) -> None:
        self.samples: list[Any] = []
        self.batches: list[Any] = []


@leaking("sample", type="ndarray", holder=".samples", start=4, within=4, size=80_000 / 4)
def views_that_keep_their_base(guard: Any, leak: bool) -> None:
    import numpy as np

    sampler = Sampler()
    for generation in guard.generations(range(1, 121)):
        with guard.phase("sample"):
            frames = np.full((100, 100), generation, float)
            if generation % 4 == 0:
                sampler.samples.append(frames[0, :5] if leak else frames[0, :5].copy())
                if not leak:
                    del sampler.samples[:-10]
            del frames
            pace(15)
        with guard.phase("learn"):
            pace(15)


class Learner:
    def __init__(self) -> None:
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.net: Any = torch.nn.Sequential(
            torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8)
        )
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.losses: list[Any] = []
        self.outputs: dict[int, Any] = {}
        self.replay: list[Any] = []

    def update(self) -> Any:
        import torch

        loss = self.net(torch.randn(64, 64)).square().mean()
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        self.optimizer.step()
        return loss


@leaking("train", type="Tensor", kind="autograd", holder=".losses", start=41, within=4,
         size=3 * 50_000)  # fmt: skip
def graphs_of_losses_from_epoch_forty(guard: Any, leak: bool) -> None:
    learner = Learner()
    for epoch in guard.generations(range(1, 71)):
        with guard.phase("train"):
            for _ in range(3):
                loss = learner.update()
                learner.losses.append(loss if leak and epoch > 40 else loss.item())
                del loss
            del learner.losses[: 0 if leak and epoch > 40 else -30]
            pace(25)
        with guard.phase("evaluate"):
            pace(20)


@leaking("evaluate", type="Tensor", kind="tensors autograd", holder=".outputs", start=5, within=5,
         size=40_000 / 5)  # fmt: skip
def outputs_every_fifth_epoch_under_a_tooth(guard: Any, leak: bool) -> None:
    import torch

    learner = Learner()
    for epoch in guard.generations(range(1, 101)):
        with guard.phase("train"):
            learner.replay.append(torch.randn(20_000))
            if epoch % 12 == 0:
                learner.replay.clear()
            learner.update()
            pace(20)
        with guard.phase("evaluate"), torch.no_grad():
            if epoch % 5 == 0:
                if not leak:
                    learner.outputs.clear()
                learner.outputs[epoch] = torch.randn(10_000)
            pace(15)


@leaking("evaluate", type="function OrderedDict cell bytearray", holder="_forward_hooks", within=4,
         size=2 * 4_300)  # fmt: skip
def hooks_registered_in_every_epoch(guard: Any, leak: bool) -> None:
    learner = Learner()
    for _ in guard.generations(range(1, 81)):
        with guard.phase("train"):
            pace(25)
        with guard.phase("evaluate"):
            handles = [learner.net[i].register_forward_hook(_recorder()) for i in (0, 2)]
            if not leak:
                for handle in handles:
                    handle.remove()
                del handle
            del handles
            pace(20)


def _recorder() -> Any:
    seen = bytearray(4_000)

    def record(module: Any, given: Any, output: Any) -> None:
        seen[0] = output.ndim

    return record


@healthy
def network_that_is_widened_once(guard: Any) -> None:
    import torch

    learner = Learner()
    for epoch in guard.generations(range(1, 81)):
        with guard.phase("train"):
            if epoch == 40:
                learner.net = torch.nn.Sequential(torch.nn.Linear(64, 4_000), torch.nn.Tanh())
                learner.optimizer = torch.optim.Adam(learner.net.parameters())
            learner.update()
            learner.losses.append(float(epoch))
            del learner.losses[:-20]
            pace(25)
        with guard.phase("evaluate"):
            pace(20)


@healthy
def tensors_replaced_in_a_ring_of_thirty(guard: Any) -> None:
    import torch

    learner = Learner()
    for epoch in guard.generations(range(1, 101)):
        with guard.phase("collect"):
            learner.outputs[epoch % 30] = torch.randn(4, 4_000)
            pace(20)
        with guard.phase("train"):
            learner.update()
            pace(20)


@healthy
def buffer_that_is_touched_slowly(guard: Any) -> None:
    import numpy as np

    buffer = np.zeros((110, 60_000))
    for generation in guard.generations(range(1, 101)):
        with guard.phase("collect"):
            buffer[generation] = generation
            pace(20)
        with guard.phase("train"):
            pace(20)


@healthy
def evaluation_every_tenth_takes_much(guard: Any) -> None:
    import numpy as np

    for generation in guard.generations(range(1, 121)):
        with guard.phase("train"):
            pace(20)
        with guard.phase("evaluate"):
            if generation % 10 == 0:
                scores = np.ones((50, 50_000))
                scores *= 2
                del scores
            pace(15)
