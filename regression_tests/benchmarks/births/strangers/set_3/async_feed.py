"""Consume an endless XML feed, enrich the items concurrently and wait for their acknowledgements."""
import asyncio
import hashlib
import sys
import xml.etree.ElementTree as ET
from collections import deque

FIXED = sys.argv[1] == "fixed"
BATCHES = 100
ITEMS = 140


def feed(batch):
    parts = []
    for i in range(ITEMS):
        number = batch * ITEMS + i
        body = hashlib.sha256(str(number).encode()).hexdigest() * 4
        parts.append(
            f'<item id="{number}" source="s{i % 7}"><title>Item {number}</title>'
            f"<body>{body}</body><price>{number % 997}.25</price></item>"
        )
    return "".join(parts)


class FeedParser:
    """One document that never ends: <feed> is opened once, its items come in pieces."""

    def __init__(self):
        self.parser = ET.XMLPullParser(events=("start", "end"))
        self.parser.feed("<feed>")
        self.root = None

    def push(self, text):
        self.parser.feed(text)
        items = []
        for event, element in self.parser.read_events():
            if event == "start" and element.tag == "feed":
                self.root = element
            elif event == "end" and element.tag == "item":
                items.append({
                    "id": int(element.get("id")),
                    "source": element.get("source"),
                    "title": element.findtext("title"),
                    "body": element.findtext("body"),
                    "price": float(element.findtext("price")),
                })
        if FIXED:
            self.root.clear()
        return items


class Broker:
    """Acknowledges most of the deliveries; those to source s3 are lost."""

    def __init__(self):
        self.acknowledged = deque(maxlen=200)

    async def deliver(self, source, done):
        await asyncio.sleep(0)
        if source != "s3":
            self.acknowledged.append(source)
            done.set()


class Publisher:
    def __init__(self):
        self.broker = Broker()
        self.background = set()
        self.limit = asyncio.Semaphore(16)
        self.confirmed = 0

    async def enrich(self, item):
        async with self.limit:
            digest = item["body"].encode()
            for _ in range(150):
                digest = hashlib.sha1(digest).digest() * 12
            await asyncio.sleep(0)
            return item["id"], digest.hex() * 2

    async def confirm(self, source, payload):
        done = asyncio.Event()
        frame = [f"{key}:{value}" for key, value in payload]
        await self.broker.deliver(source, done)
        await done.wait()
        self.confirmed += len(frame)

    async def publish(self, items):
        enriched = await asyncio.gather(*(self.enrich(item) for item in items))
        waiting = []
        for source in sorted({item["source"] for item in items}):
            payload = [pair for pair, item in zip(enriched, items) if item["source"] == source]
            task = asyncio.create_task(self.confirm(source, payload))
            self.background.add(task)           # or the task could be collected
            task.add_done_callback(self.background.discard)
            waiting.append(task)
        await asyncio.sleep(0.01)
        if FIXED:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return sum(len(text) for _, text in enriched)


async def main():
    parser, publisher = FeedParser(), Publisher()
    checksum = 0
    for batch in range(BATCHES):
        items = parser.push(feed(batch))
        checksum += await publisher.publish(items)
        prices = sorted(item["price"] for item in items)
        checksum += int(prices[len(prices) // 2])
    print(checksum, publisher.confirmed)


asyncio.run(main())
