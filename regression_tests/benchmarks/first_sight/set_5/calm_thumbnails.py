"""Thumbnail farm: a thread pool with buffers that are handed back and used again."""
import queue
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

# /// truth
# about = "a thread pool whose buffer pool grows up to its peak and is used again, with the last results kept"
# ///


class BufferPool:
    def __init__(self, shape, most):
        self.shape = shape
        self.free = queue.LifoQueue()
        self.room = threading.Semaphore(most)
        self.made = 0
        self.lock = threading.Lock()

    def acquire(self):
        self.room.acquire()
        try:
            return self.free.get_nowait()
        except queue.Empty:
            with self.lock:
                self.made += 1
            return np.zeros(self.shape, dtype=np.float32)

    def release(self, buffer):
        self.free.put(buffer)
        self.room.release()


def synth(seed, out):
    rng = np.random.default_rng(seed)
    rng.standard_normal(out=out, dtype=np.float32)
    out[1:] += 0.8 * out[:-1]
    out[:, 1:] += 0.8 * out[:, :-1]


def thumbnail(seed, pool):
    buffer = pool.acquire()
    try:
        synth(seed, buffer)
        for _ in range(3):
            buffer[1:-1] = (buffer[:-2] + buffer[1:-1] + buffer[2:]) / 3
        h, w = buffer.shape
        small = buffer.reshape(h // 8, 8, w // 8, 8).mean(axis=(1, 3))
        return seed, (small * 32 + 128).clip(0, 255).astype(np.uint8)
    finally:
        pool.release(buffer)


def main():
    pool = BufferPool((256, 256), most=12)
    gallery = deque(maxlen=1600)
    contrast = 0.0
    with ThreadPoolExecutor(max_workers=4) as executor:
        for batch in range(560):
            # load rises in the course of the day
            size = 4 + min(8, batch // 30)
            futures = [executor.submit(thumbnail, batch * 100 + i, pool) for i in range(size)]
            for future in futures:
                seed, thumb = future.result()
                gallery.append((seed, thumb))
                contrast += 0.01 * (float(thumb.std()) - contrast)
            if batch % 80 == 0:
                print(f"batch {batch} size {size} buffers {pool.made} gallery {len(gallery)} contrast {contrast:.2f}")


if __name__ == "__main__":
    main()
