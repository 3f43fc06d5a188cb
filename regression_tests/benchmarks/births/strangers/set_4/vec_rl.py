"""Actor-critic on a vectorised grid-drift task, with an evaluation every third iteration."""
import collections

import numpy as np
import torch
from torch import nn

N_ENVS, HORIZON, OBS = 16, 48, 12


class DriftVecEnv:
    """Sixteen little boats in a current, stepped together."""

    def __init__(self, n, rng):
        self.n, self.rng = n, rng
        self.state = rng.normal(size=(n, OBS)).astype(np.float32)
        self.mix = (np.eye(OBS) * 0.92 + rng.normal(size=(OBS, OBS)) * 0.03).astype(np.float32)

    def step(self, action):
        push = np.zeros_like(self.state)
        push[np.arange(self.n), action] = 0.25
        self.state = self.state @ self.mix + push
        self.state += self.rng.normal(scale=0.02, size=self.state.shape).astype(np.float32)
        reward = -np.abs(self.state).mean(axis=1) + self.state[:, 0]
        return self.state.copy(), reward.astype(np.float32)


class ScoredCourse:
    """One evaluation course: a depth chart and the track that was sailed over it."""

    active = []

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.chart = np.cumsum(self.rng.normal(size=(96, 96)), axis=0)
        self.track = np.zeros((160, OBS), dtype=np.float32)
        self.open = True
        ScoredCourse.active.append(self)

    def sail(self, policy):
        obs = self.rng.normal(size=OBS).astype(np.float32)
        total = 0.0
        for t in range(len(self.track)):
            with torch.no_grad():
                logits, _ = policy(torch.from_numpy(obs))
            a = int(logits.argmax())
            obs = obs * 0.9
            obs[a] += 0.25
            self.track[t] = obs
            total += float(obs[0]) + 0.001 * float(self.chart[t % 96, a])
        return total

    def close(self):
        self.open = False


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi = nn.Linear(64, OBS)
        self.v = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


class ActorCritic:
    def __init__(self, seed=3):
        self.rng = np.random.default_rng(seed)
        self.envs = DriftVecEnv(N_ENVS, self.rng)
        self.policy = Policy()
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.stats = {"policy_loss": [], "return": collections.deque(maxlen=100)}
        self.obs = self.envs.state.copy()

    def rollout(self):
        obs, acts, rews = [], [], []
        for _ in range(HORIZON):
            with torch.no_grad():
                logits, _ = self.policy(torch.from_numpy(self.obs))
            a = torch.distributions.Categorical(logits=logits).sample().numpy()
            obs.append(self.obs)
            acts.append(a)
            self.obs, r = self.envs.step(a)
            rews.append(r)
        ret = np.zeros((HORIZON, N_ENVS), dtype=np.float32)
        acc = np.zeros(N_ENVS, dtype=np.float32)
        for t in range(HORIZON - 1, -1, -1):
            acc = rews[t] + 0.97 * acc
            ret[t] = acc
        self.stats["return"].append(float(ret[0].mean()))
        return np.concatenate(obs), np.concatenate(acts), ret.reshape(-1)

    def update(self, obs, acts, ret):
        obs, acts, ret = torch.from_numpy(obs), torch.from_numpy(acts), torch.from_numpy(ret)
        for epoch in range(4):
            logits, value = self.policy(obs)
            logp = torch.log_softmax(logits, -1).gather(1, acts[:, None]).squeeze(1)
            adv = (ret - value).detach()
            policy_loss = -(logp * (adv - adv.mean()) / (adv.std() + 1e-6)).mean()
            value_loss = (ret - value).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss
            self.opt.zero_grad()
            loss.backward(retain_graph=(epoch == 3))
            if epoch == 3:
                self.influence = torch.autograd.grad(policy_loss, self.policy.pi.weight, retain_graph=True)[0].norm().item()
                self.stats["policy_loss"].append(policy_loss)
            self.opt.step()

    def evaluate(self, iteration):
        scores = []
        for k in range(6):
            course = ScoredCourse(1000 * iteration + k)
            scores.append(course.sail(self.policy))
            course.close()
        return float(np.mean(scores))


def main():
    torch.manual_seed(0)
    agent = ActorCritic()
    score = float("nan")
    for iteration in range(45):
        for _ in range(3):
            agent.update(*agent.rollout())
        if iteration % 3 == 2:
            score = agent.evaluate(iteration)
        if iteration % 15 == 14:
            print(f"it {iteration + 1:3d} return {agent.stats['return'][-1]:8.3f} score {score:8.3f}")


if __name__ == "__main__":
    main()
