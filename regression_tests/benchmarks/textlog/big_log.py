"""Large training logs, made the same each time: memory blocks far apart in progress-bar noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from leakguard.model import Census, Snapshot, TypeCount, Watched
from leakguard.model.units import GB, MB
from leakguard.render.log_block import snapshot_block

PHASES = ("evaluate_population", "train_population", "evolve_population", "validate", "checkpoint")


def noise(seed: int, size: int) -> bytes:
    """Return about ``size`` bytes of bars that redraw themselves and of ordinary log lines."""
    generator = random.Random(seed)
    parts: list[str] = []
    written = 0
    while written < size:
        parts.append(_bars(generator) if generator.random() < 0.5 else _lines(generator))
        written += len(parts[-1].encode())
    return "".join(parts).encode()


def _bars(generator: random.Random) -> str:
    pace = generator.random() * 9
    return (
        "".join(
            f"\rEvaluating agents: {6 * n:3d}%|{'█' * n}{' ' * (16 - n)}| {n}/16 "
            f"[00:{n:02d}<00:{16 - n:02d}, {pace:.2f}it/s]"
            for n in range(17)
        )
        + "\n"
    )


def _lines(generator: random.Random) -> str:
    second = generator.randrange(60)
    return "".join(
        f"2025-01-07 10:01:{second:02d},{generator.randrange(1000):03d} INFO trainer: step {n} "
        f"loss={generator.random():.6f} q={generator.gauss(0, 1):+.4f} buffer 15,680 / 50,000\n"
        for n in range(12)
    )


def block_log(path: Path, size: int, spacing: int) -> int:
    """Write a log with a snapshot block every ``spacing`` bytes; return how many there are."""
    filler = noise(0, spacing)
    return _write(path, size, lambda n: filler + (snapshot_block(_snapshot(n)) + "\n").encode())


def line_log(path: Path, size: int, spacing: int) -> int:
    """Write a log with nothing but one-line forms every ``spacing`` bytes."""
    filler = noise(1, spacing)

    def part(n: int) -> bytes:
        generation, phase = n // len(PHASES) + 1, PHASES[n % len(PHASES)]
        ram = (8 * GB + n * MB) / GB
        return (
            filler
            + (
                f"--- Generation {generation}: {phase} ---\n🔍 RAM: {ram:.2f} GB\n"
                f"DEBUG: Live environments: 2, Live agents: 17\n"
            ).encode()
        )

    return _write(path, size, part)


def _write(path: Path, size: int, part: Callable[[int], bytes]) -> int:
    written = count = 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(part(count))
            count += 1
    return count


def _snapshot(number: int) -> Snapshot:
    generation, phase = number // len(PHASES) + 1, PHASES[number % len(PHASES)]
    rss = 8 * GB + 20 * MB * (number % 7)
    return Snapshot(
        number,
        f"Gen {generation}: After {phase}",
        "phase",
        phase,
        generation,
        metrics={"rss": rss, "vms": 18 * GB, "peak": rss + 200 * MB, "threads": 9},
        watched={
            "trader.TradingEnvironment": Watched(2, (2, 2)),
            "trader.DDPGAgent": Watched(16 + number % 2, (16, 17)),
            "trader.ReplayBuffer": Watched(1, (1, 1)),
        },
        census=Census({"list": TypeCount(15_678), "numpy.ndarray": TypeCount(2_456)}),
    )


def made_logs() -> Iterator[tuple[str, Callable[[Path, int, int], int]]]:
    """Yield each kind of log with the function that writes it."""
    yield "snapshot blocks", block_log
    yield "one-line forms only", line_log
