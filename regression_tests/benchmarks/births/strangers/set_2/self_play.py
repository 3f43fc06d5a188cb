"""Self-play of a small board game against a league of earlier selves."""
import copy
import random
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(2)
random.seed(2)
CELLS, MATCHES, FIRST_PROMOTION = 36, 78, 21


class Player:
    """A policy with a rating; every player that was ever promoted can be drawn as an opponent."""

    league = {}

    def __init__(self, name, net):
        self.name, self.net, self.rating = name, net, 1000.0

    def promote(self):
        Player.league[self.name] = self
        if not LEAK and len(Player.league) > 4:
            weakest = min(Player.league.values(), key=lambda player: player.rating)
            del Player.league[weakest.name]

    def move(self, board):
        with torch.no_grad():
            return self.net(board).masked_fill(board != 0, -1e9).argmax(-1)


def new_net():
    return nn.Sequential(nn.Linear(CELLS, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, CELLS))


def play(first, second, games=32):
    boards = torch.zeros(games, CELLS)
    trace = []
    for turn in range(16):
        mover, sign = (first, 1.0) if turn % 2 == 0 else (second, -1.0)
        choice = mover.move(sign * boards)
        if mover is first:
            trace.append((boards.clone(), choice))
        boards[torch.arange(games), choice] = sign
    score = (boards @ torch.linspace(-1, 1, CELLS)).sign()
    return trace, score


def learn(net, optimizer, trace, score):
    for boards, choice in trace:
        loss = (F.cross_entropy(net(boards), choice, reduction="none") * score).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    champion = Player("champion", new_net())
    Player("seed", new_net()).promote()
    optimizer = torch.optim.SGD(champion.net.parameters(), 0.01)
    openings = {}  # at most one for each cell
    ratings = []
    for match in range(1, MATCHES + 1):
        rival = random.choice(list(Player.league.values()))
        trace, score = play(champion, rival)
        learn(champion.net, optimizer, trace, score)
        gain = 16 * float(score.mean())
        champion.rating += gain
        rival.rating -= gain
        openings[int(trace[0][1][0])] = score.mean()
        ratings.append(champion.rating)
        if match >= FIRST_PROMOTION and match % 3 == 0:
            clone = Player(f"v{match}", copy.deepcopy(champion.net))
            clone.rating = champion.rating
            clone.promote()
        time.sleep(0.05)
    print("rating", round(ratings[-1], 1), "openings", len(openings))


main()
