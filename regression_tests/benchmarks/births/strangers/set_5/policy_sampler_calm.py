"""Policy-gradient fine-tuning of a toy language policy; sampling with key/value caches."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import OrderedDict

DEV = "cuda" if torch.cuda.is_available() else "cpu"
ON_GPU = DEV == "cuda"
LAYERS, DIM, HEADS = (4, 256, 4) if ON_GPU else (2, 64, 2)
VOCAB = 4096 if ON_GPU else 512
CHATS = 16 if ON_GPU else 8
PROMPT, REPLY = (16, 48) if ON_GPU else (8, 12)
ITERATIONS = 60
MAX_CACHED = 4


class KVCache:
    """Keys and values of one batch of conversations, preallocated to full length."""

    def __init__(self, batch, length):
        shape = (LAYERS, 2, batch, HEADS, length, DIM // HEADS)
        self.data = torch.zeros(shape, device=DEV)
        self.used = 0

    def write(self, layer, k, v):
        end = self.used + k.shape[2]
        self.data[layer, 0, :, :, self.used:end] = k
        self.data[layer, 1, :, :, self.used:end] = v
        return self.data[layer, 0, :, :, :end], self.data[layer, 1, :, :, :end]


class Layer(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = cache.write(self.index, k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Embedding(PROMPT + REPLY, DIM)
        self.layers = nn.ModuleList(Layer(i) for i in range(LAYERS))
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids, cache=None):
        start = cache.used if cache is not None else 0
        x = self.tok(ids) + self.pos(torch.arange(start, start + ids.shape[1], device=DEV))
        for layer in self.layers:
            x = layer(x, cache)
        if cache is not None:
            cache.used += ids.shape[1]
        return self.head(x)


class Sampler:
    def __init__(self, policy):
        self.policy = policy
        self.sessions = OrderedDict()

    def cache_for(self, session_id):
        if session_id not in self.sessions:
            self.sessions[session_id] = KVCache(CHATS, PROMPT + REPLY)
        self.sessions.move_to_end(session_id)
        while len(self.sessions) > MAX_CACHED:
            self.sessions.popitem(last=False)
        return self.sessions[session_id]

    @torch.no_grad()
    def generate(self, session_id, prompt):
        cache = self.cache_for(session_id)
        logits = self.policy(prompt, cache)[:, -1]
        tokens, trace = [], []
        for _ in range(REPLY):
            trace.append(logits)
            token = torch.multinomial(logits.softmax(-1), 1)
            tokens.append(token)
            if len(tokens) < REPLY:
                logits = self.policy(token, cache)[:, -1]
        return torch.cat(tokens, 1), torch.stack(trace, 1)


def reward_of(reply):
    """Likes even tokens, dislikes repeats."""
    even = (reply % 2 == 0).float().mean(1)
    repeats = (reply[:, 1:] == reply[:, :-1]).float().mean(1)
    return even - repeats


def mean_entropy(logits):
    logp = logits.log_softmax(-1)
    return -(logp.exp() * logp).sum(-1).mean().item()


def train():
    torch.manual_seed(0)
    policy = Policy().to(DEV)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    sampler = Sampler(policy)
    baseline = 0.0
    rewards = []
    entropies = []

    for iteration in range(ITERATIONS):
        prompt = torch.randint(0, VOCAB, (CHATS, PROMPT), device=DEV)
        reply, logits = sampler.generate(f"chat-{iteration}", prompt)
        reward = reward_of(reply)

        entropies.append(mean_entropy(logits))

        for _ in range(4):
            ids = torch.cat([prompt, reply], 1)
            logp = policy(ids[:, :-1])[:, PROMPT - 1:].log_softmax(-1)
            chosen = logp.gather(-1, reply.unsqueeze(-1)).squeeze(-1).sum(1)
            loss = -((reward - baseline) * chosen).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        rewards.append(reward.mean().item())
        baseline = 0.9 * baseline + 0.1 * rewards[-1]
        if iteration % 10 == 0:
            print(f"iteration {iteration:3d} reward {rewards[-1]:.3f} baseline {baseline:.3f}", flush=True)

    print(f"reward {rewards[0]:.3f} -> {rewards[-1]:.3f}, entropy {entropies[0]:.3f} -> {entropies[-1]:.3f}")


train()
