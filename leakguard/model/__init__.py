"""The values that travel from a live process to a rendered report; they import nothing else.

The vocabulary, one word for one thing; ``leakguard explain`` tells the same words to users.

generation   one round of the watched loop, whatever it is called there, with the user's number; a
             round is the same counted from 0
phase        a named part of a generation
snapshot     what was measured at one moment
look         a snapshot for which the heap was walked; an inspection is a look that asked who holds
             what
census       live objects by type, from a look
holder       a container that keeps objects alive, named by the way to it from a root
path         that way, hop by hop; a leak trace is a path to one object that leaks
place        a holder that many programs have, of which it is known what to do
promise      what the program said will be gone; an expectation is how that came out
metric       one number of the process; a gauge is one of the user's
series       one number followed over the generations
source       what growth is read from: types, containers, metrics ...
growth       what became more in a run, before anything is concluded
defect       growth that others explain nothing of, with those that are the same one
finding      a defect that is told, with its verdict, evidence and fix
cleared      what grew and is no defect, and why
report       all that is concluded about a run
live memory  what all allocators together have handed out and not got back
ledger       the growth of RSS, part by part
site         a line of the program that makes objects
proof        what came free when a holder was emptied in a copy of the process
birthplace   a line that allocated in one phase, with what is alive of that; a cohort is what was
             born there in the same rounds
"""

from leakguard.model.births import Birthplace, Births, Cohort
from leakguard.model.census import Census, LargeObject, Storage, TypeCount
from leakguard.model.finding import Cleared, Finding, Ignored, Verdict
from leakguard.model.forecast import Forecast
from leakguard.model.holder import Holder, Hop, Proof
from leakguard.model.ledger import Ledger
from leakguard.model.report import BaselineGrowth, CountChange, Report, TrendRow
from leakguard.model.run import Run, RunInfo
from leakguard.model.snapshot import (
    Collection,
    Cost,
    Expectation,
    Gauge,
    PhaseTotal,
    Site,
    Snapshot,
    Watched,
)

__all__ = [
    "BaselineGrowth",
    "Birthplace",
    "Births",
    "Census",
    "Cleared",
    "Cohort",
    "Collection",
    "Cost",
    "CountChange",
    "Expectation",
    "Finding",
    "Forecast",
    "Gauge",
    "Holder",
    "Hop",
    "Ignored",
    "LargeObject",
    "Ledger",
    "PhaseTotal",
    "Proof",
    "Report",
    "Run",
    "RunInfo",
    "Site",
    "Snapshot",
    "Storage",
    "TrendRow",
    "TypeCount",
    "Verdict",
    "Watched",
]
