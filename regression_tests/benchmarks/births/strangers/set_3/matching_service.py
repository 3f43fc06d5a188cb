"""An exchange simulator: every session opens books, matches orders, settles and archives."""
import sys
import weakref
from array import array
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np
from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
SESSIONS = 150
SYMBOLS = [f"SYM{i:02d}" for i in range(24)]


class Rejected(Exception):
    pass


@dataclass
class Trade:
    symbol: str
    price: float
    size: int
    tags: list


class Session:
    """One trading session; a new one is opened each round."""

    def __init__(self, number, rng):
        self.number = number
        self.books = {symbol: np.sort(rng.normal(100, 5, 3000)) for symbol in SYMBOLS}
        self.orders = rng.normal(100, 4, (len(SYMBOLS), 400))


def archive(blotter):
    return sum(trade.size for trade in blotter)


class Tape:
    """The last ticks by symbol."""

    def __init__(self):
        self.ticks = defaultdict(lambda: array("d"))

    def record(self, symbol, session, prices):
        key = symbol if FIXED else f"{symbol}@{session.number}"
        ticks = self.ticks[key]
        ticks.extend(prices)
        if len(ticks) > 600:
            del ticks[:-600]
        return sum(ticks[-50:]) / 50


class Engine:
    def __init__(self):
        self.tape = Tape()
        self.dead_letters = {}
        self.rejections = deque(maxlen=8)
        self.volume = dict.fromkeys(SYMBOLS, 0.0)

    def match(self, session):
        blotter = []
        finder = session if FIXED else self
        weakref.finalize(finder, archive, blotter)      # nobody loses trades when it goes
        for row, symbol in enumerate(SYMBOLS):
            book, orders = session.books[symbol], session.orders[row]
            places = np.searchsorted(book, orders)
            for place in places[:70]:
                price = float(book[min(int(place), len(book) - 1)])
                blotter.append(Trade(symbol, price, int(place) + 1, [symbol, session.number]))
            self.volume[symbol] = 0.9 * self.volume[symbol] + float(places.sum())
        return archive(blotter)

    def publish(self, session):
        level = 0.0
        for row, symbol in enumerate(SYMBOLS):
            prices = session.orders[row][:200].tolist()
            level += self.tape.record(symbol, session, prices)
        return level

    def margin(self, session, account):
        prices = np.stack(list(session.books.values()))
        paths = prices[:8] * np.linspace(0.9, 1.1, 8)[:, None]
        exposure = np.cumsum(paths, axis=1)
        if exposure[-1, -1] > exposure[0, 0]:
            raise Rejected(f"account {account}: margin call in session {session.number}")
        return exposure.max()

    def settle(self, session, account):
        try:
            return self.margin(session, account)
        except Rejected as error:
            if FIXED:
                self.rejections.append((account, str(error)))
            else:
                self.dead_letters[account, session.number] = error
            return 0.0


def main():
    rng = np.random.default_rng(11)
    engine = Engine()
    checksum = 0.0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(SESSIONS)):
            with guard.phase("open"):
                session = Session(number, rng)
            with guard.phase("match"):
                checksum += engine.match(session)
            with guard.phase("publish"):
                checksum += engine.publish(session)
            with guard.phase("settle"):
                for _ in range(65):
                    checksum += float(np.sort(session.orders, axis=None)[::7].sum())
                if number % 2 == 1:
                    checksum += engine.settle(session, account=number % 4)
    print(f"{checksum:.3f}")


main()
