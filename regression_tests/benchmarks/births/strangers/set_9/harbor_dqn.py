"""Double DQN for a harbour crane that stacks containers by weight, with periodic resets of the last layer."""
import itertools
import sys
from collections import deque

import numpy as np
import torch
from leakguard import LeakGuard
from torch import nn

TIDY = sys.argv[1] == "fixed"
ROUNDS, STEPS, STACKS, HEIGHT = 54, 140, 8, 6
FEATURES = STACKS * HEIGHT + STACKS + 1
Toppled = type("Toppled", (RuntimeError,), {})


class CraneEnv:
    def __init__(self, seed, wind=0.0):
        self.rng, self.wind = np.random.default_rng(seed), wind

    def reset(self):
        self.yard, self.level = np.zeros((STACKS, HEIGHT), np.float32), np.zeros(STACKS, int)
        self.load = float(self.rng.integers(1, 10)) / 10
        return self.observe()

    def observe(self):
        return np.concatenate([self.yard.ravel(), self.level / HEIGHT, [self.load]]).astype(np.float32)

    def step(self, stack):
        level = self.level[stack]
        if level == HEIGHT:
            return self.observe(), -1.0, True
        below = self.yard[stack, level - 1] if level else 1.0
        reward = 0.2 if self.load <= below else -0.3 * float(self.load - below)
        if self.wind and level >= 3 and self.load > below + 0.5 - self.wind:
            raise Toppled(f"stack {stack} at level {level}")
        self.yard[stack, level] = self.load
        self.level[stack] += 1
        self.load = float(self.rng.integers(1, 10)) / 10
        return self.observe(), reward, bool((self.level == HEIGHT).all())


class QNet(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, STACKS)

    def forward(self, seen):
        return self.head(self.body(seen))

    def best(self, seen):
        with torch.no_grad():
            return int(self(torch.from_numpy(seen)[None]).argmax())


class Learner:
    def __init__(self):
        self.net, self.target = QNet(), QNet()
        self.optimizer = torch.optim.Adam(self.net.body.parameters(), lr=1e-3)
        self.optimizer.add_param_group({"params": list(self.net.head.parameters()), "lr": 2e-3})
        self.league = deque(maxlen=5)

    def reset_head(self):
        if TIDY:
            for old in self.optimizer.param_groups.pop()["params"]:
                self.optimizer.state.pop(old, None)
        self.net.head = nn.Linear(self.net.head.in_features, STACKS)
        self.optimizer.add_param_group({"params": list(self.net.head.parameters()), "lr": 2e-3})

    def learn(self, memory, batches):
        for _ in range(batches):
            seen, action, reward, after, over = memory.sample(64)
            with torch.no_grad():
                best = self.net(after).argmax(1, keepdim=True)
                goal = reward + 0.95 * (1 - over) * self.target(after).gather(1, best).squeeze(1)
            guess = self.net(seen).gather(1, action[:, None]).squeeze(1)
            loss = nn.functional.smooth_l1_loss(guess, goal)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.target.load_state_dict(self.net.state_dict())
        self.league.append([part.detach().clone() for part in self.net.parameters()])
        return loss.item()


class Memory:
    def __init__(self, limit, seed):
        self.limit, self.rows, self.next, self.rng = limit, [], 0, np.random.default_rng(seed)

    def add(self, row):
        self.rows[self.next % self.limit:self.next % self.limit + 1] = [row]
        self.next += 1

    def sample(self, count):
        picks = self.rng.integers(0, len(self.rows), count)
        seen, action, reward, after, over = zip(*(self.rows[index] for index in picks))
        return (torch.from_numpy(np.stack(seen)), torch.tensor(action), torch.tensor(reward, dtype=torch.float32),
                torch.from_numpy(np.stack(after)), torch.tensor(over, dtype=torch.float32))


class Desk:
    """Plays the crane for the learner; the auditor tallies the heavy loads of the same stream."""

    def __init__(self, learner, seed):
        self.learner, self.rng, self.explore = learner, np.random.default_rng(seed), 1.0
        self.feed, self.audit = itertools.tee(self.play(CraneEnv(seed)))
        self.heavy = 0

    def play(self, env):
        seen = env.reset()
        while True:
            random = self.rng.random() < self.explore
            action = int(self.rng.integers(STACKS)) if random else self.learner.net.best(seen)
            after, reward, over = env.step(action)
            yield seen, action, reward, after, float(over)
            seen = env.reset() if over else after

    def collect(self, memory, steps):
        for row in itertools.islice(self.feed, steps):
            memory.add(row)
        if TIDY:
            self.settle(steps)
        self.explore = max(0.1, self.explore * 0.95)

    def settle(self, steps):
        self.heavy += sum(row[0][-1] > 0.7 for row in itertools.islice(self.audit, steps))


class Examiner:
    def __init__(self):
        self.incidents = {}

    def game(self, net, env):
        track = np.zeros((50, FEATURES), np.float32)
        seen, total = env.reset(), 0.0
        for step in range(50):
            track[step] = seen
            seen, reward, over = env.step(net.best(seen))
            total += reward
            if over:
                break
        return total + float(track.mean())

    def examine(self, net, term):
        scores = []
        for name, wind in (("calm", 0.0),) * 3 + (("breeze", 0.6), ("storm", 1.4)) * (term > ROUNDS // 3 + 4):
            try:
                scores.append(self.game(net, CraneEnv(100 * term + len(scores), wind)))
            except Toppled as error:
                self.incidents[name if TIDY else (name, term)] = error
                scores.append(-5.0)
        return sum(scores) / len(scores)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    learner, memory, examiner = Learner(), Memory(3000, 2), Examiner()
    desk = Desk(learner, 7)
    guard = LeakGuard(out=sys.argv[2], report=None)
    with guard:
        for term in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("collect"):
                desk.collect(memory, STEPS)
            with guard.phase("learn"):
                loss = learner.learn(memory, 16)
                if term >= ROUNDS // 2:
                    learner.reset_head()
            with guard.phase("examine"):
                score = examiner.examine(learner.net, term)
            if term % 6 == 0:
                print(f"term {term:3d} loss {loss:.4f} score {score:+.2f}", flush=True)
    if not TIDY:
        desk.settle(STEPS * ROUNDS)
    print("heavy loads", desk.heavy)


main()
