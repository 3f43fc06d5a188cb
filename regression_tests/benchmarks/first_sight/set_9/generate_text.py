"""Sample sequences from a small recurrent net; samples come from a generator."""
import sys
import time

import torch

KEEP = sys.argv[1] == "leak"
torch.manual_seed(0)
torch.set_num_threads(1)
cell = torch.nn.GRUCell(16, 32)
head = torch.nn.Linear(32, 16)
states = []


def sequences(count):
    for _ in range(count):
        h = torch.zeros(4, 32)
        x = torch.zeros(4, 16)
        tokens = []
        for _ in range(6):
            h = cell(x, h)
            x = torch.softmax(head(h), 1)
            tokens.append(x.argmax(1).tolist())
        if KEEP:
            states.append(h)
        yield tokens


total = 0
for tokens in sequences(250):
    total += sum(map(sum, tokens))
    time.sleep(0.01)
print(total)

# /// truth
# about = "the last hidden state of each sample is kept with its whole graph"
# [[leak]]
# type = "Tensor"
# kind = ["tensors", "autograd"]
# holder = "states"
# line = ["h = cell(x, h)", "states.append(h)"]
# ///
