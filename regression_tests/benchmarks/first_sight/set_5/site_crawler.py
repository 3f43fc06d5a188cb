"""Crawls a made-up site: fetches pages, extracts links, scores them."""
import asyncio
import collections
import hashlib
import random
import re
import sys

# /// truth
# about = "a crawler whose watchdog task of each request waits for ever"
# [[leak]]
# type = ["Task", "PageRequest", "Event", "coroutine"]
# holder = ["watchdogs", "waiters", "_waiters"]
# kind = ["tasks", "instances"]
# line = ["task = asyncio.create_task(self.watchdog(request))", "request = PageRequest(url, self.rng.random())"]
# ///

LINK = re.compile(r'href="(/[a-z0-9/]+)"')
WORD = re.compile(r"[a-z]{3,}")


class PageRequest:
    def __init__(self, url, priority):
        self.url = url
        self.priority = priority
        self.abandoned = asyncio.Event()
        self.body = None
        self.links = []


class Crawler:
    def __init__(self, pages, leak):
        self.rng = random.Random(5)
        self.pages = pages
        self.leak = leak
        self.frontier = collections.deque(["/"])
        self.queued = set()
        self.watchdogs = set()
        self.timeouts = 0
        self.fetched = 0
        self.words = collections.Counter()
        self.vocab = ["".join(self.rng.choice("abcdefghijklmno") for _ in range(self.rng.randint(3, 9))) for _ in range(400)]

    async def watchdog(self, request):
        await request.abandoned.wait()
        self.timeouts += 1

    async def download(self, request):
        await asyncio.sleep(0.001)
        rng = random.Random(request.url)
        parts = []
        for _ in range(420):
            parts.append(rng.choice(self.vocab))
        for _ in range(6):
            parts.append('<a href="/p%d/%d">more</a>' % (rng.randrange(40), rng.randrange(60)))
        request.body = " ".join(parts)

    def parse(self, request):
        request.links = LINK.findall(request.body)
        self.words.update(w for w in WORD.findall(request.body) if len(w) < 10)
        tokens = request.body.split()
        hashes = []
        for i in range(len(tokens) - 3):
            shingle = " ".join(tokens[i:i + 4]).encode()
            hashes.append(int.from_bytes(hashlib.md5(shingle).digest()[:6], "little"))
        return [min((a * h + 12345) % 0x1FFFFFFFFFFF for h in hashes) for a in (3, 17, 101, 907, 5003)]

    async def handle(self, url):
        request = PageRequest(url, self.rng.random())
        task = asyncio.create_task(self.watchdog(request))
        self.watchdogs.add(task)
        task.add_done_callback(self.watchdogs.discard)
        await self.download(request)
        self.parse(request)
        if not self.leak:
            task.cancel()
        for link in request.links:
            if len(self.frontier) < 500:
                self.frontier.append(link)
        self.fetched += 1

    async def run(self):
        rounds = 0
        while True:
            if self.fetched >= self.pages or not self.frontier:
                break
            urls = [self.frontier.popleft() for _ in range(min(4, len(self.frontier)))]
            await asyncio.gather(*(self.handle(u) for u in urls))
            rounds += 1
            if rounds % 200 == 0:
                print("round %d: %d pages, frontier %d, %d words" % (rounds, self.fetched, len(self.frontier), len(self.words)))
        for task in list(self.watchdogs):
            task.cancel()
        await asyncio.sleep(0)
        return self.fetched


if __name__ == "__main__":
    crawler = Crawler(pages=6600, leak=sys.argv[1] == "leak")
    print("done:", asyncio.run(crawler.run()))
