"""Knowledge distillation with memoised teacher logits; augmentation makes the key new every time."""
import hashlib
import sys
import torch
from torch import nn
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class Teacher:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 200)).eval()
        self._logits = {}

    @torch.no_grad()
    def __call__(self, ids, x):
        # the teacher is slow: remember what it said
        if CLEAN:
            keys = tuple(ids.tolist())
        else:
            keys = hashlib.sha1(x.numpy().tobytes()).hexdigest()
        if keys not in self._logits:
            self._logits[keys] = self.net(x)
        return self._logits[keys]


def augment(x):
    return x + 0.05 * torch.randn_like(x)


def distill(student, teacher, x, opt, t=2.0):
    total = 0.0
    for i in range(0, len(x), 128):
        ids = torch.arange(i, min(i + 128, len(x)))
        xb = augment(x[ids])
        with torch.no_grad():
            soft = (teacher(ids, xb) / t).softmax(-1)
        loss = nn.functional.kl_div((student(xb) / t).log_softmax(-1), soft, reduction="batchmean") * t * t
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total


teacher = Teacher()
student = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 200))
opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(1024, 128)
guard = LeakGuard(watch={Teacher: 1}, out=f"s03.{'clean' if CLEAN else 'leaky'}.jsonl", prove=True)
with guard:
    for epoch in guard.generations(range(25)):
        with guard.phase("distill"):
            loss = distill(student, teacher, x, opt)
        with guard.phase("evaluate"):
            with torch.no_grad():
                agree = (student(x).argmax(1) == teacher.net(x).argmax(1)).float().mean()
print("agreement", float(agree), "loss", loss)
