"""C objects: streams of zlib and bz2, hashes, and arrays over borrowed memory go on as they were, and end once."""

import bz2
import hashlib
import mmap
import zlib
from typing import Any

import numpy
import time

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["numpy"]
ended = mmap.mmap(-1, 8)  # ends in a copy would be counted here as well
streams: list[Any] = []
arrays: list[Any] = []


class Owner:
    """Lends its memory to arrays."""

    def __init__(self, number: int) -> None:
        self.memory = (numpy.ones(1000) * number).tobytes()
        self.__array_interface__ = {
            "shape": (1000,), "typestr": "<f8", "version": 3,
            "data": (numpy.frombuffer(self.memory).__array_interface__["data"][0], True),
        }  # fmt: skip

    def __del__(self) -> None:
        ended[0] = (ended[0] + 1) % 256


def main() -> None:
    packer, hasher, bz = zlib.compressobj(), hashlib.sha256(), bz2.BZ2Compressor()
    packed = bytearray()
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            data = b"%d " % number * 1000
            packed += packer.compress(data)
            hasher.update(packed)
            packed += packer.flush(zlib.Z_SYNC_FLUSH)
            bz.compress(data)
            streams.append(zlib.decompressobj())  # never ended
            streams[-1].decompress(bytes(packed), 100)
            array = numpy.asarray(Owner(number))
            if number % 3 == 0:
                arrays.append(array[::2])
            del array
    print(hasher.hexdigest()[:16], len(packed), len(bz.flush()) > 0, ended[0])
    print([float(array.sum()) for array in arrays], streams[-1].unconsumed_tail != b"")
    arrays.clear()
    print(ended[0])


main()
