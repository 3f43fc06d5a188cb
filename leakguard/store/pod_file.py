"""The file with what a pod holds beside its processes, in a run directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from leakguard.model.pod import Pod

_SCHEMA = "leakguard.pod/1"
_NAMED = "pod-{host}.json"


class _PodFile(msgspec.Struct):
    """The one value in the file."""

    schema: str
    pod: Pod


def write_pod(folder: Path, pod: Pod) -> None:
    """Write a pod to its file, whole.

    Raises:
        OSError: the folder cannot be written.
    """
    path = folder / _NAMED.format(host=pod.host)
    beside = path.with_name(f".{path.name}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.encode(_PodFile(_SCHEMA, pod)) + b"\n")
    beside.replace(path)


def read_pods(folder: Path) -> Iterator[Pod]:
    """Yield the pods of a run directory; files of another kind are left out."""
    for path in sorted(folder.glob(_NAMED.format(host="*"))):
        try:
            told = msgspec.json.decode(path.read_bytes(), type=_PodFile)
        except (OSError, msgspec.DecodeError):
            continue
        if told.schema == _SCHEMA:
            yield told.pod
