"""What a child does, and the rounds of its parent; the one child that gets the claim keeps rows."""

import os
import sys
import time
from pathlib import Path

# Children have another one, or this environment.
FOLDER = os.environ.setdefault("CLAIMS", str(Path.cwd()))
KIND = os.environ["KIND"]  # leak or calm
SECONDS = float(os.environ["SECONDS"])
# Each step keeps a row of 2,500 numbers in the child that leaks: 80 kB, of which 60 are floats.
NUMBERS, PAUSE, STEPS = 2500, float(os.environ["PAUSE"]), 10

history = []
mine = None


def claimed():
    """Return whether this process is the one that leaks: the first that asks."""
    global mine
    if mine is None or mine[0] != os.getpid():
        mine = os.getpid(), KIND == "leak" and created("leaking")
    return mine[1]


def created(name):
    try:
        descriptor = os.open(f"{FOLDER}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    os.write(descriptor, str(os.getpid()).encode())
    os.close(descriptor)
    return True


def step(item=0):
    """Do a part of the work: make a row, and in one child keep it."""
    row = [item + number * 0.5 for number in range(NUMBERS)]
    if claimed():
        history.append(row)
    time.sleep(PAUSE)
    return sum(row)


def task(item=0):
    """Do what a parent asks for at a time."""
    return sum(step(item) for _ in range(STEPS))


def forever(item=0):
    """Work until the parent ends this process."""
    while True:
        task(item)


def rounds(count=None):
    """Yield the rounds of the parent, by a guard if the program is told to have one."""
    until = time.monotonic() + SECONDS if count is None else None
    out = os.environ.get("GUARD")
    if out is None:
        yield from counted(until, count)
        return
    from leakguard import LeakGuard

    with LeakGuard(out=out) as guard:
        yield from guard.generations(counted(until, count))


def counted(until, count):
    number = 0
    while number < count if until is None else time.monotonic() < until:
        yield number
        number += 1
    print(f"{number} rounds", file=sys.stdout, flush=True)
    claim = Path(FOLDER, "leaking")
    if claim.exists():
        print(f"{claim.read_text('ascii')} leaks", file=sys.stdout, flush=True)
