"""Training logs as a trainer prints them, with the two series that must be told apart."""

from __future__ import annotations

FRAME = "=" * 70
HEALTHY = (8.52, 10.23, 11.89, 13.45, 14.23, 14.89, 15.12)
LEAKING = (8.52, 15.34, 22.67)


def block(label: str, rss: float, environments: int) -> str:
    return (
        f"{FRAME}\n🔍 MEMORY SNAPSHOT: {label}\n{FRAME}\n"
        f"💾 Process Memory:\n   RSS (actual RAM): {rss:.2f} GB\n"
        f"📊 Object Counts:\n   TradingEnvironment: {environments}\n   DDPGAgent: 16\n{FRAME}\n"
    )


def healthy() -> str:
    return _log(HEALTHY, [2] * len(HEALTHY))


def leaking() -> str:
    return _log(LEAKING, [2, 18, 34])


def _log(sizes, environments):
    blocks = [block("Trainer initialized (baseline)", 4.23, 2)]
    for generation, (size, count) in enumerate(zip(sizes, environments, strict=True), start=1):
        blocks.append(block(f"Gen {generation}: After evaluate_population", size, count))
    return "".join(blocks)
