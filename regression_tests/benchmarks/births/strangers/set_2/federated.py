"""Federated averaging with a server-side optimiser that also fits one offset for each cohort."""
import contextvars
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAKY = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(21)
CLIENTS, ROUNDS, WIDTH = 4, 40, 128
CURRENT = contextvars.ContextVar("federated_round", default=None)


class RoundInfo:
    def __init__(self, number, parent):
        self.number = number
        self.parent = parent
        self.updates = []


def make_net():
    return nn.Sequential(nn.Linear(64, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 10))


class Client:
    def __init__(self, index):
        self.shift = torch.randn(64) * 0.3
        self.index = index
        self.local = make_net()

    def fit(self, weights):
        self.local.load_state_dict(weights)
        optimizer = torch.optim.SGD(self.local.parameters(), 0.05)
        for _ in range(4):
            x = torch.randn(64, 64) + self.shift
            loss = F.cross_entropy(self.local(x), (x[:, :10]).argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        flat = nn.utils.parameters_to_vector(self.local.parameters()).detach().clone()
        CURRENT.get().updates.append(flat)
        return loss.item()


class Server:
    def __init__(self):
        self.net = make_net()
        self.optimizer = torch.optim.Adam(self.net.parameters(), 0.01)
        self.losses = []

    def open_cohort(self):
        offset = nn.Parameter(torch.zeros(300, WIDTH))
        self.optimizer.add_param_group({"params": [offset], "lr": 0.1})
        return offset

    def aggregate(self, info, offset):
        mean = torch.stack(info.updates).mean(0)
        start = 0
        self.optimizer.zero_grad()
        for parameter in self.net.parameters():
            piece = mean[start : start + parameter.numel()].view_as(parameter)
            parameter.grad = parameter.detach() - piece
            start += parameter.numel()
        (offset - torch.randn(300, WIDTH)).square().mean().backward()
        self.optimizer.step()

    def close_cohort(self, offset):
        self.optimizer.param_groups.pop()
        self.optimizer.state.pop(offset)


def main():
    server, clients = Server(), [Client(index) for index in range(CLIENTS)]
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            info = RoundInfo(number, CURRENT.get())
            token = CURRENT.set(info)
            with guard.phase("clients"):
                weights = server.net.state_dict()
                losses = [client.fit(weights) for client in clients]
            with guard.phase("aggregate"):
                offset = server.open_cohort()
                server.aggregate(info, offset)
                if not LEAKY:
                    server.close_cohort(offset)
            if not LEAKY:
                CURRENT.reset(token)
            server.losses.append(sum(losses) / CLIENTS)
            time.sleep(0.05)
    print("loss", round(server.losses[-1], 3))


main()
