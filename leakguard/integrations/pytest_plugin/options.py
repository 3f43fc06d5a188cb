"""The names of the options, apart from what reads them: pytest asks for these in every run."""

from __future__ import annotations

MARK = "memory_budget"

HELP = (
    f'{MARK}(growth="1 GB", peak="4 GB", constant={{Class: 2}}, threads=0, open_files=0, warmup=1, '
    "generations=5, retries=2): run the test several times, or loop over the fixture of the same "
    "name, and fail when a generation adds more live memory or more objects than that"
)

# Arguments of the mark that the ini file may give a default for, as `leakguard_<name>`.
INI = {
    "growth": 'bytes of live memory that a generation may add, such as "1 GB"',
    "peak": "the highest RSS that a test may reach",
    "verdict": "fail on this diagnosis: leak, suspect or never (default: leak)",
    "threads": "threads that a generation may add",
    "open_files": "open files that a generation may add",
    "children": "child processes that a generation may add",
    "generations": "rounds of a memory budget (default: 5)",
    "warmup": "rounds at the start that do not count (default: 1)",
    "retries": "how often a broken budget gets as many rounds again (default: 2)",
}
