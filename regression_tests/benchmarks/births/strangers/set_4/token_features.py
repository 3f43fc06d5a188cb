"""Turns shards of access-log lines into hashed token features and fits a tiny logistic model on them."""
import functools
import math
import random
import zlib

WORDS = ["get", "post", "index", "cart", "login", "asset", "image", "search", "api", "v1", "v2", "item", "price", "logout"]
DIM = 4096


def read_shard(number, lines=1800):
    """A shard of log lines; each visitor carries a fresh session token."""
    rng = random.Random(number * 7919 + 5)
    shard = []
    for _ in range(lines):
        sid = f"sid-{rng.getrandbits(64):016x}"
        trace = f"tr:{rng.getrandbits(48):012x}"
        words = rng.choices(WORDS, k=rng.randint(6, 14))
        label = 1 if "cart" in words and "price" in words else 0
        shard.append((f"{sid} {trace} " + " ".join(words) + f" {rng.randint(100, 599)}", label))
    return shard


@functools.lru_cache(maxsize=8192)
def bucket(token):
    return zlib.crc32(token.encode()) % DIM


class TokenStat:
    __slots__ = ("token", "count", "first", "positive")

    def __init__(self, token, first):
        self.token = token
        self.count = 0
        self.first = first
        self.positive = 0


class Tokenizer:
    def __init__(self):
        self.table = {}

    def split(self, line):
        out = []
        for raw in line.split():
            tok = raw.strip(",;").lower()
            out.append(tok)
            if tok.isalpha() and len(tok) > 3:
                out.extend("#" + tok[i:i + 3] for i in range(len(tok) - 2))
        return out

    def observe(self, tokens, label, shard):
        for tok in tokens:
            stat = self.table.get(tok)
            if stat is None:
                stat = self.table[tok] = TokenStat(tok, shard)
            stat.count += 1
            stat.positive += label

    def weight(self, tok, seen):
        stat = self.table[tok]
        return math.log(1 + seen / stat.count)


class Logistic:
    def __init__(self):
        self.w = [0.0] * DIM
        self.bias = 0.0

    def fit(self, feats, label, lr=0.02):
        z = self.bias + sum(self.w[i] * v for i, v in feats)
        p = 1 / (1 + math.exp(-max(-20.0, min(20.0, z))))
        g = p - label
        self.bias -= lr * g
        for i, v in feats:
            self.w[i] -= lr * g * v
        return -math.log(p if label else 1 - p) if 0 < p < 1 else 0.0


tokenizer = Tokenizer()
model = Logistic()


def process(shard, seen):
    loss = 0.0
    for line, label in read_shard(shard):
        tokens = tokenizer.split(line)
        tokenizer.observe(tokens, label, shard)
        feats = [(bucket(t), tokenizer.weight(t, seen + 1)) for t in tokens]
        loss += model.fit(feats, label)
    return loss / 1800


if __name__ == "__main__":
    seen = 0
    for shard in range(70):
        loss = process(shard, seen)
        seen += 1800
        if shard % 20 == 19:
            print(f"shard {shard + 1} loss {loss:.4f}")
