"""Trains a recurrent model on sequences of very different lengths."""

# /// truth
# about = """scratch tensors that are made larger whenever a batch is longer than all before it,
# which happens often at first, and ever more seldom later, and a cache of 32 position tables"""
# ///
import functools
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 260
BATCH, FEATURES, HIDDEN = 12, 16, 32
LONGEST = 90

torch.manual_seed(79)
torch.set_num_threads(1)


class Scratch:
    """Memory for padded batches that is used again and grows when it is too short."""

    def __init__(self) -> None:
        self.inputs = torch.empty(BATCH, 0, FEATURES)
        self.mask = torch.empty(BATCH, 0)

    def reserve(self, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        if length > self.inputs.shape[1]:
            self.inputs = torch.empty(BATCH, length, FEATURES)
            self.mask = torch.empty(BATCH, length)
        return self.inputs[:, :length].zero_(), self.mask[:, :length].zero_()


@functools.lru_cache(maxsize=32)
def positions(length: int) -> torch.Tensor:
    """Sine waves that tell the model where in a sequence of this length it is."""
    place = torch.arange(length, dtype=torch.float32)[:, None]
    rate = torch.exp(-torch.arange(FEATURES, dtype=torch.float32) / 3.0)[None, :]
    return torch.sin(place * rate)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.GRU(FEATURES, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.recurrent(inputs + positions(inputs.shape[1]))
        return self.head(hidden)[..., 0]


def sample_lengths(generator: torch.Generator) -> list[int]:
    """Mostly short, now and then long, as sentences are."""
    draws = torch.rand(BATCH, generator=generator).pow(6.0)
    return (4 + draws * (LONGEST - 4)).int().tolist()


def main() -> None:
    generator = torch.Generator().manual_seed(83)
    scratch = Scratch()
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("collate"):
                lengths = sample_lengths(generator)
                inputs, mask = scratch.reserve(max(lengths))
                for row, length in enumerate(lengths):
                    inputs[row, :length] = torch.randn(length, FEATURES, generator=generator)
                    mask[row, :length] = 1.0
            with guard.phase("train"):
                goal = (inputs.cumsum(dim=1)[..., 0] > 0).float()
                logits = model(inputs)
                loss = nn.functional.binary_cross_entropy_with_logits(logits, goal, weight=mask)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


if __name__ == "__main__":
    main()
