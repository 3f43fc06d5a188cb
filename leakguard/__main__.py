"""``python -m leakguard``: the same as the ``leakguard`` command."""

from __future__ import annotations

import sys

from leakguard.cli import main

if __name__ == "__main__":
    sys.exit(main())
