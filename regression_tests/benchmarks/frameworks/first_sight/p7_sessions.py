"""Visits of a shop, made from a stream of log lines in batches; statistics of each page are kept."""
import random
import sys

from leakguard import LeakGuard

MODE = sys.argv[1]
PAGES = [f"/shop/{name}" for name in ("home", "list", "item", "cart", "pay", "done", "help")]


class Visit:
    __slots__ = ("visitor", "pages", "started")

    def __init__(self, visitor, started):
        self.visitor = visitor
        self.started = started
        self.pages = []


class Sessions:
    def __init__(self):
        self.open = {}
        self.per_page = {page: [0, 0.0] for page in PAGES}
        self.closed = 0

    def feed(self, line):
        time, visitor, what, page, ms = line.split(" ")
        if visitor not in self.open:
            self.open[visitor] = Visit(visitor, int(time))
        visit = self.open[visitor]
        visit.pages.append((int(time), page))
        count = self.per_page[page]
        count[0] += 1
        count[1] += (float(ms) - count[1]) / count[0]
        if what == "logout":
            del self.open[visitor]
            self.closed += 1

    def expire(self, before):
        for visitor in [v for v, visit in self.open.items() if visit.started < before]:
            del self.open[visitor]


def lines_of(batch, rng):
    for visitor in range(4000):
        name = f"u{batch}x{visitor}"
        for view in range(rng.randint(3, 9)):
            yield f"{batch * 1000 + view} {name} view {rng.choice(PAGES)} {rng.random() * 80:.2f}"
        if rng.random() < 0.95:  # the others just close their browser
            yield f"{batch * 1000 + 10} {name} logout /shop/done 1.00"


def main():
    rng = random.Random(9)
    sessions = Sessions()
    guard = LeakGuard(out=f"runs/first_sight/p7-{MODE}.jsonl")
    with guard:
        for batch in guard.generations(range(1, 61)):
            with guard.phase("read"):
                lines = list(lines_of(batch, rng))
            with guard.phase("feed"):
                for line in lines:
                    sessions.feed(line)
            if MODE == "clean":
                sessions.expire(before=(batch - 1) * 1000)
    print("RESULT", sessions.closed, [(p, c, round(m, 6)) for p, (c, m) in sessions.per_page.items()])


main()
