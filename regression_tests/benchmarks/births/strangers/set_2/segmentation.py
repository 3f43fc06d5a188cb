"""Segmentation of synthetic blobs: training, thumbnails for the dashboard, tiles for the viewer."""
import mmap
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

BROKEN = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(6)
SIZE, CLASSES, ROUNDS = 160, 4, 36
TILE = 640 * 1024


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 16, 2, stride=2)
        self.out = nn.Conv2d(17, CLASSES, 1)

    def forward(self, image):
        h = F.relu(self.up(F.relu(self.mid(F.relu(self.down(image))))))
        return self.out(torch.cat([h, image], 1))


class Dashboard:
    """Shows a thumbnail of the newest predictions."""

    def __init__(self):
        self.thumbnails = []
        self.scores = []

    def show(self, probability):
        patch = probability[0, :, 72:88, 72:88]
        if BROKEN:
            self.thumbnails.append(patch)
        else:
            self.thumbnails = [*self.thumbnails[-3:], patch.clone()]


class TileServer:
    def __init__(self):
        self.tiles = {}

    def publish(self, name, labels):
        tile = mmap.mmap(-1, TILE)
        raw = labels.to(torch.uint8).numpy().tobytes()
        for start in range(0, TILE - len(raw) + 1, len(raw)):
            tile[start : start + len(raw)] = raw
        self.tiles[name] = tile
        return len(raw)

    def retire(self, name):
        self.tiles.pop(name).close()


def scenes(count):
    axis = torch.arange(SIZE, dtype=torch.float32)
    images, labels = [], []
    for _ in range(count):
        x, y, r = (torch.rand(3) * torch.tensor([100.0, 100.0, 30.0]) + 30).tolist()
        inside = (axis[:, None] - y) ** 2 + (axis[None] - x) ** 2 < r * r
        label = inside.long() * int(torch.randint(1, CLASSES, ()))
        images.append(label.float()[None] + 0.2 * torch.randn(1, SIZE, SIZE))
        labels.append(label)
    return torch.stack(images), torch.stack(labels)


net, board, server = TinyUNet(), Dashboard(), TileServer()
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
validation = scenes(3)
guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(1, ROUNDS + 1)):
        with guard.phase("train"):
            image, label = scenes(2)
            loss = F.cross_entropy(net(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with guard.phase("preview"):
            with torch.no_grad():
                probability = net(validation[0]).softmax(1)
            board.show(probability)
            board.scores.append((probability.argmax(1) == validation[1]).float().mean().item())
        with guard.phase("publish"):
            if number % 3 == 0:
                server.publish(f"r{number}", probability[0].argmax(0))
                if not BROKEN:
                    server.retire(f"r{number}")
        time.sleep(0.04)
print("score", round(board.scores[-1], 3))
