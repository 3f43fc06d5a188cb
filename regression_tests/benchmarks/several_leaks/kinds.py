"""Ways to keep what a generation made, each with its clean twin, and healthy look-alikes.

Sources are templates: ``{size}`` is about the bytes that a generation makes, ``{g}`` the loop's
variable. The line that makes what is kept ends in ``# MADE``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to leak.

    Attributes:
        setup: what stands before the loop.
        make: what the phase does first, in both twins.
        keep: what keeps it for good.
        drop: what the clean twin does in its place.
        holder: text that the holder's path contains.
        torch: whether it needs torch.
    """

    name: str
    setup: str
    make: str
    keep: str
    drop: str
    holder: str
    torch: bool = False


LEAKS = (
    Kind(
        "frames",
        "class Telemetry:\n    def __init__(self):\n        self.frames = {}\nTEL = Telemetry()",
        "frame = np.ones(({size} // 1600 + 1, 200)) * g  # MADE",
        "TEL.frames[g] = frame",
        "TEL.frames = {g: frame}",
        "TEL.frames",
    ),
    Kind(
        "trials",
        "class Trial:\n    def __init__(self, g):\n"
        "        self.scores = [float(i + g) for i in range(300)]\n"
        "class Study:\n    def __init__(self):\n        self.trials = []\nSTUDY = Study()",
        "made = [Trial(g) for _ in range({size} // 10_000 + 1)]  # MADE",
        "STUDY.trials.extend(made)",
        "STUDY.trials[:] = made",
        "STUDY.trials",
    ),
    Kind(
        "idle",
        "class Pool:\n    idle = []",
        "buffer = bytearray({size})  # MADE",
        "Pool.idle.append(buffer)",
        "Pool.idle[:] = [*Pool.idle[-2:], buffer]",
        "Pool.idle",
    ),
    Kind(
        "seen",
        "def make_logger():\n    seen = []\n    def log(text, keep):\n        if not keep:\n"
        "            seen.clear()\n        seen.append(text)\n    return log\nLOG = make_logger()",
        'text = f"{{g:08d}}" * ({size} // 8)  # MADE',
        "LOG(text, True)",
        "LOG(text, False)",
        "seen",
    ),
    Kind(
        "shelves",
        "SHELVES = {}",
        'note = [f"{{g}}-{{i}}" * 20 for i in range({size} // 150 + 1)]  # MADE',
        "SHELVES.setdefault(g % 3, []).append(note)",
        "SHELVES[g % 3] = [note]",
        "SHELVES",
    ),
    Kind(
        "chain",
        "class Node:\n    def __init__(self, before, data):\n"
        "        self.before, self.data = before, data\n"
        "class Head:\n    last = None",
        "data = bytes({size})  # MADE",
        "Head.last = Node(Head.last, data)",
        "Head.last = Node(None, data)",
        "Head.last",
    ),
    Kind(
        "default",
        "def remember(entry, keep, known=[]):\n    if not keep:\n        known.clear()\n"
        "    known.append(entry)",
        "row = list(range(1000 + g, 1000 + g + {size} // 36))  # MADE",
        "remember(row, True)",
        "remember(row, False)",
        "known",
    ),
    Kind(
        "names",
        "class Registry:\n    def __init__(self):\n        self.names = set()\n"
        "REGISTRY = Registry()",
        'names = [f"{{g}}/{{i}}" + "x" * 400 for i in range({size} // 450 + 1)]  # MADE',
        "REGISTRY.names.update(names)",
        "REGISTRY.names = set(names)",
        "REGISTRY.names",
    ),
    Kind(
        "inbox",
        "from collections import deque\nclass Worker:\n    def __init__(self):\n"
        "        self.inbox = deque()\nWORKER = Worker()",
        "message = np.arange({size} // 8 + 1, dtype=float)  # MADE",
        "WORKER.inbox.append(message)",
        "WORKER.inbox.append(message); WORKER.inbox.popleft()",
        "WORKER.inbox",
    ),
    Kind(
        "hooks",
        "HOOKS = []",
        "weights = np.zeros({size} // 8 + 1)  # MADE",
        "HOOKS.append(lambda: weights.sum())",
        "HOOKS[:] = [lambda: weights.sum()]",
        "HOOKS",
    ),
    Kind(
        "points",
        "class Curve:\n    points = []\n"
        "model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(),"
        " torch.nn.Linear(64, 1))",
        "loss = model(torch.randn({size} // 700 + 1, 64)).pow(2).mean()  # MADE",
        "Curve.points.append(loss)",
        "Curve.points.append(loss.item())",
        "Curve.points",
        torch=True,
    ),
    Kind(
        "outputs",
        "class Evaluation:\n    def __init__(self):\n        self.outputs = []\n"
        "EVALUATION = Evaluation()",
        "output = torch.randn({size} // 256 + 1, 64).tanh()  # MADE",
        "EVALUATION.outputs.append(output)",
        "EVALUATION.outputs = [output]",
        "EVALUATION.outputs",
        torch=True,
    ),
)

#: Healthy: setup, and what a generation does.
LOOK_ALIKES = (
    (
        "from collections import OrderedDict\nCACHE = OrderedDict()",
        "for i in range(20):\n    CACHE[g, i] = bytes(2000)\n    if len(CACHE) > 60:\n"
        "        CACHE.popitem(last=False)",
    ),
    (
        "from collections import deque\nREPLAY = deque(maxlen=40)",
        "for i in range(20):\n    REPLAY.append(np.zeros(500) + i)",
    ),
    (
        "MEMO = {}",
        "for i in range(10):\n    MEMO.setdefault(i, [float(j) for j in range(200)])",
    ),
    (
        "LATEST = {}",
        "LATEST.clear()\nLATEST.update((i, str(i) * 50) for i in range(200))",
    ),
)
