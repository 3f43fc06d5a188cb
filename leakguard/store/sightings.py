"""The table of a fleet, in DuckDB: filled from rows and Parquet, queried for bugs, and written.

It is one table, ``sightings``, with the columns of `leakguard.model.fleet.Sighting`. The queries
are plain SQL, so any engine that reads the Parquet file can answer them.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from leakguard.errors import UsageError, install
from leakguard.model.fleet import Bug, Fleet, Sighting

COLUMNS = {
    "run": "VARCHAR", "name": "VARCHAR", "job": "VARCHAR", "host": "VARCHAR", "rank": "INTEGER",
    "started": "TIMESTAMP", "hours": "DOUBLE", "generations": "INTEGER", "finished": "BOOLEAN",
    "verdict": "VARCHAR", "python": "VARCHAR", "fingerprint": "VARCHAR", "certainty": "VARCHAR",
    "kind": "VARCHAR", "type": "VARCHAR", "held_by": "VARCHAR", "phase": "VARCHAR",
    "line": "VARCHAR", "library": "VARCHAR", "bytes_per_generation": "DOUBLE",
    "leaked_bytes": "DOUBLE", "damage": "DOUBLE", "fix": "VARCHAR",
}  # fmt: skip
#: What the rows of the table can be grouped by, each with its column. A row is a sighting: one
#: finding in one run, or one run without findings.
GROUPS = {
    "bug": "fingerprint", "holder": "held_by", "type": "type", "line": "line", "kind": "kind",
    "library": "library", "host": "host", "python": "python",
}  # fmt: skip

_TEXTS = ("run", "fingerprint", "certainty", "kind", "type", "held_by", "line", "library", "fix")
_BUGS = """
SELECT {group} AS name, count(DISTINCT run), count(DISTINCT run) FILTER (NOT finished),
       count(DISTINCT host), coalesce(sum(damage), 0), coalesce(sum(leaked_bytes), 0),
       min(started), max(started), {texts}
FROM seen WHERE fingerprint IS NOT NULL AND {group} IS NOT NULL
GROUP BY 1 ORDER BY 5 DESC, 2 DESC, 1
"""


def encoded(rows: Iterable[Sighting]) -> bytes:
    """Return rows as lines of JSON: less to pass from one process to another than objects."""
    return msgspec.json.Encoder().encode_lines(rows)


class Sightings:
    """The rows of a fleet.

    Raises:
        UsageError: DuckDB is not installed.
    """

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError:
            raise UsageError(f"leakguard fleet needs DuckDB: {install('fleet')}") from None
        self._failures = duckdb.Error
        self._tables: Any = duckdb.connect()
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        self._tables.execute(f"CREATE TABLE sightings ({columns})")

    def add(self, rows: Iterable[Sighting]) -> None:
        """Add rows."""
        self.add_encoded([encoded(rows)])

    def add_encoded(self, texts: Iterable[bytes]) -> None:
        """Add encoded rows by a temporary file, which DuckDB reads faster than query parameters."""
        with tempfile.TemporaryDirectory(prefix="leakguard-") as folder:
            page = Path(folder) / "rows.json"
            with page.open("wb") as file:
                file.writelines(texts)
            if page.stat().st_size:
                self._tables.execute(
                    "INSERT INTO sightings BY NAME SELECT * FROM "
                    "read_json(?, columns=?, format='newline_delimited')",
                    [str(page), COLUMNS],
                )

    def read(self, file: Path, name: str) -> None:
        """Add the rows of a Parquet file that `write` made.

        Raises:
            UsageError: the file is not such a table; ``name`` is how the user calls it.
        """
        try:
            self._tables.execute(
                "INSERT INTO sightings BY NAME SELECT * FROM read_parquet(?)", [str(file)]
            )
        except self._failures as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(f"{name} is no table of leakguard fleet -o: {reason}") from error

    def write(self, file: Path) -> None:
        """Write all rows as Parquet, sorted by start time, then run.

        Raises:
            UsageError: the file cannot be written.
        """
        try:
            self._tables.table("sightings").order("started, run").write_parquet(str(file))
        except self._failures as error:
            raise UsageError(f"cannot write {file}: {str(error).partition(chr(10))[0]}") from error

    def fleet(self, group: str, since: datetime.datetime | None, top: int) -> Fleet:
        """Return the bugs, the most damaging first.

        Args:
            group: a key of `GROUPS`.
            since: leave out runs that began earlier, and runs without a start time.
            top: how many bugs to return.
        """
        self._tables.execute(
            "CREATE OR REPLACE TEMP TABLE seen AS "
            "SELECT * FROM sightings WHERE $since IS NULL OR started >= $since",
            {"since": since},
        )
        counted = "SELECT count(DISTINCT run), count(DISTINCT run) FILTER (fingerprint IS NOT NULL)"
        runs, leaking = self._tables.execute(f"{counted} FROM seen").fetchone()
        texts = ", ".join(f"arg_max({text}, coalesce(damage, 0))" for text in _TEXTS)
        query = _BUGS.format(group=GROUPS[group], texts=texts)
        rows = self._tables.execute(query).fetchall()
        return Fleet(runs, leaking, len(rows), tuple(Bug(*row) for row in rows[:top]))
