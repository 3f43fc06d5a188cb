"""Calls over a long-lived channel that could be closed at any time."""

# /// truth
# about = """a channel whose calls each wait for the answer or for the close of the channel, and
# leave the second waiter behind, as in permitio/fastapi_websocket_rpc issue 15"""
# [[leak]]
# type = ["Task", "Future", "coroutine", "_asyncio.Task", "_asyncio.Future", "FutureIter",
#   "Context"]
# holder = ["_waiters", "closed"]
# start = 1
# kind = "tasks"
# ///
import asyncio
import hashlib
import json
import os
import random
import sys

from leakguard import LeakGuard

CANCEL_WAITER = sys.argv[1] == "clean"
GENERATIONS = 300
CALLS = 12


class Channel:
    """Pairs each request with its answer by a number."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.outbox: asyncio.Queue[str] = asyncio.Queue()
        self.answers: dict[int, asyncio.Future] = {}
        self.number = 0

    async def call(self, method: str, **arguments: object) -> dict:
        self.number += 1
        number = self.number
        answer = asyncio.get_running_loop().create_future()
        self.answers[number] = answer
        request = {"id": number, "method": method, "arguments": arguments}
        await self.outbox.put(json.dumps(request))
        closed = asyncio.create_task(self.closed.wait())
        done, pending = await asyncio.wait({answer, closed}, return_when=asyncio.FIRST_COMPLETED)
        if CANCEL_WAITER:
            for waiter in pending:
                waiter.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        if answer not in done:
            raise ConnectionError("the channel was closed")
        return answer.result()

    def receive(self, text: str) -> None:
        message = json.loads(text)
        self.answers.pop(message["id"]).set_result(message["result"])


async def serve(channel: Channel) -> None:
    """The other end: scores the documents it is sent."""
    while True:
        request = json.loads(await channel.outbox.get())
        words = request["arguments"]["words"]
        digest = hashlib.sha256()
        for word in words:
            digest.update(word.encode())
        counts: dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
        result = {"digest": digest.hexdigest(), "top": top}
        channel.receive(json.dumps({"id": request["id"], "result": result}))


async def main() -> None:
    random.seed(15)
    vocabulary = [f"word{number}" for number in range(300)]
    channel = Channel()
    server = asyncio.create_task(serve(channel))
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            calls = [
                channel.call("score", words=random.choices(vocabulary, k=1_500))
                for _ in range(CALLS)
            ]
            results = await asyncio.gather(*calls)
            assert len(results) == CALLS
    server.cancel()
    channel.closed.set()


if __name__ == "__main__":
    asyncio.run(main())
