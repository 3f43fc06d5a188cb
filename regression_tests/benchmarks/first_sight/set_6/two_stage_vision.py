"""Pretrains a small autoencoder, then finetunes its encoder as a classifier."""
# /// truth
# about = "a finetune loop that registers a forward hook on the encoder each round and never removes it"
# [[leak]]
# type = ["Probe", "Tensor"]
# holder = ["_forward_hooks", "outputs"]
# kind = ["instances", "tensors"]
# line = ["probe = Probe(encoder[2])", "self.handle = module.register_forward_hook(self.catch)", "self.outputs.append(output.detach().clone())"]
# ///
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"


class Probe:
    """Collects the activations of one module during a round."""

    def __init__(self, module):
        self.outputs = []
        self.open = True
        self.handle = module.register_forward_hook(self.catch)

    def catch(self, module, inputs, output):
        if self.open:
            self.outputs.append(output.detach().clone())

    def dead_units(self):
        acts = torch.cat(self.outputs)
        return (acts.amax(dim=0) <= 0).float().mean().item()

    def close(self):
        self.open = False
        if MODE == "clean":
            self.handle.remove()


def make_images(n, gen):
    labels = torch.randint(0, 4, (n,), generator=gen)
    base = torch.rand(n, 1, 16, 16, generator=gen) * 0.4
    for k in range(4):
        base[labels == k, :, 4 * k:4 * k + 4, :] += 0.6
    return base, labels


def pretrain(encoder, decoder, gen, rounds):
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
    for i in range(rounds):
        x, _ = make_images(48, gen)
        rec = decoder(encoder(x))
        loss = F.mse_loss(rec, x.flatten(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 100 == 0:
            print(f"pretrain {i} mse {loss.item():.4f}", flush=True)


def finetune(encoder, head, gen, rounds):
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.02, momentum=0.9)
    hits = 0
    for i in range(rounds):
        probe = Probe(encoder[2])
        for _ in range(3):
            x, y = make_images(24, gen)
            logits = head(encoder(x))
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits += (logits.argmax(1) == y).sum().item()
        dead = probe.dead_units()
        probe.close()
        if i % 60 == 0:
            print(f"finetune {i} loss {loss.item():.4f} dead {dead:.2f}", flush=True)
    return hits / (rounds * 72)


if __name__ == "__main__":
    torch.manual_seed(4)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(8)
    encoder = nn.Sequential(nn.Conv2d(1, 6, 3, stride=2, padding=1), nn.ReLU(),
                            nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.ReLU(),
                            nn.Flatten(), nn.Linear(128, 32), nn.ReLU())
    decoder = nn.Sequential(nn.Linear(32, 256), nn.Sigmoid())
    pretrain(encoder, decoder, gen, rounds=700)
    accuracy = finetune(encoder, nn.Linear(32, 4), gen, rounds=420)
    print("accuracy", round(accuracy, 3))
