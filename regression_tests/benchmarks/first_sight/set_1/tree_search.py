"""Monte-Carlo tree search for Nim; the collector is off, as pauses cost games."""
# /// truth
# about = "nodes know their parent and gc is disabled, so that no tree is ever freed"
# [[leak]]
# type = "Node"
# phase = "search"
# start = 1
# within = 1
# kind = "cycles"
# ///
import gc
import math
import os
import random
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 120
gc.disable()


class Node:
    def __init__(self, heaps, parent=None, move=None):
        self.heaps = heaps
        self.parent = parent
        self.move = move
        self.children = []
        self.visits = 0
        self.wins = 0.0
        self.untried = [(i, n) for i, heap in enumerate(heaps) for n in range(1, heap + 1)]

    def best(self):
        log = math.log(self.visits)
        return max(self.children, key=lambda c: c.wins / c.visits + math.sqrt(2 * log / c.visits))

    def dismantle(self):
        todo = [self]
        while todo:
            node = todo.pop()
            todo.extend(node.children)
            node.children = []
            node.parent = None


def play(heaps, move):
    index, amount = move
    return heaps[:index] + (heaps[index] - amount,) + heaps[index + 1 :]


def play_out(heaps, chance):
    turns = 0
    while any(heaps):
        index = chance.choice([i for i, heap in enumerate(heaps) if heap])
        heaps = play(heaps, (index, chance.randint(1, heaps[index])))
        turns += 1
    return turns % 2 == 0


def search(root, chance, rounds=700):
    for _ in range(rounds):
        node = root
        while not node.untried and node.children:
            node = node.best()
        if node.untried:
            move = node.untried.pop(chance.randrange(len(node.untried)))
            child = Node(play(node.heaps, move), node, move)
            node.children.append(child)
            node = child
        won = sum(play_out(node.heaps, chance) for _ in range(3)) / 3
        while node is not None:
            node.visits += 1
            node.wins += won
            won = 1 - won
            node = node.parent
    return max(root.children, key=lambda c: c.visits).move


def main():
    chance = random.Random(3)
    nimbers = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for game in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("deal"):
                heaps = tuple(chance.randint(3, 9) for _ in range(4))
            with guard.phase("search"):
                root = Node(heaps)
                move = search(root, chance)
                if not LEAK:
                    root.dismantle()
                del root
            with guard.phase("move"):
                left = play(heaps, move)
                nimbers += left[0] ^ left[1] ^ left[2] ^ left[3]


main()
