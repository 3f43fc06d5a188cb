"""After the warm-up of the learning rate a probe keeps gradients to watch their noise."""

# /// truth
# about = "a probe of gradient noise that begins at round 91 keeps a copy of each gradient, for good"
# [[leak]]
# type = "Tensor"
# kind = ["tensors"]
# holder = ["grads", "NoiseProbe"]
# phase = "probe"
# start = 91
# ///
import os
import sys
from collections import defaultdict

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(14)


class NoiseProbe:
    def __init__(self, window: int) -> None:
        self.window = window
        self.grads: dict[str, list[torch.Tensor]] = defaultdict(list)

    def measure(self, model: nn.Module) -> float:
        noise = 0.0
        for name, parameter in model.named_parameters():
            kept = self.grads[name]
            kept.append(parameter.grad.detach().clone())
            if not LEAK:
                del kept[: -self.window]
            recent = torch.stack(kept[-self.window :])
            noise += recent.var(0, unbiased=False).mean().item()
        return noise


model = nn.Sequential(nn.Linear(40, 100), nn.GELU(), nn.Linear(100, 100), nn.GELU(), nn.Linear(100, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=90)
probe = NoiseProbe(window=8)
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for step in guard.generations(range(1, 271)):
        with guard.phase("train"):
            for _ in range(6):
                inputs = torch.randn(128, 40)
                loss = nn.functional.mse_loss(model(inputs), inputs[:, :5])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            warmup.step()
        with guard.phase("probe"):
            if step > 90:
                probe.measure(model)
