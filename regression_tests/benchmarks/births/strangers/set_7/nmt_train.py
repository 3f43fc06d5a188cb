"""Tiny GRU translator with attention on synthetic sentences."""
import functools
import random
from collections import deque

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(5)
random.seed(5)
EPOCHS = 60
WARMUP = 15
LENGTH = 20
WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in "lnrst"]
VOCAB = {word: i + 2 for i, word in enumerate(WORDS)}
CORPUS = [" ".join(random.choices(WORDS, k=LENGTH)) for _ in range(300)]


@functools.lru_cache(maxsize=None)
def encode(sentence):
    return tuple(VOCAB.get(word, 1) for word in sentence.split())


@functools.lru_cache(maxsize=256)
def reverse_target(index):
    return tuple(reversed([VOCAB[word] for word in CORPUS[index].split()]))


def with_typos(sentence):
    words = sentence.split()
    for place in random.sample(range(len(words)), 3):
        words[place] = words[place][:-1] + random.choice("xyzqw") + str(random.randrange(1000))
    return " ".join(words)


class Attention(nn.Module):
    def forward(self, queries, keys):
        return torch.softmax(queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5, -1)


class Translator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(len(VOCAB) + 2, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.attention = Attention()
        self.out = nn.Linear(2 * width, len(VOCAB) + 2)

    def forward(self, source, target_in):
        memory, state = self.encoder(self.embed(source))
        hidden, _ = self.decoder(self.embed(target_in), state)
        context = self.attention(hidden, memory) @ memory
        return self.out(torch.cat([hidden, context], -1))


def make_batch(indices, noisy):
    lines = [with_typos(CORPUS[i]) if noisy else CORPUS[i] for i in indices]
    source = torch.tensor([encode(line) for line in lines])
    target = torch.tensor([reverse_target(i) for i in indices])
    return source, target


def step_loss(model, source, target):
    shifted = torch.cat([torch.zeros(len(target), 1, dtype=torch.long), target[:, :-1]], 1)
    return nn.functional.cross_entropy(model(source, shifted).flatten(0, 1), target.flatten())


def train_epoch(model, optimizer):
    total = 0.0
    for _ in range(4):
        source, target = make_batch(random.choices(range(240), k=32), noisy=True)
        loss = step_loss(model, source, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / 4


def watch_attention(model):
    maps = {}

    def keep(module, inputs, output):
        maps.setdefault("weights", output.detach().clone())

    model.attention.register_forward_hook(keep)
    return maps


@torch.no_grad()
def evaluate(model, epoch):
    maps = watch_attention(model) if epoch >= WARMUP else {}
    source, target = make_batch(range(240, 280), noisy=False)
    loss = step_loss(model, source, target).item()
    sharp = maps["weights"].max(-1).values.mean().item() if maps else 0.0
    return loss, sharp


def main():
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    recent = deque(maxlen=10)
    best_state, best_loss = None, float("inf")
    for epoch in range(EPOCHS):
        recent.append(train_epoch(model, optimizer))
        loss, sharp = evaluate(model, epoch)
        if loss < best_loss:
            best_loss = loss
            best_state = {name: value.clone() for name, value in model.state_dict().items()}
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1} train {sum(recent) / len(recent):.3f} valid {loss:.3f} sharp {sharp:.3f}")
    print("best", round(best_loss, 3), len(best_state))


if __name__ == "__main__":
    main()
