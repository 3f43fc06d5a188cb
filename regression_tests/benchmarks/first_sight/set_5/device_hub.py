"""Simulated telemetry hub. Devices connect, send packets for a while and drop off."""
import random
import struct
import sys
import threading
import zlib

import numpy as np

# /// truth
# about = "a telemetry hub whose heartbeat thread of a device runs on after the device went"
# [[leak]]
# type = ["Heartbeat", "Thread", "Event"]
# kind = ["threads", "instances"]
# line = ["beat = Heartbeat(self.name)", "self.ring = np.zeros(4096)", "beat.start()"]
# ///


class Heartbeat(threading.Thread):
    def __init__(self, device):
        super().__init__(name="heartbeat-" + device, daemon=True)
        self.ring = np.zeros(4096)
        self.cursor = 0
        self.stopping = threading.Event()

    def note(self, value):
        self.ring[self.cursor % len(self.ring)] = value
        self.cursor += 1

    def run(self):
        while not self.stopping.wait(20.0):
            self.note(self.ring.mean())


class Device:
    def __init__(self, name, rng):
        self.name = name
        self.rng = rng
        self.sequence = 0
        beat = Heartbeat(self.name)
        beat.start()
        self.beat = beat

    def packet(self):
        self.sequence += 1
        values = [self.rng.gauss(20.0, 3.0) for _ in range(180)]
        payload = struct.pack("<I180d", self.sequence, *values)
        return payload + struct.pack("<I", zlib.crc32(payload))

    def disconnect(self, mode):
        if mode == "clean":
            self.beat.stopping.set()
            self.beat.join()


def parse(packet):
    body, (crc,) = packet[:-4], struct.unpack("<I", packet[-4:])
    if zlib.crc32(body) != crc:
        raise ValueError("bad packet")
    values = np.array(struct.unpack("<I180d", body)[1:])
    coeffs = np.polyfit(np.arange(len(values)), values, 5)
    return values, coeffs


def main():
    mode = sys.argv[1]
    rng = random.Random(23)
    devices = [Device("dev-%04d" % i, rng) for i in range(6)]
    serial = len(devices)
    rounds, packets, done = 0, 0, False
    levels = np.zeros(6)
    while not done:
        for slot, device in enumerate(devices):
            for _ in range(8):
                values, coeffs = parse(device.packet())
                for v in values[::4]:
                    device.beat.note(float(v))
                levels[slot] += 0.02 * (values.mean() - levels[slot])
                packets += 1
        if rounds % 5 == 4:
            slot = rng.randrange(len(devices))
            devices[slot].disconnect(mode)
            devices[slot] = Device("dev-%04d" % serial, rng)
            serial += 1
        rounds += 1
        if rounds % 150 == 0:
            print("round", rounds, "packets", packets, "level %.2f" % levels.mean())
        done = rounds >= 900
    print("devices seen:", serial)


if __name__ == "__main__":
    main()
