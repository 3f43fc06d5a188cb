"""An asynchronous inference gateway that hedges slow requests: the answer of the faster replica wins."""
import asyncio
import collections
import functools
import sys

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
ROUNDS, REQUESTS, FEATURES = 200, 12, 7000


@functools.lru_cache(maxsize=32)
def template(kind):
    return np.random.default_rng(kind).normal(size=FEATURES)


class Replica:
    """A model server; a cold replica answers only after it was warmed up by the autoscaler."""

    def __init__(self, name, seed, cold=False):
        self.name = name
        self.weights = np.random.default_rng(seed).normal(size=(64, FEATURES)) / FEATURES
        self.ready = asyncio.Event()
        if not cold:
            self.ready.set()

    async def infer(self, request):
        await self.ready.wait()
        await asyncio.sleep(0)
        scores = np.tanh(self.weights @ request["features"])
        return {"id": request["id"], "label": int(scores.argmax()), "replica": self.name}


class Gateway:
    def __init__(self):
        self.primary = Replica("primary", 1)
        self.spare = Replica("spare", 2, cold=True)
        self.answers = collections.OrderedDict()
        self.latency = collections.deque(maxlen=64)
        self.hedged = 0

    async def hedge(self, request):
        self.hedged += 1
        attempts = [asyncio.create_task(replica.infer(request)) for replica in (self.spare, self.primary)]
        done, pending = await asyncio.wait(attempts, return_when=asyncio.FIRST_COMPLETED)
        if FIXED:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        return done.pop().result()

    async def handle(self, request):
        started = asyncio.get_running_loop().time()
        if request["priority"]:
            answer = await self.hedge(request)
        else:
            answer = await self.primary.infer(request)
        self.latency.append(asyncio.get_running_loop().time() - started)
        self.remember(answer)
        return answer

    def remember(self, answer):
        self.answers[answer["id"]] = answer
        while len(self.answers) > 100:
            self.answers.popitem(last=False)


class Traffic:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.number = 0

    def burst(self):
        requests = []
        for position in range(REQUESTS):
            self.number += 1
            noise = self.rng.normal(size=FEATURES)
            requests.append({"id": self.number, "features": template(self.number % 20) + 0.3 * noise,
                             "priority": position == 3})
        return requests


def drift(requests):
    """How far the features of the burst are from what the model was trained on."""
    block = np.stack([request["features"] for request in requests])
    spectrum = np.abs(np.fft.rfft(block, axis=1))
    return float(spectrum.mean() / spectrum.std())


async def main():
    gateway, traffic = Gateway(), Traffic(seed=13)
    labels = collections.Counter()
    with LeakGuard(out=sys.argv[2]) as guard:
        for _ in guard.generations(range(ROUNDS)):
            with guard.phase("receive"):
                burst = traffic.burst()
            with guard.phase("serve"):
                answers = await asyncio.gather(*(gateway.handle(request) for request in burst))
                labels.update(answer["label"] % 8 for answer in answers)
            with guard.phase("monitor"):
                score = drift(burst)
                await asyncio.sleep(0.004)
    print(f"{sum(labels.values())} answers, {gateway.hedged} hedged, drift {score:.3f}")


asyncio.run(main())
