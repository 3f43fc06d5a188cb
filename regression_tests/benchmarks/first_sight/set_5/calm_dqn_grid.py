"""DQN on a small grid with a replay buffer of fixed capacity."""
import random
from collections import deque

import numpy as np
import torch
from torch import nn

# /// truth
# about = "DQN whose replay buffer fills up during the first half of the run and then replaces"
# ///

torch.manual_seed(0)
torch.set_num_threads(1)
random.seed(0)


class Grid:
    size = 8

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.me = [self.rng.randrange(8), self.rng.randrange(8)]
        self.goal = [self.rng.randrange(8), self.rng.randrange(8)]
        self.t = 0
        return self.view()

    def view(self):
        v = np.zeros((2, 8, 8), dtype=np.float32)
        v[0, self.me[0], self.me[1]] = 1
        v[1, self.goal[0], self.goal[1]] = 1
        return v

    def step(self, a):
        d = [(0, 1), (1, 0), (0, -1), (-1, 0)][a]
        self.me = [min(7, max(0, self.me[i] + d[i])) for i in (0, 1)]
        self.t += 1
        win = self.me == self.goal
        return self.view(), (1.0 if win else -0.02), win or self.t >= 40


class Agent:
    def __init__(self):
        self.q = self.net()
        self.target = self.net()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.replay = deque(maxlen=1800)

    @staticmethod
    def net():
        return nn.Sequential(nn.Flatten(), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 4))

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return int(self.q(torch.from_numpy(s)[None]).argmax())

    def learn(self, n=64):
        s, a, r, s2, d = zip(*random.sample(self.replay, n))
        s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d, dtype=torch.float32)
        with torch.no_grad():
            y = r + 0.95 * (1 - d) * self.target(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(self.q(s).gather(1, a[:, None])[:, 0], y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    env, agent = Grid(random.Random(1)), Agent()
    step, total, loss = 0, 3000, 0.0
    recent = deque(maxlen=50)
    s, ret = env.reset(), 0.0
    while step < total:
        eps = max(0.05, 1.0 - step / 1500)
        a = agent.act(s, eps)
        s2, r, done = env.step(a)
        agent.replay.append((s, a, r, s2, done))
        ret += r
        s = s2
        if done:
            recent.append(ret)
            s, ret = env.reset(), 0.0
        if len(agent.replay) >= 200:
            loss = agent.learn()
        if step % 250 == 0:
            agent.target.load_state_dict(agent.q.state_dict())
            print("step %d eps %.2f return %.2f loss %.4f" % (step, eps, sum(recent) / max(1, len(recent)), loss))
        step += 1


if __name__ == "__main__":
    main()
