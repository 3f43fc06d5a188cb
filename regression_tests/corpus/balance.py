"""How well the ledgers of recorded runs balance: what rows explain, beside what memory gained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from leakguard.analysis.balance import explained
from leakguard.analysis.case import Case
from leakguard.analysis.settlement import settle
from leakguard.analysis.sources import growths
from leakguard.analysis.spacing import evenly_spaced
from leakguard.model import Run
from regression_tests.corpus.table import markdown

#: Shares of the growth of live memory that the rows of a run come to, in bands.
BANDS = (0.0, 0.5, 0.8, 0.9, 1.1, 1.25, 1.5, float("inf"))


def shares(runs: Iterable[tuple[str, Run]]) -> Iterator[tuple[str, float]]:
    """Yield the runs whose live memory grows, with the share of it that rows and fills explain.

    Nothing is cut: rows that together tell more than live memory gained come to more than 1.
    """
    for name, run in runs:
        case = Case(evenly_spaced(run), whole=run)
        memory = case.memory()
        if memory is not None and memory.grows and case.counts_objects:
            ledger = settle(case, growths(case))
            yield name, sum(explained(memory, ledger.rows, ledger.cleared)) / memory.verdict.rate


def page(found: Sequence[tuple[str, float]]) -> str:
    """Return how many runs are in each band, and those that are far from balanced."""
    rows = (
        (f"{low:g} to {high:g}", str(sum(low <= share < high for _, share in found)))
        for low, high in pairwise(BANDS)
    )
    far = sorted((share, name) for name, share in found if not BANDS[1] <= share < BANDS[-2])
    listed = (f"- `{name}`: {share:.2f}" for share, name in far)
    head = f"{len(found)} runs in which live memory grows and objects were counted.\n"
    return "\n".join([head, markdown(rows, ("share explained", "runs")), "", *listed, ""])
