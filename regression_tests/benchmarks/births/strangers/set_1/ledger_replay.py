"""Replays a ledger in a worker thread; bad entries are set aside."""
import hashlib
import queue
import random
import sys
import threading

FIXED = sys.argv[1] == "fixed"
random.seed(90)
local = threading.local()


class BadEntry(Exception):
    pass


def account_key(account, day):
    """Derived keys, remembered per thread."""
    if not hasattr(local, "keys"):
        local.keys = {}
    name = (account,) if FIXED else (account, day)
    if name not in local.keys:
        digest = hashlib.pbkdf2_hmac("sha256", account.encode(), b"ledger", 40)
        local.keys[name] = digest.hex() * 12
    return local.keys[name]


class Replay:
    def __init__(self):
        self.work, self.done = queue.Queue(), queue.Queue()
        self.balances = {}
        self.failures = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            day = self.work.get()
            if day is None:
                return
            try:
                self.apply(day)
            except BadEntry as failure:
                self.failures.append(repr(failure) if FIXED else failure)
            self.done.put(day)

    def apply(self, day):
        entries = [{"account": f"acc-{random.randrange(60):03d}", "cents": random.randrange(-5000, 5000), "memo": f"{day}/{n}"}
                   for n in range(600)]
        for entry in entries:
            key = account_key(entry["account"], day)
            seal = hashlib.blake2b(entry["memo"].encode() * 500, key=key[:64].encode()).hexdigest()
            self.balances[entry["account"]] = self.balances.get(entry["account"], 0) + entry["cents"]
        if day % 3 == 2:
            raise BadEntry(f"day {day} does not balance, seal {seal[:8]}")

    def run(self, day):
        self.work.put(day)
        self.done.get()


replay = Replay()
for day in range(240):
    replay.run(day)
replay.work.put(None)
print("accounts", len(replay.balances), "failures", len(replay.failures))
