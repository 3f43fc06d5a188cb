"""An asyncio service that fine-tunes on request: CPU work goes to threads by asyncio.to_thread."""
import asyncio
import sys
import time

import numpy as np

leaky = sys.argv[1] == "leak"


class Request:
    def __init__(self, number, rng):
        self.number = number
        self.user = f"user-{number % 17}"
        self.texts = [" ".join(f"w{v}" for v in rng.integers(0, 900, 30)) for _ in range(60)]
        self.target = rng.normal(size=60)


class Session:
    """State of one fine-tuning request."""

    def __init__(self, request, features, coefficients):
        self.request = request
        self.features = features
        self.coefficients = coefficients
        self.events = []

    def note(self, what):
        self.events.append({"t": len(self.events), "what": what})


class Tuner:
    def __init__(self):
        self.sessions = {}
        self.shared = np.zeros(160)
        self.done = 0

    def vectorise(self, request):
        time.sleep(0.03)
        out = np.zeros((len(request.texts), 160), dtype=np.float32)
        for row, text in enumerate(request.texts):
            for word in text.split():
                out[row, int(word[1:]) % 160] += 1
        return out

    def fit(self, features, target):
        time.sleep(0.05)
        a = features.T @ features + 2 * np.eye(160)
        return np.linalg.solve(a, features.T @ target)

    async def handle(self, request):
        features = await asyncio.to_thread(self.vectorise, request)
        coefficients = await asyncio.to_thread(self.fit, features, request.target)
        session = Session(request, features, coefficients)
        self.sessions[request.number] = session
        session.note("fitted")
        self.shared += 0.05 * (coefficients - self.shared)
        session.note("merged")
        self.done += 1
        if not leaky:
            del self.sessions[request.number]
        return float(np.abs(coefficients).mean())


async def main():
    rng = np.random.default_rng(11)
    tuner = Tuner()
    number = 0
    for round_ in range(40):
        requests = []
        for _ in range(3):
            requests.append(Request(number, rng))
            number += 1
        sizes = await asyncio.gather(*(tuner.handle(r) for r in requests))
        await asyncio.sleep(0.05)
        if round_ % 10 == 9:
            print(f"round {round_ + 1}: mean size {np.mean(sizes):.4f}", flush=True)
    print("handled", tuner.done)


asyncio.run(main())

# /// truth
# about = "an asyncio service that hands work to threads; a session stays after its answer"
# [[leak]]
# type = ["Request", "Session"]
# holder = ["sessions"]
# line = ["requests.append(Request(number, rng))"]
# ///
