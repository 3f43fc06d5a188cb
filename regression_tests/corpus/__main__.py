"""Record, pack, judge and weigh the corpus: ``python -m regression_tests.corpus --help``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regression_tests.corpus.recorder import Recorder, told
from regression_tests.corpus.sets import entries


def main() -> int:
    """Do what is asked; exit status 2 where that is not possible."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    record = commands.add_parser("record", help="play what is not recorded yet")
    record.add_argument("--runs", type=Path, required=True, metavar="FOLDER")
    record.add_argument("--only", default="", metavar="NAME", help="runs with this in their name")
    record.add_argument("--without", metavar="NAME", help="runs with this are left out")
    record.add_argument("--jobs", type=int, default=2)
    record.set_defaults(action=_record)
    options = parser.parse_args()
    return int(options.action(options))


def _record(options: argparse.Namespace) -> int:
    wanted = [
        entry
        for entry in entries()
        if options.only in entry.key and not (options.without and options.without in entry.key)
    ]
    for recording in Recorder(options.runs, options.jobs).record(wanted):
        told(recording)
    return 0


if __name__ == "__main__":
    sys.exit(main())
