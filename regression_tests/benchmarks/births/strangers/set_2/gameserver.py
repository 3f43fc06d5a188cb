"""A shard of a game server: spawn monsters, run ticks, reap the dead."""
import random
import sys
import time
from collections import defaultdict, deque

from leakguard import LeakGuard

LEAKY = sys.argv[1] == "leak"
rng = random.Random(3)
SIZE = 48


class EventBus:
    def __init__(self):
        self.listeners = defaultdict(list)

    def on(self, event, callback):
        self.listeners[event].append(callback)
        return callback

    def off(self, event, callback):
        self.listeners[event].remove(callback)

    def emit(self, event, *args):
        for callback in self.listeners[event][-50:]:
            callback(*args)


class Monster:
    def __init__(self, kind):
        self.kind = sys.intern(kind)
        self.hp = rng.randrange(20, 60)
        self.pos = [rng.random() * SIZE, rng.random() * SIZE]
        self.heat = [rng.random() for _ in range(350)]


class World:
    def __init__(self):
        self.bus = EventBus()
        self.alive = []
        self.hooks = {}
        self.kills = deque(maxlen=200)
        self.fps = []

    def spawn(self, n):
        for i in range(n):
            monster = Monster(f"kind-{i % 7}")

            def at_dusk(hour, monster=monster):
                monster.hp += hour % 2

            self.hooks[id(monster)] = self.bus.on("dusk", at_dusk)
            self.alive.append(monster)

    def tick(self):
        for monster in self.alive:
            x, y = monster.pos
            best = max(range(0, 350, 7), key=lambda c: monster.heat[c] - abs(c % SIZE - x) * 0.01)
            monster.pos = [(x + best * 0.01) % SIZE, (y + 0.3) % SIZE]
            monster.hp -= rng.randrange(6)

    def reap(self):
        for monster in [m for m in self.alive if m.hp <= 0]:
            self.alive.remove(monster)
            self.kills.append((monster.kind, round(monster.pos[0], 1)))
            hook = self.hooks.pop(id(monster))
            if not LEAKY:
                self.bus.off("dusk", hook)


def main():
    world = World()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for hour in guard.generations(range(1, 61)):
            started = time.perf_counter()
            with guard.phase("spawn"):
                world.spawn(20)
            with guard.phase("tick"):
                for _ in range(24):
                    world.tick()
                world.bus.emit("dusk", hour)
            with guard.phase("reap"):
                world.reap()
            world.fps.append(24 / (time.perf_counter() - started))
            time.sleep(0.01)
    print("alive", len(world.alive), "kills", len(world.kills), "fps", round(world.fps[-1]))


main()
