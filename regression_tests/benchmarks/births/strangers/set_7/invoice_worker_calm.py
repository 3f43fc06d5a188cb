"""Invoice worker: takes a batch of orders, renders the invoices, posts them to a flaky ledger."""
import collections
import hashlib
import random, sys
import sqlite3

from leakguard import LeakGuard

TENANTS = ["acme", "globex", "initech", "umbrella", "stark"]


class LedgerError(Exception):
    pass


class TemplateSet:
    """The text fragments of one tenant, compiled anew for every batch (tenants edit them)."""

    def __init__(self, tenant, revision):
        self.tenant = tenant
        self.headers = {}
        self.fragments = [f"{tenant}/{revision}/{index}: " + "{item} {price} " * 5 for index in range(400)]

    def header(self, kind):
        if kind not in self.headers:
            self.headers[kind] = self.digest(kind)
        return self.headers[kind]

    def digest(self, kind):
        return hashlib.sha256((self.fragments[kind] + self.tenant).encode()).hexdigest()

    def body(self, item, price):
        return self.fragments[item % 400].replace("{item}", str(item)).replace("{price}", f"{price:.2f}")


class RateCache:
    """Exchange rates, bounded: the 300 last used."""

    def __init__(self):
        self.rates = collections.OrderedDict()

    def get(self, key):
        if key in self.rates:
            self.rates.move_to_end(key)
        else:
            self.rates[key] = {"key": key, "rate": random.random(), "source": "x" * 200}
            if len(self.rates) > 300:
                self.rates.popitem(last=False)
        return self.rates[key]["rate"]


class Ledger:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table posting (id integer primary key, digest text, total real)")
        self.unstable = False

    def post(self, number, invoices, total):
        payload = "\n".join(invoices).encode()
        digest = hashlib.sha256(payload).hexdigest()
        if self.unstable:
            raise LedgerError(f"posting {number} refused: {digest[:8]}")
        self.db.execute("insert or replace into posting values (?, ?, ?)", (number % 50, digest, total))
        self.db.commit()


class Worker:
    def __init__(self):
        self.rates = RateCache()
        self.ledger = Ledger()
        self.failures = collections.deque(maxlen=20)
        self.durations = collections.deque(maxlen=60)
        self.buffers = []

    def fetch(self, number):
        rng = random.Random(number)
        return [(rng.randrange(5000), rng.random() * 90, rng.randrange(900)) for _ in range(1200)]

    def render(self, number, orders):
        templates = TemplateSet(TENANTS[number % len(TENANTS)], number)
        lines, total = [], 0.0
        for item, price, currency in orders:
            amount = price * self.rates.get(currency)
            total += amount
            lines.append(templates.header(item % 7) + templates.body(item, amount))
        return lines, total

    def post(self, number, orders, invoices, total):
        for part in range(4):
            chunk = invoices[part::4]
            try:
                self.ledger.unstable = number >= 35 and part == 2
                self.ledger.post(number * 4 + part, chunk, total)
            except LedgerError as error:
                self.failures.append(repr(error))

    def archive(self, number, invoices):
        if len(self.buffers) < 9:
            self.buffers.append(bytearray(60_000))
        buffer = self.buffers[number % len(self.buffers)]
        for line in invoices[:900]:
            digest = hashlib.sha256(line.encode() * 64).digest()
            buffer[digest[0] * 32:digest[0] * 32 + 32] = digest
        self.durations.append((number, bytes(buffer[:100])))


def main():
    worker = Worker()
    guard = LeakGuard(out=sys.argv[1] if len(sys.argv) > 1 else "invoice_worker_calm.jsonl")
    with guard:
        for number in guard.generations(range(1, 281)):
            with guard.phase("fetch"):
                orders = worker.fetch(number)
            with guard.phase("render"):
                invoices, total = worker.render(number, orders)
            with guard.phase("post"):
                worker.post(number, orders, invoices, total)
            with guard.phase("archive"):
                worker.archive(number, invoices)
    print("batches", number, "failures", len(worker.failures))


main()
