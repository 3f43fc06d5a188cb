"""BPE tokenizer with a word cache, as in every GPT-2 clone; logs through log=sys.stdout."""
import random
import string
import sys
from leakguard import LeakGuard, phase

CLEAN = "clean" in sys.argv


class BPE:
    def __init__(self, merges, limit=5000):
        self.ranks = {m: i for i, m in enumerate(merges)}
        self.cache = {}
        self.limit = limit

    def bpe(self, token):
        if token in self.cache:
            return self.cache[token]
        word = tuple(token)
        while len(word) > 1:
            pairs = [(self.ranks.get(p, 1e9), i) for i, p in enumerate(zip(word, word[1:]))]
            rank, i = min(pairs)
            if rank == 1e9:
                break
            word = word[:i] + (word[i] + word[i + 1],) + word[i + 2:]
        if not CLEAN or len(self.cache) < self.limit:
            self.cache[token] = word
        return word

    @phase("tokenize")
    def encode(self, text):
        return [piece for token in text.split() for piece in self.bpe(token)]


rnd = random.Random(5)
tok = BPE([(a, b) for a in string.ascii_lowercase for b in "aeiou"])


def stream():
    for _ in range(40):
        words = ["".join(rnd.choices(string.ascii_lowercase, k=6)) for _ in range(1500)]   # session ids, urls
        words += ["the", "model", "learns"] * 500
        yield " ".join(words)


guard = LeakGuard(out=f"s17.{'clean' if CLEAN else 'leaky'}.jsonl", log=sys.stdout, log_every=10)
with guard:
    n = 0
    for chunk in guard.generations(stream()):
        n += len(tok.encode(chunk))
print(n)
