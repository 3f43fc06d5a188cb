"""Fetches pages from a simulated site with asyncio, round by round."""
import asyncio
import hashlib
import sys

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"


class Site:
    async def get(self, url):
        await asyncio.sleep(0)
        block = hashlib.sha256(url.encode()).digest()
        for _ in range(300):
            block = hashlib.sha256(block * 40).digest()
        return (block.hex() * 320).encode()


class Scraper:
    def __init__(self):
        self.site = Site()
        self.pages = {}
        self.watchers = set()
        self.maintenance = None
        self.seen = 0
        self.digest = ""

    async def page(self, path, stamp):
        url = f"/{path}" if FIXED else f"/{path}?t={stamp}"
        if url not in self.pages or FIXED and stamp % 5 == 0:
            self.pages[url] = await self.site.get(url)
        return self.pages[url]

    async def watch(self, page_count):
        history = bytearray(60_000)
        history[:4] = page_count.to_bytes(4, "little")
        await self.maintenance.wait()
        return bytes(history[:4])

    async def fetch_all(self, number):
        found = await asyncio.gather(*(self.page(f"item/{i}", number) for i in range(8)))
        self.seen += sum(len(page) for page in found)
        self.digest = hashlib.sha256(b"".join(found) * 30).hexdigest()

    async def supervise(self, number):
        self.maintenance = self.maintenance or asyncio.Event()
        watcher = asyncio.create_task(self.watch(self.seen % 1000))
        self.watchers.add(watcher)
        await asyncio.sleep(0)
        if FIXED:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)
            self.watchers.discard(watcher)

    async def close(self):
        for watcher in self.watchers:
            watcher.cancel()
        await asyncio.gather(*self.watchers, return_exceptions=True)


def main():
    loop = asyncio.new_event_loop()
    scraper = Scraper()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(250)):
            with guard.phase("fetch"):
                loop.run_until_complete(scraper.fetch_all(number))
            with guard.phase("supervise"):
                loop.run_until_complete(scraper.supervise(number))
    print("bytes seen", scraper.seen)
    loop.run_until_complete(scraper.close())
    loop.close()


main()
