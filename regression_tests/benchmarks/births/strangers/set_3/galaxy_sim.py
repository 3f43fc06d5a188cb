"""N-body simulation on a mesh: forces, a leapfrog step, diagnostics and frames for a film."""
import collections
import functools
import sys
import weakref

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
STEPS, BODIES, MESH, BURN_IN = 110, 1500, 48, 25


class Signal:
    def __init__(self):
        self.receivers = []

    def connect(self, receiver):
        self.receivers.append(receiver)

    def send(self, positions):
        for receiver in self.receivers:
            receiver(positions)


class Mesh:
    """Density and potential on a mesh that follows the extent of the bodies."""

    def __init__(self, extent):
        self.extent = extent
        self.memo = {}

    def _kernel(self, softening):
        k = np.fft.fftfreq(MESH, self.extent / MESH)
        squared = k[:, None] ** 2 + k[None, :] ** 2
        return 1.0 / (squared + softening)

    cached_kernel = functools.lru_cache(maxsize=None)(_kernel)

    def kernel(self, softening):
        if not FIXED:
            return self.cached_kernel(softening)
        if softening not in self.memo:
            self.memo[softening] = self._kernel(softening)
        return self.memo[softening]

    def forces(self, positions):
        cells = np.clip(((positions / self.extent + 0.5) * MESH).astype(int), 0, MESH - 1)
        total = np.zeros_like(positions)
        density = np.zeros((MESH, MESH))
        np.add.at(density, (cells[:, 0], cells[:, 1]), 1.0)
        for softening in (0.05, 0.2, 0.8):
            potential = np.fft.ifft2(np.fft.fft2(density) * self.kernel(softening)).real
            slope = np.gradient(potential)
            total += np.stack([part[cells[:, 0], cells[:, 1]] for part in slope], axis=1)
        return total / BODIES


class RadialProbe:
    """A histogram of where the bodies were, over the few steps of one observation."""

    def __init__(self):
        self.histogram = np.zeros((120, 120))

    def on_step(self, positions):
        counts, _, _ = np.histogram2d(positions[:, 0], positions[:, 1], bins=120, range=((-4, 4), (-4, 4)))
        self.histogram += counts


class Frame:
    def __init__(self, step, pixels):
        self.step, self.pixels = step, pixels


def closed(film, frame=None):
    film["closed"] = film["closed"] + 1


class Simulation:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.positions = self.rng.normal(size=(BODIES, 2))
        self.velocities = 0.3 * self.positions[:, ::-1] * (1, -1)
        self.stepped = Signal()
        self.trace = bytearray()
        self.film = {"closed": 0}
        self.shown = None
        self.energy = collections.deque(maxlen=16)

    def advance(self, step):
        mesh = Mesh(extent=2.2 * float(np.abs(self.positions).max()))
        for _ in range(7):
            self.velocities += 0.02 * mesh.forces(self.positions)
            self.positions += 0.02 * self.velocities
        if step >= BURN_IN:
            self.trace += self.positions.tobytes()
            if FIXED:
                self.trace.clear()

    def observe(self, step):
        probe = RadialProbe()
        if step % 2 == 0:
            self.stepped.connect(probe.on_step)
        self.stepped.send(self.positions)
        if FIXED and step % 2 == 0:
            self.stepped.receivers.remove(probe.on_step)
        self.energy.append(float((self.velocities ** 2).sum()))

    def show(self, step):
        blur = self.rng.normal(0, 0.02, (12, *self.positions.shape)) + self.positions
        pixels, _, _ = np.histogram2d(blur[..., 0].ravel(), blur[..., 1].ravel(), bins=90)
        self.shown = Frame(step, pixels)
        weakref.finalize(self.shown, closed, self.film, frame=None if FIXED else self.shown)


def main():
    simulation = Simulation(seed=17)
    with LeakGuard(out=sys.argv[2]) as guard:
        for step in guard.generations(range(STEPS)):
            with guard.phase("advance"):
                simulation.advance(step)
            with guard.phase("observe"):
                simulation.observe(step)
            with guard.phase("show"):
                simulation.show(step)
    print(f"energy {simulation.energy[-1]:.2f}")


main()
