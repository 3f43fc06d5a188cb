"""One loop in a process of its own, watched, traced or left alone, that measures itself.

``python -m regression_tests.benchmarks.overhead.loop guarded --generations 4 --folder F``
"""

from __future__ import annotations

import argparse
import json
import socket
from dataclasses import asdict
from pathlib import Path

from regression_tests.benchmarks.overhead.objects import TRADES, trade
from regression_tests.benchmarks.overhead.stopwatch import Partner, Stopwatch
from regression_tests.benchmarks.overhead.variants import VARIANTS

#: Two of the reference trainer, and those without a framework in their process.
LOOPS = ("small", "full", *TRADES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--size", choices=LOOPS, default="small")
    parser.add_argument("--generations", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--give-back", action="store_true")
    parser.add_argument("--partner", type=int, help="descriptor of a socket to it")
    parser.add_argument("--behind-when-odd", action="store_true")
    options = parser.parse_args()
    partner = None
    if options.partner is not None:
        partner = Partner(socket.socket(fileno=options.partner), options.behind_when_odd)
    stopwatch, folder = Stopwatch(options.generations, partner), options.folder
    if options.size in TRADES:
        told = trade(options.variant, options.size, options.generations, folder, stopwatch)
    else:
        from regression_tests.benchmarks.overhead.training import train  # with it comes torch

        keep = not options.give_back
        told = train(options.variant, options.size, options.generations, folder, stopwatch, keep)
    print(json.dumps(asdict(told)))


if __name__ == "__main__":
    main()
