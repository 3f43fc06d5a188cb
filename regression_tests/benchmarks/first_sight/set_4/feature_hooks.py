"""Optimises a picture towards the features of a style picture, read through forward hooks."""

# /// truth
# about = """feature extraction that removes its forward hooks but keeps their handles, as in
# omerbt/Splice issue 134"""
# [[leak]]
# type = ["RemovableHandle", "tuple"]
# holder = "hook_handles"
# phase = "extract"
# start = 1
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

FORGET_HANDLES = sys.argv[1] == "clean"
GENERATIONS = 180
SIDE = 24

torch.manual_seed(134)
torch.set_num_threads(1)


class FeatureExtractor:
    """A frozen stack of convolutions whose inner outputs can be read."""

    def __init__(self, depth: int = 4, channels: int = 8) -> None:
        blocks = []
        for level in range(depth):
            conv = nn.Conv2d(3 if level == 0 else channels, channels, 3, padding=1)
            blocks.append(nn.Sequential(conv, nn.ReLU()))
        self.model = nn.Sequential(*blocks).requires_grad_(False)
        self.hook_handles: list[torch.utils.hooks.RemovableHandle] = []
        self.outputs: list[torch.Tensor] = []

    def _store(self, module: nn.Module, args: tuple, output: torch.Tensor) -> None:
        self.outputs.append(output)

    def _register_hooks(self) -> None:
        for block in self.model:
            self.hook_handles.append(block.register_forward_hook(self._store))

    def _clear_hooks(self) -> None:
        for handle in self.hook_handles:
            handle.remove()
        if FORGET_HANDLES:
            self.hook_handles = []

    def features(self, picture: torch.Tensor) -> list[torch.Tensor]:
        self._register_hooks()
        self.outputs = []
        self.model(picture)
        self._clear_hooks()
        outputs, self.outputs = self.outputs, []
        return outputs


def gram(features: torch.Tensor) -> torch.Tensor:
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[-1]


def main() -> None:
    extractor = FeatureExtractor()
    content = torch.rand(1, 3, SIDE, SIDE)
    style = torch.rand(1, 3, SIDE, SIDE)
    with torch.no_grad():
        targets = [gram(one) for one in extractor.features(style)]
    picture = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([picture], lr=0.02)

    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            for _ in range(5):
                with guard.phase("extract"):
                    features = extractor.features(picture)
                    with torch.no_grad():
                        kept = extractor.features(content)[-1]
                with guard.phase("update"):
                    pairs = zip(features, targets, strict=True)
                    loss = sum((gram(f) - t).square().mean() for f, t in pairs)
                    loss = loss + 0.1 * (features[-1] - kept).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    with torch.no_grad():
                        picture.clamp_(0.0, 1.0)


if __name__ == "__main__":
    main()
