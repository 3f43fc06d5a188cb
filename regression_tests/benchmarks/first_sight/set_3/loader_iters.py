"""Several tasks share a loop; each has a loader that begins anew when it is exhausted."""

# /// truth
# about = "a multi-task loader stacks a new iterator on the exhausted one, each seven rounds"
# [[leak]]
# type = ["_SingleProcessDataLoaderIter", "_MapDatasetFetcher", "BatchSampler"]
# kind = ["instances"]
# holder = ["iters", "Tasks"]
# phase = "next_batch"
# start = 8
# within = 7
# ///
import os
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(1)


class Tasks:
    def __init__(self, count: int) -> None:
        self.loaders = [DataLoader(TensorDataset(torch.randn(280, 32)), batch_size=40, shuffle=True) for _ in range(count)]
        self.iters = [[iter(loader)] for loader in self.loaders]

    def next_batch(self, task: int) -> torch.Tensor:
        stack = self.iters[task]
        try:
            return next(stack[-1])[0]
        except StopIteration:
            if not LEAK:
                stack.clear()
            stack.append(iter(self.loaders[task]))
            return next(stack[-1])[0]


tasks = Tasks(5)
model = torch.nn.Sequential(torch.nn.Linear(32, 256), torch.nn.Tanh(), torch.nn.Linear(256, 32))
optimizer = torch.optim.Adam(model.parameters())
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for step in guard.generations(range(1, 351)):
        with guard.phase("next_batch"):
            batches = [tasks.next_batch(task) for task in range(5)]
        with guard.phase("train"):
            for batch in batches:
                loss = (model(batch) - batch).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
