"""Logs as people paste them, made anew from a seed: in each format one that leaks, and its twin."""

# ruff: noqa: E501 -- tables are as wide as their tools print them
from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Pasted:
    """A log with what it must be read as: by series, the bytes of each sample.

    ``rates`` has the bytes that a series gains in each sample; a calm one is not in it.
    """

    text: str
    series: dict[str | None, list[int]]
    rates: dict[str | None, float]


Curve = Callable[[random.Random, int], list[int]]


def leaking(rng: random.Random, samples: int) -> list[int]:
    """Return bytes that rise by 60 to 140 MiB a sample, with noise of a tenth of it."""
    base, rate = rng.randrange(800, 4000) * MIB, rng.randrange(60, 140) * MIB
    return [base + n * rate + rng.randrange(rate // 10) for n in range(samples)]


def calm(rng: random.Random, samples: int) -> list[int]:
    """Return bytes that warm up in the first samples and then stay about where they are."""
    base, rise = rng.randrange(800, 4000) * MIB, rng.randrange(200, 900) * MIB
    return [
        base + round(rise * (1 - math.exp(-n / 2))) + rng.randrange(6 * MIB) for n in range(samples)
    ]


def _clock(rng: random.Random) -> datetime:
    return datetime(2026, rng.randrange(1, 13), rng.randrange(1, 28), rng.randrange(24))


def _rounded(values: Sequence[int], unit: int, decimals: int = 0) -> list[int]:
    """Return what is left of sizes once they are printed in a unit."""
    return [round(float(f"{value / unit:.{decimals}f}") * unit) for value in values]


def _samples(rng: random.Random) -> int:
    return rng.randrange(28, 60)


def _rates(named: dict[str | None, tuple[list[int], bool]]) -> dict[str | None, float]:
    return {
        who: (values[-1] - values[0]) / (len(values) - 1)
        for who, (values, leaks) in named.items()
        if leaks
    }


# -- lines of the program itself -------------------------------------------------------------------


def python_logging(rng: random.Random, curve: Curve) -> Pasted:
    """Write what ``logging`` prints: a line of loss, a line ``rss=3.42GiB``."""
    values, start, stride = curve(rng, _samples(rng)), _clock(rng), rng.choice((1, 50, 1000))
    lines = []
    for n, value in enumerate(values):
        stamp = (start + timedelta(seconds=30 * n)).strftime("%Y-%m-%d %H:%M:%S,123")
        lines.append(
            f"{stamp} INFO     train.loop: step={n * stride} loss={1 / (n + 1):.4f} lr=3e-4"
        )
        lines.append(
            f"{stamp} INFO     train.mem: step={n * stride} rss={value / GIB:.2f}GiB "
            f"vms={value / GIB + 8:.2f}GiB peak={9.75:.2f}GiB"
        )
    return _single("\n".join(lines), _rounded(values, GIB, 2), curve, stride)


def json_lines(rng: random.Random, curve: Curve) -> Pasted:
    """Write a JSON record a line, with the unit in the key."""
    values, start = curve(rng, _samples(rng)), _clock(rng)
    lines = [
        json.dumps({
            "ts": (start + timedelta(seconds=45 * n)).isoformat() + "Z", "level": "INFO",
            "msg": "epoch done", "epoch": n, "loss": round(2 / (n + 1), 4),
            "rss_mb": round(value / 1e6, 1), "gpu_mem_mb": 5120,
        })
        for n, value in enumerate(values)
    ]  # fmt: skip
    return _single("\n".join(lines), _rounded(values, 10**6, 1), curve)


def nested_json(rng: random.Random, curve: Curve) -> Pasted:
    """Write nested JSON records in which memory is a plain number of bytes."""
    values = curve(rng, _samples(rng))
    lines = [
        json.dumps({"event": "metrics", "global_step": 100 * n,
                    "process": {"cpu": 99.5, "memory": {"rss": value, "percent": 41.5}}})
        for n, value in enumerate(values)
    ]  # fmt: skip
    return _single("\n".join(lines), values, curve, 100)


def process_memory(rng: random.Random, curve: Curve) -> Pasted:
    """Write ``process memory: 1226 MB`` between lines that tell nothing."""
    values, word = curve(rng, _samples(rng)), rng.choice(("process memory", "Process Memory"))
    lines = []
    for n, value in enumerate(values):
        lines += [f"reward {rng.gauss(20, 3):.2f}, {rng.randrange(200, 400)} frames a second"] * 3
        lines.append(f"[worker] iteration {n} done, {word}: {value / 1e6:.0f} MB")
    return _single("\n".join(lines), _rounded(values, 10**6), curve)


def ray_tune(rng: random.Random, curve: Curve) -> Pasted:
    """Write the status that Ray Tune prints again and again."""
    values = curve(rng, _samples(rng))
    parts = [
        "== Status ==\n"
        f"Current time: 2026-03-02 10:{n:02d}:11 (running for 00:{n:02d}:07.51)\n"
        f"Memory usage on this node: {value / GIB:.1f}/62.8 GiB \n"
        "Using FIFO scheduling algorithm.\n"
        "Resources requested: 4.0/16 CPUs, 0/1 GPUs, 0.0/35.4 GiB heap, 0.0/17.7 GiB objects\n"
        "Number of trials: 1/1 (1 RUNNING)\n\n"
        for n, value in enumerate(values)
    ]
    return _single("".join(parts), _rounded(values, GIB, 1), curve)


def _single(text: str, values: list[int], curve: Curve, stride: int = 1) -> Pasted:
    rates = _rates({None: (values, curve is leaking)})
    return Pasted(text + "\n", {None: values}, {who: rate / stride for who, rate in rates.items()})


# -- tables of tools -------------------------------------------------------------------------------


def free(rng: random.Random, curve: Curve) -> Pasted:
    """Write ``free`` in a loop, in MiB, KiB or with units."""
    values, total, kind = curve(rng, _samples(rng)), 64_213 * MIB, rng.choice(("-m", "", "-h"))
    unit, printed = {
        "-m": (MIB, lambda size: f"{size / MIB:.0f}"),
        "": (1024, lambda size: f"{size / 1024:.0f}"),
        "-h": (GIB, lambda size: f"{size / GIB:.1f}Gi"),
    }[kind]
    parts = [
        "               total        used        free      shared  buff/cache   available\n"
        f"Mem:    {printed(total):>12}{printed(value):>12}{printed(total // 3):>12}"
        f"{printed(MIB * 40):>12}{printed(total // 4):>12}{printed(total // 2):>12}\n"
        f"Swap:   {printed(2 * GIB):>12}{printed(0):>12}{printed(2 * GIB):>12}\n"
        for value in values
    ]
    text = "".join(parts)
    return _single(text, _rounded(values, unit, 1 if kind == "-h" else 0), curve)


def top(rng: random.Random, curve: Curve) -> Pasted:
    """Write ``top -b``: a process that trains, one that serves."""
    count = _samples(rng)
    trains, serves = curve(rng, count), calm(rng, count)
    first, second = rng.sample(range(1000, 90_000), 2)
    parts = []
    for n, (one, two) in enumerate(zip(trains, serves, strict=True)):
        parts.append(
            f"top - 09:{n:02d}:05 up 12 days,  3:11,  1 user,  load average: 7.91, 8.02, 7.70\n"
            "Tasks:   2 total,   1 running,   1 sleeping,   0 stopped,   0 zombie\n"
            "%Cpu(s): 24.1 us,  1.2 sy,  0.0 ni, 74.5 id,  0.1 wa,  0.0 hi,  0.1 si,  0.0 st\n"
            f"MiB Mem :  64213.1 total,  20111.0 free,  {(one + two) / MIB:.1f} used,  8123.4 buff/cache\n"
            "MiB Swap:   2048.0 total,   2048.0 free,      0.0 used.  50112.9 avail Mem \n\n"
            "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
            f"{first:>7} ml        20   0   31.2g {_of_top(one):>6}  98812 R 396.7  12.1   {n}:11.42 python\n"
            f"{second:>7} root      20   0 9123404 {_of_top(two):>6}  40112 S   1.0   2.9   0:41.00 uvicorn\n\n"
        )
    return _several(
        "".join(parts),
        {
            f"python {first}": ([_read_of_top(value) for value in trains], curve is leaking),
            f"uvicorn {second}": ([_read_of_top(value) for value in serves], False),
        },
    )


def _of_top(size: int) -> str:
    return f"{size / GIB:.1f}g" if size >= 10 * GIB else f"{size / MIB:.1f}m"


def _read_of_top(size: int) -> int:
    return _rounded([size], GIB if size >= 10 * GIB else MIB, 1)[0]


def kubectl_top(rng: random.Random, curve: Curve) -> Pasted:
    """Write ``kubectl top pod`` in a loop with a time before each table."""
    count = _samples(rng)
    named = {
        f"trainer-{rng.randrange(16**9):09x}-{rng.choice('bcdfg')}x2lq": curve(rng, count),
        "feature-store-0": calm(rng, count),
        f"redis-{rng.randrange(10)}": calm(rng, count),
    }
    parts = []
    for n in range(count):
        parts.append(f"--- {n // 12:02d}:{n % 12 * 5:02d}:00\n")
        parts.append("NAME                          CPU(cores)   MEMORY(bytes)\n")
        for name, values in named.items():
            cpu = f"{rng.randrange(100, 2000)}m"
            parts.append(f"{name:<30}{cpu:<13}{values[n] / MIB:.0f}Mi\n")
    trainer = next(iter(named))
    return _several(
        "".join(parts),
        {
            name: (_rounded(values, MIB), name == trainer and curve is leaking)
            for name, values in named.items()
        },
    )


def docker_stats(rng: random.Random, curve: Curve) -> Pasted:
    """Write ``docker stats`` as it redraws its table, with the codes for a terminal."""
    count = _samples(rng)
    named = {"erl-trainer": curve(rng, count), "postgres": calm(rng, count)}
    parts = []
    for n in range(count):
        parts.append("\x1b[2J\x1b[HCONTAINER ID   NAME          CPU %     MEM USAGE / LIMIT     "
                     "MEM %     NET I/O           BLOCK I/O        PIDS\n")  # fmt: skip
        for name, values in named.items():
            used = f"{values[n] / GIB:.3f}GiB / 125.7GiB"
            parts.append(f"{rng.randrange(16**12):012x}   {name:<13} 399.21%   {used:<21} 12.50%    "
                         "1.2GB / 31.4MB    33.1MB / 1.1GB   61\n")  # fmt: skip
    return _several(
        "".join(parts),
        {
            name: (_rounded(values, GIB, 3), name == "erl-trainer" and curve is leaking)
            for name, values in named.items()
        },
    )


def nvidia_csv(rng: random.Random, curve: Curve) -> Pasted:
    """Write ``nvidia-smi --query-gpu=... --format=csv -l 5`` of two GPUs."""
    count, start = _samples(rng), _clock(rng)
    gpus = [curve(rng, count), calm(rng, count)]
    unit = rng.choice((" MiB", ""))  # nounits
    lines = ["timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%]"]
    for n in range(count):
        stamp = (start + timedelta(seconds=5 * n)).strftime("%Y/%m/%d %H:%M:%S.731")
        lines += [
            f"{stamp}, {index}, {values[n] / MIB:.0f}{unit}, 40960{unit}, {rng.randrange(70, 99)} %"
            for index, values in enumerate(gpus)
        ]
    return _of_gpus("\n".join(lines) + "\n", gpus, curve)


def nvidia_boxes(rng: random.Random, curve: Curve) -> Pasted:
    """Write the table that ``nvidia-smi`` draws, again and again."""
    count = _samples(rng)
    gpus = [curve(rng, count), calm(rng, count)]
    line = "+-----------------------------------------+------------------------+----------------------+"
    parts = []
    for n in range(count):
        parts.append(
            f"Tue Nov  3 09:{n:02d}:00 2026       \n{line}\n"
            "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
            "|-----------------------------------------+------------------------+----------------------+\n"
            "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
            "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
            "|                                         |                        |               MIG M. |\n"
            "|=========================================+========================+======================|\n"
        )
        for index, values in enumerate(gpus):
            used = f"{values[n] / MIB:.0f}MiB /  40960MiB"
            parts.append(
                f"|   {index}  NVIDIA A100-SXM4-40GB          On  |   00000000:0{7 + index}:00.0 Off |                    0 |\n"
                f"| N/A   {rng.randrange(30, 60)}C    P0             57W /  400W | {used:>22} |     84%      Default |\n"
                f"|                                         |                        |             Disabled |\n{line}\n"
            )
        parts.append(
            "| Processes:                                                                              |\n"
            "|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |\n"
            "|        ID   ID                                                               Usage      |\n"
            "|=========================================================================================|\n"
            f"|    0   N/A  N/A     41772      C   python                                     {gpus[0][n] // MIB}MiB |\n"
            f"{line}\n"
        )
    return _of_gpus("".join(parts), gpus, curve)


def _of_gpus(text: str, gpus: Sequence[list[int]], curve: Curve) -> Pasted:
    return _several(
        text,
        {
            f"GPU {index}": (_rounded(values, MIB), index == 0 and curve is leaking)
            for index, values in enumerate(gpus)
        },
    )


def memory_profiler(rng: random.Random, curve: Curve) -> Pasted:
    """Write the tables of memory_profiler's ``@profile``, one for each call."""
    values, first = curve(rng, _samples(rng)), rng.randrange(5, 90)
    parts = []
    for value in values:
        size = value / MIB
        rows = ((size - 30, 0.0, "@profile"), None, (size - 22, 8.0, "    batch = load(n)"),
                (size, 22.0, "    history.append(step(batch))"))  # fmt: skip
        parts.append(
            "Filename: train.py\n\nLine #    Mem usage    Increment  Occurrences   Line Contents\n"
            "=============================================================\n"
        )
        for n, row in enumerate(rows):
            cells = ("", "", "") if row is None else (f"{row[0]:.1f} MiB", f"{row[1]:.1f} MiB", "1")
            text = "def train_epoch(n):" if row is None else row[2]
            parts.append("{:>6} {:>12} {:>12}  {:>10}   {}\n".format(first + n, *cells, text))
        parts.append("\n\n")
    return _single("".join(parts), _rounded(values, MIB, 1), curve)


def ray_memory_monitor(rng: random.Random, curve: Curve) -> Pasted:
    """Write the list of the largest processes that Ray's memory monitor logs."""
    count = _samples(rng)
    named = {"ray::Learner.train": curve(rng, count), "ray::RolloutWorker": calm(rng, count)}
    pids = rng.sample(range(10_000, 99_999), 2)
    parts = []
    for n in range(count):
        parts.append("(raylet) The top 10 memory consumers are:\n\nPID\tMEM\tCOMMAND\n")
        parts += [
            f"{pid}\t{values[n] / GIB:.2f}GiB\t{name}\n"
            for pid, (name, values) in zip(pids, named.items(), strict=True)
        ]
        parts.append("\n(pid=17) In addition, up to 0.4 GiB of shared memory is in use.\n")
    learner = "ray::Learner.train"
    return _several(
        "".join(parts),
        {
            f"{name} {pid}": (_rounded(values, GIB, 2), name == learner and curve is leaking)
            for pid, (name, values) in zip(pids, named.items(), strict=True)
        },
    )


def ps(rng: random.Random, curve: Curve) -> Pasted:
    """Write ``ps aux`` of one process in a loop, with its heading each time."""
    values, pid = curve(rng, _samples(rng)), rng.randrange(1000, 90_000)
    parts = [
        "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
        f"ml       {pid:>7}  397 12.1 32815508 {value // 1024} ?       Rl   09:00 {n}:14 python train.py\n"
        for n, value in enumerate(values)
    ]
    return _single("".join(parts), [value // 1024 * 1024 for value in values], curve)


def _several(text: str, named: dict[str | None, tuple[list[int], bool]]) -> Pasted:
    return Pasted(text, {who: values for who, (values, _) in named.items()}, _rates(named))


FORMATS: dict[str, Callable[[random.Random, Curve], Pasted]] = {
    "rss=3.42GiB": python_logging,
    '"rss_mb": 920.4': json_lines,
    "nested JSON, bytes": nested_json,
    "process memory: 1226 MB": process_memory,
    "free": free,
    "top -b": top,
    "kubectl top": kubectl_top,
    "docker stats": docker_stats,
    "nvidia-smi, CSV": nvidia_csv,
    "nvidia-smi, boxes": nvidia_boxes,
    "memory_profiler": memory_profiler,
    "Ray Tune": ray_tune,
    "Ray's memory monitor": ray_memory_monitor,
    "ps aux": ps,
}
