"""Kill a training run with SIGKILL again and again; it must end like one that nobody killed.

    python -m regression_tests.benchmarks.trainer.killed --kills 50 --out reports/trainer/killed.md

A run is killed at a random moment after its first generation since the last start, or as soon
as a checkpoint is being written, or as soon as a file is on its way to the bucket. Then it is
resumed. At the end metrics, genomes and every complete checkpoint in the bucket are compared
with an unbroken run of the same seed.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
from safetensors.numpy import load_file

from reference_trainer.checkpoint import verify

#: More generations than a run can reach before it is killed.
ENDLESS = 10**6
PATIENCE = 120
MOMENTS = ("anywhere", "in a checkpoint", "in an upload")
SETTINGS = (
    "days=200", "stocks=6", "context_days=20", "trading_days=8", "settlement_days=3",
    "validation_days=40", "population_size=6", "hidden=48,48", "gradient_steps=3",
    "batch_size=8", "buffer_capacity=300", "buffer_ready=60", "plot_every=100",
)  # fmt: skip


@click.command()
@click.option("--kills", default=50, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(kills: int, seed: int, out: Path) -> None:
    """Kill, resume, and compare with an unbroken run."""
    rng, folder = random.Random(seed), Path(tempfile.mkdtemp(prefix="killed"))
    broken, data, met = folder / "broken", folder / "data", Counter[str]()
    for number in range(kills):
        moment = MOMENTS[number % len(MOMENTS)]
        met[_kill(_command(broken, data, ENDLESS), broken, moment, rng)] += 1
        click.echo(f"{number + 1}: {moment}, newest checkpoint {_newest(broken)}")
    last = int(_newest(broken)[4:]) + 1
    subprocess.run(_command(broken, data, last), check=True, capture_output=True)
    unbroken = folder / "unbroken"
    subprocess.run(_command(unbroken, data, last), check=True, capture_output=True)
    lines = [
        f"{kills} times SIGKILL, {last} generations: {_listed(met)}.",
        "",
        "| what | result |",
        "|---|---|",
        f"| history against an unbroken run | {_same(_metrics(broken) == _metrics(unbroken))} |",
        f"| last checkpoint, every tensor | {_same(_tensors_equal(broken, unbroken))} |",
        f"| complete checkpoints in the bucket, every checksum right | {_bucket(broken)} |",
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")
    click.echo(out.read_text())
    shutil.rmtree(folder)


def _command(out: Path, data: Path, generations: int) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    words = [
        sys.executable, "-m", "reference_trainer", "--no-guard", "--generations", str(generations),
        "--out", str(out), "--data-dir", str(data), "--upload", f"file://{out}/bucket", *settings,
    ]  # fmt: skip
    return [*words, "--resume"] if _newest(out) else words


def _newest(out: Path) -> str:
    names = [path.name for path in (out / "checkpoints").glob("gen_??????")]
    return max(names, default="")


def _kill(words: Sequence[str], out: Path, moment: str, rng: random.Random) -> str:
    """Start the command and kill it at the moment; returns the moment it really was."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Generation"):
            break
        if line.startswith("Error"):
            raise RuntimeError(line)
    met = _wait(out, moment, rng, process)
    process.kill()
    process.stdout.read()
    if process.wait() == 0:
        raise RuntimeError("the run ended before it was killed")
    return met


def _wait(out: Path, moment: str, rng: random.Random, process: subprocess.Popen[str]) -> str:
    if moment == "anywhere":
        time.sleep(rng.uniform(0.0, 0.3))
        return moment
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if moment == "in a checkpoint" and any((out / "checkpoints").glob("gen_*.tmp/*/*")):
            return moment
        if moment == "in an upload" and _is_uploading(out / "bucket"):
            return moment
    raise RuntimeError(f"never saw the run {moment}")


def _is_uploading(bucket: Path) -> bool:
    """Whether the newest checkpoint in the bucket has files, but no manifest yet."""
    newest = max(bucket.glob("gen_*"), default=None)
    return newest is not None and not (newest / "manifest.json").exists()


def _metrics(out: Path) -> list[str]:
    return (out / "metrics.jsonl").read_text().splitlines()


def _tensors_equal(one: Path, two: Path) -> bool:
    folders = [out / "checkpoints" / _newest(out) for out in (one, two)]
    names = [sorted(str(p.relative_to(f)) for p in f.glob("**/agent_*.safetensors"))
             for f in folders]  # fmt: skip
    if names[0] != names[1]:
        return False
    for name in names[0]:
        left, right = (load_file(folder / name) for folder in folders)
        if not all(np.array_equal(left[key], right[key], equal_nan=True) for key in left):
            return False
    return True


def _bucket(out: Path) -> str:
    """Checks every folder with a manifest, put together with the segments that it names."""
    bucket = out / "bucket"
    whole = sorted(path.parent for path in bucket.glob("gen_*/manifest.json"))
    for folder in whole:
        (folder / "buffer").mkdir(exist_ok=True)
        for name in json.loads((folder / "manifest.json").read_text()):
            if name.startswith("buffer/"):
                shutil.copyfile(bucket / name, folder / name)
        verify(folder)
    return f"{len(whole)} of {len(whole)}; {len(list(bucket.glob('gen_*')))} were begun"


def _same(equal: bool) -> str:
    return "the same" if equal else "DIFFERENT"


def _listed(met: Counter[str]) -> str:
    return ", ".join(f"{count} {moment}" for moment, count in met.items())


if __name__ == "__main__":
    main()
