"""An activation probe is installed before every validation and never removed."""
import sys
import torch
from torch import nn
import leakguard

CLEAN = "clean" in sys.argv
torch.set_num_threads(1)


class ActivationProbe:
    def __init__(self, module):
        self.activations = []
        self.handle = module.register_forward_hook(self.record)

    def record(self, module, inputs, output):
        if len(self.activations) < 4:
            self.activations.append(output.detach().clone())


class Runner:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 10))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def train(self):
        for _ in range(20):
            self.optimizer.zero_grad()
            self.net(torch.randn(64, 128)).pow(2).mean().backward()
            self.optimizer.step()

    def validate(self):
        probe = ActivationProbe(self.net[1])
        with torch.no_grad():
            for _ in range(4):
                self.net(torch.randn(64, 128))
        if CLEAN:
            probe.handle.remove()
        return torch.cat(probe.activations).std().item()


runner = Runner()
guard = leakguard.LeakGuard(out=f"forward_hooks{'_clean' if CLEAN else ''}.jsonl")
with guard:
    for epoch in guard.generations(range(10)):
        with guard.phase("train"):
            runner.train()
        with guard.phase("validate"):
            runner.validate()
