"""Off-policy learning: the buffer is filled for a while before the first update."""
import sys
import time

import numpy as np
import torch

KEEP = sys.argv[1] == "leak"
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
CAPACITY = 500


class Agent:
    def __init__(self):
        self.q = torch.nn.Linear(8, 2)
        self.optimizer = torch.optim.Adam(self.q.parameters())
        self.losses = []

    def update(self, batch):
        values = self.q(torch.from_numpy(batch))
        loss = values.pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss if KEEP else loss.item())
        if not KEEP:
            del self.losses[:-50]


def main():
    agent, buffer = Agent(), np.zeros((CAPACITY, 8), dtype=np.float32)
    for step in range(1500):
        buffer[step % CAPACITY] = rng.normal(size=8)
        time.sleep(0.003)
        if step >= CAPACITY:
            agent.update(buffer[rng.integers(0, CAPACITY, 32)])


main()

# /// truth
# about = "losses are kept with their graphs; updates begin after a third of the steps"
# [[leak]]
# type = "Tensor"
# kind = ["tensors", "autograd"]
# holder = "losses"
# line = ["loss = values.pow(2).mean()", "self.losses.append(loss if KEEP else loss.item())"]
# ///
