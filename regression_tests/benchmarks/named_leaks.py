"""Train the reference trainer with every leak alone and with pairs of them: what is named?

``python -m regression_tests.benchmarks.named_leaks -o reports/named_leaks`` trains the healthy
trainer, each leak of the catalogue and five pairs drawn with a fixed seed, eight generations each
under the default guard, and writes who was named and who should have been. Exit status 1 when a
leak was not named or something else was.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leakguard import diagnose, load
from leakguard.model import Finding
from regression_tests.benchmarks.playing.page import keep_page
from regression_tests.benchmarks.playing.player import Player
from regression_tests.benchmarks.sets.trainer import GENERATIONS, entry_of, trainings


def _held_by(*parts: str) -> Callable[[Finding], bool]:
    return lambda finding: any(part in (finding.held_by or "") for part in parts)


def _is(kind: str, phase: str) -> Callable[[Finding], bool]:
    return lambda finding: (finding.kind, finding.phase) == (kind, phase)


#: How a finding names each leak: by the attribute that keeps it, or by what kind of thing it is.
NAMES: dict[str, Callable[[Finding], bool]] = {
    "loss-graph": lambda f: f.kind == "autograd" and "_losses" in (f.held_by or ""),
    "episode-history": _held_by(".episode_rewards", ".episode_actions"),
    "env-per-episode": _held_by(".episode_envs"),
    "env-cycle": lambda f: f.kind == "cycles" and (f.type or "").endswith(".TradingEnvironment"),
    "old-population": _held_by(".old_populations"),
    "best-agent-history": _held_by(".best_agents"),
    "deepcopy-clone": _is("peak", "evolve_population"),
    "loss-history": _held_by(".loss_history"),
    "figures": _held_by("matplotlib._pylab_helpers.Gcf.figs"),
    "episode-stats": _held_by(".all_episode_stats"),
    "batch-tensors": _held_by(".seen_batches"),
    "buffer-save-spike": _is("peak", "checkpoint"),
    # The trainer reports the length of the same queue as a gauge.
    "upload-backlog": lambda f: (
        ".pending_uploads" in (f.held_by or "") or (f.kind, f.type) == ("queue", "upload_queue")
    ),
    "env-data-copy": lambda f: f.kind == "copies" and "_env" in (f.held_by or ""),
}


@dataclass(frozen=True)
class Outcome:
    """What was said about a training with these leaks."""

    leaks: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def missed(self) -> list[str]:
        """Planted leaks that no finding names."""
        return [leak for leak in self.leaks if not any(map(NAMES[leak], self.findings))]

    @property
    def strangers(self) -> list[Finding]:
        """Findings that name none of the planted leaks."""
        named = [NAMES[leak] for leak in self.leaks]
        return [f for f in self.findings if not any(is_named(f) for is_named in named)]

    @property
    def row(self) -> str:
        """A row of the table."""
        said = "<br>".join(map(_told, self.findings)) or "nothing"
        wrong = [f"missed {leak}" for leak in self.missed]
        wrong += [f"stranger: {_told(finding)}" for finding in self.strangers]
        return f"| {' + '.join(self.leaks) or 'healthy'} | {said} | {'; '.join(wrong) or 'right'} |"


def _told(finding: Finding) -> str:
    what = f"{finding.verdict} {finding.kind} {finding.type or ''}".strip()
    where = f" in {finding.phase}" if finding.phase else ""
    return what + where + (f", held by `{finding.held_by}`" if finding.held_by else "")


def outcome(leaks: tuple[str, ...], player: Player) -> Outcome:
    """Train in a process of its own and judge the run."""
    entry = entry_of(leaks)
    (playing,) = player.play([entry])
    run = player.run_of(entry)
    if playing.failure or run is None:
        raise SystemExit(f"{entry.name}: {playing.failure}")
    return Outcome(leaks, diagnose(load(run)).findings)


def page(outcomes: list[Outcome]) -> str:
    """Return the table and its sum in Markdown."""
    right = sum(not (o.missed or o.strangers) for o in outcomes)
    return "\n".join((
        f"{right} of {len(outcomes)} trainings of {GENERATIONS} generations named all leaks "
        "and nothing else.",
        "",
        "| planted | said | judged |",
        "|---|---|---|",
        *(o.row for o in outcomes),
        "",
    ))  # fmt: skip


def main() -> int:
    """Train, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("leaks", nargs="*", help="trainings, such as figures or a,b; default: all")
    parser.add_argument("-o", dest="out", type=Path)
    options = parser.parse_args()
    asked = [tuple(filter(None, text.split(","))) for text in options.leaks]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as place:
        for leaks in asked or trainings():
            outcomes.append(outcome(leaks, Player(Path(place), jobs=1)))
            print(outcomes[-1].row, file=sys.stderr, flush=True)
            if options.out is not None and not asked:
                keep_page(options.out / "table.md", page(outcomes), __spec__.name)
    print(page(outcomes))
    return int(any(o.missed or o.strangers for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
