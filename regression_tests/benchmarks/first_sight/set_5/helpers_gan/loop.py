import itertools

import torch
import torch.nn.functional as F


def ring(n, gen, modes=8):
    k = torch.randint(0, modes, (n,), generator=gen)
    a = k * (6.28318 / modes)
    return torch.stack([a.cos(), a.sin()], 1) * 2 + 0.05 * torch.randn(n, 2, generator=gen)


def train(gen_net, disc, steps, keeper, log_every=200, snapshot_every=5, noise=8, seed=0):
    gen = torch.Generator().manual_seed(seed)
    g_opt = torch.optim.Adam(gen_net.parameters(), lr=1e-3, betas=(0.5, 0.9))
    d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for step in itertools.count(1):
        for _ in range(3):
            real = ring(256, gen)
            with torch.no_grad():
                fake = gen_net(torch.randn(256, noise, generator=gen))
            d_loss = F.softplus(-disc(real)).mean() + F.softplus(disc(fake)).mean()
            d_opt.zero_grad()
            d_loss.backward()
            d_opt.step()
        g_loss = F.softplus(-disc(gen_net(torch.randn(256, noise, generator=gen)))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        if step % snapshot_every == 0:
            keeper.add(gen_net)
        if step % log_every == 0:
            print(f"step {step}  d {d_loss.item():.3f}  g {g_loss.item():.3f}", flush=True)
        if step >= steps:
            return keeper.average()
