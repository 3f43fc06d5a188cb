"""What is written is what is read, to the printed digit, also after every kind of damage."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakguard.errors import UnreadableRun
from leakguard.model import Census, Gauge, LargeObject, Run, Snapshot, TypeCount, Watched
from leakguard.model.units import GB, KB, MB
from leakguard.render.log_block import CENSUS_NAMES, short_names, snapshot_block
from leakguard.store.textlog import read_runs

BAR = "Evaluating agents:  50%|█████     | 8/16 [00:01<00:01,  5.31it/s]"
DAMAGES = {
    "none": lambda text: text,
    "logging": lambda text: prefixed(text, "2025-01-07 10:01:02,123 INFO "),
    "rank": lambda text: prefixed(text, "[rank3]: "),
    "worker": lambda text: prefixed(text, "worker-3 | "),
    "bars": lambda text: text.replace("\n", f"\n\r{BAR}\r{BAR}\r\n"),
    "open bar": lambda text: prefixed(text, f"\r{BAR}"),
    "colours": lambda text: prefixed(text, "\x1b[32m").replace("\n", "\x1b[0m\n"),
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "code page": lambda text: garbled(text, "cp1252"),
    "code page twice": lambda text: garbled(garbled(text, "latin-1"), "latin-1"),
    "ascii": lambda text: text.encode("ascii", "replace").decode(),
}
SETTINGS = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def prefixed(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def garbled(text: str, page: str) -> str:
    return text.encode().decode(page, "replace")


METRICS = ["vms", "gpu_allocated", "gpu_reserved", "peak", "heap_in_use", "heap_held"]
sizes = st.one_of(
    st.integers(0, 10**15), st.integers(0, 2000), st.sampled_from([KB, MB, GB, 999_999, 10**9 - 1])
)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
qualified = st.one_of(
    st.lists(names, min_size=1, max_size=3).map(".".join),
    st.sampled_from(["m.Lists", "a.Env", "b.Env", "m.f.<locals>.Env", "list", "numpy.ndarray"]),
)
watched = st.builds(
    lambda count, low, more: Watched(count, None if low is None else (low, low + more)),
    st.integers(0, 10**7),
    st.none() | st.integers(0, 10**6),
    st.integers(0, 3),
)
large = st.builds(
    LargeObject,
    type=qualified,
    bytes=sizes,
    shape=st.none() | st.lists(st.integers(0, 9999), max_size=4).map(tuple),
    dtype=st.none() | st.sampled_from(["float32", "torch.bfloat16", "<f8", "[('a','<f4')]"]),
    device=st.none() | st.sampled_from(["cuda:0", "cpu", "mps"]),
    held_by=st.none()
    | st.sampled_from(["__main__.trainer.loss_history[*]", "closure cell x of f"]),
    retained_bytes=st.none() | sizes,
)
labels = st.one_of(
    st.builds("Gen {}: After {}".format, st.integers(0, 10**6), names),
    st.builds("{} (baseline)".format, names),
    st.text("abcXYZ019 _-/():<>,.%é→🔍", min_size=1, max_size=40),
)
snapshots = st.builds(
    lambda label, rss, metrics, counts, watched, types, large, gauges: Snapshot(
        0,
        label,
        metrics={"rss": rss, **metrics, **counts},
        watched=watched,
        census=Census({k: TypeCount(n) for k, n in types.items()}, large=tuple(large)),
        gauges=gauges,
    ),
    labels,
    sizes,
    st.dictionaries(st.sampled_from(METRICS), sizes),
    st.dictionaries(st.sampled_from(["threads", "open_files"]), st.integers(0, 10**6)),
    st.dictionaries(qualified, watched, max_size=5),
    st.dictionaries(st.sampled_from(list(CENSUS_NAMES)), st.integers(0, 10**8)),
    st.lists(large, max_size=3),
    st.dictionaries(
        names, st.builds(Gauge, st.integers(-(10**9), 10**9), st.none() | st.integers(0, 10**9))
    ),
)


def printed(size: float) -> tuple[float, float]:
    """A size and how far from it the printed one may be."""
    scale = next((s for s in (GB, MB, KB) if size >= s), 100)
    return size, scale / 200 + 1e-9 * size


def read_one(path: Path, text: str) -> Run:
    path.write_bytes(text.encode())
    (run,) = read_runs(path)
    return run


@SETTINGS
@given(snapshot=snapshots, damage=st.sampled_from(list(DAMAGES)))
def test_every_printed_value_comes_back(tmp_path, snapshot, damage):
    text = DAMAGES[damage](snapshot_block(snapshot) + "\n")
    (back,) = read_one(tmp_path / "round.log", text).snapshots
    assert back.metrics.keys() == snapshot.metrics.keys()
    for name, value in snapshot.metrics.items():
        exact, tolerance = printed(value) if name not in ("threads", "open_files") else (value, 0)
        assert abs(back.metrics[name] - exact) <= tolerance
    shown = short_names(snapshot.watched)
    assert back.watched == {shown[name]: seen for name, seen in snapshot.watched.items()}
    census = snapshot.census
    types = {} if back.census is None else dict(back.census.types)
    assert types == {k: n for k, n in census.types.items() if k not in snapshot.watched}
    assert back.gauges == snapshot.gauges
    assert not back.extra
    if damage not in ("code page", "code page twice", "ascii"):
        assert back.label == " ".join(snapshot.label.split(" ")).strip()
    for got, gave in zip(back.census.large if back.census else (), census.large, strict=True):
        assert (got.type, got.shape, got.dtype, got.device, got.held_by) == (
            (gave.type, gave.shape, gave.dtype, gave.device, gave.held_by)
        )
        assert abs(got.bytes - gave.bytes) <= printed(gave.bytes)[1]
        assert (got.retained_bytes is None) == (gave.retained_bytes is None)


@SETTINGS
@given(snapshot=snapshots, damage=st.sampled_from(list(DAMAGES)), data=st.data())
def test_cut_blocks_hold_nothing_that_was_not_printed(tmp_path, snapshot, damage, data):
    text = DAMAGES[damage](snapshot_block(snapshot) + "\n").encode()
    path = tmp_path / "round.log"
    (whole,) = read_one(path, text.decode()).snapshots
    path.write_bytes(text[: data.draw(st.integers(0, len(text)))])
    try:
        (run,) = read_runs(path)
    except UnreadableRun:
        return
    (cut,) = run.snapshots
    assert cut.metrics.items() <= whole.metrics.items()
    assert cut.watched.items() <= whole.watched.items()
    assert cut.gauges.items() <= whole.gauges.items()
    assert set(cut.extra) <= set(whole.extra)
    if cut.census is not None:
        assert whole.census is not None
        assert cut.census.types.items() <= whole.census.types.items()
        assert cut.census.large == whole.census.large[: len(cut.census.large)]
