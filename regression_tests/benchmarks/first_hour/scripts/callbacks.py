"""A trainer whose fit() registers one more history callback each time; leakguard is not in it at all."""
import sys
import torch
from torch import nn

CLEAN = "clean" in sys.argv
torch.set_num_threads(1)


class BestWeights:
    def __init__(self, model):
        self.snapshot = {k: v.clone() for k, v in model.state_dict().items()}
        self.best = float("inf")

    def on_step_end(self, trainer, loss):
        if loss < self.best:
            self.best = loss


class Trainer:
    def __init__(self, model):
        self.model, self.callbacks = model, []
        self.optimizer = torch.optim.Adam(model.parameters())

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def fit(self, steps):
        if CLEAN:
            self.callbacks.clear()
        self.add_callback(BestWeights(self.model))
        for _ in range(steps):
            loss = self.model(torch.randn(64, 100)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for callback in self.callbacks:
                callback.on_step_end(self, loss.item())


def main():
    trainer = Trainer(nn.Sequential(nn.Linear(100, 800), nn.Tanh(), nn.Linear(800, 10)))
    for round_ in range(12):
        trainer.fit(150)
        print("round", round_, len(trainer.callbacks))


if __name__ == "__main__":
    main()
