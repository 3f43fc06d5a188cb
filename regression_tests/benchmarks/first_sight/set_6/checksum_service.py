"""Compresses and checks batches of files with a small crew of workers."""
# /// truth
# about = "a queue with worker threads; each batch starts new workers that are not told to stop"
# [[leak]]
# type = ["Worker", "Thread"]
# holder = ["_active", "threading._active"]
# kind = ["threads", "instances"]
# line = ["crew = [Worker(jobs, results) for _ in range(CREW)]", "worker.start()"]
# ///
import hashlib
import queue
import random
import sys
import threading
import zlib

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
CREW = 2
BATCHES = 160
BLOCK = 16384


class Worker(threading.Thread):
    def __init__(self, jobs, results):
        super().__init__(daemon=True)
        self.jobs = jobs
        self.results = results
        self.scratch = bytearray(BLOCK)

    def run(self):
        while True:
            job = self.jobs.get()
            if job is None:
                break
            name, data = job
            self.results.put((name, *self.inspect(data)))

    def inspect(self, data):
        packed = 0
        digest = hashlib.sha256()
        for start in range(0, len(data), BLOCK):
            part = data[start:start + BLOCK]
            self.scratch[:len(part)] = part
            packed += len(zlib.compress(bytes(self.scratch[:len(part)]), 9))
            digest.update(part)
        return packed, digest.hexdigest()


def make_files(rng, batch):
    words = [rng.randbytes(rng.randint(3, 9)) for _ in range(180)]
    return [(f"b{batch}-f{i}", b" ".join(rng.choices(words, k=29000))) for i in range(6)]


def process(files):
    jobs, results = queue.Queue(), queue.Queue()
    crew = [Worker(jobs, results) for _ in range(CREW)]
    for worker in crew:
        worker.start()
    for item in files:
        jobs.put(item)
    done = [results.get() for _ in files]
    if MODE == "clean":
        for _ in crew:
            jobs.put(None)
        for worker in crew:
            worker.join()
    return done


def main():
    rng = random.Random(6)
    raw = packed = 0
    for batch in range(1, BATCHES + 1):
        files = make_files(rng, batch)
        raw += sum(len(data) for _, data in files)
        packed += sum(size for _, size, _ in process(files))
        if batch % 20 == 0:
            print(f"batch {batch}: {raw >> 10} kB packed to {packed / raw:.3f}", flush=True)


if __name__ == "__main__":
    main()
