"""Leaks of extensions written in C."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timezone
from io import BytesIO
from itertools import count
from pathlib import Path

from regression_tests.benchmarks.packages.pair import Call, pair


@pair(
    "ujson",
    "5.11.0",
    "5.12.0",
    "C",
    calls=300,
    source="ujson 5.12.0 release notes, PYSEC-2026-2291",
)
def ujson_big_integer() -> Call:
    """The copy of a number's digits is never freed when it is beyond 64 bits."""
    import ujson

    text = "9" * 500
    return lambda: ujson.loads(text)


@pair("ujson", "5.12.0", "5.12.1", "C", calls=100, types="str", source="GHSA-c38f-wx89-p2xg")
def ujson_failed_write() -> Call:
    """The text of a dump is lost when the file refuses it."""
    import ujson

    class Full:
        def write(self, text: str) -> None:
            raise OSError("no space left")

    rows = [{"name": f"row {i}", "value": i} for i in range(60)]

    def call() -> None:
        with suppress(OSError):
            ujson.dump(rows, Full())

    return call


@pair("mmh3", "4.1.0", "5.0.0", "C", calls=100, types="bytes", source="mmh3 5.0.0 changelog")
def mmh3_buffer() -> Call:
    """hash_from_buffer() keeps a reference to what it has hashed."""
    import mmh3

    return lambda: mmh3.hash_from_buffer(bytes(2000))


@pair(
    "pymongo",
    "4.15.2",
    "4.15.3",
    "C",
    calls=500,
    module="bson",
    types="str",
    source="pymongo 4.15.3 changelog",
)
def bson_invalid_document() -> Call:
    """Each document that cannot be encoded leaves something behind."""
    import bson

    class Unknown:
        pass

    document = {"name": "x" * 100, "value": Unknown()}

    def call() -> None:
        with suppress(bson.errors.InvalidDocument):
            bson.encode(document)

    return call


@pair(
    "ciso8601", "2.3.2", "2.3.3", "C", calls=2000, types="timedelta", source="closeio/ciso8601#172"
)
def ciso8601_fromutc() -> Call:
    """FixedOffset.fromutc() loses the offset it has made."""
    import ciso8601

    zone = ciso8601.parse_datetime("2024-01-01T00:00:00+03:17").tzinfo
    noon = datetime(2024, 5, 17, 12, tzinfo=timezone.utc)
    return lambda: noon.astimezone(zone)


@pair(
    "cbor2",
    "5.8.0",
    "5.9.0",
    "C",
    calls=20,
    types="str bytes",
    source="cbor2 5.9.0 version history",
)
def cbor2_long_string() -> Call:
    """The decoder of long strings loses pieces of 64 kB."""
    import cbor2

    packed = cbor2.dumps("é" * 40_000)
    return lambda: cbor2.loads(packed)


@pair("numpy", "2.3.1", "2.3.2", "C", calls=1000, source="numpy#29437")
def numpy_datetime_hash() -> Call:
    """The hash of a datetime64 loses a temporary."""
    import numpy

    moment = numpy.datetime64("2024-01-01T00:00:00.000000001")
    return lambda: hash(moment)


@pair("numpy", "2.3.1", "2.3.2", "C", calls=200, types="ndarray", source="numpy#29414")
def numpy_reduction_out() -> Call:
    """A reduction into an array of another type keeps the array."""
    import numpy

    rows = numpy.ones((4, 100))

    def call() -> None:
        numpy.add.reduce(rows, axis=0, out=numpy.empty(100, dtype="f4"), dtype="f8")

    return call


@pair(
    "multidict",
    "6.6.3",
    "6.6.4",
    "C",
    calls=2500,
    types="str",
    source="multidict 6.6.4 release notes, aio-libs/multidict#1233",
)
def multidict_pop() -> Call:
    """pop() keeps the lower-case form of the key."""
    from multidict import CIMultiDict

    numbers = count()

    def call() -> None:
        key = f"X-Request-{next(numbers)}"
        CIMultiDict({key: "1"}).pop(key)

    return call


@pair(
    "multidict",
    "6.3.1",
    "6.4.0",
    "C",
    calls=500,
    types="str istr",
    source="aio-libs/multidict#1117, 6.3.1 was withdrawn",
)
def multidict_items() -> Call:
    """Items of a case-insensitive dictionary are never released."""
    from multidict import CIMultiDict

    numbers = count()
    return lambda: CIMultiDict({f"X-Header-{next(numbers)}": "value"}).get("X-Header-1")


@pair(
    "multidict",
    "6.3.2",
    "6.4.0",
    "C",
    calls=2000,
    types="str istr",
    source="aio-libs/multidict#1131, 6.3.2 was withdrawn",
)
def multidict_popitem() -> Call:
    """A key taken out by popitem() loses its other form."""
    from multidict import CIMultiDict

    numbers = count()
    return lambda: CIMultiDict({f"X-Header-{next(numbers)}": "value"}).popitem()


@pair(
    "coverage",
    "7.6.10",
    "7.6.11",
    "C",
    calls=40,
    types="code",
    source="coverage 7.6.11 changelog, coveragepy#1924",
)
def coverage_tracer() -> Call:
    """The tracer keeps each code object that it has seen."""
    import coverage

    measured = coverage.Coverage(data_file=None, config_file=False, include=["made.py"])
    numbers = count()

    def call() -> None:
        source = compile(f"x = {'y' * 3000 + str(next(numbers))!r}", "made.py", "exec")
        measured.start()
        exec(source, {})
        measured.stop()

    return call


@pair("numpy", "2.4.0", "2.4.1", "C", calls=60, source="numpy 2.4.1 release notes, numpy#30513")
def numpy_flat_assignment() -> Call:
    """Assigning through .flat loses an iterator."""
    import numpy

    block, values = numpy.zeros(10), numpy.arange(3.0)

    def call() -> None:
        block.flat[2:5] = values

    return call


@pair(
    "Pillow",
    "9.2.0",
    "9.3.0",
    "C",
    calls=10,
    module="PIL",
    needs="matplotlib==3.7.5 numpy<2",
    source="Pillow 9.3.0 changelog, python-pillow/Pillow#6330",
)
def pillow_font_features() -> Call:
    """What is made for a text's features is never freed."""
    from PIL import ImageFont

    font = ImageFont.truetype(str(_a_font()), 12)
    return lambda: font.getmask("text", features=["kern", "liga"] * 40)


def _a_font() -> Path:
    """Return a TrueType font: matplotlib brings one."""
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


@pair(
    "protobuf",
    "4.24.4",
    "4.25.0",
    "C",
    calls=20_000,
    module="google",
    source="protobuf 25.0 release notes, protobuf#14571",
)
def protobuf_map_lookup() -> Call:
    """Looking a key up in a map loses a copy of it in the message's arena."""
    from google.protobuf import struct_pb2

    held = struct_pb2.Struct()
    held.update({"key": 1})
    return lambda: held.fields["key"]


@pair(
    "ijson",
    "3.2.0.post0",
    "3.2.1",
    "C",
    calls=3,
    types="bytes bytearray",
    source="ijson 3.2.1 changelog, ICRAR/ijson#97",
)
def ijson_broken_text() -> Call:
    """Text that is not JSON leaves the parser and its buffer behind."""
    import ijson

    backend = ijson.get_backend("yajl2_c")

    def call() -> None:
        with suppress(ijson.JSONError):
            list(backend.basic_parse(BytesIO(b'{"a": nope}')))

    return call


@pair(
    "SQLAlchemy",
    "1.4.35",
    "1.4.36",
    "C",
    calls=400,
    types="str",
    source="SQLAlchemy 1.4.36 changelog",
)
def sqlalchemy_row() -> Call:
    """Asking a row for a name that it has not loses a text."""
    import sqlalchemy

    connection = sqlalchemy.create_engine("sqlite://").connect()
    row = connection.execute(sqlalchemy.text("select 1 as a")).first()
    numbers = count()

    def call() -> None:
        with suppress(AttributeError):
            getattr(row, f"column_{next(numbers)}_{'x' * 200}")

    return call
