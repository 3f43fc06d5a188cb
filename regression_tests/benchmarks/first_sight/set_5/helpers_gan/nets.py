from torch import nn


def mlp(sizes, last=None):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    layers.append(nn.Linear(sizes[-2], sizes[-1]))
    if last is not None:
        layers.append(last)
    return nn.Sequential(*layers)


def make_pair(noise=8, hidden=96):
    return mlp([noise, hidden, hidden, 2]), mlp([2, hidden, hidden, 1])
