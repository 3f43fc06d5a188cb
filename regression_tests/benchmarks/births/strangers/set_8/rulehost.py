"""Log scanning host: reloads rule plug-ins, scans rotated logs with tailers, and spools the findings."""
import mmap
import queue
import random
import re
import sys
import threading
from collections import Counter, deque

MODE = sys.argv[1]
ROTATIONS = 110
WORDS = [f"{a}{b}" for a in ("disk", "auth", "net", "cache", "user", "job") for b in range(60)]


class Rule:
    loaded = {}

    def __init_subclass__(cls, revision=0, **kw):
        super().__init_subclass__(**kw)
        Rule.loaded[cls.__name__, revision] = cls
        if MODE == "fixed":
            Rule.loaded.pop((cls.__name__, revision - 1), None)

    def __init__(self):
        self.hits = 0

    def scan(self, line):
        found = self.pattern.search(line)
        if found and found.group(1) in self.words:
            self.hits += 1
            return found.group(1)


class RuleLoader:
    families = ("disk", "auth", "net", "cache")

    def __init__(self):
        self.patterns = {}

    def compile(self, family, level):
        key = (family, level)
        if key not in self.patterns:
            self.patterns[key] = re.compile(rf"level={level} .*?\b({family}\d+)\b")
        return self.patterns[key]

    def reload(self, revision, rng):
        rules = []
        for family in self.families:
            body = {
                "words": {w: rng.random() for w in WORDS if w.startswith(family)},
                "pattern": self.compile(family, rng.randrange(3)),
            }
            cls = type(Rule)(family.title() + "Rule", (Rule,), body, revision=revision)
            rules.append(cls())
        return rules


class Tailer(threading.Thread):
    def __init__(self, rotation, results):
        super().__init__(name=f"tailer-{rotation}", daemon=True)
        self.lines, self.results = queue.Queue(), results

    def run(self):
        tail = deque(maxlen=250)
        counts = Counter()
        while True:
            line = self.lines.get()
            if line is None:
                break
            if line == "EOF":
                self.results.put(counts.most_common(3))
                continue
            tail.append(line.upper())
            counts[line.split()[1]] += 1


class Spool:
    SEGMENT = 96 * 1024

    def __init__(self):
        self.segments, self.acked = {}, 0

    def write(self, number, findings):
        segment = mmap.mmap(-1, self.SEGMENT)
        self.segments[number] = segment
        block = ("\n".join(findings) + "\n").encode()
        while segment.tell() + len(block) < self.SEGMENT:
            segment.write(block)

    def ack(self, number):
        self.acked = number
        if MODE == "fixed":
            self.segments.pop(number).close()


class Host:
    def __init__(self):
        self.rng = random.Random(8)
        self.loader, self.spool = RuleLoader(), Spool()
        self.results = queue.Queue()
        self.recent = deque(maxlen=2000)
        self.top = Counter()

    def rotate(self):
        lines = []
        for k in range(7000):
            picks = " ".join(self.rng.choices(WORDS, k=5))
            lines.append(f"t={k} level={self.rng.randrange(3)} {picks}")
        return lines

    def scan(self, rules, lines):
        findings = []
        for line in lines:
            for rule in rules:
                word = rule.scan(line)
                if word:
                    findings.append(f"{type(rule).__name__}:{word}")
        self.recent.extend(findings)
        return findings

    def tail(self, rotation, lines):
        tailer = Tailer(rotation, self.results)
        tailer.start()
        for line in lines[:900]:
            tailer.lines.put(line)
        tailer.lines.put("EOF")
        self.top.update(dict(self.results.get()))
        if MODE == "fixed":
            tailer.lines.put(None)
            tailer.join()

    def step(self, rotation):
        rules = self.loader.reload(rotation, self.rng)
        lines = self.rotate()
        findings = self.scan(rules, lines)
        self.spool.write(rotation, findings)
        self.spool.ack(rotation)
        if rotation > 42:
            self.tail(rotation, lines)
        return len(findings)


def main():
    host, found = Host(), 0
    for rotation in range(1, ROTATIONS + 1):
        found += host.step(rotation)
    print(found, len(host.recent), len(host.loader.patterns), host.top.total())


main()
