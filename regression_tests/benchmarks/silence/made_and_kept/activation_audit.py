"""Trains a small classifier and audits the covariance of its activations now and then."""
import sys
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
EPOCHS = 26
WIDTH = 256
torch.set_num_threads(1)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(48, WIDTH)
        self.body = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x):
        return self.head(F.relu(self.body(F.relu(self.stem(x)))))


class CovarianceRecorder:
    """A forward hook that sums outer products of what a layer puts out."""

    def __init__(self, name):
        self.name = name
        self.count = 0
        self.open = True
        self.matrix = torch.zeros(WIDTH, WIDTH)

    def __call__(self, module, inputs, output):
        if self.open:
            flat = output.detach()
            self.matrix += flat.T @ flat
            self.count += flat.shape[0]

    def rank(self):
        return int(torch.linalg.matrix_rank(self.matrix / max(self.count, 1), tol=0.05))


class ShardReader:
    """Makes shards on first use and keeps the ones that were used last."""

    def __init__(self, shards, keep):
        self.shards = shards
        self.keep = keep
        self.loaded = OrderedDict()

    def load(self, number):
        number %= self.shards
        if number not in self.loaded:
            rng = torch.Generator().manual_seed(number)
            x = torch.randn(1500, 48, generator=rng)
            self.loaded[number] = (x, (x[:, :10].argmax(1)))
            if len(self.loaded) > self.keep:
                self.loaded.popitem(last=False)
        self.loaded.move_to_end(number)
        return self.loaded[number]


def attach(layers):
    recorders, handles = [], []
    for name, layer in layers.items():
        recorder = CovarianceRecorder(name)
        handles.append(layer.register_forward_hook(recorder))
        recorders.append(recorder)
    return recorders, handles


class Auditor:
    def __init__(self, model):
        self.model = model
        self.layers = {"stem": model.stem, "body": model.body}

    def audit(self, x):
        recorders, handles = attach(self.layers)
        with torch.no_grad():
            for part in x.split(250):
                self.model(part)
        for recorder in recorders:
            recorder.open = False
        if MODE == "fixed":
            for handle in handles:
                handle.remove()
        return {recorder.name: recorder.rank() for recorder in recorders}


def train_epoch(model, optimizer, x, y):
    for inputs, labels in zip(x.split(100), y.split(100)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    reader, auditor = ShardReader(shards=9, keep=5), Auditor(model)
    for epoch in range(EPOCHS):
        x, y = reader.load(epoch)
        loss = train_epoch(model, optimizer, x, y)
        ranks = auditor.audit(x)
        if epoch % 10 == 0:
            print(f"epoch {epoch}: loss {loss:.3f}, ranks {ranks}")


if __name__ == "__main__":
    main()
