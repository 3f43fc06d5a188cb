"""A model after some steps, its optimiser, a second network of equal weights, and data in use."""

import copy

import torch

torch.manual_seed(0)
inputs, targets = torch.randn(2_000, 500), torch.randn(2_000, 1)
model = torch.nn.Sequential(torch.nn.Linear(500, 1_000), torch.nn.ReLU(), torch.nn.Linear(1_000, 1))
target_network = copy.deepcopy(model)
optimiser = torch.optim.Adam(model.parameters())
history = []
for _ in range(4):
    loss = (model(inputs[:100]) - targets[:100]).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    history.append(loss.item())
