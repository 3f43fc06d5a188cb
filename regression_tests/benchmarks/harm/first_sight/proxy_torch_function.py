"""Dispatch: a tensor subclass and a torch mode see the program's own operations, each once, and no other."""

import time
from collections import Counter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["torch"]
seen: Counter[str] = Counter()


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen["subclass " + getattr(func, "__name__", "?")] += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class Functions(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen["function " + getattr(func, "__name__", "?")] += 1
        return func(*args, **(kwargs or {}))


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen["dispatch " + str(func)] += 1
        return func(*args, **(kwargs or {}))


losses: list[torch.Tensor] = []


def main() -> None:
    torch.manual_seed(1)
    weight = torch.randn(50, 50).as_subclass(Logged).requires_grad_()
    with Functions(), Dispatch(), watched() as guard:
        for _ in guard.generations(range(20)):
            time.sleep(0.04)  # the work of a round
            loss = (weight @ torch.ones(50, 200)).pow(2).mean()
            losses.append(loss)  # with its graph
    print(sorted(seen.items()))
    print(round(float(sum(losses).detach()), 3), weight.grad is None)


main()
