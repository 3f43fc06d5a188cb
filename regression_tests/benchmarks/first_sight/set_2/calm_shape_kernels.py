"""An interpreter of array expressions that compiles a kernel for each shape it meets. New shapes come up until
round 170 of 280; then all are known."""

# /// truth
# about = "a JIT-like cache of compiled kernels that is warm after 170 of 280 rounds"
# ///
import os
import random
import sys

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
rng = random.Random(83)
SHAPES = [(rows, columns) for rows in range(2, 12) for columns in range(2, 19)]
rng.shuffle(SHAPES)


class Kernel:
    def __init__(self, rows, columns):
        self.shape = (rows, columns)
        lines = ["def run(a, b, out):"]
        for row in range(rows):
            terms = " + ".join(f"a[{row * columns + k}] * b[{k}]" for k in range(columns))
            lines.append(f"    out[{row}] = {terms}")
        self.source = "\n".join(lines)
        space = {}
        exec(compile(self.source, f"<kernel {rows}x{columns}>", "exec"), space)
        self.run = space["run"]
        self.calls = 0


class Compiler:
    def __init__(self):
        self.kernels = {}

    @phase("compile")
    def kernel(self, shape):
        if shape not in self.kernels:
            self.kernels[shape] = Kernel(*shape)
        return self.kernels[shape]


@phase("run")
def run(compiler, known, calls=350):
    total = 0.0
    for _ in range(calls):
        rows, columns = shape = SHAPES[rng.randrange(known)]
        kernel = compiler.kernel(shape)
        out = [0.0] * rows
        a = [(index * 7 % 11) / 11 for index in range(rows * columns)]
        b = [(index * 5 % 13) / 13 for index in range(columns)]
        kernel.run(a, b, out)
        kernel.calls += 1
        total += sum(out)
    return total


compiler = Compiler()
total = 0.0
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for round_ in guard.generations(range(1, 281)):
        total += run(compiler, min(len(SHAPES), round_))
print("total", round(total), "kernels", len(compiler.kernels))
