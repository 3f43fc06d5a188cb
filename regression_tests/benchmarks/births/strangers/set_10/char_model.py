"""Trains a small character model, then adapts it to new domains through a learned prefix."""
import sys
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

TIDY = sys.argv[1] == "fixed"
ROUNDS = 58
WIDTH = 64
PREFIX = 96
CONTEXT = 48
ADAPT_FROM = 27

torch.set_num_threads(1)
torch.manual_seed(12)

TEXT = ("the keeper of the light wrote down each ship that passed and the colour of its flag; "
        "on quiet days he wrote of gulls, of the price of oil, and of the long stair. ") * 40
LETTERS = sorted(set(TEXT))
CODES = torch.tensor([LETTERS.index(letter) for letter in TEXT])


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), WIDTH)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, codes, prefix=None):
        x = self.embed(codes)
        if prefix is not None:
            x = x + prefix.mean(0) + prefix[: x.shape[1]]
        states, _ = self.gru(x)
        return self.out(states), states


class Sampler:
    """Continues a few fixed prompts; the states of a prompt are worked out once per model version."""

    def __init__(self, model):
        self.model = model
        self.prompts = [TEXT[i * 60:i * 60 + 200] for i in range(6)]
        self.states = {}

    def encode(self, prompt):
        return torch.tensor([[LETTERS.index(letter) for letter in prompt]])

    def prompt_states(self, prompt):
        codes = self.encode(prompt)
        key = prompt if TIDY else codes
        if key not in self.states:
            with torch.no_grad():
                self.states[key] = self.model(codes)[1].clone()
        return self.states[key]

    def continue_prompt(self, number):
        states = self.prompt_states(self.prompts[number % len(self.prompts)])
        hidden = states[:, -1:].transpose(0, 1).contiguous()
        code, letters = torch.tensor([[0]]), []
        with torch.no_grad():
            for _ in range(16):
                states, hidden = self.model.gru(self.model.embed(code), hidden)
                code = self.model.out(states).argmax(-1)
                letters.append(LETTERS[int(code)])
        return "".join(letters)


class Trainer:
    def __init__(self):
        self.model = CharModel()
        self.adam = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.sampler = Sampler(self.model)
        self.token_log = bytearray()
        self.written = 0
        self.losses = deque(maxlen=30)
        self.pool = torch.Generator().manual_seed(3)

    def batch(self):
        starts = torch.randint(0, len(CODES) - CONTEXT - 1, (12,), generator=self.pool)
        rows = torch.stack([CODES[s:s + CONTEXT + 1] for s in starts])
        return rows[:, :-1], rows[:, 1:]

    def log_tokens(self, token_losses, targets):
        self.token_log += torch.stack([token_losses.detach(), targets.float()]).numpy().tobytes()
        if len(self.token_log) > 40_000:
            self.written += len(self.token_log)
            if TIDY:
                self.token_log.clear()

    def step(self, prefix=None):
        inputs, targets = self.batch()
        logits, _ = self.model(inputs, prefix)
        token_losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        loss = token_losses.mean()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        if prefix is None:
            self.log_tokens(token_losses, targets)
        return loss.item()

    def adapt(self):
        prefix = nn.Parameter(0.1 * torch.randn(PREFIX, WIDTH))
        self.adam.add_param_group({"params": [prefix], "lr": 1e-2})
        for _ in range(2):
            loss = self.step(prefix)
        if TIDY:
            self.adam.param_groups.pop()
            self.adam.state.pop(prefix)
        return loss

    def round(self, number):
        for _ in range(4):
            self.losses.append(self.step())
        adapted = self.adapt() if number >= ADAPT_FROM else None
        return self.sampler.continue_prompt(number), adapted


def main():
    trainer = Trainer()
    for number in range(1, ROUNDS + 1):
        sample, adapted = trainer.round(number)
        if number % 20 == 0:
            mean = sum(trainer.losses) / len(trainer.losses)
            print(f"round {number}: loss {mean:.3f} adapted {adapted and round(adapted, 3)} "
                  f"groups {len(trainer.adam.param_groups)} {sample!r}")


if __name__ == "__main__":
    main()
