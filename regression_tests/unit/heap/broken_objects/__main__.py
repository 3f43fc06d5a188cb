"""Look at each of them in a process of its own.

``python -m broken_objects ENGINE`` prints one JSON object: the kind, and how a look at it ended.
``--mutate SECONDS`` keeps looking at all of them while threads change the heap.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import importlib
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from broken_objects.c_api import new_list
from broken_objects.classes import Both, DictKind, ListKind, Plain
from broken_objects.kinds import KINDS, ONE_LOOK, Look

_LOOKS_INSIDE = 2  # of one maker: a count and a walk
# What is loaded for each engine, and for the run that is watched.
_LIBRARIES = {"python": (), "compiled": ("numpy", "torch"), "--survivors": ("numpy",)}


def looker(name: str) -> Callable[[Any], None]:
    """Return what looks at one object, or at everything, by one of the engines.

    Without an object it counts and walks by turns: a maker may ask for dozens of looks.
    """
    from heap_engines import ENGINES

    engine = next(engine for engine in ENGINES if engine.name == name)
    turns = itertools.cycle((True, False))

    def look(item: Any = None) -> None:
        counts = next(turns)
        if item is not None or counts:
            engine.census({"plain": Plain}, large=1000)
        if item is not None or not counts:
            engine.inspect(targets=[item], large=1000, tell_cycles=lambda *_: True)

    return look


def _in_child(act: Callable[[], None]) -> str:
    """Return how something ended in a copy of this process: ``fine``, or what went wrong."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(ONE_LOOK)
        try:
            act()
        except BaseException as error:
            os.write(tell, f"{type(error).__name__}: {error}"[:500].encode())
            os._exit(1)
        os._exit(0)
    os.close(tell)
    _, status = os.waitpid(child, 0)
    with os.fdopen(told) as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(status)
    return "fine" if code == 0 else said or f"died: {code}"


def _at_most(times: int, look: Callable[[Any], None]) -> Look:
    left = iter(range(times))
    return lambda: None if next(left, None) is None else look(None)


def _looked_at(names: list[str], look: Callable[[Any], None]) -> Callable[[], None]:
    def act() -> None:
        kept = [KINDS[name](_at_most(_LOOKS_INSIDE, look)) for name in names]
        look(kept)

    return act


def verdicts(name: str) -> dict[str, str]:
    """Look at all kinds at once and, where that did not end well, at halves of them."""
    look = looker(name)
    return _ends(list(KINDS), lambda kinds: _in_child(_looked_at(kinds, look)))


def _ends(kinds: list[str], end: Callable[[list[str]], str]) -> dict[str, str]:
    said = end(kinds)
    if said == "fine" or len(kinds) == 1:
        return dict.fromkeys(kinds, said)
    middle = len(kinds) // 2
    return _ends(kinds[:middle], end) | _ends(kinds[middle:], end)


def survivors() -> list[str]:
    """Return the kinds that the interpreter's own collector survives, and the memory's teardown."""

    def collected(kinds: list[str]) -> str:
        def act() -> None:
            kept = [KINDS[kind](lambda: None) for kind in kinds]
            gc.collect()
            del kept
            gc.collect()

        return _in_child(act)

    gc.freeze()  # dozens of processes collect: what was there before is left out
    return [kind for kind, said in _ends(list(KINDS), collected).items() if said == "fine"]


def mutate(name: str, seconds: float) -> int:
    """Look again and again while two threads change the heap; return how many looks there were.

    Traversals that are written in Python are left out: other threads run in the middle of them, as
    they never do in one that is written in C.
    """
    look, end, stop = looker(name), time.monotonic() + seconds, threading.Event()
    kept = [make(lambda: None) for kind, make in KINDS.items() if "traversal" not in kind]
    threads = [threading.Thread(target=_churn, args=(stop,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    looks = 0
    while time.monotonic() < end:
        look(kept)
        looks += 1
    stop.set()
    for thread in threads:
        thread.join()
    return looks


def _churn(stop: threading.Event) -> None:
    chance, held = random.Random(0), collections.deque(maxlen=500)  # type: ignore[var-annotated]
    while not stop.is_set():
        thing: Any = chance.choice((Plain, ListKind, DictKind, new_list, dict, Both))
        made = thing(5) if thing is new_list else thing()
        if type(made) in (Plain, Both):
            setattr(made, f"attribute_{chance.randrange(40)}", [made, held])
        elif type(made) in (dict, DictKind):
            made.update((number, [number]) for number in range(chance.randrange(30)))
        held.append(made)
        held[chance.randrange(len(held))] = made


def main(arguments: list[str]) -> None:
    gc.disable()  # it would itself die of some of these
    # Walks in pure Python take their time: the libraries bring most of the objects.
    for library in _LIBRARIES[arguments[0]]:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    sys.stdout.flush()
    if arguments[0] == "--survivors":
        found: object = survivors()
    elif arguments[1:2] == ["--mutate"]:
        found = mutate(arguments[0], float(arguments[2]))
    else:
        found = verdicts(arguments[0])
    print(json.dumps(found), flush=True)
    os._exit(0)  # nothing is torn down: that would read what is broken


if __name__ == "__main__":
    main(sys.argv[1:])
