"""Files of other tools: the same analysis of their curve, and honest about what it lacks."""

from __future__ import annotations

import struct
import zlib

import pytest

from leakguard.analysis import diagnose
from leakguard.cli import main
from leakguard.errors import UnreadableRun
from leakguard.store import load_runs


def mprof(path, rate):
    lines = [f"MEM {100 + rate * n} {1_700_000_000 + n / 10:.4f}\n" for n in range(40)]
    path.write_text("".join(("CMDLINE python train.py\n", *lines)))


def psrecord(path, rate):
    heading = "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n"
    lines = [f"{n:12.3f} {50.0:12.3f} {100 + rate * n:12.3f} {900.0:12.3f}\n" for n in range(40)]
    path.write_text("".join((heading, *lines)))


def lightning(path, rate):
    lines = []
    for n in range(20):
        lines += [f"{n},{n * 10},0.5,\n", f"{n},{n * 10 + 9},,{(100 + rate * n) * 2**20}\n"]
    path.write_text("".join(("epoch,step,train_loss,memory/rss_bytes\n", *lines)))


def tensorboard(path, rate):
    writing = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    writer = writing.EventFileWriter(str(path.parent))
    for n in range(20):
        for tag, value in (("loss", 0.5), ("system/rss_mb", 105 + rate * n)):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            writer.add_event(Event(step=n, wall_time=1_700_000_000 + n, summary=summary))
    writer.close()
    next(path.parent.glob("events.out.tfevents.*")).rename(path)


def wandb(path, rate):
    pb = pytest.importorskip("wandb.proto.wandb_internal_pb2", reason="wandb is not installed")
    records = [pb.Record(header=pb.HeaderRecord())]
    for n in range(20):
        values = {"epoch": n, "notes": '"' + "x" * 5_000 + '"', "system/rss_mb": 105 + rate * n}
        items = [pb.HistoryItem(nested_key=[k], value_json=str(v)) for k, v in values.items()]
        records.append(pb.Record(history=pb.HistoryRecord(item=items)))
    path.write_bytes(in_blocks(record.SerializeToString() for record in records))


def in_blocks(records):
    """Write records as W&B does: what does not fit into a block of 32 KiB goes on in the next."""
    data = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        begun = False
        while record or not begun:
            left = 32_768 - len(data) % 32_768
            if left < 7:
                data += bytes(left)
                continue
            part, record = record[: left - 7], record[left - 7 :]
            kind = (3 if record else 4) if begun else (2 if record else 1)
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            begun = True
    return bytes(data)


FORMATS = {
    "mprofile_2026.dat": mprof,
    "activity.txt": psrecord,
    "metrics.csv": lightning,
    "events.out.tfevents.1700000000.node": tensorboard,
    "run-1a2b3c4d.wandb": wandb,
}


@pytest.mark.parametrize("name", FORMATS)
def test_curve_that_rises_is_suspect_and_a_flat_one_stable(name, tmp_path):
    verdicts = []
    for rate in (5, 0):
        (tmp_path / str(rate)).mkdir()
        path = tmp_path / str(rate) / name
        FORMATS[name](path, rate)
        (run,) = load_runs(path)
        assert run.snapshots[0].metrics["rss"] in (100 * 2**20, 105 * 10**6)
        verdicts.append(diagnose(run).verdict)
    assert verdicts == ["suspect", "stable"]


ROW = "{:12.3f} {:12.3f} {:12.3f} {:12.3f}\n"
ENDINGS = [
    (mprof, "MEM 60 1700000004.5\nMEM 35 1700000004.6\n"),
    (psrecord, ROW.format(41, 0, 60, 900) + ROW.format(42, 0, 9, 9)),
]


@pytest.mark.parametrize(("write", "last"), ENDINGS)
def test_samples_of_a_process_that_gives_its_memory_back_at_its_end_are_left_out(
    write, last, tmp_path
):
    verdicts = []
    for rate in (5, 0):
        path = tmp_path / f"{rate}.dat"
        write(path, rate)
        with path.open("a") as file:
            file.write(last)
        (run,) = load_runs(path)
        assert len(run.snapshots) == 40
        verdicts.append(diagnose(run).verdict)
    assert verdicts == ["suspect", "stable"]


def test_program_that_frees_half_its_memory_long_before_its_end_is_read_whole(tmp_path):
    path = tmp_path / "mprofile.dat"
    sizes = [100 + 5 * n for n in range(20)] + [40 + n for n in range(20)]
    path.write_text("".join(f"MEM {size} {n}.0\n" for n, size in enumerate(sizes)))
    (run,) = load_runs(path)
    assert len(run.snapshots) == 40


def test_a_curve_says_what_it_cannot_name(tmp_path, capsys):
    mprof(tmp_path / "mprofile.dat", 5)
    assert main(["report", str(tmp_path / "mprofile.dat"), "--full"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "a curve from outside has no types, holders or lines" in shown
    assert "the file names no generation: each sample counts as one" in shown
    assert "python train.py" in shown
    assert "Created at" not in shown  # nothing of a guard's looks and traces is said of it


def test_children_of_mprof_are_runs_of_their_own(tmp_path):
    path = tmp_path / "mprofile.dat"
    lines = [f"MEM 100 {n}.0\nCHLD 7 {50 + 9 * n} {n}.0\n" for n in range(20)]
    path.write_text("".join(lines))
    assert [diagnose(run).verdict for run in load_runs(path)] == ["stable", "suspect"]


def test_torn_last_line_costs_only_that_line(tmp_path):
    path = tmp_path / "mprofile.dat"
    path.write_text("MEM 100 1.0\nMEM 101 2.0\nMEM 10")
    (run,) = load_runs(path)
    assert len(run.snapshots) == 2


def test_of_a_long_recording_the_low_points_are_kept(tmp_path):
    path = tmp_path / "mprofile.dat"
    path.write_text("".join(f"MEM {100 + 50 * (n % 7)} {n}.0\n" for n in range(7_000)))
    (run,) = load_runs(path)
    assert len(run.snapshots) == 500
    assert {s.metrics["rss"] for s in run.snapshots} == {100 * 2**20}


def test_memory_events_tell_who_was_killed(tmp_path, capsys):
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n")
    (tmp_path / "memory.current").write_text("900000000\n")
    (tmp_path / "memory.max").write_text("1000000000\n")
    assert main(["report", str(tmp_path / "memory.events"), "--full"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "INCONCLUSIVE" in shown
    assert "the kernel killed 1 process of the group because its memory was full" in shown


def test_table_without_a_value_of_memory_is_refused(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,rss_mb\n1,\n2,\n")
    with pytest.raises(UnreadableRun, match="without a single value of memory"):
        load_runs(path)


def test_half_written_end_of_a_wandb_run_costs_only_its_last_record(tmp_path):
    path = tmp_path / "run-1a2b3c4d.wandb"
    wandb(path, 5)
    path.write_bytes(path.read_bytes()[:-1_000])
    (run,) = load_runs(path)
    assert run.generations == tuple(range(19))


def test_wandb_run_that_logged_nothing_of_memory_is_judged_by_what_wandb_sampled(tmp_path):
    pb = pytest.importorskip("wandb.proto.wandb_internal_pb2", reason="wandb is not installed")
    records = []
    for n in range(20):
        items = [pb.HistoryItem(key="loss", value_json="0.5")]
        records.append(pb.Record(history=pb.HistoryRecord(item=items)))
        sampled = {"memory_percent": 10.5, "proc.memory.rssMB": 100.0 + 5 * n}
        stats = pb.StatsRecord(
            item=[pb.StatsItem(key=k, value_json=str(v)) for k, v in sampled.items()]
        )
        stats.timestamp.FromMilliseconds(1_700_000_000_000 + 1_000 * n)
        records.append(pb.Record(stats=stats))
    path = tmp_path / "run-1a2b3c4d.wandb"
    path.write_bytes(in_blocks(record.SerializeToString() for record in records))
    (run,) = load_runs(path)
    assert [s.metrics["rss"] for s in run.snapshots] == [(100 + 5 * n) << 20 for n in range(20)]
    assert diagnose(run).verdict == "suspect"


def test_folder_of_an_offline_wandb_run_is_reported(tmp_path, capsys):
    folder = tmp_path / "wandb" / "offline-run-20261122_120000-1a2b3c4d"
    folder.mkdir(parents=True)
    wandb(folder / "run-1a2b3c4d.wandb", 5)
    assert main(["report", str(folder), "--full"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "SUSPECT" in shown
    assert "the logged 'system/rss_mb' of a W&B run" in shown
