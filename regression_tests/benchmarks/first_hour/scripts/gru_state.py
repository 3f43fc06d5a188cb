"""A stateful GRU scores a stream; its hidden state is carried on without detach()."""
import sys
import torch
from torch import nn
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
torch.set_num_threads(1)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(32, 128, batch_first=True)
        self.head = nn.Linear(128, 1)
        self.state = None

    def forward(self, chunk):
        out, state = self.rnn(chunk, self.state)
        self.state = state.detach() if CLEAN else state
        return self.head(out[:, -1])


scorer = Scorer()
guard = LeakGuard(out="gru_state_clean.jsonl" if CLEAN else "gru_state.jsonl")
with guard:
    for minute in range(12):
        with guard.generation():
            for _ in range(20):
                with guard.phase("score"):
                    score = scorer(torch.randn(16, 10, 32)).mean().item()
            if minute % 4 == 0:
                print(minute, round(score, 3))
