"""Checkpoints that are complete or absent, in formats that cannot run code.

A checkpoint is a folder `gen_000012/` that appears by one rename, after every file in it has
reached the disk:

    best_agent.safetensors      genome, targets, Adam moments, loss histories
    population/agent_{i}.safetensors
    method.safetensors          what a population method knows beside its members, if anything
    buffer/rows_{a}_{b}.safetensors   rows a..b-1 of the ring; older ones are hard links
    trainer_state.json          generation, counters, settings, history
    manifest.json               size and SHA-256 of every file above

Random numbers are derived from (seed, purpose, generation), so the generation restores them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from reference_trainer.agent import DDPGAgent
from reference_trainer.errors import CheckpointError
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer

FORMAT = "reference_trainer.checkpoint/2"
METHOD = "method.safetensors"
#: Bytes of a buffer column that are read at once.
PIECE = 4_000_000


class CheckpointStore:
    """The checkpoints of one run, the newest few kept.

    `is_leased` says of a folder that somebody (an upload) still reads it; rotation waits.
    """

    def __init__(
        self, folder: Path, keep: int, is_leased: Callable[[Path], bool] = lambda path: False
    ) -> None:
        self.folder, self.keep, self.is_leased = folder, keep, is_leased

    def complete(self) -> list[Path]:
        """Finished checkpoints, oldest first."""
        return sorted(path for path in self.folder.glob("gen_??????") if path.is_dir())

    def latest(self) -> Path | None:
        """The newest finished checkpoint, if there is one."""
        found = self.complete()
        return found[-1] if found else None

    def save(
        self,
        generation: int,
        population: Population,
        buffer: ReplayBuffer,
        state: Mapping[str, Any],
        method: Mapping[str, np.ndarray] | None = None,
    ) -> Path:
        """Write a checkpoint; returns its folder. A crash at any point leaves the last one."""
        final = self.folder / f"gen_{generation:06d}"
        newest = self.latest()
        if newest is not None and newest.name > final.name:
            raise CheckpointError(
                f"{self.folder} already holds {newest.name}: resume it, or use another folder"
            )
        staging = final.with_suffix(".tmp")
        self._sweep()
        (staging / "population").mkdir(parents=True)
        (staging / "buffer").mkdir()
        manifest: dict[str, dict[str, Any]] = {}
        for name, agent in _named_agents(population):
            save_file(agent_tensors(agent), staging / name)
            manifest[name] = _entry(staging / name)
        if method:
            save_file(dict(method), staging / METHOD)
            manifest[METHOD] = _entry(staging / METHOD)
        manifest |= self._save_buffer(staging, buffer)
        document = {"format": FORMAT, "generation": generation, **state, "buffer": buffer.state()}
        (staging / "trainer_state.json").write_text(json.dumps(document))
        manifest["trainer_state.json"] = _entry(staging / "trainer_state.json")
        _write_synced(staging / "manifest.json", json.dumps(manifest, indent=1))
        for folder in (staging / "population", staging / "buffer", staging):
            _sync(folder)
        if final.exists():
            _set_aside(final)
        staging.rename(final)
        self._point_to(final)
        self._rotate()
        return final

    def load(
        self,
        path: Path,
        population: Population,
        buffer: ReplayBuffer,
        check_settings: Callable[[dict[str, Any]], None],
    ) -> dict[str, Any]:
        """Verify a checkpoint, then restore it in place; returns the trainer's state.

        Raises `CheckpointError` before anything was changed when a file is missing, damaged,
        or belongs to other settings.
        """
        manifest = verify(path)
        state: dict[str, Any] = json.loads((path / "trainer_state.json").read_text())
        if state.get("format") != FORMAT:
            raise CheckpointError(f"{path} has format {state.get('format')!r}, not {FORMAT!r}")
        check_settings(state["settings"])
        for name, agent in _named_agents(population):
            _restore_agent(path / name, agent)
        for name in sorted(name for name in manifest if name.startswith("buffer/")):
            _restore_rows(path / name, buffer)
        buffer.restore(state["buffer"])
        return state

    def _save_buffer(self, staging: Path, buffer: ReplayBuffer) -> dict[str, dict[str, Any]]:
        """Link the segments that are still needed and write the rows that came since."""
        manifest: dict[str, dict[str, Any]] = {}
        written, first = 0, max(0, buffer.rows_written - buffer.rows)
        previous = self.latest()
        if previous is not None:
            known = _read_manifest(previous)
            for name in sorted(name for name in known if name.startswith("buffer/")):
                begin, end = _segment(name)
                if first < end <= buffer.rows_written and begin <= max(written, first):
                    _link(previous / name, staging / name)
                    manifest[name], written = known[name], end
        for begin, end in _unwrapped(max(written, first), buffer.rows_written, buffer.rows):
            name = f"buffer/rows_{begin:012d}_{end:012d}.safetensors"
            span = slice(begin % buffer.rows, begin % buffer.rows + end - begin)
            save_file({key: col[span] for key, col in buffer.columns.items()}, staging / name)
            manifest[name] = _entry(staging / name)
        return manifest

    def _point_to(self, final: Path) -> None:
        pointer = self.folder / "latest"
        staging = pointer.with_suffix(".tmp")
        _write_synced(staging, final.name + "\n")
        staging.replace(pointer)
        _sync(self.folder)

    def _sweep(self) -> None:
        """Remove what an interrupted save or removal left behind."""
        for path in self.folder.glob("gen_*.tmp"):
            shutil.rmtree(path)

    def _rotate(self) -> None:
        for path in self.complete()[: -self.keep]:
            if not self.is_leased(path):
                _set_aside(path)
        self._sweep()


def agent_tensors(agent: DDPGAgent) -> dict[str, np.ndarray]:
    """Everything an agent needs to go on, by name."""
    tensors: dict[str, np.ndarray] = {}
    for name, network in zip(("actor", "critic"), agent.stack.networks, strict=True):
        tensors[f"{name}.values"] = network.values.numpy()
        tensors[f"{name}.target"] = network.target.numpy()
        tensors[f"{name}.exp_avg"] = network.exp_avg.numpy()
        tensors[f"{name}.exp_avg_sq"] = network.exp_avg_sq.numpy()
        tensors[f"{name}.step"] = network.step.reshape(1).numpy()
    tensors["critic_losses"] = np.array([float(loss) for loss in agent.critic_losses])
    tensors["actor_losses"] = np.array([float(loss) for loss in agent.actor_losses])
    tensors["fitness"] = np.array([np.nan if agent.fitness is None else agent.fitness])
    return tensors


def method_arrays(path: Path) -> dict[str, np.ndarray]:
    """What a population method knew beside its members, in memory of its own."""
    return load_file(path / METHOD) if (path / METHOD).exists() else {}


def verify(path: Path) -> dict[str, dict[str, Any]]:
    """Check every file of a checkpoint against its manifest."""
    manifest = _read_manifest(path)
    for name, expected in manifest.items():
        try:
            found = _entry(path / name, sync=False)
        except OSError:
            raise CheckpointError(f"{path} lacks {name}: delete the folder to go back") from None
        if found != expected:
            raise CheckpointError(
                f"{path} is damaged: {name} has {found['bytes']} bytes and SHA-256 "
                f"{found['sha256'][:12]}, expected {expected['bytes']} and "
                f"{expected['sha256'][:12]}; delete the folder to go back to the one before"
            )
    return manifest


def _named_agents(population: Population) -> Iterator[tuple[str, DDPGAgent]]:
    for index, agent in enumerate(population.agents):
        yield f"population/agent_{index}.safetensors", agent
    yield "best_agent.safetensors", population.best


def _restore_agent(path: Path, agent: DDPGAgent) -> None:
    with safe_open(path, framework="numpy") as file:
        for name, array in agent_tensors(agent).items():
            if "." not in name:
                continue
            stored = file.get_tensor(name)
            if stored.shape != array.shape:
                raise CheckpointError(
                    f"{path} holds {name} {stored.shape}, this run has {array.shape}: "
                    "resume with the settings of the first run"
                )
            array[...] = stored
        for history in ("critic_losses", "actor_losses"):
            kept = getattr(agent, history)
            kept.clear()
            kept.extend(file.get_tensor(history).tolist())
        fitness = float(file.get_tensor("fitness")[0])
        agent.fitness = None if np.isnan(fitness) else fitness


def _restore_rows(path: Path, buffer: ReplayBuffer) -> None:
    """Fill rows of the ring from one segment, a few MB at a time: no column is held twice."""
    begin, end = _segment(path.name)
    try:
        for name, column in buffer.columns.items():
            step = max(1, PIECE // (column.nbytes // len(column)))
            for first in range(begin, end, step):
                last = min(first + step, end)
                # Opened anew for each piece: the pages of the map are given back in between.
                with safe_open(path, framework="numpy") as file:
                    piece = file.get_slice(name)[first - begin : last - begin]
                column[np.arange(first, last) % buffer.rows] = piece
    except (SafetensorError, ValueError) as problem:
        raise CheckpointError(f"{path} does not fit this run's buffer: {problem}") from None


def _segment(name: str) -> tuple[int, int]:
    _, begin, end = Path(name).stem.split("_")
    return int(begin), int(end)


def _unwrapped(begin: int, end: int, rows: int) -> Iterator[tuple[int, int]]:
    """Pieces of `begin..end` that do not cross the end of the ring."""
    while begin < end:
        stop = min(end, (begin // rows + 1) * rows)
        yield begin, stop
        begin = stop


def _read_manifest(path: Path) -> dict[str, dict[str, Any]]:
    try:
        manifest: dict[str, dict[str, Any]] = json.loads((path / "manifest.json").read_text())
    except (OSError, ValueError) as problem:
        raise CheckpointError(f"{path} has no readable manifest.json: {problem}") from None
    return manifest


def _entry(path: Path, sync: bool = True) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
        if sync:
            os.fsync(stream.fileno())
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def _set_aside(path: Path) -> None:
    """Rename a checkpoint to what is swept away: half removed, it would look whole."""
    path.rename(path.with_name(f"{path.name}.old.tmp"))


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_synced(path: Path, text: str) -> None:
    with path.open("w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
