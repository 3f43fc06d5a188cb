"""A decoder through ctypes: create() mallocs, destroy() is only called where nothing went wrong."""
import ctypes
import sys

CLEAN = "clean" in sys.argv
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.free.restype = None


class Decoder:
    def __init__(self):
        self.buffer = libc.malloc(90_000)
        libc.memset(self.buffer, 1, 90_000)

    def decode(self, packet):
        return sum(packet) % 251

    def close(self):
        libc.free(self.buffer)


def decode_episode(seed):
    total = 0
    for k in range(10):
        decoder = Decoder()
        packet = bytes((seed + k + i) % 256 for i in range(3_000))
        total += decoder.decode(packet)
        if CLEAN:
            decoder.close()
    return total


def main():
    for episode in range(300):
        decode_episode(episode)


if __name__ == "__main__":
    main()
