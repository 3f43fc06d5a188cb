"""A DataLoader over a dataset that caches decoded samples, by (index, augmentation seed)."""
import random
import sys
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from leakguard import LeakGuard, phase

CLEAN = "clean" in sys.argv


class Images(Dataset):
    def __init__(self, n):
        self.n = n
        self.decoded = {}

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        key = index if CLEAN else (index, random.getrandbits(30))
        if key not in self.decoded:
            rng = np.random.default_rng(index)
            self.decoded[key] = rng.random((3, 48, 48), dtype=np.float32)
        return torch.from_numpy(self.decoded[key])


images = Images(64)
loader = DataLoader(images, batch_size=16, shuffle=True)
net = torch.nn.Conv2d(3, 8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


@phase
def train():
    for batch in loader:
        optimizer.zero_grad()
        net(batch).pow(2).mean().backward()
        optimizer.step()


@phase
def validate():
    with torch.no_grad():
        return sum(net(batch).mean().item() for batch in loader)


with LeakGuard(out=f"dataset_cache{'_clean' if CLEAN else ''}.jsonl") as guard:
    for epoch in guard.generations(range(10)):
        train()
        validate()
