"""A recommender that answers a stream of sessions and learns from their clicks."""
import collections
import random
import sys
import time
import weakref

import torch
from torch import nn

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
ITEMS, DIM, TICKS, EXPERIMENT = 12_000, 32, 64, 24
PROFILES = weakref.WeakKeyDictionary()  # dies with the session


class Session:
    def __init__(self, user):
        self.user = user
        self.vector = torch.randn(DIM)


class Profile:
    """What we know about a session while it lasts."""

    def __init__(self, session, catalogue):
        self.owner = session if LEAK else session.user
        self.affinity = catalogue @ session.vector


class Audit:
    served = collections.deque(maxlen=None if LEAK else 16)

    @classmethod
    def note(cls, user, slate):
        cls.served.append((user, slate if LEAK else slate.clone()))


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(ITEMS, DIM)
        self.mix = nn.Linear(DIM, DIM)

    def catalogue(self):
        return self.items.weight.detach()


class PopularityCache:
    """Least recently used categories, at most eight."""

    def __init__(self, size=8):
        self.size, self.entries = size, collections.OrderedDict()

    def get(self, category):
        if category not in self.entries:
            self.entries[category] = torch.rand(ITEMS)
        self.entries.move_to_end(category)
        while len(self.entries) > self.size:
            self.entries.popitem(last=False)
        return self.entries[category]


def log_event(name, values, sink=[]):
    if not LEAK:
        sink = []
    sink.append({"name": name, "values": values})
    return len(sink)


def profile_of(session, catalogue):
    if session not in PROFILES:
        PROFILES[session] = Profile(session, catalogue)
    return PROFILES[session]


def serve(towers, popular, user):
    session = Session(user)
    profile = profile_of(session, towers.catalogue())
    scores = profile.affinity + popular.get(user % 20)
    ranking = scores.argsort(descending=True)
    slate = ranking[:10]
    Audit.note(user, slate)
    return session, slate, scores


def main():
    towers, popular = Towers(), PopularityCache()
    optimizer = torch.optim.SGD(towers.parameters(), 0.05)
    clicks = []
    for tick in range(1, TICKS + 1):
        for _ in range(3):
            session, slate, scores = serve(towers, popular, random.randrange(1000))
            target = towers.mix(towers.items(slate)) @ session.vector
            loss = -torch.nn.functional.logsigmoid(target).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if tick >= EXPERIMENT:
            log_event("exposure", scores[:2500].tolist())
        clicks.append(loss.item())
        time.sleep(0.05)
    print("loss", clicks[-1])


main()
