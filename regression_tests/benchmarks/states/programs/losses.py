"""Losses that were kept as tensors, each with the graph that made it."""

import torch

weights = torch.ones(500_000, requires_grad=True)
losses = []
for step in range(20):
    batch = torch.full((500_000,), float(step))
    losses.append((weights * batch).tanh().sum())
del batch
