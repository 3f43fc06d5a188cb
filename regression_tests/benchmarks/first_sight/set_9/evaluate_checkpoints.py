"""Evaluate a model on shards: no optimizer anywhere."""
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

KEEP = sys.argv[1] == "leak"
torch.manual_seed(0)
torch.set_num_threads(1)
outputs = []


def evaluate(model, loader):
    correct = 0
    for x, y in loader:
        with torch.no_grad():
            logits = model(x)
        correct += int((logits.argmax(1) == y).sum())
        if KEEP:
            outputs.append(logits)
        time.sleep(0.01)
    return correct


model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
data = TensorDataset(torch.randn(20_000, 32), torch.randint(0, 10, (20_000,)))
print(evaluate(model, DataLoader(data, batch_size=64)))

# /// truth
# about = "logits of an evaluation are kept; the only loop is in a function"
# [[leak]]
# type = "Tensor"
# kind = "tensors"
# holder = "outputs"
# line = ["logits = model(x)", "outputs.append(logits)"]
# ///
