"""A character language model, with a probe that follows how the hardest line changes between epochs."""
import sys

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
EPOCHS, WARMUP, CONTEXT, LINES = 32, 7, 48, 32

WORDS = ("the model reads a line and learns which letter is next while memory stays flat "
         "unless somebody keeps what should go").split()
ALPHABET = sorted({letter for word in WORDS for letter in word} | set(" .,;:!?0123456789"))
INDEX = {letter: number for number, letter in enumerate(ALPHABET)}


class Probe:
    """The logits of the hardest line of one epoch."""

    __slots__ = ("epoch", "line", "logits", "previous")

    def __init__(self, epoch, line, logits, previous):
        self.epoch = epoch
        self.line = line
        self.logits = logits
        self.previous = previous

    def drift(self):
        if self.previous is None:
            return 0.0
        return float((self.logits.softmax(-1) - self.previous.logits.softmax(-1)).abs().mean())


class CharModel(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(len(ALPHABET), 32)
        self.core = nn.GRU(32, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(ALPHABET))

    def forward(self, tokens):
        states, _ = self.core(self.embed(tokens))
        return self.out(states)


class Corpus:
    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)
        self.encoded = {}

    def encode(self, word):
        if word not in self.encoded:
            self.encoded[word] = [INDEX[letter] for letter in word + " "]
        return self.encoded[word]

    def batch(self):
        lines = []
        for _ in range(LINES):
            line = []
            while len(line) <= CONTEXT:
                line.extend(self.encode(WORDS[int(torch.randint(len(WORDS), (), generator=self.random))]))
            lines.append(line[:CONTEXT + 1])
        tokens = torch.tensor(lines)
        return tokens[:, :-1], tokens[:, 1:]


class Study:
    def __init__(self):
        self.model = CharModel()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=4e-3)
        self.probe = None
        self.best = (float("inf"), None)

    def train(self, corpus):
        for _ in range(4):
            tokens, target = corpus.batch()
            loss = nn.functional.cross_entropy(self.model(tokens).flatten(0, 1), target.flatten())
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, epoch, tokens, target):
        logits = self.model(tokens)
        losses = nn.functional.cross_entropy(logits.transpose(1, 2), target, reduction="none").mean(1)
        mean = losses.mean().item()
        if mean < self.best[0]:
            self.best = (mean, {name: value.clone() for name, value in self.model.state_dict().items()})
        if epoch >= WARMUP:
            self.follow(epoch, int(losses.argmax()), logits)
        return mean

    def follow(self, epoch, line, logits):
        row = logits[line]
        if FIXED:
            row = row.clone()
            if self.probe is not None:
                self.probe.previous = None
        self.probe = Probe(epoch, line, row, self.probe)
        return self.probe.drift()


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    corpus, study = Corpus(seed=2), Study()
    held_out = Corpus(seed=9).batch()
    for epoch in range(EPOCHS):
        study.train(corpus)
        mean = study.validate(epoch, *held_out)
    print(f"validation {mean:.3f}, best {study.best[0]:.3f}, hardest line {study.probe.line}")


main()
