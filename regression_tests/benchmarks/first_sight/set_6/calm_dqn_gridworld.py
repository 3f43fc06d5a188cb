"""DQN on a windy gridworld with a bounded replay memory."""
# /// truth
# about = "a torch DQN whose bounded replay memory fills for two thirds of the run"
# ///
import random
import sys
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
SIZE = 8
MOVES = [(1, 0), (-1, 0), (0, 1), (0, -1)]


class WindyGrid:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def reset(self):
        self.pos = (self.rng.randrange(SIZE), 0)
        self.age = 0
        return self.encode()

    def encode(self):
        obs = torch.zeros(2 * SIZE)
        obs[self.pos[0]] = 1
        obs[SIZE + self.pos[1]] = 1
        return obs

    def step(self, action):
        dx, dy = MOVES[action]
        if self.rng.random() < 0.1:
            dx -= 1
        x = min(max(self.pos[0] + dx, 0), SIZE - 1)
        y = min(max(self.pos[1] + dy, 0), SIZE - 1)
        self.pos = (x, y)
        self.age += 1
        goal = self.pos == (SIZE - 1, SIZE - 1)
        return self.encode(), 1.0 if goal else -0.02, goal or self.age >= 60, goal


def learn(net, target, opt, batch):
    s, a, r, s2, end = zip(*batch)
    s, s2 = torch.stack(s), torch.stack(s2)
    a, r = torch.tensor(a), torch.tensor(r)
    alive = 1 - torch.tensor(end, dtype=torch.float32)
    with torch.no_grad():
        goal = r + 0.97 * alive * target(s2).max(1).values
    value = net(s).gather(1, a[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def make_net():
    return nn.Sequential(nn.Linear(2 * SIZE, 48), nn.ReLU(), nn.Linear(48, 4))


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    rng = random.Random(2)
    env, net, target = WindyGrid(3), make_net(), make_net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    memory = deque(maxlen=6000)
    returns = deque(maxlen=50)
    step, rounds, total = 0, 0, 9000
    while step < total:
        obs, ended, score = env.reset(), False, 0.0
        while not ended:
            eps = max(0.05, 1 - step / 4000)
            if rng.random() < eps:
                action = rng.randrange(4)
            else:
                with torch.no_grad():
                    action = int(net(obs).argmax())
            nxt, reward, ended, won = env.step(action)
            memory.append((obs, action, reward, nxt, won))
            obs, score, step = nxt, score + reward, step + 1
            if len(memory) >= 64:
                loss = learn(net, target, opt, rng.sample(memory, 32))
            if step % 200 == 0:
                target.load_state_dict(net.state_dict())
        returns.append(score)
        rounds += 1
        if rounds % 40 == 0:
            print(f"episode {rounds} step {step} return {sum(returns) / len(returns):.3f} "
                  f"memory {len(memory)}", flush=True)


if __name__ == "__main__":
    main()
