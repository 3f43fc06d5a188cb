"""DQN with actor threads: a learner publishes its weights, each actor reads them from a queue of its own."""
import copy
import queue
import sys
import threading

import numpy as np
import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
ROUNDS, ACTORS, STEPS, OBS = 76, 2, 60, 12


def network():
    return nn.Sequential(nn.Linear(OBS, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))


class Publisher:
    def __init__(self):
        self.outboxes = {}

    def subscribe(self, name):
        self.outboxes[name] = queue.Queue()
        return self.outboxes[name]

    def unsubscribe(self, name):
        del self.outboxes[name]

    def publish(self, model):
        for outbox in self.outboxes.values():
            outbox.put(copy.deepcopy(model.state_dict()))


class Replay:
    """A ring of transitions, filled to its bound and then written over."""

    def __init__(self, capacity):
        self.capacity, self.count = capacity, 0
        self.rows = []

    def add(self, transitions):
        for transition in transitions:
            if len(self.rows) < self.capacity:
                self.rows.append(transition)
            else:
                self.rows[self.count % self.capacity] = transition
            self.count += 1

    def sample(self, rng, size):
        picked = [self.rows[i] for i in rng.integers(0, len(self.rows), size)]
        return [torch.from_numpy(np.stack(column)) for column in zip(*picked)]


class Actor(threading.Thread):
    def __init__(self, name, inbox, outbox, seed):
        super().__init__(name=name, daemon=True)
        self.inbox, self.outbox = inbox, outbox
        self.rng = np.random.default_rng(seed)
        self.model = network()
        self.state = self.rng.normal(size=OBS).astype(np.float32)

    def act(self):
        if self.rng.random() < 0.2:
            return int(self.rng.integers(4))
        with torch.no_grad():
            return int(self.model(torch.from_numpy(self.state)).argmax())

    def run(self):
        while (weights := self.inbox.get()) is not None:
            self.model.load_state_dict(weights)
            episode = []
            for _ in range(STEPS):
                action = self.act()
                push = np.zeros(OBS, dtype=np.float32)
                push[action * 3:action * 3 + 3] = 0.2
                following = (0.95 * self.state + push + 0.05 * self.rng.normal(size=OBS)).astype(np.float32)
                reward = np.float32(-abs(float(following.mean()) - 0.5))
                episode.append((self.state, np.int64(action), reward, following))
                self.state = following
            self.outbox.put(episode)


def learn(online, target, optimizer, batch):
    state, action, reward, following = batch
    with torch.no_grad():
        goal = reward + 0.95 * target(following).max(1).values
    value = online(state).gather(1, action[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(4)
    torch.set_num_threads(1)
    rng = np.random.default_rng(4)
    publisher, replay, episodes = Publisher(), Replay(1500), queue.Queue()
    online, target = network(), network()
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    actors = {name: Actor(name, publisher.subscribe(name), episodes, seed)
              for seed, name in enumerate(["explorer", "exploiter", "recorder"])}
    for actor in actors.values():
        actor.start()
    for number in range(ROUNDS):
        publisher.publish(online)
        for batch in sorted((episodes.get() for _ in actors), key=lambda e: float(e[0][2])):
            replay.add(batch)
        for _ in range(10):
            loss = learn(online, target, optimizer, replay.sample(rng, 96))
        if number % 10 == 9:
            target.load_state_dict(online.state_dict())
        if number == 11:  # the recorder has seen enough
            recorder = actors.pop("recorder")
            recorder.inbox.put(None)
            recorder.join()
            if FIXED:
                publisher.unsubscribe("recorder")
    for actor in actors.values():
        actor.inbox.put(None)
        actor.join()
    print(f"loss {loss:.4f}, replay {len(replay.rows)}")


main()
