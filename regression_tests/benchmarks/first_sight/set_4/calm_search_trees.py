"""Plays a game of stones with Monte Carlo tree search; the nodes know their parents."""

# /// truth
# about = """search trees full of cycles, beside a large opening book that lives for the whole run:
# the collector takes its oldest generation seldom, so that dead trees pile up for a while"""
# ///
import math
import os
import random
import sys

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 320
BOOK_POSITIONS = 20_000
PLAYOUTS = 140


class BookEntry:
    """A position of the opening book with the moves that are known to be good."""

    __slots__ = ("moves", "value")

    def __init__(self, value: float) -> None:
        self.value = value
        self.moves: list[int] = []


class Node:
    """A position in the search tree: stones left and who got there how."""

    def __init__(self, stones: int, parent: "Node | None", move: int) -> None:
        self.stones = stones
        self.parent = parent
        self.move = move
        self.children: list[Node] = []
        self.untried = [take for take in (1, 2, 3, 4) if take <= stones]
        self.visits = 0
        self.wins = 0.0

    def best_child(self) -> "Node":
        log_visits = math.log(self.visits)
        return max(
            self.children,
            key=lambda child: (
                child.wins / child.visits + math.sqrt(2.0 * log_visits / child.visits)
            ),
        )


class Player:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.book: dict[int, BookEntry] = {}
        for position in range(BOOK_POSITIONS):
            entry = BookEntry(value=1.0 if position % 5 else 0.0)
            entry.moves.append(position % 5 or 1)
            self.book[position * 3 + 500] = entry

    def playout(self, stones: int) -> float:
        """1.0 if the player to move takes the last stone in a game at random."""
        turn = 0
        while stones > 0:
            stones -= min(stones, self.random.randint(1, 4))
            turn += 1
        return float(turn % 2)

    def search(self, stones: int) -> int:
        root = Node(stones, None, 0)
        for _ in range(PLAYOUTS):
            node = root
            while not node.untried and node.children:
                node = node.best_child()
            if node.untried:
                take = node.untried.pop(self.random.randrange(len(node.untried)))
                child = Node(node.stones - take, node, take)
                node.children.append(child)
                node = child
            won = 1.0 - self.playout(node.stones)
            climb: Node | None = node
            while climb is not None:
                climb.visits += 1
                climb.wins += won
                won = 1.0 - won
                climb = climb.parent
        return max(root.children, key=lambda child: child.visits).move

    def choose(self, stones: int) -> int:
        entry = self.book.get(stones)
        return entry.moves[0] if entry is not None else self.search(stones)


def main() -> None:
    player = Player(seed=71)
    moves = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            stones = 24 + generation % 9
            while stones > 0:
                stones -= player.choose(stones)
                moves += 1


if __name__ == "__main__":
    main()
