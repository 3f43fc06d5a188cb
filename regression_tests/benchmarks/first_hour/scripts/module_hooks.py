"""Activation statistics by forward hooks, registered at every evaluation and never removed."""
import sys
import torch
from torch import nn
from leakguard import LeakGuard
from leakguard.integrations import torch_loop

CLEAN = "clean" in sys.argv


class ActivationProbe:
    def __init__(self, model):
        self.seen = {}
        self.handles = []
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                self.handles.append(module.register_forward_hook(self.make(name)))

    def make(self, name):
        def hook(module, args, output):
            self.seen[name] = output.detach().clone()
        return hook

    def summary(self):
        return {k: float(v.abs().mean()) for k, v in self.seen.items()}

    def remove(self):
        for h in self.handles:
            h.remove()


def evaluate(model, x):
    probe = ActivationProbe(model)
    with torch.no_grad():
        model(x)
    s = probe.summary()
    if CLEAN:
        probe.remove()
    return s


model = nn.Sequential(nn.Linear(50, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 5))
opt = torch.optim.Adam(model.parameters())
x, y = torch.randn(400, 50), torch.randn(400, 5)
guard = LeakGuard(out=f"s18.{'clean' if CLEAN else 'leaky'}.jsonl")
torch_loop.follow_optimizer(opt, guard, every=20)
with guard:
    for epoch in range(25):
        for i in range(0, 400, 20):
            opt.zero_grad()
            nn.functional.mse_loss(model(x[i:i + 20]), y[i:i + 20]).backward()
            opt.step()
        stats = evaluate(model, x)
print(stats)
