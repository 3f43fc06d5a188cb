"""numpy and torch as the watched program loaded them; this module never imports them.

Objects are recognised by the lineage of their type. They are read through the descriptors of the
framework's own base class, so that overridden attributes of subclasses are never used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import GetSetDescriptorType
from typing import Any, NamedTuple

from leakguard.capture.heap.classes import derives, namespace
from leakguard.capture.heap.half_built import is_blank
from leakguard.capture.heap.plain_tensors import PlainTensors, plain_tensors

Read = Callable[[Any], Any]
# Two readers of a node's saved tensor: one returns it raw, the other unpacked.
SavedSlot = tuple[Read, Read]
# Takes the getters of an array's base and interface, and the array; returns (start, bytes) of its
# memory. Returns None if the memory is not the array's own, or may hold objects.
OwnMemory = Callable[[object, object, Any], "tuple[int, int] | None"]


class Buffer(NamedTuple):
    """The memory of an array or tensor: its device, start address and number of bytes."""

    device: str
    start: int
    bytes: int


class Description(NamedTuple):
    """The description of an array or tensor for the user."""

    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    device: str | None = None


_UNKNOWN = Description()
_TELLS_SAVED = (2, 13)  # the oldest torch in which it was tried
_REFERENCES = "O"  # kind of a dtype; numpy.dtype.kind


@dataclass(frozen=True, slots=True)
class Numpy:
    """The parts of ``numpy.ndarray`` that are read."""

    kind: type
    base: Read
    bytes: Read
    interface: Read
    shape: Read
    dtype: Read
    flat: Read
    flags: Read
    fill: Callable[[Any, object], object]
    getters: tuple[object, object] | None = None  # of the base and the interface of an array

    def own_buffer(self, array: Any) -> Buffer:
        """Return the memory of an array that has no base, whatever its strides."""
        return Buffer("cpu", self.interface(array)["data"][0], self.bytes(array))

    def buffer(self, array: Any) -> Buffer:
        """Return the memory from the first to the last byte of an array, also for strided views."""
        description = self.interface(array)
        start = description["data"][0]
        strides = description.get("strides")
        if strides is None:
            return Buffer("cpu", start, self.bytes(array))
        return _strided(start, self.shape(array), strides, int(self.dtype(array).itemsize))

    def device(self, array: Any) -> str:
        """Return where the memory of an array is: always the host."""
        return "cpu"

    def holds_objects(self, array: Any) -> bool:
        """Return whether the elements are, or contain, references to Python objects."""
        return bool(self.dtype(array).hasobject)

    def takes_none(self, array: Any) -> bool:
        """Return whether all elements are references and can be overwritten."""
        return self.dtype(array).kind == _REFERENCES and bool(self.flags(array).writeable)

    def fill_with_none(self, array: Any) -> None:
        """Replace every element by None."""
        self.fill(array, None)


def _strided(start: int, shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> Buffer:
    if 0 in shape:
        return Buffer("cpu", start, 0)
    steps = [(count - 1) * stride for count, stride in zip(shape, strides, strict=True)]
    low = start + sum(step for step in steps if step < 0)
    return Buffer("cpu", low, sum(map(abs, steps)) + item)


@dataclass(frozen=True, slots=True)
class Torch:
    """The parts of ``torch.Tensor`` and its storage that are read."""

    kind: type
    plain: type
    storage: Read
    storage_start: Read
    storage_bytes: Read
    storage_device: Read
    shape: Read
    dtype: Read
    is_cpu: Read
    is_leaf: Read
    grad: Read
    grad_fn: Read
    base: Read
    is_sparse: Read
    indices: Read
    values: Read
    saved_data: Read | None
    unpack_hook: Read | None
    # Whether ``saved_data`` tells tensors that no hook replaced, too. Where it does not, they are
    # unpacked; after a backward pass that fails, and each failure takes 40 µs.
    tells_saved: bool
    without_user_code: Callable[[], Any]
    in_place: PlainTensors | None = None

    def buffers(self, tensor: Any) -> tuple[Buffer, ...]:
        """Return the storages of a tensor; empty for meta, fake and storage-less tensors."""
        try:
            if self.is_sparse(tensor):
                parts = [self.indices(tensor), self.values(tensor)]
            else:
                parts = [tensor]
            buffers = tuple(map(self._buffer, parts))
        except Exception:  # a wrapper of another framework: its bytes are not known
            return ()
        return tuple(buffer for buffer in buffers if buffer.start)

    def device(self, tensor: Any) -> str | None:
        """Return the device of a tensor's storage; None for a tensor without storage."""
        buffers = self.buffers(tensor)
        return buffers[0].device if buffers else None

    def gradient(self, tensor: Any) -> Any:
        """Return the ``.grad`` of a leaf, or None."""
        if not _awake[-1]:
            return None
        return _or_none(self.grad, tensor) if _or_none(self.is_leaf, tensor) else None

    def gradient_buffers(self, tensor: Any) -> tuple[Buffer, ...]:
        """Return the storages of a leaf's ``.grad``, which may exist only in C++ until then."""
        gradient = self.gradient(tensor)
        return () if gradient is None else self.buffers(gradient)

    def relatives(self, tensor: Any) -> tuple[Any, Any, Any]:
        """Return what a tensor keeps alive in C++: gradient, base, node of the backward graph."""
        base = _or_none(self.base, tensor) if _awake[-1] else None
        return self.gradient(tensor), base, self.node(tensor)

    def node(self, tensor: Any) -> Any:
        """Return the node of the backward graph that made a tensor; None for leaves."""
        return _or_none(self.grad_fn, tensor) if _awake[-1] else None

    def next_nodes(self, node: Any) -> list[Any]:
        """Return the nodes to which a node passes its gradients.

        They are new Python wrappers. The caller must keep them alive as long as it uses their ids.
        """
        if not _awake[-1]:
            return []
        try:
            return [entry[0] for entry in node.next_functions if entry[0] is not None]
        except Exception:  # a node that is half torn down
            return []

    def saved(self, node: Any, slots: Iterable[SavedSlot]) -> Iterator[Any]:
        """Yield what a node saved for its backward pass, without running unpack hooks.

        If a pack hook replaced a tensor, the replacement is yielded. Reading makes a Python object
        for each saved tensor that has none, and that object lives as long as the graph.
        """
        if self.unpack_hook is None or self.saved_data is None or not _awake[-1]:
            return
        for raw, unpacked in slots:
            try:
                kept = _as_tuple(raw(node))
                if self.tells_saved or any(map(self.unpack_hook, kept)):
                    yield from map(self.saved_data, kept)
                else:
                    yield from self._unpacked(node, unpacked, kept)
            except Exception:  # the slot cannot be read
                continue

    def _unpacked(self, node: Any, unpacked: Read, kept: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return _as_tuple(unpacked(node))
        except RuntimeError:  # freed by a backward pass, or changed in place since
            assert self.saved_data is not None
            return tuple(map(self.saved_data, kept))

    def _buffer(self, tensor: Any) -> Buffer:
        storage = self.storage(tensor)
        device = "cpu" if self.is_cpu(tensor) else str(self.storage_device(storage))
        if device == "meta":
            return Buffer(device, 0, 0)
        return Buffer(device, self.storage_start(storage), self.storage_bytes(storage))


@dataclass(frozen=True, slots=True)
class Frameworks:
    """The parts of numpy and torch that the watched program has loaded."""

    numpy: Numpy | None
    torch: Torch | None

    def describe(self, thing: Any) -> Description:
        """Return the shape, dtype and device of an array or tensor; all None for other objects."""
        for framework in (self.numpy, self.torch):
            if framework is not None and derives(type(thing), framework.kind):
                if is_blank(thing):
                    return _UNKNOWN
                try:
                    shape, dtype = tuple(framework.shape(thing)), str(framework.dtype(thing))
                except Exception:  # a wrapper whose shape cannot be read
                    return _UNKNOWN
                return Description(shape, dtype, framework.device(thing))
        return _UNKNOWN

    def own_buffer(self, thing: Any) -> Buffer | None:
        """Return the memory of a plain tensor, or of an array without a base; None for others."""
        if self.numpy is not None and type(thing) is self.numpy.kind:
            if is_blank(thing) or self.numpy.base(thing) is not None:
                return None
            return self.numpy.own_buffer(thing)
        if self.torch is not None and type(thing) is self.torch.plain and not is_blank(thing):
            buffers = self.torch.buffers(thing)
            return buffers[0] if len(buffers) == 1 else None
        return None

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Keep ``__torch_function__`` of tensor subclasses and modes from running in the block."""
        if self.torch is None:
            yield
            return
        with self.torch.without_user_code():
            yield


# Whether gradients and graph nodes may be read; torch then creates a Python object for each of
# them.
_awake = [True]


@contextmanager
def graphs_asleep() -> Iterator[None]:
    """Do not read gradients and backward graphs inside the block, because reading changes them.

    Each one that is read gets a Python object, and torch frees these objects by recursion. Freeing
    a chain of some 50,000 would crash the process.
    """
    _awake.append(False)
    try:
        yield
    finally:
        _awake.pop()


def loaded() -> Frameworks:
    """Return numpy and torch from ``sys.modules``; a half imported module counts as absent."""
    return Frameworks(_attempt(_numpy, "numpy"), _attempt(_torch, "torch"))


def _attempt(read: Callable[[Any], Any], name: str) -> Any:
    module = sys.modules.get(name)
    if module is None:
        return None
    try:
        return read(vars(module))
    except (KeyError, AttributeError, TypeError):
        return None


def _numpy(module: dict[str, Any]) -> Numpy:
    array = module["ndarray"]
    names = namespace(array)
    return Numpy(
        kind=array,
        base=names["base"].__get__,
        bytes=names["nbytes"].__get__,
        interface=names["__array_interface__"].__get__,
        shape=names["shape"].__get__,
        dtype=names["dtype"].__get__,
        flat=names["flat"].__get__,
        flags=names["flags"].__get__,
        fill=names["fill"],
        getters=_getters(names["base"], names["__array_struct__"]),
    )


def _getters(base: object, interface: object) -> tuple[object, object] | None:
    """Return the descriptors by which the compiled scan reads arrays.

    None if this numpy defines them in another way than by C getters.
    """
    is_known = type(base) is type(interface) is GetSetDescriptorType
    return (base, interface) if is_known else None


def _torch(module: dict[str, Any]) -> Torch:
    internals = vars(module["_C"])
    tensor = namespace(internals["TensorBase"])
    storage = namespace(internals["StorageBase"])
    return Torch(
        kind=internals["TensorBase"],
        plain=module["Tensor"],
        storage=tensor["untyped_storage"],
        storage_start=storage["data_ptr"],
        storage_bytes=storage["nbytes"],
        storage_device=storage["device"].__get__,
        shape=tensor["shape"].__get__,
        dtype=tensor["dtype"].__get__,
        is_cpu=tensor["is_cpu"].__get__,
        is_leaf=tensor["is_leaf"].__get__,
        grad=tensor["grad"].__get__,
        grad_fn=tensor["grad_fn"].__get__,
        base=tensor["_base"].__get__,
        is_sparse=tensor["is_sparse"].__get__,
        indices=tensor["_indices"],
        values=tensor["_values"],
        saved_data=_reader_of_saved(internals, "data"),
        unpack_hook=_reader_of_saved(internals, "unpack_hook"),
        tells_saved=_version(module) >= _TELLS_SAVED,
        without_user_code=internals["DisableTorchFunction"],
        in_place=plain_tensors(module),
    )


def _version(module: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", str(module["__version__"]))[:2])


def _reader_of_saved(internals: dict[str, Any], name: str) -> Read | None:
    """Return a reader of one field of a raw saved tensor; None if this torch is too old for it."""
    saved = namespace(vars(internals["_autograd"])["SavedTensor"]).get(name)
    return None if saved is None else saved.__get__


def _or_none(read: Read, item: Any) -> Any:
    try:
        return read(item)
    except Exception:  # a wrapper of another framework
        return None


def _as_tuple(kept: Any) -> tuple[Any, ...]:
    return kept if type(kept) is tuple else (kept,)
