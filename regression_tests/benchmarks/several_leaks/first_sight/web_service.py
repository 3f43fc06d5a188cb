"""A small web service: sessions, handlers, an access log, maintenance jobs."""
import random
import sys
import time
from collections import OrderedDict, deque

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class Session:
    def __init__(self, token):
        self.token = token
        self.payload = "".join(random.choices(ALPHABET, k=2000))


class SessionStore:
    def __init__(self):
        self.sessions = OrderedDict()

    def open(self, token):
        session = Session(token)
        self.sessions[token] = session
        if not LEAK:
            while len(self.sessions) > 100:
                self.sessions.popitem(last=False)
        return session


class App:
    def __init__(self):
        self.on_shutdown = []
        self.named_hooks = {}
        self.routes = [f"/route/{i}" for i in range(40)]

    def add_shutdown_hook(self, number):
        scratch = bytearray(64_000)

        def flush():
            return len(scratch) + number

        if LEAK:
            self.on_shutdown.append(flush)
        else:
            self.named_hooks["flush"] = flush


store = SessionStore()
app = App()
access_log = [] if LEAK else deque(maxlen=500)


def handle(number):
    for i in range(400):
        line = f"{time.time():.3f} GET {random.choice(app.routes)}?q={i}&g={number} 200 " + "ua=Mozilla/5.0 " * 6
        access_log.append(line)


guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(1, 41)):
        with guard.phase("auth"):
            tokens = ["".join(random.choices(ALPHABET, k=32)) for _ in range(60)]
            for token in tokens:
                store.open(token)
        with guard.phase("handle"):
            handle(number)
            time.sleep(0.05)
        with guard.phase("maintenance"):
            app.add_shutdown_hook(number)
