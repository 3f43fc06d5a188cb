"""Self-play Q-learning for tic-tac-toe with a dictionary of positions."""
import random

# /// truth
# about = "self-play whose table of positions saturates because the game is finite"
# ///

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    for a, b, c in LINES:
        if board[a] != "." and board[a] == board[b] == board[c]:
            return board[a]
    return "=" if "." not in board else None


class Table:
    def __init__(self):
        self.values = {}

    def row(self, board):
        row = self.values.get(board)
        if row is None:
            row = self.values[board] = {i: 0.0 for i, c in enumerate(board) if c == "."}
        return row

    def choose(self, board, eps, rng):
        row = self.row(board)
        if rng.random() < eps:
            return rng.choice(list(row))
        top = max(row.values())
        return rng.choice([m for m, v in row.items() if v == top])


def play(table, eps, rng):
    board, side, moves = "." * 9, "X", []
    while True:
        m = table.choose(board, eps, rng)
        moves.append((board, m))
        board = board[:m] + side + board[m + 1:]
        result = winner(board)
        if result:
            return result, moves
        side = "O" if side == "X" else "X"


def learn(table, result, moves, alpha=0.2, gamma=0.95):
    value = 0.0 if result == "=" else 1.0
    for board, m in reversed(moves):
        row = table.row(board)
        row[m] += alpha * (value - row[m])
        value = -gamma * max(row.values())


def main():
    rng = random.Random(17)
    table = Table()
    for generation in range(700):
        tally = {"X": 0, "O": 0, "=": 0}
        eps = max(0.1, 0.9 - generation / 500)
        for _ in range(520):
            result, moves = play(table, eps, rng)
            learn(table, result, moves)
            tally[result] += 1
        if generation % 70 == 0:
            print("generation", generation, tally, "positions", len(table.values))
    print("final positions", len(table.values))


if __name__ == "__main__":
    main()
