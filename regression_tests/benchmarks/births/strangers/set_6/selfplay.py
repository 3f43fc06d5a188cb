import gc
import math
import random
import sys
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

MODE = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(2)
random.seed(2)
if MODE != "fixed":
    gc.disable()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(9, 64), nn.ReLU())
        self.policy = nn.Linear(64, 9)
        self.value = nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.policy(h), torch.tanh(self.value(h))


class Node:
    def __init__(self, board, player, parent=None, prior=1.0):
        self.board, self.player, self.parent, self.prior = board, player, parent, prior
        self.children = {}
        self.visits, self.total = 0, 0.0

    def pick(self):
        scale = math.sqrt(self.visits + 1)
        return max(
            self.children.items(),
            key=lambda mc: -mc[1].total / (mc[1].visits + 1)
            + 1.4 * mc[1].prior * scale / (1 + mc[1].visits),
        )

    def expand(self, net):
        with torch.no_grad():
            logits, value = net(torch.tensor(self.board, dtype=torch.float32) * self.player)
        priors = torch.softmax(logits, 0).tolist()
        for move, mark in enumerate(self.board):
            if mark == 0:
                board = list(self.board)
                board[move] = self.player
                self.children[move] = Node(board, -self.player, self, priors[move])
        return float(value)

    def backup(self, value):
        node = self
        while node is not None:
            node.visits += 1
            node.total += value
            value, node = -value, node.parent


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(b):
    return next((b[i] for i, j, k in LINES if b[i] != 0 and b[i] == b[j] == b[k]), 0)


def search(net, board, player, sims=60):
    root = Node(board, player)
    for _ in range(sims):
        node = root
        while node.children:
            _, node = node.pick()
        won = winner(node.board)
        node.backup(-1.0 if won else 0.0 if 0 not in node.board else node.expand(net))
    counts = [root.children[m].visits if m in root.children else 0 for m in range(9)]
    return [c / max(1, sum(counts)) for c in counts]


def play_game(net):
    board, player, rows = [0] * 9, 1, []
    while 0 in board and not winner(board):
        probs = search(net, board, player)
        rows.append(([s * player for s in board], probs, player))
        board[random.choices(range(9), [p + 1e-9 if board[i] == 0 else 0 for i, p in enumerate(probs)])[0]] = player
        player = -player
    result = winner(board)
    return [(b, p, float(result * who)) for b, p, who in rows]


def learn(net, opt, memory, step):
    rows = random.choices(memory, k=512)
    x = torch.tensor([r[0] for r in rows], dtype=torch.float32)
    target = torch.tensor([r[1] for r in rows])
    z = torch.tensor([r[2] for r in rows])
    weight = 1.0 / (1.0 + x.abs().sum(1))
    handle = net.policy.weight.register_hook(lambda grad: grad * weight.mean() * x.size(0) / 512)
    logits, value = net(x)
    loss = F.cross_entropy(logits, target) + F.mse_loss(value.squeeze(1), z)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if MODE == "fixed":
        handle.remove()
    return loss.item()


def main():
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    memory = deque(maxlen=400)
    for step in range(150):
        memory.extend(play_game(net))
        loss = learn(net, opt, memory, step)
        if step % 30 == 0:
            print(step, f"{loss:.3f}", len(memory))


main()
