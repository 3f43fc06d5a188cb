"""A training of four idle seconds with what trainers import: what ``leakguard run`` costs any."""

import time

import gymnasium  # noqa: F401
import numpy  # noqa: F401
import torch

layer = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(40):
    optimizer.zero_grad()
    layer(torch.ones(1)).sum().backward()
    optimizer.step()
    time.sleep(0.1)
