"""Image classifier whose augmentations are made by a worker thread."""
import concurrent.futures
import math
import queue
import sys
import threading
import time

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(17)
SIDE, BATCH, EPOCHS = 96, 8, 45
per_thread = threading.local()


def flow_field(angle):
    """Sampling grids are reused, since most angles come back."""
    grids = per_thread.__dict__.setdefault("grids", {})
    key = angle if LEAK else round(angle / 15) * 15
    if key not in grids:
        radians = math.radians(key)
        turn = torch.tensor(
            [[math.cos(radians), -math.sin(radians), 0.0], [math.sin(radians), math.cos(radians), 0.0]]
        )
        grids[key] = F.affine_grid(turn[None], (1, 1, SIDE, SIDE), align_corners=False)
    return grids[key]


def augment(images, seed):
    generator = torch.Generator().manual_seed(seed)
    angles = (torch.rand(BATCH, generator=generator) * 60 - 30).tolist()
    grid = torch.cat([flow_field(angle) for angle in angles])
    return F.grid_sample(images, grid, align_corners=False)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 5, stride=3)
        self.norm = nn.BatchNorm2d(12)
        self.head = nn.Linear(12, 5)

    def forward(self, images):
        return self.head(F.relu(self.norm(self.conv(images))).mean((2, 3)))


def main():
    net = Classifier()
    optimizer = torch.optim.RMSprop(net.parameters(), 1e-3)
    images = torch.randn(40, 1, SIDE, SIDE)
    labels = torch.randint(0, 5, (40,))
    backlog = queue.Queue(maxsize=6)
    losses = []
    guard = LeakGuard(out=sys.argv[2])
    with concurrent.futures.ThreadPoolExecutor(1) as pool, guard:
        for epoch in guard.generations(range(1, EPOCHS + 1)):
            with guard.phase("augment"):
                picks = [torch.randperm(40)[:BATCH] for _ in range(3)]
                jobs = [pool.submit(augment, images[p], epoch * 10 + i) for i, p in enumerate(picks)]
                for job, pick in zip(jobs, picks):
                    if backlog.full():
                        backlog.get()
                    backlog.put((job.result(), labels[pick]))
            with guard.phase("train"):
                for batch, label in list(backlog.queue):
                    loss = F.cross_entropy(net(batch), label)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            losses.append(loss.item())
            time.sleep(0.04)
    print("loss", round(losses[-1], 3))


main()
