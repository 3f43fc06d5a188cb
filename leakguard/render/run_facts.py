"""Facts of a run: its source, where it ran, how long, and the cost of watching."""

from __future__ import annotations

from leakguard.model.run import Run
from leakguard.model.units import format_bytes
from leakguard.render.text import clean

_SOURCES = {
    "guard": "a live guard",
    "jsonl": "a recorded run",
    "log": "a text log",
    "outside": "the kernel, from outside",
    "curve": "a file of another tool",
}


def name(run: Run) -> str:
    """Return the name of the run, with its position among the runs of one file."""
    named = clean(run.info.name or run.info.command or "this run")
    rank = f", rank {run.info.rank}" if run.info.rank is not None else ""
    part, parts = run.part
    if parts == 1:
        return f"{named}{rank}"
    return f"{named}{rank} (run {part} of {parts}{', the last' if part == parts else ''})"


def run_facts(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the known facts of the run as (label, value)."""
    info = run.info
    packages = ", ".join(f"{package} {version}" for package, version in info.packages.items())
    facts = (
        ("Run", name(run)),
        ("Command", info.command),
        ("Started", info.started),
        ("Read from", _SOURCES.get(info.source, info.source)),
        ("Snapshots", _extent(run)),
        ("A generation", info.generation_means),
        ("Python", info.python),
        ("Platform", info.platform),
        ("Packages", packages),
        ("Memory limit", format_bytes(info.memory_limit) if info.memory_limit else None),
        ("Cost of watching", watching_cost(run)),
        ("Traced", _traced(run)),
    )
    return tuple((label, clean(value)) for label, value in facts if value)


def notes(run: Run) -> tuple[str, ...]:
    """Return what the reader skipped and which probes were unavailable, each once."""
    reasons = (f"{clean(probe)}: {clean(why)}" for probe, why in run.unavailable.items())
    return (*(clean(note) for note in run.notes), *reasons)


def watching_cost(run: Run) -> str | None:
    """Return the seconds that the snapshots cost, and their share of the run if known."""
    spent = run.watch_seconds
    if not spent:
        return None
    lasted = next((s.seconds for s in reversed(run.snapshots) if s.seconds), None)
    share = f", {spent / lasted * 100:.2g} % of the run" if lasted else ""
    return f"{spent:.3g} s{share}{_slowed(run, lasted)}"


def _slowed(run: Run, lasted: float | None) -> str:
    """Return how much longer the traced generations took, which the cost of looks excludes."""
    more = run.tracing_seconds
    share = f" ({more / lasted * 100:.2g} %)" if lasted else ""
    return f"; tracing took {more:.2g} s more{share}" if more > 0 else ""


def _traced(run: Run) -> str | None:
    """Return the generations that were traced, and how much longer they took than the others."""
    told = [
        f"generation {s.generation}, {s.cost.slowdown:.1f} times as long as those before it"
        + (", cut before its end" if s.cost.cut else "")
        for s in run.snapshots
        if s.cost.slowdown is not None
    ]
    return "; ".join(told) or None


def _extent(run: Run) -> str:
    generations = run.generation_count
    text = f"{len(run.snapshots):,}"
    if generations:
        text += f" in {generations:,} generation{'' if generations == 1 else 's'}"
        if run.recorded_generations < generations:
            text += f", {run.recorded_generations:,} of them measured"
    ended = run.finished or run.info.source == "log"
    return text if ended else f"{text}, not finished"
