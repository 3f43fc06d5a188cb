"""A short training, then a long scoring of a stream of samples."""
import sys
import time

import torch

KEEP = sys.argv[1] == "leak"
torch.manual_seed(0)
torch.set_num_threads(1)


class Score:
    def __init__(self, value, features):
        self.value = value
        self.features = features


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        model(torch.randn(64, 32)).pow(2).mean().backward()
        optimizer.step()
        time.sleep(0.01)


def score(model, scores):
    for number in range(300):
        features = torch.randn(16, 32)
        with torch.no_grad():
            result = Score(float(model(features).sum()), features)
        if KEEP or number % 100 == 0:
            scores[number] = result
        time.sleep(0.01)


def main():
    model = torch.nn.Linear(32, 1)
    train(model)
    scores = {}
    score(model, scores)
    print(len(scores))


main()

# /// truth
# about = "two loops in sequence: a training that is clean, a scoring that keeps the features"
# [[leak]]
# type = ["Score", "Tensor"]
# holder = "scores"
# line = ["result = Score(float(model(features).sum()), features)", "features = torch.randn(16, 32)", "scores[number] = result"]
# ///
