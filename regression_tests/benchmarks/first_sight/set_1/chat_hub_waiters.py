"""A chat hub on asyncio: long polls wait for the next message of their room."""
# /// truth
# about = "long polls of rooms that were deleted wait for ever; the hub keeps their tasks"
# [[leak]]
# type = ["Task", "LongPoll"]
# holder = "background"
# phase = "poll"
# start = 81
# within = 2
# kind = ["tasks", "instances"]
# ///
import asyncio
import hashlib
import os
import random
import sys

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
GENERATIONS = 200
MOBILE_RELEASE = 81  # from then on clients poll rooms that close while they wait


class Room:
    def __init__(self, name):
        self.name = name
        self.news = asyncio.Event()
        self.last = b""
        self.polls = []


class LongPoll:
    def __init__(self, room, client):
        self.room = room
        self.client = client
        self.reply = bytearray(12_000)

    async def run(self):
        await self.room.news.wait()
        self.reply[: len(self.room.last)] = self.room.last
        return self.client


class Hub:
    def __init__(self):
        self.rooms = {}
        self.background = set()
        self.random = random.Random(5)
        self.served = 0

    @phase("open_rooms")
    async def open_rooms(self, tick):
        for number in range(4):
            name = f"{tick}-{number}"
            self.rooms[name] = Room(name)
        await asyncio.sleep(0)

    @phase("poll")
    async def poll(self):
        for room in self.rooms.values():
            for client in range(3):
                task = asyncio.create_task(LongPoll(room, client).run())
                self.background.add(task)
                task.add_done_callback(self.background.discard)
                room.polls.append(task)
        await asyncio.sleep(0)

    @phase("broadcast")
    async def broadcast(self, tick):
        quiet = [next(iter(self.rooms))] if tick >= MOBILE_RELEASE else []
        for name, room in self.rooms.items():
            digest = b""
            for _ in range(9000):
                digest = hashlib.sha256(digest + name.encode()).digest()
            room.last = digest
            if name not in quiet:
                room.news.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    @phase("close_rooms")
    async def close_rooms(self):
        for room in list(self.rooms.values()):
            del self.rooms[room.name]
            if not LEAK:
                for task in room.polls:
                    task.cancel()
            self.served += len(room.polls)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def main():
    hub = Hub()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for tick in guard.generations(range(1, GENERATIONS + 1)):
            await hub.open_rooms(tick)
            await hub.poll()
            await hub.broadcast(tick)
            await hub.close_rooms()


asyncio.run(main())
