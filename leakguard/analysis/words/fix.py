"""What to change, as an instruction."""

from __future__ import annotations

from leakguard.analysis.facts import fix as f
from leakguard.analysis.knowledge import (
    BEHIND_ADVICE,
    GONE_ADVICE,
    NATIVE_ADVICE,
    NO_COLLECTOR,
    POOLS_ADVICE,
)
from leakguard.analysis.words.remedy import UNHELD_ADVICE, extended, release, remedy
from leakguard.model.holder import Hop
from leakguard.model.known_leak import KnownLeak

_ADVICE = {
    "unheld": UNHELD_ADVICE,
    "native": NATIVE_ADVICE,
    "in pools": POOLS_ADVICE,
    "let go": GONE_ADVICE,
    "not recorded": "record the run with LeakGuard(out=...) to see which objects grow",
    "many arenas": "each thread has an arena of its own: start with MALLOC_ARENA_MAX=2, or use "
    "fewer threads",
    "held free": "call malloc_trim(0) (ctypes.CDLL(None).malloc_trim(0)) after the phase, start "
    "with MALLOC_TRIM_THRESHOLD_=100000, or run with another allocator (LD_PRELOAD of jemalloc or "
    "mimalloc); reuse buffers instead of making many of mixed sizes",
    "peak": "work in bounded pieces instead of on a copy of everything: write arrays one by one "
    "(numpy.save, memory maps) rather than pickle and compress them whole, and copy nothing that "
    "load_state_dict copies already",
    "copies": "load it once and let all share one read-only array "
    "(array.setflags(write=False)), or map it from its file (numpy.load(..., mmap_mode='r'))",
    "garbage": "break the cycles (a weak reference to the parent, or clear it when done), so that "
    "objects are freed at once; a smaller gc.set_threshold() has the collector come earlier",
    "child": "look for what is kept in that process: run its function under a guard of its own "
    '(LeakGuard(out="runs/")), or start workers anew now and then (maxtasksperchild, '
    "persistent_workers=False); the objects of another process cannot be counted from here",
    "gpu_allocated": "keep numbers, not GPU tensors: item(), detach().cpu(), or drop them each "
    "generation",
    "gpu_used": "record the run with LeakGuard(out=...) to see which tensors grow",
    "threads": "join or shut down what starts them: executors, loaders, writers",
    "open_files": "close what is opened: use `with`, close writers, sockets and pools",
    "children": "join or terminate the processes; reuse one pool of workers",
    "rss_shared": "close() each shared memory segment in every process and unlink() it in one; "
    "receive tensors from workers into buffers that are reused",
    "private": "keep what forked workers read in a few arrays (numpy, torch, pyarrow), not in "
    "lists or dicts of Python objects: reading an object counts a reference, which writes to its "
    "page and copies it; or load the data in the worker",
    "address_space": "unmap what is mapped (close the mmap, munmap in C): it costs no RAM until "
    "it is touched, and a process may have 65,530 mappings only (vm.max_map_count)",
    "mapped": "look for native buffers and mappings that are never released: handles without a "
    "close() or free(), memory maps, decoders, contexts of C libraries",
    "gc_frozen": "call gc.freeze() once, after start-up and a gc.collect(), not in the loop",
    "gc_uncollectable": "empty gc.garbage, and break the cycles of objects that the collector may "
    "not free (finalizers written in C); gc.DEBUG_SAVEALL keeps everything there",
}
_UNTIL_THEN = "until then gc.collect() at the end of the phase bounds it"


def fix(chosen: f.Fix) -> str:
    """Return the fix that was chosen."""
    match chosen:
        case str():
            return _ADVICE[chosen]
        case f.Remedy(type_name, holder):
            return remedy(type_name, holder)
        case f.Extended(type_name, holder):
            return extended(type_name, holder)
        case f.Release(type_name, held_by):
            return release(type_name, held_by)
        case f.MemoryBehind(type_name, holder):
            return f"{remedy(type_name, holder)}; {BEHIND_ADVICE}"
        case f.BoundGauge(name):
            return f"bound {name}: make the producer wait, or drop or merge what is pending"
        case f.BreakCycle(way, is_off):
            how = "(a weak reference, or clear it when done)"
            after = NO_COLLECTOR if is_off else _UNTIL_THEN
            return f"break the reference cycle{_cut(way)} {how}; {after}"
        case f.FindRest(phase):
            return (
                "unknown so far: fix the other findings and run again; what still grows then gets "
                f"a report of its own. Smaller phases inside {phase or 'the loop'} show where it "
                "comes from"
            )
        case f.LeftByLine(line):
            return (
                f"see what {line} calls, and where what it makes goes: no object that was looked "
                "at holds it. Code in C keeps it until a close(), free() or reset() of its own, or "
                "counts a reference too many"
            )


def known_fix(known: KnownLeak) -> str:
    """Return the fix of a known leak, with its source."""
    return f"{known.fix.rstrip('.')} (see {known.source})"


def _cut(way: tuple[Hop, ...]) -> str:
    """Name the reference that closes the cycle; empty if the cycle is unknown."""
    if not way:
        return ""
    before = way[-2].type
    return f" that comes back to {way[-1].type} from {before} through `{way[-1].label}`"
