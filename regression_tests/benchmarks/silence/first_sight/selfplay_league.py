"""Self-play tic-tac-toe with a policy network, a league of past opponents and an opening book."""
import copy
import random
import sys
from collections import defaultdict, deque

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(8)
random.seed(8)

LEAK = sys.argv[1] == "leak"
GENERATIONS = 24
GAMES = 16
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class Policy(nn.Module):
    def __init__(self, width=160):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 9))

    def forward(self, boards):
        return self.net(boards)


class Move:
    """One ply, with what the viewer shows: the board before it and the probabilities."""

    def __init__(self, board, probs, cell, player):
        self.board = list(board)
        self.probs = probs
        self.cell = cell
        self.player = player


def encode(board, player):
    mine = [1.0 if c == player else 0.0 for c in board]
    theirs = [1.0 if c == -player else 0.0 for c in board]
    return torch.tensor(mine + theirs)


def winner(board):
    for a, b, c in LINES:
        if board[a] and board[a] == board[b] == board[c]:
            return board[a]
    return 0


def play(first, second):
    board, moves, player = [0] * 9, [], 1
    while True:
        policy = first if player == 1 else second
        with torch.no_grad():
            logits = policy(encode(board, player))
        legal = torch.tensor([c == 0 for c in board])
        probs = torch.softmax(logits.masked_fill(~legal, -1e9), 0)
        cell = int(torch.multinomial(probs, 1))
        moves.append(Move(board, probs.tolist(), cell, player))
        board[cell] = player
        result = winner(board)
        if result or all(board):
            return moves, result
        player = -player


class OpeningBook:
    def __init__(self):
        self.lines = defaultdict(list)

    def add(self, moves, result):
        key = moves[0].cell
        self.lines[key].append((moves, result))
        if not LEAK:
            del self.lines[key][:-4]

    def best_reply(self, first):
        games = self.lines[first][-4:]
        scores = {moves[1].cell: -result for moves, result in games}
        return max(scores, key=scores.get, default=None)


class League:
    def __init__(self):
        self.learner = Policy()
        self.opt = torch.optim.SGD(self.learner.parameters(), lr=0.05)
        self.opponents = [] if LEAK else deque(maxlen=6)
        self.book = OpeningBook()
        self.wins = []

    def play_generation(self):
        batch = []
        for _ in range(GAMES):
            rival = random.choice(self.opponents) if self.opponents else self.learner
            moves, result = play(self.learner, rival)
            self.book.add(moves, result)
            batch.append((moves, result))
        self.wins.append(sum(r == 1 for _, r in batch) / GAMES)
        return batch

    def improve(self, batch):
        boards = torch.stack([encode(m.board, 1) for ms, _ in batch for m in ms if m.player == 1])
        cells = torch.tensor([m.cell for ms, _ in batch for m in ms if m.player == 1])
        gains = torch.tensor([float(r) for ms, r in batch for m in ms if m.player == 1])
        for _ in range(4):
            logp = torch.log_softmax(self.learner(boards), 1).gather(1, cells[:, None]).squeeze(1)
            loss = -(logp * gains).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    def promote(self):
        self.opponents.append(copy.deepcopy(self.learner))


league = League()
for gen in range(GENERATIONS):
    games = league.play_generation()
    league.improve(games)
    league.promote()
    if gen % 6 == 5:
        print(f"gen {gen + 1}: win rate {league.wins[-1]:.2f} reply {league.book.best_reply(4)}")
