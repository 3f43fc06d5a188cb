from collections import deque


class SnapshotKeeper:
    """Averages the last generators for smoother samples."""

    def __init__(self, limit=None):
        self.kept = deque(maxlen=limit)

    def add(self, model):
        self.kept.append({k: v.detach().clone() for k, v in model.state_dict().items()})

    def average(self, last=4):
        states = list(self.kept)[-last:]
        return {k: sum(s[k] for s in states) / len(states) for k in states[0]}
