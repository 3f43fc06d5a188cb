"""Weak references: callbacks and finalisers must come in the order in which things are dropped."""

import time
import weakref

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        event("del", self.name)


kept = []
with watched() as guard:
    for number in guard.generations(range(12)):
        kept.extend(Sample(f"kept {number}") for _ in range(3))
        samples = [Sample(f"{number}.{index}") for index in range(4)]
        for sample in samples:
            weakref.finalize(sample, event, "finalize", sample.name)
        references = [weakref.ref(s, lambda _, n=s.name: event("ref", n)) for s in samples]
        del sample
        time.sleep(0.05)
        samples.pop(2)
        del samples
        event("dropped", sum(reference() is not None for reference in references))
kept.clear()
print(len(weakref.getweakrefs(Sample)))
