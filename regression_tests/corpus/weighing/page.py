"""What each rule is worth, in Markdown: what decides most first, what decides nothing last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from regression_tests.corpus.table import markdown
from regression_tests.corpus.weighing.rules import FACTORS
from regression_tests.corpus.weighing.scales import FIRST, Weight

HEAD = ("rule", "change", "could decide", "tried", "changed", "found", "accused")
LEGEND = f"""
Each rule of `leakguard/analysis` is changed alone: a number is halved and doubled, a sign (a
function that answers yes or no) says no or yes always, a function that may answer None does always,
an entry of a table (a source, a step of the settlement, a claim, a sign of a holder) is left out.
**Could decide**: runs whose report could depend on it, because a comparison would come out
otherwise or the sign was asked. **Tried**:
of these, the runs that were judged with the change; all of them where the first {FIRST} stay as
they are. **Changed**: of the tried, the reports that are another (verdict, what, holder, phase,
start, line, what is cleared). **Found** and **accused**: leaks and false accusations more or less
among the changed.
"""


def page(weights: Iterable[Weight], runs: int, wanted: int) -> str:
    """Return the table of what decides, and the list of what doesn't; of ``wanted`` changes."""
    all_weights = sorted(weights, key=_rank)
    worth = [weight for weight in all_weights if weight.changed]
    return "\n".join([
        f"{runs} runs, what is set aside left out. {len(all_weights)} of {wanted} changes are "
        f"weighed; {len(worth)} of them change a report.",
        LEGEND,
        markdown(map(_row, worth), HEAD),
        "",
        "Nothing changes in any run by (how many runs it could decide in brackets):",
        "",
        *_nothing(weight for weight in all_weights if not weight.changed),
        "",
    ])  # fmt: skip


def _rank(weight: Weight) -> tuple[float, str, str]:
    share = len(weight.changed) / max(1, weight.tried)
    return -share * weight.touched, weight.change.name, weight.change.how


def _row(weight: Weight) -> Sequence[str]:
    change = weight.change
    how = f"{change.how}: {change.value:g}" if change.how in FACTORS else change.how
    counts = (weight.touched, weight.tried, len(weight.changed))
    return (f"`{change.name}`", how, *map(str, counts), f"{weight.found:+}", f"{weight.accused:+}")


def _nothing(weights: Iterable[Weight]) -> Iterator[str]:
    rules: dict[str, list[str]] = defaultdict(list)
    for weight in weights:
        rules[weight.change.name].append(f"{weight.change.how} ({weight.touched})")
    yield from (f"- `{name}`: {', '.join(rules[name])}" for name in sorted(rules))
