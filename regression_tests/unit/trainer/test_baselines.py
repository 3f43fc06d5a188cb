from __future__ import annotations

import numpy as np
import pytest

from reference_trainer.baselines import baselines, table
from reference_trainer.data.panel import NormalizationStats
from reference_trainer.data.synthetic import synthetic_market
from reference_trainer.environment import TradingEnvironment, TradingRules

WINDOWS = [{"start_idx": start, "trading_end_idx": start + 30, "end_idx": start + 36}
           for start in (60, 120)]  # fmt: skip


def make_env(data: np.ndarray, cost: float = 0.001) -> TradingEnvironment:
    stats = NormalizationStats(np.zeros(9, np.float32), np.ones(9, np.float32), 0, 40)
    return TradingEnvironment(
        data, np.arange(len(data)), stats, 60, 96, 90, rules=TradingRules(cost, 3)
    )


@pytest.fixture(scope="module")
def results() -> dict[str, object]:
    return dict(baselines(make_env(synthetic_market(200, 12, 4)[0]), WINDOWS, seed=0))


def test_cash_earns_nothing(results: dict) -> None:  # type: ignore[type-arg]
    assert results["cash"].total_return == 0
    assert results["cash"].turnover == 0


def test_nobody_beats_foresight(results: dict) -> None:  # type: ignore[type-arg]
    best = results["foresight"].total_return
    assert all(other.total_return < best for name, other in results.items() if name != "foresight")


def test_holding_trades_once_each_way_and_rebalancing_trades_more(results: dict) -> None:  # type: ignore[type-arg]
    assert results["buy and hold"].turnover == pytest.approx(2.0, abs=0.25)
    assert results["rebalanced"].turnover > results["buy and hold"].turnover


def test_buy_and_hold_earns_the_mean_of_the_stocks_minus_costs() -> None:
    data = synthetic_market(200, 12, 4)[0]
    held = baselines(make_env(data, cost=0.0), WINDOWS[:1], seed=0)["buy and hold"]
    growth = data[96, :, 3].astype(float) / data[61, :, 0]
    assert held.total_return == pytest.approx(growth.mean() - 1, rel=1e-6)


def test_the_rules_of_the_environment_come_back() -> None:
    env = make_env(synthetic_market(200, 12, 4)[0])
    before = env.rules
    baselines(env, WINDOWS[:1], seed=0)
    assert env.rules == before


def test_table_shows_every_strategy_on_a_line(results: dict) -> None:  # type: ignore[type-arg]
    lines = table(results).splitlines()
    assert [line[:14].strip() for line in lines] == ["", *results]
