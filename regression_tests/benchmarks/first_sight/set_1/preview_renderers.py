"""A generator of levels that asks a helper process to render a preview now and then."""
# /// truth
# about = "each preview starts a helper process that is never told to end"
# [[leak]]
# type = "Popen"
# holder = "renderers"
# phase = "preview"
# start = 30
# within = 3
# kind = ["children", "instances"]
# ///
import os
import random
import subprocess
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 120


class PreviewService:
    def __init__(self):
        self.renderers = []
        self.shown = 0

    def render(self, level):
        helper = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.renderers.append(helper)
        helper.stdin.write(level.encode() + b"\n")
        helper.stdin.flush()
        self.shown += len(helper.stdout.readline())
        if not LEAK:
            self.renderers.remove(helper)
            helper.stdin.close()
            helper.stdout.close()
            helper.wait()

    def shut_down(self):
        for helper in self.renderers:
            helper.stdin.close()
            helper.stdout.close()
            helper.wait()


def grow_level(chance, size=96):
    cells = [[chance.random() < 0.45 for _ in range(size)] for _ in range(size)]
    for _ in range(3):
        cells = [
            [
                sum(cells[(r + i) % size][(c + j) % size] for i in (-1, 0, 1) for j in (-1, 0, 1)) >= 5
                for c in range(size)
            ]
            for r in range(size)
        ]
    return cells


def main():
    chance = random.Random(6)
    service = PreviewService()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("grow"):
                level = grow_level(chance)
            with guard.phase("preview"):
                if generation >= 30 and generation % 3 == 0:
                    service.render("".join("#" if cell else "." for row in level for cell in row))
    service.shut_down()


main()
