"""GAN on a ring of gaussians."""
import sys

import torch

from helpers_gan import SnapshotKeeper, make_pair, train

# /// truth
# about = "a GAN whose loop in a helper package keeps a copy of the weights every fifth step"
# [[leak]]
# type = ["Tensor", "dict", "OrderedDict"]
# holder = ["kept", "keeper"]
# kind = ["tensors", "container"]
# line = "self.kept.append({k: v.detach().clone() for k, v in model.state_dict().items()})"
# ///

torch.manual_seed(4)
torch.set_num_threads(1)
generator, discriminator = make_pair()
keeper = SnapshotKeeper(limit=None if sys.argv[1] == "leak" else 4)
weights = train(generator, discriminator, steps=900, keeper=keeper)
generator.load_state_dict(weights)
with torch.no_grad():
    sample = generator(torch.randn(500, 8))
print("mean radius %.3f" % sample.norm(dim=1).mean())
