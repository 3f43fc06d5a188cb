"""Checkpoints go to a bucket in the background: paths in a bounded queue, never bytes."""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fsspec

from reference_trainer.errors import ConfigError

FRAME = "=" * 60
#: More files waiting than this means that uploads are slower than checkpoints.
TOO_MANY = 50
PROVIDERS = {"gcs": "gs", "gs": "gs", "s3": "s3", "aws": "s3"}
MANIFEST = "manifest.json"
#: Ends the name of a file that is on its way to where files grow in sight of their readers.
UNFINISHED = ".part"
#: Object stores have no folders to make. Their clients would read whole files below twice their
#: usual 50 MB block, and several blocks at a time: here one block of 8 MiB is in memory.
BLOCK = 8 * 2**20
OBJECT_STORES: dict[str, dict[str, int]] = {
    "s3": {"chunksize": BLOCK, "max_concurrency": 1},
    "gs": {"chunksize": BLOCK},
}


@dataclass(frozen=True)
class Transfer:
    """One file on its way: its checkpoint folder, its name in there, and at the other end."""

    folder: Path
    name: str
    target: str


class Uploader:
    """Sends finished checkpoint folders to an fsspec URL from one background thread.

    Buffer segments are sent once, to `buffer/` beside the checkpoints; everything else goes to a
    folder of the checkpoint's name. `manifest.json` comes last, and only when all it lists has
    arrived: a folder with a manifest is whole. A segment that failed is sent again with the next
    checkpoint. A full queue makes `enqueue` wait: back-pressure instead of a backlog.
    """

    def __init__(
        self,
        url: str,
        say: Callable[[str], None],
        *,
        capacity: int = 64,
        attempts: int = 5,
        delay: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            self.fs, self.root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as problem:
            raise ConfigError(_without_password(f"cannot upload to {url}: {problem}")) from None
        self.scheme = url.partition("://")[0]
        self.say, self.attempts, self.delay, self.sleep = say, attempts, delay, sleep
        self.capacity = capacity
        self.failed: deque[str] = deque(maxlen=100)
        self._queue: queue.Queue[Transfer | None] = queue.Queue(maxsize=capacity)
        self._leases: Counter[Path] = Counter()
        self._segments: set[str] = set()
        self._lost: set[str] = set()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="upload", daemon=True)
        self._thread.start()

    @property
    def pending(self) -> int:
        """Files that are queued or on their way."""
        with self._changed:
            return sum(self._leases.values())

    def status(self) -> str:
        """One line for the system status."""
        pending = self.pending
        slow = "" if pending <= TOO_MANY else ": uploads are slower than checkpoints"
        return f"Upload status: {pending} pending{slow}"

    def is_leased(self, folder: Path) -> bool:
        """Whether files of this checkpoint are still to be read."""
        with self._changed:
            return self._leases[folder] > 0

    def enqueue(self, folder: Path) -> None:
        """Announce a checkpoint and queue its files; waits while the queue is full."""
        transfers = self._transfers(folder)
        with self._changed:
            self._leases[folder] += len(transfers)
        self.say(f"{FRAME}\nQueueing checkpoints for background upload...\n{FRAME}")
        self.say(f"⏳ {len(transfers)} files queued for checkpoints")
        for transfer in transfers:
            self._queue.put(transfer)

    def drain(self, timeout: float) -> int:
        """Wait until nothing is pending, or `timeout` seconds; returns what is left."""
        with self._changed:
            self._changed.wait_for(lambda: not sum(self._leases.values()), timeout)
        return self.pending

    def close(self, timeout: float = 60.0) -> None:
        """Send what is left, then stop the thread; says what could not be sent."""
        left = self.drain(timeout)
        if left:
            self.say(f"Upload status: {left} pending, given up after {timeout:.0f} s")
        if self.failed:
            self.say(f"Upload status: {len(self.failed)} files failed, first {self.failed[0]}")
        if not left:
            self._queue.put(None)
            self._thread.join()

    def _transfers(self, folder: Path) -> list[Transfer]:
        names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
        segments = {name for name in names if _is_segment(name)}
        with self._changed:
            known = self._segments & segments
            self._segments = segments
        names = sorted((name for name in names if name not in known), key=lambda n: n == MANIFEST)
        return [Transfer(folder, name, self._target(folder, name)) for name in names]

    def _target(self, folder: Path, name: str) -> str:
        place = name if _is_segment(name) else f"{folder.name}/{name}"
        return f"{self.root}/{place}"

    def _work(self) -> None:
        while (transfer := self._queue.get()) is not None:
            if transfer.name == MANIFEST and (missing := self._missing(transfer.folder)):
                self._give_up(transfer, f"not sent, because {missing} did not arrive")
            else:
                self._send(transfer)
            self._release(transfer.folder)

    def _missing(self, folder: Path) -> str | None:
        """A file that this checkpoint needs and the bucket does not have."""
        needed = {self._target(folder, str(p.relative_to(folder))) for p in folder.rglob("*")}
        return min(needed & self._lost, default=None)

    def _send(self, transfer: Transfer) -> None:
        """Try until it works, waiting twice as long each time; give up after `attempts`."""
        for attempt in range(self.attempts):
            try:
                self._put(transfer)
                self._lost.discard(transfer.target)
                return
            except Exception as problem:
                reason = _without_password(str(problem)) or type(problem).__name__
                if attempt + 1 < self.attempts:
                    self.sleep(self.delay * 2**attempt)
        self._give_up(transfer, reason)
        self.say(f"Upload failed after {self.attempts} attempts: {self.failed[-1]}")

    def _put(self, transfer: Transfer) -> None:
        """Send one file, so that it is there whole or not at all, whenever this process ends."""
        source, target = str(transfer.folder / transfer.name), transfer.target
        if self.scheme in OBJECT_STORES:
            self.fs.put_file(source, target, **OBJECT_STORES[self.scheme])
            return
        self.fs.makedirs(target.rpartition("/")[0], exist_ok=True)
        self.fs.put_file(source, target + UNFINISHED)
        self.fs.mv(target + UNFINISHED, target)

    def _give_up(self, transfer: Transfer, reason: str) -> None:
        self.failed.append(_without_password(f"{transfer.target}: {reason}"))
        self._lost.add(transfer.target)
        with self._changed:
            self._segments.discard(transfer.name)

    def _release(self, folder: Path) -> None:
        """One file of the folder is done with; the last one ends its lease."""
        with self._changed:
            self._leases[folder] -= 1
            if self._leases[folder]:
                return
            del self._leases[folder]
            if not self._leases:
                # Every manifest that could miss these has been judged.
                self._lost.clear()
            self._changed.notify_all()


def _without_password(text: str) -> str:
    """The text with `user:password@` of every URL as `***@`: it goes to logs."""
    return re.sub(r"(?<=://)[^/\s@]+@", "***@", text)


def _is_segment(name: str) -> bool:
    return name.startswith("buffer/")


def bucket_from_environment() -> str | None:
    """The URL that CLOUD_PROVIDER and CLOUD_BUCKET ask for, or None."""
    provider, bucket = os.environ.get("CLOUD_PROVIDER"), os.environ.get("CLOUD_BUCKET")
    if not bucket:
        return None
    if "://" in bucket:
        return bucket
    try:
        return f"{PROVIDERS[(provider or 'gcs').lower()]}://{bucket}"
    except KeyError:
        raise ConfigError(
            f"CLOUD_PROVIDER={provider!r} is unknown: use {', '.join(PROVIDERS)}"
        ) from None
