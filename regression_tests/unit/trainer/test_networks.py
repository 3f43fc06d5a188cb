from __future__ import annotations

import pytest
import torch

from reference_trainer.networks import (
    NetworkStack,
    keep_largest,
    layer_views,
    mlp,
    mlp_architecture,
    parameter_count,
    per_asset_architecture,
)

SIZES = (5, 7, 3)


def stack(rows: int = 4) -> NetworkStack:
    return NetworkStack.create(SIZES, rows, 1e-2, torch.Generator().manual_seed(0))


def test_each_row_is_an_ordinary_perceptron() -> None:
    networks, x = stack(), torch.randn(4, 6, 5)
    together = mlp(networks.frozen, x)
    for row in range(4):
        (w1, b1), (w2, b2) = [(w[row], b[row, 0]) for w, b in networks.frozen]
        alone = torch.relu(x[row] @ w1.T + b1) @ w2.T + b2
        assert torch.allclose(together[row], alone, atol=1e-6)


def test_layers_cover_every_parameter_once() -> None:
    values = torch.arange(2.0 * parameter_count(SIZES)).view(2, -1)
    pieces = [part[1].reshape(-1) for layer in layer_views(values, SIZES) for part in layer]
    assert torch.equal(torch.cat(pieces), values[1])


def test_a_view_shares_memory_and_a_copy_does_not() -> None:
    networks = stack()
    networks.view(1, 2).values.fill_(3.0)
    assert (networks.values[1] == 3.0).all()
    networks.copy().values.fill_(9.0)
    assert not (networks.values == 9.0).any()


def test_stacked_update_equals_sixteen_single_updates() -> None:
    networks = stack()
    singles = [networks.view(row, row + 1).copy() for row in range(4)]
    x, y = torch.randn(4, 8, 5), torch.randn(4, 8, 3)
    for _ in range(3):
        networks.accumulate((mlp(networks.live, x) - y).square().mean((1, 2)).sum())
        networks.apply_gradients()
        for row, single in enumerate(singles):
            loss = (mlp(single.live, x[row : row + 1]) - y[row : row + 1]).square().mean()
            single.accumulate(loss)
            single.apply_gradients()
    for row, single in enumerate(singles):
        assert torch.allclose(networks.values[row], single.values[0], atol=1e-5)


def test_update_matches_a_plain_torch_module_with_adam() -> None:
    networks = stack(1)
    module = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    with torch.no_grad():
        for layer, (weight, bias) in zip((module[0], module[2]), networks.frozen, strict=True):
            layer.weight.copy_(weight[0])
            layer.bias.copy_(bias[0, 0])
    adam = torch.optim.Adam(module.parameters(), lr=1e-2)
    x, y = torch.randn(1, 8, 5), torch.randn(1, 8, 3)
    for _ in range(5):
        networks.accumulate((mlp(networks.live, x) - y).square().mean())
        networks.apply_gradients()
        adam.zero_grad()
        (module(x) - y).square().mean().backward()
        adam.step()
    assert torch.allclose(networks.frozen[1][0][0], module[2].weight, atol=1e-5)


def test_two_gradients_accumulate_to_their_sum() -> None:
    networks, x = stack(), torch.randn(4, 8, 5)
    networks.accumulate(mlp(networks.live, x).sum())
    once = networks.grad.clone()
    networks.accumulate(mlp(networks.live, x).sum())
    assert torch.allclose(networks.grad, 2 * once)


def test_target_moves_by_tau() -> None:
    networks = stack()
    old = networks.target.clone()
    networks.values.add_(1.0)
    networks.update_target(0.25)
    assert torch.allclose(networks.target, 0.75 * old + 0.25 * networks.values)


def test_permuting_stocks_permutes_the_actions_of_a_per_asset_actor() -> None:
    stocks, per_stock = 5, 3
    architecture = per_asset_architecture(stocks, per_stock, (8,))
    networks = NetworkStack.create(
        architecture.actor_sizes, 2, 1e-3, torch.Generator().manual_seed(1)
    )
    observation = torch.randn(2, 4, architecture.observation_size)
    order = torch.tensor([3, 0, 4, 1, 2])
    market = observation[..., : stocks * per_stock].view(2, 4, stocks, per_stock)
    weights, clocks = observation[..., stocks * per_stock : -2], observation[..., -2:]
    shuffled = torch.cat([market[:, :, order].flatten(2), weights[..., order], clocks], -1)
    straight = architecture.actor(networks.frozen, observation)
    assert torch.allclose(
        architecture.actor(networks.frozen, shuffled), straight[..., order], atol=1e-6
    )


@pytest.mark.parametrize("keep", [None, 2])
def test_actions_stay_in_range(keep: int | None) -> None:
    architecture = mlp_architecture(5, 4, (8,), keep)
    networks = NetworkStack.create(architecture.actor_sizes, 3, 1e-3, torch.Generator())
    action = architecture.actor(networks.frozen, 100 * torch.randn(3, 6, 5))
    assert action.abs().max() <= 1
    if keep is not None:
        assert ((action > -1).sum(-1) <= keep).all()


def test_keep_largest_keeps_the_largest() -> None:
    action = torch.tensor([[0.1, 0.9, -0.5, 0.4]])
    assert torch.equal(keep_largest(action, 2), torch.tensor([[-1.0, 0.9, -1.0, 0.4]]))
