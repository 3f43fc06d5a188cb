"""Networks of a whole population as rows of one matrix.

Row i of `values` is the genome of network i; the layers are views into it. One batched
matrix product serves all rows, one optimizer kernel updates them, and evolution copies rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.optim.adam import adam

Layers = Sequence[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Architecture:
    """The shape of actor and critic and how they read their inputs.

    `actor_inputs` makes `[P, N, in]` of observations `[P, B, O]`, `critic_inputs` of observations
    and actions `[P, B, A]`, which are its last columns. N is B, or a multiple of it where one
    network reads several parts of an observation in turn; a critic's value is the sum over them.
    P counts agents, B the batch. `keep` limits how many actions stay above -1. `is_plain` says
    that both read their inputs as they come, and that each action counts.
    """

    actor_sizes: tuple[int, ...]
    critic_sizes: tuple[int, ...]
    actor_inputs: Callable[[Tensor], Tensor]
    critic_inputs: Callable[[Tensor, Tensor], Tensor]
    observation_size: int
    action_size: int
    keep: int | None = None
    is_plain: bool = False

    def actor(self, layers: Layers, observation: Tensor) -> Tensor:
        """Actions `[P, B, A]` in [-1, 1]."""
        return self.action(mlp(layers, self.actor_inputs(observation)))

    def critic(self, layers: Layers, observation: Tensor, action: Tensor) -> Tensor:
        """Values `[P, B]`."""
        values = mlp(layers, self.critic_inputs(observation, action))
        return values.view(*action.shape[:2], -1).sum(-1)

    def action(self, output: Tensor) -> Tensor:
        """Actions `[P, B, A]` of what an actor's last layer says."""
        action = torch.tanh(output).view(len(output), -1, self.action_size)
        return keep_largest(action, self.keep)


def parameter_count(sizes: Sequence[int]) -> int:
    """Weights and biases of a multi-layer perceptron."""
    return sum(inner * outer + outer for inner, outer in pairwise(sizes))


def layer_views(values: Tensor, sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """The weights `[rows, out, in]` and biases `[rows, 1, out]` inside a genome matrix."""
    rows, offset, layers = values.shape[0], 0, []
    for inner, outer in pairwise(sizes):
        weight = values[:, offset : offset + inner * outer].view(rows, outer, inner)
        offset += inner * outer
        bias = values[:, offset : offset + outer].view(rows, 1, outer)
        offset += outer
        layers.append((weight, bias))
    return layers


def mlp(layers: Layers, x: Tensor) -> Tensor:
    """ReLU perceptrons of all rows at once: `[P, N, in]` to `[P, N, out]`."""
    for weight, bias in layers[:-1]:
        x = torch.baddbmm(bias, x, weight.transpose(1, 2)).relu_()
    weight, bias = layers[-1]
    return torch.baddbmm(bias, x, weight.transpose(1, 2))


def mlp_architecture(
    observation_size: int,
    action_size: int,
    hidden: Sequence[int],
    keep: int | None = None,
    actor_hidden: Sequence[int] | None = None,
) -> Architecture:
    """Perceptrons on the flat observation; the actors' hidden layers may be others, or none."""
    return Architecture(
        (observation_size, *(hidden if actor_hidden is None else actor_hidden), action_size),
        (observation_size + action_size, *hidden, 1),
        lambda observation: observation,
        lambda observation, action: torch.cat([observation, action], dim=-1),
        observation_size,
        action_size,
        keep,
        is_plain=keep is None or keep >= action_size,
    )


def per_asset_architecture(
    stocks: int, per_stock: int, hidden: Sequence[int], keep: int | None = None
) -> Architecture:
    """One small network that looks at every stock in turn (equal weights for all stocks).

    The actor's action for a stock depends on that stock's features, its weight, and the
    episode's two clocks; the critic sums a value over stocks. Permuting stocks permutes actions.
    """
    market = stocks * per_stock

    def inputs(observation: Tensor, *more: Tensor) -> Tensor:
        rows, batch, _ = observation.shape
        features = observation[..., :market].reshape(rows, batch, stocks, per_stock)
        weights = observation[..., market:-2].unsqueeze(-1)
        clocks = observation[..., None, -2:].expand(-1, -1, stocks, -1)
        parts = [features, weights, clocks, *(part.unsqueeze(-1) for part in more)]
        return torch.cat(parts, dim=-1).view(rows, batch * stocks, -1)

    return Architecture(
        (per_stock + 3, *hidden, 1),
        (per_stock + 4, *hidden, 1),
        inputs,
        inputs,
        market + stocks + 2,
        stocks,
        keep,
    )


def keep_largest(action: Tensor, keep: int | None) -> Tensor:
    """Set all but the `keep` largest entries to -1, as the environment ignores them."""
    if keep is None or keep >= action.shape[-1]:
        return action
    chosen = action.topk(keep, dim=-1).indices
    kept = torch.zeros_like(action, dtype=torch.bool).scatter_(-1, chosen, True)
    return action.masked_fill(~kept, -1.0)


class NetworkStack:
    """Networks of one shape, their targets, gradients and Adam moments, one network a row.

    All five matrices are `[rows, parameters]`. `view(i, j)` shares memory with its parent.
    """

    def __init__(self, sizes: Sequence[int], matrices: Sequence[Tensor], lr: float) -> None:
        self.sizes, self.lr = tuple(sizes), lr
        self.values, self.target, self.grad, self.exp_avg, self.exp_avg_sq, self.step = matrices
        self.frozen = layer_views(self.values, self.sizes)
        self.target_layers = layer_views(self.target, self.sizes)
        self.live = [
            (weight.detach().requires_grad_(), bias.detach().requires_grad_())
            for weight, bias in self.frozen
        ]
        self.grad_layers = layer_views(self.grad, self.sizes)

    @classmethod
    def create(
        cls, sizes: Sequence[int], rows: int, lr: float, generator: torch.Generator
    ) -> NetworkStack:
        """Freshly initialized networks; every page is written, so memory is charged now."""
        shape = (rows, parameter_count(sizes))
        matrices = [torch.full(shape, 0.0) for _ in range(5)]
        stack = cls(sizes, [*matrices, torch.zeros(())], lr)
        stack.initialize(generator)
        return stack

    @property
    def rows(self) -> int:
        """How many networks there are."""
        return int(self.values.shape[0])

    def initialize(self, generator: torch.Generator) -> None:
        """Weights and biases uniform by fan-in, as in Lillicrap et al.; equal targets."""
        for weight, bias in self.frozen:
            bound = weight.shape[-1] ** -0.5
            for row in range(self.rows):
                weight[row].uniform_(-bound, bound, generator=generator)
                bias[row].uniform_(-bound, bound, generator=generator)
        self.target.copy_(self.values)

    def widen(self) -> None:
        """Make fresh networks as wide as He et al. 2015: a signal keeps its size in each layer."""
        # From U(-1/sqrt(n), 1/sqrt(n)), whose variance is 1/(3n), to a variance of 2/n.
        self.values.mul_(6**0.5)
        self.target.copy_(self.values)

    def view(self, first: int, last: int) -> NetworkStack:
        """The rows `first..last-1`, in the same memory."""
        rows = [matrix[first:last] for matrix in self.followers(grad=True)]
        return NetworkStack(self.sizes, [*rows, self.step], self.lr)

    def copy(self) -> NetworkStack:
        """The same networks in memory of their own."""
        rows = [matrix.clone() for matrix in self.followers(grad=True)]
        return NetworkStack(self.sizes, [*rows, self.step.clone()], self.lr)

    def followers(self, grad: bool = False) -> list[Tensor]:
        """The matrices that follow a genome: values, target, and both Adam moments."""
        if grad:
            return [self.values, self.target, self.grad, self.exp_avg, self.exp_avg_sq]
        return [self.values, self.target, self.exp_avg, self.exp_avg_sq]

    def accumulate(self, loss: Tensor, *, retain_graph: bool = False) -> None:
        """Add the gradients of a scalar to those already there."""
        leaves = [leaf for layer in self.live for leaf in layer]
        found = torch.autograd.grad(loss, leaves, retain_graph=retain_graph)
        for kept, new in zip((g for layer in self.grad_layers for g in layer), found, strict=True):
            kept.add_(new)

    @torch.no_grad()
    def apply_gradients(self) -> None:
        """One Adam step on every row (Kingma & Ba 2015), then clear the gradients."""
        # The functional form: `torch.optim.Adam` would import the whole compiler (600,000 objects).
        adam(
            [self.values],
            [self.grad],
            [self.exp_avg],
            [self.exp_avg_sq],
            [],
            [self.step],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.lr,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )
        self.grad.zero_()

    def update_target(self, tau: float) -> None:
        """theta' <- tau theta + (1 - tau) theta' (Lillicrap et al. 2016, algorithm 1)."""
        self.target.lerp_(self.values, tau)

    @property
    def nbytes(self) -> int:
        """Bytes of all five matrices."""
        return sum(matrix.nbytes for matrix in self.followers(grad=True))
