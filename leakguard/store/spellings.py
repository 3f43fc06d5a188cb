"""How programs and tools spell memory in a log: words, units and columns, all in one table.

A new spelling is one more row here. In the log reader, ``spelled`` reads numbers that follow words,
and ``tool_table`` reads the tables that tools print. ``curves`` recognizes the columns of a table
by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

# A number without its unit. Each repeat has an upper bound, here and in all patterns of the log
# reader, so that the time for a line grows only in proportion to its length.
NUMBER = r"\d{1,30}(?:[,_]\d{3}){0,9}(?:\.\d{1,30})?"

# -- numbers behind words: ``rss=3.42GiB``, ``"rss_mb": 920.4`` ------------------------------------


@dataclass(frozen=True, slots=True)
class Spelling:
    """Words that a memory amount follows.

    Attributes:
        key: the words, as a regular expression that ignores case.
        metric: the metric that the number is.
        rank: if several spellings give the same metric in one log, the lowest rank counts.
        after: one of these words must precede the key; empty if none is required.
        kernel: True if kB means KiB, as in what the kernel prints.
    """

    key: str
    metric: str
    rank: int
    after: frozenset[str] = frozenset()
    kernel: bool = False


_PROCESS = frozenset({"process", "proc", "host", "cpu", "current", "cur", "used", "python", "main",
                      "worker", "trainer", "sys", "system"})  # fmt: skip
#: Before the key of a ``Spelling``, one of these words means other memory or an amount that is not
#: in use. The number is then ignored.
NEVER = frozenset({"free", "available", "avail", "limit", "swap", "disk", "shared", "cached",
                   "delta", "gained", "freed", "min", "buffer"})  # fmt: skip
#: Before a key of ``GPU_SPELLINGS``, one of these words means memory of the GPU.
OF_GPU = frozenset({"gpu", "cuda", "device", "vram"})
#: Before a key, one of these words means a maximum or a total, such as ``peak`` in
#: ``peak RSS: 3.2 GB``. The number is then ignored if the key is not the best spelling of its
#: metric (``Spelling.rank`` above 0), or if neither ``:`` nor ``=`` follows the key.
WEAK = frozenset({"max", "peak", "maximum", "highest", "total", "model"})
#: Added to the rank if a word of ``WEAK`` comes before the key. The number then counts only if the
#: log gives the same metric nowhere with a lower rank.
WEAKER = 10
#: Added to the rank of a key without ``:`` or ``=`` after it, such as ``RSS 3.2 GB``.
UNSIGNED = 5

SPELLINGS = (
    Spelling(r"vmrss", "rss", 0, kernel=True),
    Spelling(r"rss|resident(?:[ _-](?:set|size|memory|mem)){0,3}", "rss", 0),
    Spelling(r"(?:memory|ram) (?:usage|used|in use)", "rss", 0),
    Spelling(r"(?:mem(?:ory)?|ram)[ _.-]?(?:usage|used|in[ _]use)", "rss", 1),
    Spelling(r"used[ _.-]?(?:mem(?:ory)?|ram)", "rss", 1),
    Spelling(r"ram", "rss", 0),
    Spelling(r"memory", "rss", 2, _PROCESS),
    Spelling(r"virtual memory:\s{1,3}used", "rss", 2, _PROCESS),
    Spelling(r"mem", "rss", 3),
    Spelling(r"vms|vsz", "vms", 0),
    Spelling(r"vram", "gpu_used", 1),
)
#: The same for a GPU; a word of ``OF_GPU`` comes before each of these keys.
GPU_SPELLINGS = (
    Spelling(r"(?:mem(?:ory)?|ram)[ _.-]?allocated|allocated", "gpu_allocated", 0),
    Spelling(r"(?:mem(?:ory)?|ram)[ _.-]?reserved|reserved", "gpu_reserved", 0),
    Spelling(r"(?:mem(?:ory)?|ram)(?:[ _.-]?(?:usage|used|in[ _]use))?", "gpu_used", 1),
)
#: A whole number without a unit is taken for bytes if it is at least this large.
BARE = 1 << 20

_UNIT = r"[kmgt]i?b?|bytes|b"
SIZE = rf"{NUMBER}(?:\s?(?:{_UNIT})\b)?"


def _alternatives(prefix: str, spellings: tuple[Spelling, ...]) -> str:
    return "|".join(f"(?P<{prefix}{n}>{one.key})" for n, one in enumerate(spellings))


#: The spelling of each named group of ``SPELLED``.
BY_GROUP = {
    **{f"s{n}": one for n, one in enumerate(SPELLINGS)},
    **{f"g{n}": one for n, one in enumerate(GPU_SPELLINGS)},
}
_GPU_WORDS = "|".join(sorted(OF_GPU - {"vram"}))
#: A number after one of the keys, with the word before the key, and a limit after a slash.
SPELLED = re.compile(
    rf"(?<![\w%])(?:(?:{_GPU_WORDS})[ _.-]?(?:{_alternatives('g', GPU_SPELLINGS)})"
    rf"|(?:(?P<of>[a-z]{{1,20}})[ _.-])?(?:{_alternatives('s', SPELLINGS)}))"
    r"(?:[ _/.-]?[\[(]?(?P<unit>bytes|[kmgt]i?b|b)[\])]?)?"
    r"[\"']?(?:\s{0,8}(?P<sign>[:=])\s{0,8}|\s(?:is |at |of )?)[\"']?"
    rf"(?P<used>{SIZE})(?![\w%]|\.\d|\s?%)(?:\s?/\s?(?P<limit>{SIZE}))?",
    re.IGNORECASE,
)
#: The counters of rounds on a line that also gives memory.
STEP = re.compile(
    r"(?<![\w.])(?P<word>generation|gen|epoch|global_step|step|iteration|iter|it|round|episode"
    r"|update)[\"']?\s?[:=#]?\s?[\"']?(?P<number>\d{1,15})(?:\.0)?(?![\w.%]|,\d)",
    re.IGNORECASE,
)

#: Only a line that contains one of these, in upper or lower case, is searched for ``STEP``. Forms
#: such as ``Generation 5:`` are missing here, because ``one_line._ROUND`` finds them.
STEP_WORDS = ("step", "epoch", "iter", "it=", "it ", "it:", "round", "episode", "update", "gen=",
              "generation=", 'gen"', 'generation"', "gen'", "generation'")  # fmt: skip

# -- tables of tools -------------------------------------------------------------------------------

Noun = Literal["pod", "node", "container", "GPU", "process", "machine", "function"]


@dataclass(frozen=True, slots=True)
class Columns:
    """A table with a heading.

    Attributes:
        tool: the tool that prints it.
        noun: what one series of it is.
        means: what its numbers measure.
        heading: the cells that identify the heading.
        memory: the heading of the memory column.
        who: headings of the columns that distinguish the series; those absent from a table are
            skipped.
        metric: the metric that the numbers are.
        unit: the unit of a number without one; None if each number must have a unit.
        number: a column with numbers only, which distinguishes rows from other lines.
        apart: what separates two cells.
        ends: True if only the last row of a table is a sample; False if each row is.
    """

    tool: str
    noun: Noun
    means: str
    heading: tuple[str, ...]
    memory: str
    who: tuple[str, ...]
    metric: str = "rss"
    unit: str | None = None
    number: str | None = None
    apart: Literal["blank", "blanks", "comma"] = "blank"
    ends: bool = False


_RESIDENT = "the resident memory of"
COLUMNS = (
    Columns("kubectl top", "node", "the working set of", ("NAME", "MEMORY(bytes)", "MEMORY%"),
            "MEMORY(bytes)", ("NAME",)),
    Columns("kubectl top", "pod", "the working set of", ("NAME", "CPU(cores)", "MEMORY(bytes)"),
            "MEMORY(bytes)", ("NAMESPACE", "POD", "NAME")),
    Columns("docker stats", "container", "memory less its file cache of",
            ("NAME", "MEM USAGE / LIMIT"), "MEM USAGE / LIMIT", ("NAME",), apart="blanks"),
    Columns("docker stats", "container", "memory less its file cache of",
            ("CONTAINER", "MEM USAGE / LIMIT"), "MEM USAGE / LIMIT", ("CONTAINER",),
            apart="blanks"),
    Columns("top", "process", _RESIDENT, ("PID", "VIRT", "RES"), "RES", ("COMMAND", "PID"),
            unit="KiB", number="PID"),
    Columns("ps", "process", _RESIDENT, ("PID", "RSS"), "RSS", ("COMMAND", "CMD", "Command", "PID"),
            unit="KiB", number="PID"),
    Columns("ps", "process", _RESIDENT, ("RSS", "COMMAND"), "RSS", ("COMMAND",), unit="KiB"),
    Columns("Ray's memory monitor", "process", _RESIDENT, ("PID", "MEM", "COMMAND"), "MEM",
            ("COMMAND", "PID"), number="PID"),
    Columns("Ray's memory monitor", "process", _RESIDENT, ("PID", "MEM(GB)", "COMMAND"), "MEM(GB)",
            ("COMMAND", "PID"), unit="GB", number="PID"),
    Columns("nvidia-smi", "GPU", "what all processes hold of", ("memory.used [MiB]",),
            "memory.used [MiB]", ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"),
            "gpu_used", unit="MiB", apart="comma"),
    Columns("sar", "machine", "memory in use of", ("kbmemused",), "kbmemused", (), unit="KiB"),
    Columns("memory_profiler", "function", "memory of the process at the end of",
            ("Line #", "Mem usage", "Increment"), "Mem usage", (), apart="blanks", ends=True),
)  # fmt: skip


def is_of_tool(cells: Iterable[str]) -> bool:
    """Return whether cells are the heading of a known tool's table."""
    known = {cell.strip() for cell in cells}
    return any(known.issuperset(columns.heading) for columns in COLUMNS)


@dataclass(frozen=True, slots=True)
class Shape:
    """A line without a heading: groups ``value``, and maybe ``limit``, ``unit`` and ``who``.

    ``named`` finds, on a line before, which series the value belongs to. ``sized`` is true if the
    tool prints no unit: the unit is then inferred from the size of ``limit``.
    """

    tool: str
    noun: Noun
    means: str
    word: str
    line: re.Pattern[str]
    metric: str = "rss"
    named: re.Pattern[str] | None = None
    sized: bool = False


_VALUE = rf"(?P<value>{NUMBER}\s?[KMGT]?i?B?)"
_LIMIT = rf"(?P<limit>{NUMBER}\s?[KMGT]?i?B?)"
SHAPES = (
    Shape("kubectl top", "pod", "the working set of", "Mi",
          re.compile(r"(?:.{0,80}\s)?(?P<who>[a-z0-9][a-z0-9.-]{0,200})\s{1,40}\d{1,7}m\s{1,40}"
                     r"(?P<value>\d{1,9}Mi)(?:\s{1,20}\d{1,3}%)?$")),
    Shape("free", "machine", "memory in use of", "Mem:",
          re.compile(rf"(?:^|.*\s)Mem:\s{{1,40}}{_LIMIT}\s{{1,40}}{_VALUE}(?:\s{{1,40}}\S{{1,20}}){{1,6}}$"),
          sized=True),
    Shape("top", "machine", "memory in use of", " Mem :",
          re.compile(rf".*?\b(?P<unit>[KMGT]iB) Mem ?: {{0,9}}(?P<limit>{NUMBER})\+? ?total"
                     rf".{{0,60}}?(?P<value>{NUMBER})\+? ?used")),
    Shape("nvidia-smi", "GPU", "what all processes hold of", "MiB |",
          re.compile(r"\|.{0,80}\|\s{1,20}(?P<value>\d{1,9}MiB)\s?/\s{0,9}(?P<limit>\d{1,9}MiB)\s?\|"),
          "gpu_used", re.compile(r"\|\s{1,4}(?P<who>\d{1,4})\s{1,4}[A-Z]")),
    Shape("gpustat", "GPU", "what all processes hold of", " MB |",
          re.compile(r".{0,80}\[(?P<who>\d{1,4})\].{1,120}\|\s{1,9}(?P<value>\d{1,9})\s?/\s{0,9}"
                     r"(?P<limit>\d{1,9})\s?(?P<unit>MB)\b"),
          "gpu_used"),
    Shape("Ray", "node", "memory in use of", "emory usage on this node",
          re.compile(rf".*?emory usage on this node:\s?(?P<value>{NUMBER})\s?/\s?"
                     rf"(?P<limit>{NUMBER})\s?(?P<unit>[KMGT]i?B)")),
    Shape("Ray's memory monitor", "node", "memory in use of", "emory on the node",
          re.compile(rf".*?emory on the node \(IP: (?P<who>[^,) ]{{1,60}}).{{0,400}}? was {_VALUE}"
                     rf"\s?/\s?{_LIMIT}")),
    Shape("Ray's memory monitor", "node", "memory in use of", "emory on node",
          re.compile(rf".*?emory on node (?P<who>\S{{1,80}}) is used \((?P<value>{NUMBER})\s?/\s?"
                     rf"(?P<limit>{NUMBER})\s?(?P<unit>[KMGT]i?B)\)")),
    Shape("Ray's object store", "node", "what plasma holds of", "lasma memory usage",
          re.compile(rf".*?lasma memory usage {_VALUE}(?=,)")),
)  # fmt: skip
#: The units that ``free`` may have used if it printed none, guessed from the machine's total
#: memory: a total below 1,024 is in GiB, below 2^20 in MiB, below 2^33 in KiB, and else in bytes.
#: Chosen.
SIZED = ((1 << 10, "GiB"), (1 << 20, "MiB"), (1 << 33, "KiB"), (1 << 62, "B"))
#: A row of memory_profiler's table for a function, and the row that has the function's name.
LINE_OF_FUNCTION = re.compile(rf"\s*\d{{1,9}}\s{{1,12}}(?P<value>{NUMBER} [KMGT]iB)\s")
FUNCTION = re.compile(r"\bdef\s{1,4}(\w{1,100})")

#: Each line that gives memory contains at least one of these.
MEMORY_WORDS = ("RAM", "RSS", "rss", "emory", "mem", "Mem", "MEM", "ram=", "ram:", "ram_", 'ram"',
                "esident", "vram", "VMS", "RES ", "MiB,", "MiB |", " MB |", "Off |", "On |",
                "m   ")  # fmt: skip

# -- columns of any table, by their names ----------------------------------------------------------

#: The columns that count rounds, the best first: a step counts only without a coarser counter.
ROUNDS = ("generation", "gen", "epoch", "iteration", "round", "step", "global_step")
UNIT_IN_NAME = re.compile(r"(?:^|[^a-z])(kib|mib|gib|kb|mb|gb|bytes)(?![a-z])", re.IGNORECASE)
GPU_IN_NAME = re.compile(r"gpu|cuda|allocated_bytes|reserved_bytes", re.IGNORECASE)
#: Patterns for the name of a column with memory, the most reliable name first.
MEMORY_IN_NAME = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"(?<![a-z])rss(?![a-z])", r"(?<![a-z])ram(?![a-z])", r"mem(?:ory)?(?![a-z])")
)
#: A column with such a name is never taken for memory in use.
NO_AMOUNT = re.compile(r"percent|%|limit|total|available|free", re.IGNORECASE)
