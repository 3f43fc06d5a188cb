"""Nightly feeds of a parcel company: unpack, check, load into a ledger, settle with the carriers, compress the receipts."""
import random
import sqlite3
import sys
import zlib
from collections import Counter, OrderedDict, deque
from contextlib import ExitStack, closing

TIDY = sys.argv[1] == "fixed"
FEEDS, PARCELS, CUSTOMS_FROM = 90, 3600, 41
CARRIERS = ("north", "coast", "alpine", "metro", "island")


class Depots:
    """Distances by pair of post codes; the last 1,500 stay."""

    def __init__(self, limit=1500):
        self.limit, self.known = limit, OrderedDict()

    def distance(self, start, end):
        if (start, end) not in self.known:
            a, b = (((code * 7919) % 1009, (code * 104729) % 1013) for code in (start, end))
            self.known[start, end] = ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5
            if len(self.known) > self.limit:
                self.known.popitem(last=False)
        return self.known[start, end]


class Feeds:
    """Stands for the files that the carriers send: larger in the weeks of the holidays."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def packed(self, number):
        count = PARCELS + 1500 * (20 <= number < 36) + 40 * (number % 3)
        lines = [f"P{number:03d}{row:05d};{self.random.choice(CARRIERS)};{self.random.randrange(400)};"
                 f"{self.random.randrange(400)};{self.random.randrange(50, 20000)};{self.random.choice('abcx')}"
                 for row in range(count)]
        lines.append("end;of;feed")
        return zlib.compress("\n".join(lines).encode(), 1)


class Reader:
    """Turns a feed into rows, lazily: whoever reads stops at the end mark."""

    def rows(self, packed):
        text = zlib.decompress(packed).decode()
        totals = Counter()
        for line in text.splitlines():
            fields = line.split(";")
            totals[fields[1]] += 1
            yield fields, totals


class Receipts:
    """A compressor for each carrier and feed, so that receipts of one settlement share a dictionary."""

    def __init__(self):
        self.packers, self.written = {}, 0

    def packer(self, carrier, number):
        key = carrier, number
        if key not in self.packers:
            self.packers[key] = zlib.compressobj(6, zlib.DEFLATED, 12, 5)
        return self.packers[key]

    def write(self, carrier, number, entries):
        packer = self.packer(carrier, number)
        for entry in entries:
            self.written += len(packer.compress(repr(entry).encode()))
        self.written += len(packer.flush(zlib.Z_SYNC_FLUSH))
        if TIDY:
            del self.packers[carrier, number]


class Ledger:
    def __init__(self):
        self.database = sqlite3.connect(":memory:")
        self.database.executescript("""
            create table balance (carrier text primary key, parcels int, grams int, cents real);
            create table recent (feed int, code text, carrier text, cents real);
            create index by_feed on recent (feed);""")

    def load(self, number, rows):
        self.database.executemany("insert into recent values (?, ?, ?, ?)",
                                  ((number, code, carrier, cents) for code, carrier, _, cents in rows))
        self.database.execute("delete from recent where feed <= ?", (number - 4,))
        for carrier, parcels, grams, cents in self.totals(rows):
            self.database.execute("insert into balance values (?, ?, ?, ?) on conflict (carrier) do update set "
                                  "parcels = parcels + excluded.parcels, grams = grams + excluded.grams, "
                                  "cents = cents + excluded.cents", (carrier, parcels, grams, cents))
        self.database.commit()

    def totals(self, rows):
        found = {}
        for _, carrier, grams, cents in rows:
            old = found.get(carrier, (0, 0, 0.0))
            found[carrier] = old[0] + 1, old[1] + grams, old[2] + cents
        return [(carrier, *sums) for carrier, sums in sorted(found.items())]

    def customs(self, number, rows):
        """Heavy parcels of the same carrier and nearly the same weight: pairs that customs wants to see."""
        stage = f"stage_{number}"
        self.database.execute(f"create table {stage} (code text, carrier text, grams int)")
        self.database.executemany(f"insert into {stage} values (?, ?, ?)",
                                  [(code, carrier, grams) for code, carrier, grams, _ in rows if grams > 4000])
        pairs = self.database.execute(
            f"select count(*) from (select carrier, grams / 4 as step, count(*) as many from {stage} "
            "group by carrier, step) where many > 1").fetchone()[0]
        if TIDY:
            self.database.execute(f"drop table {stage}")
        self.database.commit()
        return pairs

    def balance(self):
        return self.database.execute("select sum(parcels), sum(cents) from balance").fetchone()


class Pipeline:
    def __init__(self, stack, seed):
        self.stack, self.feeds, self.reader = stack, Feeds(seed), Reader()
        self.ledger, self.receipts, self.depots = Ledger(), Receipts(), Depots()
        self.week, self.pairs = deque(maxlen=7), 0
        stack.callback(self.ledger.database.close)

    def parse(self, packed):
        with ExitStack() as inner:
            scope = inner if TIDY else self.stack
            rows = scope.enter_context(closing(self.reader.rows(packed)))
            parcels = []
            for fields, totals in rows:
                if fields[0] == "end":
                    break
                code, carrier, start, end, grams, kind = fields
                way = self.depots.distance(int(start), int(end))
                cents = round(180 + 0.04 * int(grams) + 0.3 * way + 90 * (kind == "x"), 2)
                parcels.append((code, carrier, int(grams), cents))
            return parcels

    def feed(self, number):
        parcels = self.parse(self.feeds.packed(number))
        self.ledger.load(number, parcels)
        if number >= CUSTOMS_FROM:
            self.pairs += self.ledger.customs(number, parcels)
        by_carrier = {carrier: [] for carrier in CARRIERS}
        for parcel in parcels:
            by_carrier[parcel[1]].append(parcel)
        self.receipts.write(CARRIERS[number % 5], number, by_carrier[CARRIERS[number % 5]])
        self.week.append([parcel[3] for parcel in parcels])


def main():
    with ExitStack() as stack:
        pipeline = Pipeline(stack, seed=31)
        for number in range(1, FEEDS + 1):
            pipeline.feed(number)
            if number % 9 == 0:
                parcels, cents = pipeline.ledger.balance()
                mean = sum(map(sum, pipeline.week)) / sum(map(len, pipeline.week))
                print(f"feed {number:3d} parcels {parcels} euros {cents / 100:.2f} mean {mean:.1f} "
                      f"pairs {pipeline.pairs}", flush=True)


main()
