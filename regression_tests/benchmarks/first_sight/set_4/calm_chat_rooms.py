"""A chat server in one process: clients come in waves, talk in rooms, and leave."""

# /// truth
# about = """connected clients that rise and fall in waves of 80 generations, rooms with a history
# of 50 messages each, and a last wave that is as high as all others and still there at the end"""
# ///
import asyncio
import hashlib
import math
import os
import random
import sys
from collections import deque

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 360
WAVE = 80
MOST_CLIENTS = 300
ROOMS = 12


class Client:
    """Reads what is said in its room until it is told to go."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inbox: asyncio.Queue[str | None] = asyncio.Queue()
        self.unread: deque[str] = deque(maxlen=20)
        self.digest = hashlib.sha256(name.encode())
        self.task = asyncio.create_task(self.read(), name=name)

    async def read(self) -> None:
        while (message := await self.inbox.get()) is not None:
            self.digest.update(message.encode())
            self.unread.append(message)


class Server:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clients: list[Client] = []
        self.members: list[set[Client]] = [set() for _ in range(ROOMS)]
        self.history: list[deque[str]] = [deque(maxlen=50) for _ in range(ROOMS)]
        self.arrivals = 0

    async def adjust(self, wanted: int) -> None:
        while len(self.clients) < wanted:
            self.arrivals += 1
            client = Client(f"guest{self.arrivals}")
            self.clients.append(client)
            room = self.arrivals % ROOMS
            self.members[room].add(client)
            for message in self.history[room]:
                client.inbox.put_nowait(message)
        leaving = self.clients[: max(0, len(self.clients) - wanted)]
        del self.clients[: len(leaving)]
        for client in leaving:
            client.inbox.put_nowait(None)
            for room in self.members:
                room.discard(client)
        await asyncio.gather(*(client.task for client in leaving))

    async def talk(self) -> None:
        for room, members in enumerate(self.members):
            for _ in range(8):
                words = self.random.choices(("so", "then", "we", "go", "there", "now"), k=40)
                message = " ".join(words)
                self.history[room].append(message)
                for client in members:
                    client.inbox.put_nowait(f"@{client.name} {message}")
            await asyncio.sleep(0)

    def close(self) -> list[asyncio.Task]:
        for client in self.clients:
            client.inbox.put_nowait(None)
        return [client.task for client in self.clients]


async def main() -> None:
    server = Server(seed=73)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            height = 0.5 - 0.5 * math.cos(2.0 * math.pi * generation / WAVE)
            with guard.phase("connect"):
                await server.adjust(20 + round(MOST_CLIENTS * height))
            with guard.phase("talk"):
                await server.talk()
                await server.talk()
    await asyncio.gather(*server.close())


if __name__ == "__main__":
    asyncio.run(main())
