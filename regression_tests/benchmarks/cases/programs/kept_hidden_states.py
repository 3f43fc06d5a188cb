"""Tagger of sentences: each last hidden state is kept with its graph, each sentence in a dict."""

import random
import sys

import torch
from torch import nn

from leakguard import LeakGuard, phase

LEAKS = sys.argv[1] == "leaky"
torch.manual_seed(0)
random.seed(0)
torch.set_num_threads(1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(500, 16)
        self.gru = nn.GRU(16, 24, batch_first=True)
        self.out = nn.Linear(24, 5)

    def forward(self, words):
        hidden, last = self.gru(self.embedding(words))
        return self.out(hidden), last


class Session:
    def __init__(self):
        self.states, self.seen, self.count = [], {}, 0


session, model = Session(), Tagger()
optimizer, criterion = torch.optim.Adam(model.parameters()), nn.CrossEntropyLoss()


@phase("read")
def read():
    sentences = []
    for _ in range(4):
        words = [f"w{random.randrange(500)}" for _ in range(random.randrange(6, 14))]
        if LEAKS:
            session.seen[session.count] = words
        session.count += 1
        sentences.append(torch.tensor([[int(word[1:]) for word in words]]))
    return sentences


@phase("train")
def train(sentences):
    for words in sentences:
        scores, last = model(words)
        loss = criterion(scores[0], words[0] % 5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if LEAKS:
            session.states.append(last)


with LeakGuard(out=sys.argv[2]) as guard:
    for _ in guard.generations(range(600)):
        train(read())
