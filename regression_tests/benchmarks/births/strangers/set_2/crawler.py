"""A polite crawler of an intranet: fetch, skip what is unchanged, extract links, score."""
import asyncio
import hashlib
import random
import re
import sys
import time
from collections import OrderedDict, deque

MODE = sys.argv[1]
LINK = re.compile(r'href="(/p/\d+)"')
PAGES = 66
WORDS = ["lorem", "ipsum", "dolor", "sit", "amet", "tempor", "magna", "aliqua"]
rng = random.Random(7)


class Origin:
    """Pages with n % 3 == 0 never change; every eleventh is cut off in the middle."""

    async def get(self, path):
        n = int(path.rsplit("/", 1)[1])
        await asyncio.sleep(0.001)
        stamp = 0 if n % 3 == 0 else time.perf_counter_ns()
        links = "".join(f'<a href="/p/{(n * k + k) % PAGES}">x</a>' for k in range(1, 9))
        text = " ".join(WORDS[(n + i) % 8] for i in range(4000))
        tail = "" if n % 11 == 0 else "</html>"
        return f"<html><!-- {n}:{stamp} -->{links}{text}{tail}".encode()


class Crawler:
    def __init__(self):
        self.origin = Origin()
        self.digests = {}
        self.robots = OrderedDict()
        self.leases = set()
        self.failures = [] if MODE == "leak" else deque(maxlen=20)
        self.latencies = deque(maxlen=40)

    def allowed(self, path):
        shard = path[:4]
        if shard not in self.robots:
            self.robots[shard] = {"delay": 0.0, "rules": ["/private"] * 20}
            if len(self.robots) > 6:
                self.robots.popitem(last=False)
        self.robots.move_to_end(shard)
        return not path.startswith("/private")

    async def lease(self, path, body, done):
        await done.wait()
        return path, len(body)

    def parse(self, path, body):
        text = body.decode()
        tokens = text.split()
        if not text.endswith("</html>"):
            raise ValueError(f"{path} is truncated after {len(tokens)} words")
        return set(LINK.findall(text))

    async def visit(self, path):
        started = time.perf_counter()
        body = await self.origin.get(path)
        done = asyncio.Event()
        task = asyncio.create_task(self.lease(path, body, done))
        self.leases.add(task)
        task.add_done_callback(self.leases.discard)
        digest = hashlib.sha1(body).digest()
        if path in self.digests and self.digests[path] == digest:
            if MODE == "fixed":
                done.set()
            return set()
        self.digests[path] = digest
        try:
            return self.parse(path, body)
        except ValueError as error:
            self.failures.append(error if MODE == "leak" else str(error))
            return set()
        finally:
            self.latencies.append(time.perf_counter() - started)
            done.set()


async def main():
    crawler = Crawler()
    for sweep in range(70):
        paths = [f"/p/{rng.randrange(PAGES)}" for _ in range(11)] + ["/p/22"]
        results = await asyncio.gather(*(crawler.visit(p) for p in paths if crawler.allowed(p)))
        found = set().union(*results)
        await asyncio.sleep(0.02)
    print("links", len(found), "failures", len(crawler.failures))


asyncio.run(main())
