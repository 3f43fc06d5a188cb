"""Dispatch: a tensor with ``__torch_dispatch__`` answers what it is asked: it must not be asked."""

import threading
import time
import warnings

import torch
from torch.utils._pytree import tree_map

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["torch"]
OPTIONS = ["--generation", "grown"]
# A look in each round, whatever it costs, was asked for.
LIMITS = {"cpu_s": (1.5, 20), "wall_s": (1.5, 20)}
calls = []
warnings.simplefilter("always")


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner, **options):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, **options
        )

    def __init__(self, inner, **_):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        calls.append(str(function))
        if threading.current_thread() is not threading.main_thread():
            event("called in a foreign thread", function)
        if "sym_size" in str(function) or "size" in str(function):
            return tuple(args[0].inner.shape)
        if "stride" in str(function):
            return tuple(args[0].inner.stride())
        if "device" in str(function):
            return torch.device("cpu")
        if "layout" in str(function):
            return torch.strided
        if "contiguous" in str(function):
            return True
        bare = tree_map(lambda one: one.inner if isinstance(one, Wrapped) else one, args)
        return function(*bare, **(kwargs or {}))


def grown():
    for _ in range(40):
        kept.append(Wrapped(torch.ones(300)))
        kept.append(Wrapped(torch.ones(300), dispatch_device=True))
        kept.append(Wrapped(torch.ones(300), dispatch_sizes_strides_policy="sizes"))
        kept.append(Wrapped(torch.ones(300), requires_grad=True))
    kept.append(torch.eye(50).to_sparse())
    time.sleep(0.05)


kept = []
with watched(max_overhead=None) as guard:
    for _ in guard.generations(range(12)):
        grown()
        event(len(calls))
event("over", len(calls), sorted(set(calls)))
