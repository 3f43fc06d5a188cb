import sys

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(3)


class Tagger(nn.Module):
    def __init__(self, vocab=3000, dim=128, tags=24):
        super().__init__()
        self.tags = tags
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Sequential(nn.Linear(dim, 192), nn.ReLU(), nn.Linear(192, tags))

    def forward(self, x):
        h, _ = self.encoder(self.embed(x))
        return self.head(h)

    def fresh_head(self):
        self.head = nn.Sequential(nn.Linear(128, 192), nn.ReLU(), nn.Linear(192, self.tags))
        return self.head


class Corpus:
    """Synthetic sentences; the shards decoded last are kept."""

    def __init__(self, shards=12, keep=6):
        self.shards, self.keep = shards, keep
        self.decoded = {}

    def shard(self, n):
        if n not in self.decoded:
            if len(self.decoded) >= self.keep:
                self.decoded.pop(next(iter(self.decoded)))
            g = torch.Generator().manual_seed(n)
            x = torch.randint(0, 3000, (96, 24), generator=g)
            self.decoded[n] = (x, (x * 7) % 24)
        return self.decoded[n]


class DriftMeter:
    """Cosine between the embeddings at the start of an epoch and now."""

    def __init__(self, model):
        self.model = model
        self.value = 1.0
        self.handle = None

    def start_epoch(self, probe):
        if MODE == "fixed" and self.handle is not None:
            self.handle.remove()
        with torch.no_grad():
            anchor = self.model.embed(probe).flatten()

        def compare(module, args, output):
            if output.numel() == anchor.numel():
                self.value = float(F.cosine_similarity(output.detach().flatten(), anchor, dim=0))

        self.handle = self.model.embed.register_forward_hook(compare)


def refresh(model, opt):
    head = model.fresh_head()
    if MODE == "fixed":
        for p in opt.param_groups[-1]["params"]:
            opt.state.pop(p, None)
        opt.param_groups.pop()
    opt.add_param_group({"params": list(head.parameters())})


def train_epoch(model, opt, corpus, epoch):
    total = 0.0
    for n in range(4):
        x, y = corpus.shard((epoch * 2 + n) % corpus.shards)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / 4


def main():
    model, corpus = Tagger(), Corpus()
    base = list(model.embed.parameters()) + list(model.encoder.parameters())
    opt = torch.optim.AdamW([{"params": base}, {"params": list(model.head.parameters())}])
    meter = DriftMeter(model)
    probe = torch.randint(0, 3000, (20, 20))
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for epoch in guard.generations(range(1, 41)):
            with guard.phase("setup"):
                meter.start_epoch(probe)
                if epoch > 8:
                    refresh(model, opt)
            with guard.phase("train"):
                loss = train_epoch(model, opt, corpus, epoch)
            with guard.phase("validate"):
                with torch.no_grad():
                    model(probe)
                if epoch % 10 == 0:
                    print(epoch, f"loss {loss:.3f} drift {meter.value:.4f}")


main()
