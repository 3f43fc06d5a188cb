"""Each spelling of memory is read as what it means, and what only looks alike is not."""

from __future__ import annotations

import pytest

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.store.textlog import read_runs
from leakguard.store.textlog.anchors import Anchors
from leakguard.store.textlog.spelled import spelled_sizes

MB, MIB, GB, GIB = 10**6, 1 << 20, 10**9, 1 << 30

LINES = {
    "INFO:root:Epoch 3 | train_loss 0.03 | mem=3.42GB": {"rss": 3_420 * MB},
    "[Epoch 3/50] loss 0.1 RSS=1500MB": {"rss": 1_500 * MB},
    "2026-01-01 10:00:03 - mon - Process memory usage: 1,226.4 MB": {"rss": 1_226_400_000},
    "[pid 4711] RSS: 812 MiB": {"rss": 812 * MIB},
    "Used memory: 12.3 GB (45%)": {"rss": 12_300 * MB},
    "step 20: Memory used: 1500.5 MB": {"rss": 1_500_500_000},
    "current RSS 3.20 GB": {"rss": 3_200 * MB},
    '{"i": 3, "rssMb": 920, "heapUsedMb": 12}': {"rss": 920 * MB},
    "pmem(rss=1572864000, vms=4718592000, shared=1234567, text=1)": {
        "rss": 1_572_864_000, "vms": 4_718_592_000,
    },
    "it=3 mem_used_gb=12.34 mem_total_gb=62.8 gpu_mem_used_gb=7.50": {
        "rss": 12_340 * MB, "gpu_used": 7_500 * MB,
    },
    "| step 3 | MEM: 3.42 GB | GPU MEM: 12.00 GB |": {"rss": 3_420 * MB, "gpu_used": 12 * GB},
    "VmRSS:\t 1536000 kB": {"rss": 1_536_000 << 10},
    "CPU Virtual Memory:  used = 12.34 GB, percent = 10.0%": {"rss": 12_340 * MB},
    "loss=0.3 rss_bytes=1572864000 step=3": {"rss": 1_572_864_000},
    'level=info msg="tick" rss="920 MB" threads=7': {"rss": 920 * MB},
    "rss_mb=1,226.5 of 4,000": {"rss": 1_226_500_000},
    "cuda memory allocated: 3.5 GiB, reserved 4 GiB": {"gpu_allocated": 3 * GIB + (GIB >> 1)},
}  # fmt: skip

OTHERS = [
    "Memory: 1 GB", "free memory: 12 GB", "available_mem_gb=31.5", "mem_total_gb=62.8",
    "memory_percent=45.1", "mem usage: 45%", "memory usage: 0.45", "rss=12",
    "swap used memory: 1 GB", "max_mem: 5432M", "peak_memory_mb=920", "remember: 3 GB",
    "rss_delta=+5 MB", "mem=lots",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_number_behind_words_is_what_they_mean(line):
    assert {size.metric: size.bytes for size in spelled_sizes(line, whole=True)} == LINES[line]


@pytest.mark.parametrize("line", OTHERS)
def test_words_that_look_alike_tell_nothing(tmp_path, line):
    path = tmp_path / "x.log"
    path.write_text(f"{line}\n" * 5)
    with pytest.raises(UnreadableRun):
        read_runs(path)


@pytest.mark.parametrize("line", LINES)
def test_cut_line_never_invents_a_size(line):
    whole = {size.metric: size.bytes for size in spelled_sizes(line, whole=True)}
    for length in range(len(line)):
        cut = {size.metric: size.bytes for size in spelled_sizes(line[:length], whole=False)}
        assert cut.items() <= whole.items()


def sizes(run: Run) -> list[float]:
    return [s.metrics["rss"] for s in run.generation_ends()]


def test_the_surest_of_several_words_counts(read):
    log = "".join(f"used memory: 40.{n} GB\nrss={n}.50GB\nmem=9.9GB\n" for n in range(1, 9))
    assert sizes(read(log)) == [n * GB + 500 * MB for n in range(1, 9)]


def test_steps_count_rounds_where_epochs_are_few(read):
    log = "".join(f"epoch={n // 20}, step={n} rss={n + 1}.00GB\n" for n in range(60))
    assert read(log).generations == tuple(range(60))


def test_workers_of_one_log_are_runs_of_their_own(read_all):
    log = "".join(
        f'{{"worker": {w}, "step": {n}, "rss_mb": {900 + n * w}}}\n'
        for n in range(9)
        for w in (1, 2)
    )
    assert [sizes(run)[-1] for run in read_all(log)] == [908 * MB, 916 * MB]


def test_table_of_a_tool_beside_the_programs_own_numbers_is_left_out(read):
    table = "NAME    CPU(cores)   MEMORY(bytes)\npod-a   12m          700Mi\n"
    log = "".join(f"Generation {n} / 9\nRAM: {n}.00 GB\n{table}" for n in range(1, 9))
    assert sizes(read(log)) == [n * GB for n in range(1, 9)]


def test_rows_of_a_table_come_through_the_noise_of_other_lines(read_all):
    log = "".join(
        f"NAME    CPU(cores)   MEMORY(bytes)\nloss {n} of 3 GB data\npod-a   12m   {700 + n}Mi\n"
        f"pod-b   12m   900Mi\n\n" + "epoch went well\n" * 60
        for n in range(9)
    )
    assert [sizes(run)[-1] for run in read_all(log)] == [708 * MIB, 900 * MIB]


def test_few_processes_of_many_are_reported_and_the_rest_counted(read_all):
    log = "".join(
        "  PID USER  PR NI  VIRT  RES  SHR S %CPU %MEM TIME+ COMMAND\n"
        + "".join(f"{p} a 20 0 9g {p * 1000} 9 S 1 2 0:1 job\n" for p in range(100, 140))
        for _ in range(4)
    )
    runs = read_all(log)
    assert {run.info.role for run in runs} == {f"job {p}" for p in range(124, 140)}
    assert all("24 series with less memory or few samples were left out" in r.notes for r in runs)


WORDS = (b"RAM", b"MEMORY ", b"emory", b"Gen", b"\n[1")


@pytest.mark.parametrize("texts", [WORDS, WORDS[:1], (b"MEMORY ",)])
@pytest.mark.parametrize("before", [0, 1, 15, 31, 32, 33, 70, 5000])
def test_compiled_search_finds_what_the_pattern_finds(texts, before):
    for word in texts:
        buffer = bytearray(b"MEMOR eAM Ge \xff" * 400)[:before] + word + b"RAM MEMORY "
        for begin, end in (
            (0, len(buffer)),
            (before, before + len(word)),
            (before, len(buffer) - 1),
        ):
            found = Anchors(texts).find(buffer, begin, end)
            assert found == Anchors(texts, compiled=False).find(buffer, begin, end)
        assert Anchors(texts).find(buffer, 0, before + len(word) - 1) == Anchors(
            texts, compiled=False
        ).find(buffer, 0, before + len(word) - 1)
