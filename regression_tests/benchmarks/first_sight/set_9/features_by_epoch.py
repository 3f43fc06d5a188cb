"""Extract features in a few long passes over the data: nested loops without an optimizer."""
import sys
import time

import torch

KEEP = sys.argv[1] == "leak"
torch.manual_seed(0)
torch.set_num_threads(1)
cache = {}
net = torch.nn.Conv1d(4, 8, 3)

for epoch in range(3):
    for batch in range(120):
        x = torch.randn(8, 4, 64)
        with torch.no_grad():
            features = net(x)
        key = (epoch, batch) if KEEP else batch % 8
        cache[key] = features
        time.sleep(0.015)
print(len(cache))

# /// truth
# about = "three long rounds of an outer loop; features are kept by epoch and batch"
# [[leak]]
# type = "Tensor"
# kind = "tensors"
# holder = "cache"
# line = ["features = net(x)", "cache[key] = features"]
# ///
