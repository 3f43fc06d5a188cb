from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from reference_trainer.data.panel import NormalizationStats
from reference_trainer.data.synthetic import synthetic_market
from reference_trainer.environment import TradingEnvironment, TradingRules, largest

DAYS, STOCKS = 80, 4


def make_env(
    data: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    rules: TradingRules | None = None,
    start: int = 10,
    trading: int = 12,
    settlement: int = 4,
) -> TradingEnvironment:
    if data is None:
        data = synthetic_market(DAYS, STOCKS, 1)[0]
    stats = NormalizationStats(np.zeros(9, np.float32), np.ones(9, np.float32), 0, 40)
    return TradingEnvironment(
        data,
        np.arange(len(data)),
        stats,
        start,
        start + trading + settlement,
        start + trading,
        mask=mask,
        rules=rules or TradingRules(max_positions=STOCKS),
    )


def flat_market(days: int = DAYS, price: float = 10.0) -> np.ndarray:
    return np.full((days, STOCKS, 9), price, dtype=np.float32)


def play(env: TradingEnvironment, action: np.ndarray) -> list[tuple[Any, ...]]:
    env.reset(seed=0)
    steps = []
    while not steps or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(action))
    return steps


def test_gymnasium_accepts_the_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(infinity|render|rescale|Box observation).*")
        check_env(make_env(), skip_render_check=True)


def test_environments_share_the_panel_and_do_not_copy_it() -> None:
    data = synthetic_market(DAYS, STOCKS, 1)[0]
    assert make_env(data).data_array is data
    assert np.shares_memory(make_env(data).view.source, data)


def test_nothing_after_today_can_be_seen_today() -> None:
    rng = np.random.default_rng(0)
    data = synthetic_market(DAYS, STOCKS, 1)[0]
    actions = rng.uniform(-1, 1, (6, STOCKS))
    seen = []
    for future in (data, None):
        market = data.copy() if future is None else future
        env = make_env(market)
        observations = [env.reset(seed=0)[0]]
        observations += [env.step(action)[0] for action in actions]
        if future is None:
            break
        seen = observations
    today = env.day
    changed = data.copy()
    changed[today + 1 :] = rng.uniform(1, 100, changed[today + 1 :].shape)
    env = make_env(changed)
    again = [env.reset(seed=0)[0]] + [env.step(action)[0] for action in actions]
    assert all(np.array_equal(before, after) for before, after in zip(seen, again, strict=True))


def test_orders_fill_at_the_next_open_and_earn_from_there() -> None:
    market = flat_market()
    market[11, :, 0] = 20.0  # the open after the decision: the jump came before the fill
    market[11:, :, 3] = 20.0
    market[12:, :, 0] = 20.0
    rules = TradingRules(cost_rate=0.0, max_positions=STOCKS)
    env = make_env(market, rules=rules)
    env.reset()
    env.step(np.ones(STOCKS))
    assert env.equity == pytest.approx(1.0)


def test_costs_are_paid_on_entry_and_on_exit() -> None:
    rules = TradingRules(cost_rate=0.01, max_positions=STOCKS, no_trade_band=0.0)
    env = make_env(flat_market(), rules=rules)
    env.reset()
    env.step(np.array([1.0, -1, -1, -1]))
    after_entry = env.equity
    assert after_entry == pytest.approx(1 - 0.01 * 0.98)
    env.step(np.full(STOCKS, -1.0))
    assert env.equity == pytest.approx(after_entry - 0.01 * 0.98)
    assert (env.trades, env.wins, env.losses) == (1, 0, 1)


def test_settlement_only_shrinks_positions_and_ends_in_cash() -> None:
    env = make_env()
    env.reset()
    held = []
    for _ in range(16):
        env.step(np.ones(STOCKS) if env.settling else np.array([1.0, 0, -1, -1]))
        held.append((env.holdings > 0).sum())
    assert held[11] == 2
    assert all(later <= earlier for earlier, later in itertools.pairwise(held))
    assert held[-1] == 0
    assert env.equity == pytest.approx(env.cash)


def test_settlement_never_buys_a_share() -> None:
    env = make_env(rules=TradingRules(max_positions=STOCKS, no_trade_band=0.0))
    env.reset()
    shares = []
    for _ in range(15):
        env.step(np.array([1.0, 0.5, 0.2, -1]))
        shares.append(env.holdings / env.data_array[env.day, :, 3])
    assert (np.diff(shares[11:], axis=0) <= 1e-12).all()
    assert (np.diff(shares[:11], axis=0) > 1e-12).any()


def test_settled_episode_terminates_and_is_not_truncated() -> None:
    *_, last = play(make_env(), np.zeros(STOCKS))
    assert (last[2], last[3]) == (True, False)


def test_window_without_settlement_is_truncated_and_not_terminated() -> None:
    *_, last = play(make_env(settlement=0), np.zeros(STOCKS))
    assert (last[2], last[3]) == (False, True)


def test_bankrupt_account_terminates_before_the_window_ends() -> None:
    market = flat_market()
    market[14:, :, 3] = 0.5
    market[15:, :, 0] = 0.5
    steps = play(make_env(market), np.ones(STOCKS))
    assert len(steps) == 4
    assert (steps[-1][2], steps[-1][3]) == (True, False)


def test_delisted_stock_leaves_the_book_at_a_loss() -> None:
    mask = np.ones((DAYS, STOCKS), dtype=bool)
    mask[15:, 0] = False
    env = make_env(flat_market(), mask=mask, rules=TradingRules(0.0, STOCKS, 0.0))
    play(env, np.array([1.0, -1, -1, -1]))
    assert env.equity == pytest.approx(0.7)


def test_unlisted_stock_cannot_be_bought() -> None:
    mask = np.zeros((DAYS, STOCKS), dtype=bool)
    env = make_env(mask=mask)
    play(env, np.ones(STOCKS))
    assert env.turnover == 0
    assert env.days_with_positions == 0
    assert env.days_without_positions == 16


def test_at_most_max_positions_are_held() -> None:
    env = make_env(rules=TradingRules(max_positions=2, no_trade_band=0.0))
    env.reset()
    env.step(np.array([0.9, 0.1, 0.8, 0.2]))
    assert np.flatnonzero(env.holdings).tolist() == [0, 2]


def test_reset_re_aims_the_same_object() -> None:
    env = make_env()
    first, _ = env.reset(options={"start_idx": 10, "trading_end_idx": 22, "end_idx": 26})
    second, info = env.reset(options={"start_idx": 30, "trading_end_idx": 42, "end_idx": 46})
    assert info["day"] == 30
    assert not np.array_equal(first, second)


def test_reset_to_a_start_alone_keeps_the_lengths() -> None:
    env = make_env()
    env.reset(options={"start_idx": 20})
    assert (env.start_idx, env.trading_end_idx, env.end_idx) == (20, 32, 36)


def test_window_beyond_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        make_env().reset(options={"start_idx": DAYS - 5})


def test_reward_is_the_log_change_of_equity() -> None:
    env = make_env(rules=TradingRules(reward_scale=1.0, max_positions=STOCKS))
    steps = play(env, np.array([1.0, 0.5, -0.5, -1]))
    assert sum(step[1] for step in steps) == pytest.approx(np.log(env.equity))


def test_excess_reward_of_the_whole_market_is_nothing_but_costs() -> None:
    data = synthetic_market(DAYS, STOCKS, 1)[0]
    data[..., 0] = np.vstack([data[:1, :, 3], data[:-1, :, 3]])  # opens where it closed
    rules = TradingRules(0.0, STOCKS, 0.0, reward_scale=1.0, excess=True)
    env = make_env(data, rules=rules)
    env.reset()
    for _ in range(10):
        _, reward, *_ = env.step(np.ones(STOCKS))
        assert reward == pytest.approx(0.0, abs=1e-6)


def test_summary_tells_the_episode() -> None:
    env = make_env()
    play(env, np.ones(STOCKS))
    summary = env.summary()
    assert summary.days == 16
    assert summary.total_return == pytest.approx(env.equity - 1)
    assert summary.trades == summary.wins + summary.losses == STOCKS
    assert 0 <= summary.max_drawdown < 1
    assert summary.cost > 0
    assert summary.days_with_positions == 15


def test_history_of_an_episode_is_gone_after_reset() -> None:
    env = make_env()
    play(env, np.ones(STOCKS))
    assert len(env.episode_rewards) == len(env.episode_actions) == 16
    env.reset()
    assert len(env.episode_rewards) == len(env.episode_actions) == 0


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, np.nan]), min_size=1), st.integers(1, 14))
def test_largest_values_are_the_first_of_a_stable_sort(values: list[float], count: int) -> None:
    first = sorted(range(len(values)), key=lambda at: (np.isnan(values[at]), -values[at]))[:count]

    assert np.flatnonzero(largest(np.array(values), count)).tolist() == sorted(first)


def test_action_that_is_no_number_is_no_calm_day() -> None:
    env = make_env(rules=TradingRules(max_positions=2))
    env.reset(seed=0)

    assert np.isnan(env.step(np.full(STOCKS, np.nan))[1])
