"""A chat bot that answers a scripted stream of customer messages."""
# /// truth
# about = "an asyncio bot whose per-conversation watchdog tasks are never cancelled"
# [[leak]]
# type = ["Task", "coroutine", "Conversation"]
# holder = "watchdogs"
# kind = ["tasks", "instances"]
# line = ["task = asyncio.create_task(watch(conv))", "conv = Conversation(number, rng)"]
# ///
import asyncio
import math
import random
import sys
from collections import Counter

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
TOPICS = {
    "refund": "money back refund return charge card",
    "shipping": "parcel late tracking delivery courier address",
    "login": "password account reset locked sign email",
    "bug": "crash error freeze screen update broken",
}
FILLER = "the a my is was please help with i on and to it".split()


class Conversation:
    def __init__(self, number, rng):
        self.number = number
        self.messages = []
        self.closed = asyncio.Event()
        self.escalated = False
        vocab = FILLER + rng.choice(list(TOPICS.values())).split()
        for _ in range(rng.randint(8, 14)):
            self.messages.append(" ".join(rng.choice(vocab) for _ in range(rng.randint(25, 50))))


class Classifier:
    def __init__(self):
        self.profiles = {t: Counter(self.grams(words)) for t, words in TOPICS.items()}

    @staticmethod
    def grams(text):
        return [text[i:i + n] for n in range(2, 14) for i in range(len(text) - n + 1)]

    def score(self, text):
        seen = Counter(self.grams(text))
        norm = math.sqrt(sum(v * v for v in seen.values()))
        return {t: sum(seen[g] * w for g, w in prof.items()) / norm
                for t, prof in self.profiles.items()}


async def watch(conv):
    while not conv.closed.is_set():
        await asyncio.sleep(900)
        conv.escalated = True


async def serve(total):
    rng = random.Random(21)
    classifier = Classifier()
    watchdogs = set()
    answered = Counter()
    number = 0
    while number < total:
        conv = Conversation(number, rng)
        task = asyncio.create_task(watch(conv))
        task.add_done_callback(watchdogs.discard)
        watchdogs.add(task)
        votes = Counter()
        for text in conv.messages:
            for topic, value in classifier.score(text).items():
                votes[topic] += value
            await asyncio.sleep(0)
        conv.closed.set()
        if MODE != "leak":
            task.cancel()
        answered[votes.most_common(1)[0][0]] += 1
        number += 1
        if number % 200 == 0:
            print(f"{number} conversations, {dict(answered)}", flush=True)
    for task in list(watchdogs):
        task.cancel()
    await asyncio.gather(*watchdogs, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(serve(1400))
