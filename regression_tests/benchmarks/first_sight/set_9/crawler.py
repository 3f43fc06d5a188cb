"""A crawler on asyncio: workers take pages from a queue."""
import asyncio
import sys

KEEP = sys.argv[1] == "leak"


class Page:
    def __init__(self, url):
        self.url = url
        self.body = "x" * 20_000
        self.links = [f"{url}/{n}" for n in range(40)]


class Crawler:
    def __init__(self):
        self.queue = asyncio.Queue()
        self.seen = {}

    async def worker(self):
        while True:
            url = await self.queue.get()
            page = Page(url)
            await asyncio.sleep(0.01)
            self.seen[url] = page if KEEP else None
            self.seen.pop(f"page{int(url[4:]) - 20}", None) if not KEEP else None
            self.queue.task_done()

    async def crawl(self):
        for number in range(600):
            self.queue.put_nowait(f"page{number}")
        workers = [asyncio.create_task(self.worker()) for _ in range(2)]
        await self.queue.join()
        for worker in workers:
            worker.cancel()
        return len(self.seen)


async def main():
    print(await Crawler().crawl())


asyncio.run(main())

# /// truth
# about = "asyncio workers keep each page that they have seen"
# [[leak]]
# type = ["Page", "str", "list"]
# holder = "seen"
# line = ["page = Page(url)", "self.body = \"x\" * 20_000", "self.links = [f\"{url}/{n}\" for n in range(40)]", "self.seen[url] = page if KEEP else None"]
# ///
