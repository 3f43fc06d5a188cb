"""Parse daily order exports (a pipe separated format with quirks) into totals per customer."""
import os
import random
import sys
from collections import Counter, deque
from decimal import Decimal, InvalidOperation

from leakguard import LeakGuard

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
DAYS = 40
LINES_PER_DAY = 20_000


class BadLine:
    """A rejected line, with enough context to send it back to the shop."""

    def __init__(self, number, text, reason):
        self.number = number
        self.text = text
        self.reason = reason
        self.fields = text.split("|")


class Order:
    __slots__ = ("customer", "sku", "amount", "day")

    def __init__(self, customer, sku, amount, day):
        self.customer, self.sku, self.amount, self.day = customer, sku, amount, day


def export_of_day(day):
    rng = random.Random(day)
    lines = []
    for i in range(LINES_PER_DAY):
        amount = f"{rng.randrange(1, 90000) / 100:.2f}"
        if rng.random() < 0.007:
            amount = amount.replace(".", ",")
        lines.append(f"{day:03d}|C{rng.randrange(400):04d}|SKU{rng.randrange(3000)}|{amount}|order {i} of the day")
    return lines


def parse_line(text):
    day, customer, sku, amount, _ = text.split("|", 4)
    return Order(customer, sku, Decimal(amount), int(day))


def parse(lines, rejected=[]):
    orders = []
    for number, text in enumerate(lines, 1):
        try:
            orders.append(parse_line(text))
        except (ValueError, InvalidOperation) as err:
            rejected.append(BadLine(number, text, type(err).__name__))
    return orders, rejected


class Totals:
    def __init__(self):
        self.by_customer = Counter()
        self.recent_days = deque(maxlen=14)

    def add_day(self, day, orders):
        summary = Counter()
        for order in orders:
            summary[order.customer] += order.amount
        self.by_customer.update(summary)
        self.recent_days.append((day, summary))

    def trend(self):
        return [sum(s.values()) for _, s in self.recent_days]


def main():
    totals = Totals()
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for day in guard.generations(range(1, DAYS + 1)):
            with guard.phase("read"):
                lines = export_of_day(day)
            with guard.phase("parse"):
                if MODE == "leak":
                    orders, rejected = parse(lines)
                else:
                    orders, rejected = parse(lines, [])
            with guard.phase("aggregate"):
                totals.add_day(day, orders)
            if day % 10 == 0:
                reasons = Counter(bad.reason for bad in rejected[-200:])
                print(f"day {day}: {len(orders)} orders, mean {sum(totals.trend()) / len(totals.trend()):.2f}, {dict(reasons)}")
    print("best customer:", totals.by_customer.most_common(1)[0][0])


if __name__ == "__main__":
    main()
