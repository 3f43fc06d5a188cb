"""Pool workers that tokenise documents; each worker keeps a module-level cache of encodings."""
import multiprocessing as mp
import random
import sys
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
guard = LeakGuard(out=f"s10.{'clean' if CLEAN else 'leaky'}/")
_encoded = {}
VOCAB = {}


def encode(text):
    if text in _encoded:
        return _encoded[text]
    ids = [VOCAB.setdefault(w, len(VOCAB)) if len(VOCAB) < 5000 else hash(w) % 10**9 for w in text.split()]
    if not CLEAN or len(_encoded) < 50:
        _encoded[text] = ids
    return ids


def make_doc(seed):
    r = random.Random(seed)
    return " ".join(f"w{r.randrange(3000)}" for _ in range(400))


def task(shard):
    with guard.generation():
        out = 0
        for i in range(30):
            out += len(encode(make_doc(shard * 1000 + i)))
        return out


def main():
    ctx = mp.get_context("fork")
    with ctx.Pool(2) as pool:
        total = sum(pool.imap_unordered(task, range(60)))
        pool.close()
        pool.join()
    print("tokens", total)


if __name__ == "__main__":
    main()
