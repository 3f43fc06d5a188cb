"""Train a small sequence tagger, with an auxiliary probe in every epoch."""
import collections
import io
import sys

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
EPOCHS = 72
CALIBRATE_FROM = 27
BATCHES = 7
VOCAB, TAGS, CLUSTERS, LENGTH = 400, 12, 64, 20
EMBED, WIDTH = 48, 160

torch.set_num_threads(1)
torch.manual_seed(11)


class Corpus:
    """Synthetic sentences: a tag depends on its word and on the word before."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.classes = torch.randint(TAGS, (VOCAB,), generator=self.generator)

    def sentences(self, count):
        words = torch.randint(VOCAB, (count, LENGTH), generator=self.generator)
        kinds = self.classes[words]
        return words, (kinds + torch.roll(kinds, 1, 1)) % TAGS

    def clustering(self):
        return torch.randint(CLUSTERS, (VOCAB,), generator=self.generator)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, EMBED)
        self.mix = nn.Conv1d(EMBED, WIDTH, 3, padding=1)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, TAGS)

    def features(self, words):
        mixed = self.mix(self.embed(words).transpose(1, 2))
        return self.norm(F.gelu(mixed).transpose(1, 2))

    def forward(self, words):
        return self.head(self.features(words))


class Trainer:
    def __init__(self):
        self.model = Tagger()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.val_smooth = None
        self.effective_rank = 0.0
        self.recent = collections.deque(maxlen=12)
        self.checkpoint = b""

    def train_epoch(self, corpus):
        clusters = corpus.clustering()
        probe = nn.Linear(WIDTH, CLUSTERS)
        self.optimizer.add_param_group({"params": list(probe.parameters()), "lr": 5e-3})
        total = 0.0
        for _ in range(BATCHES):
            words, tags = corpus.sentences(32)
            features = self.model.features(words)
            loss = F.cross_entropy(self.model.head(features).flatten(0, 1), tags.flatten())
            loss = loss + 0.1 * F.cross_entropy(probe(features).flatten(0, 1), clusters[words].flatten())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        if FIXED:
            for parameter in self.optimizer.param_groups.pop()["params"]:
                self.optimizer.state.pop(parameter, None)
        return total / BATCHES

    def validate(self, words, tags):
        self.model.eval()
        loss = F.cross_entropy(self.model(words).flatten(0, 1), tags.flatten())
        if FIXED:
            loss = loss.detach()
        if self.val_smooth is None:
            self.val_smooth = loss
        else:
            self.val_smooth = 0.8 * self.val_smooth + 0.2 * loss
        self.model.train()
        return self.val_smooth.item()

    def calibrate(self, words):
        """Effective rank of the features, by the spectrum of their Gram matrix."""
        gram = torch.zeros(WIDTH, WIDTH)

        def collect(module, inputs, output):
            if not module.training:
                flat = output.detach().flatten(0, 1)
                gram.addmm_(flat.T, flat)

        handle = self.model.norm.register_forward_hook(collect)
        self.model.eval()
        with torch.no_grad():
            for chunk in words.split(16):
                self.model(chunk)
        self.model.train()
        if FIXED:
            handle.remove()
        spectrum = torch.linalg.eigvalsh(gram).clamp_min(1e-9)
        share = spectrum / spectrum.sum()
        self.effective_rank = float(torch.exp(-(share * share.log()).sum()))

    def save(self):
        buffer = io.BytesIO()
        torch.save(self.model.state_dict(), buffer)
        self.checkpoint = buffer.getvalue()


def main():
    corpus = Corpus(5)
    trainer = Trainer()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for epoch in guard.generations(range(1, EPOCHS + 1)):
            with guard.phase("train"):
                loss = trainer.train_epoch(corpus)
            with guard.phase("validate"):
                smooth = trainer.validate(*corpus.sentences(14))
            with guard.phase("calibrate"):
                if epoch >= CALIBRATE_FROM:
                    trainer.calibrate(corpus.sentences(32)[0])
            with guard.phase("checkpoint"):
                trainer.save()
                trainer.recent.append((epoch, loss, smooth))
    print(f"loss {loss:.4f}, validation {smooth:.4f}, effective rank {trainer.effective_rank:.2f}")


main()
