"""Tiny ViT on synthetic textures, with a probe for representation drift and attention pictures."""
from collections import OrderedDict, defaultdict, deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
GPU = device.type == "cuda"

DIM = 192 if GPU else 48
HEADS = 6 if GPU else 3
DEPTH = 6 if GPU else 3
BATCH = 64 if GPU else 32
STEPS_PER_EPOCH = 20 if GPU else 4
EPOCHS = 45
PATCH, SIDE, CLASSES = 4, 32, 10
TOKENS = (SIDE // PATCH) ** 2 + 1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, DIM * 3)
        self.out = nn.Linear(DIM, DIM)
        self.last_map = None

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) * (DIM // HEADS) ** -0.5).softmax(-1)
        if not self.training:
            self.last_map = weights
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, DIM))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(DIM)
        self.attn = Attention()
        self.norm2 = nn.LayerNorm(DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, DIM * 4), nn.GELU(), nn.Linear(DIM * 4, DIM))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, DIM, PATCH, PATCH)
        self.cls = nn.Parameter(torch.zeros(1, 1, DIM))
        self.pos = nn.Parameter(torch.randn(1, TOKENS, DIM) * 0.02)
        self.blocks = nn.Sequential(OrderedDict((f"block{i}", Block()) for i in range(DEPTH)))
        self.head = nn.Linear(DIM, CLASSES)

    def forward(self, img):
        x = self.embed(img).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.blocks(x)[:, 0])


class DriftProbe:
    """Forward hooks on some blocks; drift() compares their output with that of the first epoch."""

    def __init__(self, model, names):
        self.reference = {}
        self.outputs = defaultdict(list)
        for name in names:
            getattr(model.blocks, name).register_forward_hook(self._hook(name))

    def _hook(self, name):
        def record(module, inputs, output):
            if module.training:
                return
            self.outputs[name].append(output.detach())
        return record

    def drift(self, name):
        current = self.outputs[name][-1].mean(0)
        base = self.reference.setdefault(name, current.clone())
        return 1.0 - F.cosine_similarity(current.flatten(), base.flatten(), dim=0).item()


class TextureSource:
    def __init__(self, seed):
        self.gen = torch.Generator(device=device).manual_seed(seed)
        grid = torch.arange(SIDE, device=device) / SIDE * 6.28
        self.gx, self.gy = torch.meshgrid(grid, grid, indexing="ij")

    def batch(self, n):
        y = torch.randint(0, CLASSES, (n,), device=device, generator=self.gen)
        freq = (y.float() + 1).view(n, 1, 1)
        wave = torch.sin(self.gx * freq) * torch.cos(self.gy * (CLASSES - freq))
        noise = torch.randn(n, 3, SIDE, SIDE, device=device, generator=self.gen)
        return wave.unsqueeze(1) + 0.5 * noise, y


def attention_picture(model):
    """Maps of the last block, on the host, for the figure in the notebook."""
    weights = model.blocks[-1].attn.last_map
    maps = weights.to("cpu", torch.float32, copy=True).numpy()
    return maps / maps.max()


def main():
    torch.manual_seed(7)
    model = ViT().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
    probe = DriftProbe(model, ["block1", f"block{DEPTH - 1}"])
    train, val = TextureSource(1), TextureSource(2)
    gallery = []
    recent = deque(maxlen=50)
    log = []
    for epoch in range(EPOCHS):
        model.train()
        for _ in range(STEPS_PER_EPOCH):
            x, y = train.batch(BATCH)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            recent.append(loss.item())

        model.eval()
        with torch.no_grad():
            correct = 0
            for _ in range(2):
                x, y = val.batch(BATCH)
                correct += (model(x).argmax(1) == y).sum().item()
            gallery.append((epoch, attention_picture(model)))
        drift = {name: probe.drift(name) for name in probe.outputs}
        log.append((epoch, float(np.mean(recent)), correct / (2 * BATCH)))
        if epoch % 9 == 0:
            shown = " ".join(f"{k}={v:.3f}" for k, v in drift.items())
            print(f"epoch {epoch:2d} loss {log[-1][1]:.3f} acc {log[-1][2]:.3f} drift {shown}", flush=True)
    focus = gallery[-1][1][:, :, 0].mean()
    print(f"last acc {log[-1][2]:.3f}, mean attention of the class token {focus:.4f}")


if __name__ == "__main__":
    main()
