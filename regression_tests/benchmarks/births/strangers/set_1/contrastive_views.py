"""Contrastive learning with two augmented views and a per-round augmentation recipe."""
import queue
import sys

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(6)


class Recipe:
    catalogue = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Recipe.catalogue[cls.__name__] = cls

    @classmethod
    def apply(cls, x):
        return x * cls.mask + 0.05 * torch.randn_like(x)


def make_recipe(number):
    mask = (torch.rand(128, 128) > 0.2).float()
    if FIXED and Recipe.catalogue:
        recipe = Recipe.catalogue["Recipe0"]
        recipe.mask = mask
        return recipe
    return type(f"Recipe{number}", (Recipe,), {"mask": mask})


class Publisher:
    """Hands embeddings to the dashboard."""

    def __init__(self):
        self.outbox = queue.Queue()

    def publish(self, embeddings):
        self.outbox.put({"embeddings": embeddings.detach().clone(), "mean": float(embeddings.mean())})

    def flush(self):
        while not self.outbox.empty():
            self.outbox.get()


encoder = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.Adam(encoder.parameters(), 1e-3)
publisher = Publisher()
images = torch.randn(600, 128)


def train_round(number):
    recipe = make_recipe(number)
    for _ in range(8):
        batch = images[torch.randint(0, 600, (128,))]
        a = nn.functional.normalize(encoder(recipe.apply(batch)), dim=1)
        b = nn.functional.normalize(encoder(recipe.apply(batch)), dim=1)
        loss = nn.functional.cross_entropy(a @ b.T / 0.2, torch.arange(128))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def report():
    with torch.no_grad():
        publisher.publish(encoder(images))
    if FIXED:
        publisher.flush()


def main():
    for number in range(100):
        loss = train_round(number)
        report()
    print("loss", round(loss, 4))


main()
