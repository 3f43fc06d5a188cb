"""Aggregates a stream of trades and audits a sample of the same stream."""

# /// truth
# about = """itertools.tee of which the second iterator lags ever further behind the first"""
# [[leak]]
# type = ["Trade", "_tee_dataobject", "_tee"]
# holder = ["audited", "trades"]
# start = 1
# ///
import itertools
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from leakguard import LeakGuard

KEEP_PACE = sys.argv[1] == "clean"
GENERATIONS = 450
TRADES = 40
SYMBOLS = ("ALFA", "BETA", "GAMA", "DELT")


@dataclass(slots=True)
class Trade:
    number: int
    symbol: str
    price: float
    amount: int


def exchange(seed: int) -> Iterator[Trade]:
    """Trades without end, by a random walk of the prices."""
    draw = random.Random(seed)
    prices = dict.fromkeys(SYMBOLS, 100.0)
    for number in itertools.count(1):
        symbol = draw.choice(SYMBOLS)
        prices[symbol] *= 1.0 + draw.gauss(0.0, 0.001)
        yield Trade(number, symbol, prices[symbol], draw.randint(1, 500))


class Desk:
    def __init__(self, stream: Iterator[Trade]) -> None:
        self.trades, self.audited = itertools.tee(stream)
        self.turnover = dict.fromkeys(SYMBOLS, 0.0)
        self.suspicious = 0

    def aggregate(self) -> None:
        window: dict[str, list[float]] = {symbol: [] for symbol in SYMBOLS}
        for trade in itertools.islice(self.trades, TRADES):
            self.turnover[trade.symbol] += trade.price * trade.amount
            prices = window[trade.symbol]
            prices.append(trade.price)
            for length in (3, 5, 8, 13, 21, 34):
                recent = prices[-length:]
                mean = sum(recent) / len(recent)
                sum((price - mean) ** 2 for price in recent)

    def audit(self) -> None:
        """Looks closely at one trade of each batch."""
        if KEEP_PACE:
            batch = itertools.islice(self.audited, TRADES)
            trade = next(batch)
            for _ in batch:
                pass
        else:
            trade = next(self.audited)
        digits = str(trade.price * trade.amount)
        for _ in range(200):
            digits = str(int("".join(sorted(digits.replace(".", "")))[:12]) * 1.37)
        self.suspicious += digits.startswith("9")


def main() -> None:
    desk = Desk(exchange(seed=5))
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            for _ in range(14):
                desk.aggregate()
                desk.audit()


if __name__ == "__main__":
    main()
