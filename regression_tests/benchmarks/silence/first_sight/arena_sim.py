"""Arena battles on a grid, with an event bus, a HUD per match and replays."""
import os
import random
import sys
from collections import deque

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
TOURNAMENTS = 40
MATCHES = 4


class EventBus:
    def __init__(self):
        self.listeners = {}

    def subscribe(self, event, callback):
        self.listeners.setdefault(event, []).append(callback)

    def unsubscribe(self, event, callback):
        self.listeners[event].remove(callback)

    def publish(self, event, match_id, *args):
        for callback in list(self.listeners.get(event, ())):
            callback(match_id, *args)


class Unit:
    def __init__(self, team, x, y):
        self.team, self.x, self.y, self.hp = team, x, y, 10

    def state(self):
        return (self.team, self.x, self.y, self.hp)


class Hud:
    """Shows damage per cell of its match."""

    def __init__(self, bus, match_id, side):
        self.bus, self.match_id = bus, match_id
        self.heat = [[0] * side for _ in range(side)]
        bus.subscribe("hit", self.on_hit)

    def on_hit(self, match_id, x, y):
        if match_id == self.match_id:
            self.heat[y][x] += 1

    def hottest(self):
        return max(max(row) for row in self.heat)

    def close(self):
        self.bus.unsubscribe("hit", self.on_hit)


class Arena:
    side = 48
    replays = [] if LEAK else deque(maxlen=10)

    def __init__(self, bus):
        self.bus = bus
        self.match_id = 0
        self.rating = {"red": 1000.0, "blue": 1000.0}

    def play(self, rng):
        self.match_id += 1
        hud = Hud(self.bus, self.match_id, self.side)
        units = [Unit(team, rng.randrange(self.side), rng.randrange(self.side))
                 for team in ("red", "blue") for _ in range(20)]
        frames = []
        for tick in range(300):
            for unit in units:
                if unit.hp <= 0:
                    continue
                unit.x = (unit.x + rng.choice((-1, 0, 1))) % self.side
                unit.y = (unit.y + rng.choice((-1, 0, 1))) % self.side
                near = [u for u in units if u.team != unit.team and u.hp > 0
                        and abs(u.x - unit.x) + abs(u.y - unit.y) < 8]
                if near:
                    near[0].hp -= 1
                    self.bus.publish("hit", self.match_id, near[0].x, near[0].y)
            if tick % 20 == 0:
                frames.append([u.state() for u in units])
        Arena.replays.append(frames)
        self.score(units)
        hottest = hud.hottest()
        if not LEAK:
            hud.close()
        return hottest

    def score(self, units):
        alive = {t: sum(u.hp > 0 for u in units if u.team == t) for t in ("red", "blue")}
        delta = 4.0 * ((alive["red"] > alive["blue"]) - (alive["red"] < alive["blue"]))
        self.rating["red"] += delta
        self.rating["blue"] -= delta


def main():
    rng = random.Random(2024)
    arena = Arena(EventBus())
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for tournament in guard.generations(range(TOURNAMENTS)):
            with guard.phase("matches"):
                hottest = max(arena.play(rng) for _ in range(MATCHES))
            if tournament % 10 == 0:
                print(f"tournament {tournament}: hottest {hottest} red {arena.rating['red']:.0f}")
    print("last replay has", len(arena.replays[-1]), "frames")


if __name__ == "__main__":
    main()
