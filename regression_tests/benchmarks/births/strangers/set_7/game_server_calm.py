"""A game server: plays matches tick by tick with the garbage collector off, records replays."""
import collections
import gc
import math
import random
import threading
import weakref

ROUNDS = 60
TICKS = 220


class Player:
    def __init__(self, name, match):
        self.name = name
        self.match = weakref.proxy(match)  # no cycle
        self.x = self.y = 0.0
        self.trail = []

    def step(self, rng):
        angle = rng.random() * math.tau
        self.x += math.cos(angle)
        self.y += math.sin(angle)
        if self.match.tick % 2 == 0:
            self.trail.append((self.x, self.y))


class Match:
    def __init__(self, number, names):
        self.number = number
        self.tick = 0
        self.players = [Player(name, self) for name in names]

    def advance(self, rng):
        self.tick += 1
        for player in self.players:
            player.step(rng)
        return sum(1 for a in self.players for b in self.players if a is not b and abs(a.x - b.x) + abs(a.y - b.y) < 2)


class Replay:
    """The frames of one match; written out when it is dropped."""
    written = 0

    def __init__(self, number):
        self.number = number
        self.frames = []
        weakref.finalize(self, Replay.flush, self.frames)

    def add(self, frame):
        self.frames.append(frame)

    @staticmethod
    def flush(frames):
        Replay.written += len(frames)


class Ladder:
    """Ratings of the 60 players there are, and the last 4 results of each."""

    def __init__(self):
        self.rating = {}
        self.results = collections.defaultdict(lambda: collections.deque(maxlen=4))

    def note(self, name, score):
        self.rating[name] = self.rating.get(name, 1500.0) + score
        self.results[name].append(score)


class Moderation:
    """Watches a match for cheats on a thread of its own."""

    def __init__(self):
        self.threads = []

    def watch(self, number, moves, done):
        done.wait()
        moves.clear()

    def start(self, number, moves):
        done = threading.Event()
        thread = threading.Thread(target=self.watch, args=(number, moves, done), daemon=True)
        thread.start()
        self.threads.append((thread, done))

    def stop(self):
        for thread, done in self.threads:
            done.set()
            thread.join()
        self.threads.clear()


def play(number, rng):
    match = Match(number, [f"p{rng.randrange(60)}" for _ in range(8)])
    contacts = 0
    for _ in range(TICKS * 24):
        contacts += match.advance(rng)
        if match.tick > TICKS and match.players[0].trail:
            for player in match.players:
                del player.trail[110:]
    return match, contacts


def record(match):
    replay = Replay(match.number)
    for tick in range(0, 110):
        replay.add(";".join(f"{player.trail[tick][0]:.3f},{player.trail[tick][1]:.3f}" for player in match.players))
    return len(replay.frames)


def moderate(moderation, match):
    moves = {tick: [round(player.trail[tick][0], 2) for player in match.players] for tick in range(60)}
    suspicious = sum(1 for row in moves.values() if max(row) > 9)
    if match.number >= 15:
        moderation.start(match.number, moves)
    return suspicious


def settle(ladder, match, contacts):
    for player in match.players:
        ladder.note(player.name, (player.x - player.y) / 10 + contacts % 3)


def main():
    gc.disable()  # no pauses during a match
    rng, ladder, moderation = random.Random(9), Ladder(), Moderation()
    frames = 0
    for number in range(1, ROUNDS + 1):
        match, contacts = play(number, rng)
        frames += record(match)
        moderate(moderation, match)
        settle(ladder, match, contacts)
        moderation.stop()
    print("matches", number, "frames", frames, "rated", len(ladder.rating))


main()
