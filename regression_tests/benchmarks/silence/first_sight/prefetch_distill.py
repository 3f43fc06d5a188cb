"""Knowledge distillation with a home-made prefetching loader (one worker thread per epoch)."""
import queue
import sys
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(99)

mode = sys.argv[1] if len(sys.argv) > 1 else "fixed"
N, DIM, BATCH = 4096, 128, 128
EPOCHS = 28
STEPS_PER_EPOCH = 20      # an "epoch" is a fixed number of steps, not the whole set

DATA = torch.randn(N, DIM)


class PrefetchIterator:
    """Runs over the data in a worker thread and keeps `depth` batches ready."""

    def __init__(self, data, batch, seed, depth=6):
        self.queue = queue.Queue(maxsize=depth)
        self.data, self.batch = data, batch
        self.generator = torch.Generator().manual_seed(seed)
        self.stopped = threading.Event()
        self.worker = threading.Thread(target=self._work, daemon=True)
        self.worker.start()

    def _work(self):
        order = torch.randperm(len(self.data), generator=self.generator)
        for start in range(0, len(order), self.batch):
            x = self.data[order[start:start + self.batch]]
            x = x + 0.05 * torch.randn(x.shape, generator=self.generator)
            self.queue.put(x)
            if self.stopped.is_set():
                return
        self.queue.put(None)

    def __iter__(self):
        while (item := self.queue.get()) is not None:
            yield item

    def close(self):
        self.stopped.set()
        while not self.queue.empty():
            self.queue.get_nowait()
        self.worker.join()


def net(width):
    return nn.Sequential(nn.Linear(DIM, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 32))


class Distiller:
    def __init__(self):
        self.teacher = net(256).eval().requires_grad_(False)
        self.student = net(48)
        self.opt = torch.optim.AdamW(self.student.parameters(), lr=2e-3)
        self.curve = []

    def step(self, x):
        with torch.no_grad():
            target = F.softmax(self.teacher(x) / 0.1, dim=1)
        loss = F.kl_div(F.log_softmax(self.student(x) / 0.1, dim=1), target, reduction="batchmean")
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def agreement(self):
        hits = [(self.teacher(x).argmax(1) == self.student(x).argmax(1)).float().mean() for x in DATA.split(256)]
        return torch.stack(hits).mean().item()

    def train_epoch(self, epoch):
        loader = PrefetchIterator(DATA, BATCH, seed=epoch)
        total = 0.0
        for step, x in enumerate(loader):
            total += self.step(x)
            if step + 1 == STEPS_PER_EPOCH:
                break
        if mode == "fixed":
            loader.close()
        self.curve.append(total / STEPS_PER_EPOCH)


def main():
    distiller = Distiller()
    for epoch in range(EPOCHS):
        distiller.train_epoch(epoch)
        if epoch % 7 == 0:
            print(f"epoch {epoch}: kl {distiller.curve[-1]:.4f}", flush=True)
    print(f"done, kl {distiller.curve[-1]:.4f}, agreement {distiller.agreement():.3f}")


if __name__ == "__main__":
    main()
