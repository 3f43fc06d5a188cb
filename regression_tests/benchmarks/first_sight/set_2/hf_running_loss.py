"""A trainer in the style of the big libraries, written by hand: arguments, state, callbacks, and an
evaluation loss that is averaged over the whole training."""

# /// truth
# about = "a hand-written HF-like trainer that adds up the evaluation loss with its graph"
# [[leak]]
# holder = "total_eval_loss"
# phase = "evaluate"
# start = 1
# within = 3
# kind = "autograd"
# ///
import os
import sys
from dataclasses import dataclass, field

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(3)


@dataclass
class TrainingArguments:
    rounds: int = 220
    steps: int = 6
    eval_batches: int = 4
    batch_size: int = 16
    learning_rate: float = 3e-4


@dataclass
class TrainerState:
    global_step: int = 0
    evaluations: int = 0
    best: float = float("inf")
    log: dict = field(default_factory=dict)


class TinyClassifier(nn.Module):
    def __init__(self, vocabulary=500, width=48, classes=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.mixer = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, input_ids, labels):
        hidden = self.embed(input_ids)
        hidden = self.norm(hidden + self.mixer(hidden))
        logits = self.head(hidden.mean(1))
        return nn.functional.cross_entropy(logits, labels), logits


class Trainer:
    def __init__(self, model, args):
        self.model, self.args, self.state = model, args, TrainerState()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
        self.total_eval_loss = torch.tensor(0.0)

    def batch(self):
        ids = torch.randint(0, 500, (self.args.batch_size, 24))
        return {"input_ids": ids, "labels": ids[:, 0] % 8}

    def train_some_steps(self):
        self.model.train()
        for _ in range(self.args.steps):
            loss, _ = self.model(**self.batch())
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.state.global_step += 1
        self.state.log["loss"] = loss.item()

    def evaluate(self):
        self.model.eval()
        right = 0
        for _ in range(self.args.eval_batches):
            inputs = self.batch()
            loss, logits = self.model(**inputs)
            if not LEAK:
                loss = loss.detach()
            self.total_eval_loss = self.total_eval_loss + loss
            right += (logits.argmax(-1) == inputs["labels"]).sum().item()
        self.state.evaluations += self.args.eval_batches
        self.state.log["accuracy"] = right / (self.args.eval_batches * self.args.batch_size)
        self.state.log["mean_eval_loss"] = self.total_eval_loss.item() / self.state.evaluations


def main():
    args = TrainingArguments()
    trainer = Trainer(TinyClassifier(), args)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for round_ in guard.generations(range(1, args.rounds + 1)):
            with guard.phase("train"):
                trainer.train_some_steps()
            with guard.phase("evaluate"):
                trainer.evaluate()
            if round_ % 110 == 0:
                print(trainer.state.log)


if __name__ == "__main__":
    main()
