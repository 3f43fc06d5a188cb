"""Three stages joined by queues: parse -> embed -> index. Every stage is a thread with `while True`."""
import hashlib
import queue
import sys
import threading
import time

import numpy as np

DOCS = 240
END = object()


class Document:
    def __init__(self, number, text):
        self.number = number
        self.text = text
        self.tokens = None
        self.vectors = None


class Vocabulary:
    def __init__(self):
        self.words = {}

    def ids(self, tokens):
        return [self.words.setdefault(t, len(self.words)) for t in tokens]


class Index:
    def __init__(self):
        self.centroids = np.random.default_rng(0).normal(size=(16, 32))
        self.counts = np.zeros(16, dtype=int)

    def add(self, document):
        for v in document.vectors:
            k = int(((self.centroids - v) ** 2).sum(1).argmin())
            self.counts[k] += 1
            self.centroids[k] += 0.01 * (v - self.centroids[k])


def make_text(number):
    rng = np.random.default_rng(number)
    return " ".join(f"term{int(v)}" for v in rng.zipf(1.6, 800) % 2000)


def parse(inbox, outbox):
    vocabulary = Vocabulary()
    while True:
        item = inbox.get()
        if item is END:
            outbox.put(END)
            return
        item.tokens = vocabulary.ids(item.text.split())
        time.sleep(0.01)
        outbox.put(item)


def embed(inbox, outbox):
    table = np.random.default_rng(1).normal(size=(4000, 32)).astype(np.float32)
    while True:
        item = inbox.get()
        if item is END:
            outbox.put(END)
            return
        ids = np.array(item.tokens)
        windows = ids[: len(ids) // 10 * 10].reshape(-1, 10)
        item.vectors = [table[w].mean(0) for w in windows]
        time.sleep(0.02)
        outbox.put(item)


def index(inbox, result, keep):
    idx = Index()
    seen = {}
    while True:
        item = inbox.get()
        if item is END:
            break
        digest = hashlib.sha1(item.text.encode()).hexdigest()
        if digest in seen:
            continue
        seen[digest] = item
        if not keep and len(seen) > 16:
            del seen[next(iter(seen))]
        idx.add(item)
        time.sleep(0.03)
    result.append(idx)


def main():
    q1, q2, q3 = (queue.Queue(4) for _ in range(3))
    result = []
    stages = [
        threading.Thread(target=parse, args=(q1, q2), name="parse"),
        threading.Thread(target=embed, args=(q2, q3), name="embed"),
        threading.Thread(target=index, args=(q3, result, sys.argv[1] == "leak"), name="index"),
    ]
    for s in stages:
        s.start()
    for number in range(DOCS):
        q1.put(Document(number, make_text(number)))
    q1.put(END)
    for s in stages:
        s.join()
    print("vectors", int(result[0].counts.sum()), "largest", int(result[0].counts.max()))


if __name__ == "__main__":
    main()

# /// truth
# about = "three stages of threads; the last one keeps each document that it has seen"
# [[leak]]
# type = ["Document"]
# holder = ["seen"]
# line = ["q1.put(Document(number, make_text(number)))"]
# ///
