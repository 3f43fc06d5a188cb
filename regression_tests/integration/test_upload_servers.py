"""Checkpoints reach S3 and GCS over their real protocols, through a network that fails."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

pytest.importorskip("torch")
from faulty_proxy import FaultyProxy
from small_run import small_config

from reference_trainer.checkpoint import verify
from reference_trainer.trainer import ERLTrainer
from reference_trainer.upload import BLOCK, Uploader

BUCKET = "checkpoints"


@pytest.fixture(scope="module")
def s3_server() -> Iterator[tuple[str, int]]:
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture(scope="module")
def gcs_server() -> Iterator[tuple[str, int]]:
    pytest.importorskip("gcsfs")
    made = pytest.importorskip("gcp_storage_emulator.server").create_server(
        "127.0.0.1", 0, in_memory=True, default_bucket=BUCKET
    )
    made.start()
    yield made._api._httpd.server_address
    made.stop()


@pytest.fixture(params=["s3", "gs"])
def store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, FaultyProxy]]:
    """A bucket behind a faulty network: its scheme, and the network."""
    server = request.getfixturevalue({"s3": "s3_server", "gs": "gcs_server"}[request.param])
    proxy = FaultyProxy(server)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nobody")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
    yield request.param, proxy
    fsspec.filesystem(request.param).clear_instance_cache()
    proxy.close()


@pytest.fixture
def bucket(store: tuple[str, FaultyProxy]) -> str:
    """The URL of an empty folder in an existing bucket."""
    scheme, _ = store
    fs = fsspec.filesystem(scheme)
    if not fs.exists(BUCKET):
        fs.mkdir(BUCKET)
    if fs.exists(f"{BUCKET}/run"):
        fs.rm(f"{BUCKET}/run", recursive=True)
    return f"{scheme}://{BUCKET}/run"


@pytest.fixture
def uploader(bucket: str) -> Callable[..., Uploader]:
    def make(**options: Any) -> Uploader:
        return Uploader(bucket, lambda text: None, delay=0.01, **options)

    return make


def checkpoint(folder: Path, size: int = 50_000) -> Path:
    """Files in the places of a checkpoint."""
    made = folder / "gen_000001"
    for name in ("agent.bin", "buffer/rows_0_5.safetensors", "manifest.json"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        # The GCS emulator reads the parts of an upload as mail, and loses a line end at their end.
        (made / name).write_bytes(os.urandom(size - 1) + b".")
    return made


def arrived(url: str, folder: Path) -> list[str]:
    """Names whose content in the bucket equals the file on disk; any other content fails."""
    fs, root = fsspec.core.url_to_fs(url)
    fs.invalidate_cache()
    names = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        place = name if name.startswith("buffer/") else f"{folder.name}/{name}"
        if fs.exists(f"{root}/{place}"):
            assert fs.cat_file(f"{root}/{place}") == path.read_bytes()
            names.append(name)
    return names


ALL = ["agent.bin", "buffer/rows_0_5.safetensors", "manifest.json"]


def test_every_file_arrives_as_it_is_on_disk(
    uploader: Callable[..., Uploader], bucket: str, tmp_path: Path
) -> None:
    sender = uploader()
    sender.enqueue(checkpoint(tmp_path))
    sender.close()
    assert not sender.failed
    assert arrived(bucket, tmp_path / "gen_000001") == ALL


@pytest.mark.parametrize("fault", ["busy", "forbidden", "reset", "lost answer"])
def test_one_fault_is_survived(
    uploader: Callable[..., Uploader],
    store: tuple[str, FaultyProxy],
    bucket: str,
    tmp_path: Path,
    fault: str,
) -> None:
    sender, proxy = uploader(), store[1]
    proxy.fail("none", fault)
    sender.enqueue(checkpoint(tmp_path))
    sender.close()
    assert proxy.met == [fault]
    assert not sender.failed
    assert arrived(bucket, tmp_path / "gen_000001") == ALL


def test_large_files_travel_in_blocks(
    uploader: Callable[..., Uploader],
    store: tuple[str, FaultyProxy],
    bucket: str,
    tmp_path: Path,
) -> None:
    sender, proxy = uploader(), store[1]
    proxy.fail("none", "reset")
    sender.enqueue(checkpoint(tmp_path, 3 * BLOCK))
    sender.close()
    assert not sender.failed
    assert arrived(bucket, tmp_path / "gen_000001") == ALL
    assert max(length for _, length in proxy.uploads) <= BLOCK + 1000


def test_manifest_stays_away_when_a_file_is_refused_for_good(
    uploader: Callable[..., Uploader],
    store: tuple[str, FaultyProxy],
    bucket: str,
    tmp_path: Path,
) -> None:
    sender, proxy = uploader(attempts=3), store[1]
    proxy.fail(*["forbidden"] * 3)
    sender.enqueue(checkpoint(tmp_path))
    sender.close()
    assert [line.partition(":")[0].rpartition("/")[2] for line in sender.failed] == [
        "agent.bin", "manifest.json",
    ]  # fmt: skip
    assert arrived(bucket, tmp_path / "gen_000001") == ["buffer/rows_0_5.safetensors"]


def test_a_training_run_can_be_restored_from_the_bucket(
    store: tuple[str, FaultyProxy], bucket: str, tmp_path: Path
) -> None:
    store[1].fail("none", "forbidden", "none", "none", "reset", "none", "forbidden")
    config = small_config(tmp_path, population_size=4, upload=bucket)
    trainer = ERLTrainer(config, log=io.StringIO())
    assert trainer.uploader is not None
    trainer.uploader.delay = 0.01
    for generation in (1, 2):
        trainer.run_generation(generation)
    trainer.uploader.close()
    assert not trainer.uploader.failed
    assert store[1].met == ["forbidden", "reset", "forbidden"]
    restored = fetched(bucket, "gen_000002", tmp_path / "fetched")
    mine = trainer.checkpoints.latest()
    assert mine is not None
    assert verify(restored) == verify(mine)


def fetched(url: str, name: str, to: Path) -> Path:
    """A checkpoint put together again from the bucket: its folder, and the segments it names."""
    fs, root = fsspec.core.url_to_fs(url)
    fs.invalidate_cache()
    fs.get(f"{root}/{name}/", f"{to}/{name}/", recursive=True)
    fs.get(f"{root}/buffer/", f"{to}/buffer/", recursive=True)
    shutil.copytree(to / "buffer", to / name / "buffer")
    return to / name
