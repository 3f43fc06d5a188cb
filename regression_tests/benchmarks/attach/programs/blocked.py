"""A program that waits in C for something that does not come."""

import select
import sys

kept = [sys.argv]
select.select([0], [], [])
