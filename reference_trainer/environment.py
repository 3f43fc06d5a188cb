"""Trading a panel of stocks as a Gymnasium task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from reference_trainer.data.panel import NormalizationStats
from reference_trainer.observation import MarketView

#: Fraction of the last price that is lost when a delisted stock leaves the book.
DELISTING_HAIRCUT = 0.3
#: An account below this fraction of its start is bankrupt.
BANKRUPT = 0.2


@dataclass(frozen=True)
class TradingRules:
    """Costs and limits of the account; rates are fractions of the traded value.

    With `excess` the reward is what the account gained over the mean of all traded stocks, so that
    luck with the whole market does not count as skill.
    """

    cost_rate: float = 0.0012
    max_positions: int = 16
    no_trade_band: float = 0.01
    reward_scale: float = 100.0
    excess: bool = False


@dataclass(frozen=True)
class EpisodeSummary:
    """What one finished episode came to.

    `sharpe` is per year; `turnover` is the sum of traded values as multiples of the equity of the
    moment, buys and sales counted; `cost` is in units of the money at the start.
    """

    days: int
    reward: float
    total_return: float
    sharpe: float
    max_drawdown: float
    turnover: float
    cost: float
    trades: int
    wins: int
    losses: int
    days_with_positions: int
    days_without_positions: int


class TradingEnvironment(gymnasium.Env[np.ndarray, np.ndarray]):
    """Long-only trading of a shared, read-only panel; `reset` re-aims the same object.

    An action in [-1, 1] per stock is an appetite: the `max_positions` largest become target
    weights, -1 means none. It is decided with the close of day t, filled at the open of day
    t + 1 with costs on both sides, and rewarded by the log change of equity up to the close
    of day t + 1. Between `trading_end_idx` and `end_idx` positions can only shrink, and the
    last step closes what is left.

    `terminated` is true when the book is closed at the end of settlement or the account is
    bankrupt: nothing follows. `truncated` is true when a window without settlement ends with
    its positions open: more would follow, so a learner bootstraps.

    The observation is float32 `[stocks * (lags * features) + stocks + 2]`: the market of day t,
    the weights held, the share of the episode that is over, and whether it is settling.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        data_array: np.ndarray,
        dates: np.ndarray,
        normalization_stats: NormalizationStats,
        start_idx: int,
        end_idx: int,
        trading_end_idx: int,
        *,
        mask: np.ndarray | None = None,
        open_column: int = 0,
        close_column: int = 3,
        view: MarketView | None = None,
        rules: TradingRules | None = None,
    ) -> None:
        self.data_array = data_array
        self.dates = dates
        self.normalization_stats = normalization_stats
        self.mask = np.ones(data_array.shape[:2], dtype=bool) if mask is None else mask
        self.view = view or MarketView(data_array, normalization_stats)
        self.rules = rules or TradingRules()
        self.open_column, self.close_column = open_column, close_column
        self.stocks = int(data_array.shape[1])
        self._aim(start_idx, end_idx, trading_end_idx)
        size = self.view.size + self.stocks + 2
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.stocks,), np.float32)
        self.episode_rewards: list[float] = []
        self.episode_actions: list[np.ndarray] = []
        self._open_account()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; `options` may give `start_idx`, `end_idx` and `trading_end_idx`."""
        super().reset(seed=seed)
        options = options or {}
        start = options.get("start_idx", self.start_idx)
        end = options.get("end_idx", start + (self.end_idx - self.start_idx))
        trading_end = options.get("trading_end_idx", end - (self.end_idx - self.trading_end_idx))
        self._aim(start, end, trading_end)
        self._open_account()
        self.clear_history()
        return self._observation(), self._info()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Fill the orders at the next open and move to the next close."""
        appetite = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        wanted, closing = self._target_weights(appetite), self.settling
        before = self.equity
        self.day += 1
        self._move_prices(self._yesterday(self.close_column), self._today(self.open_column))
        self._fill(wanted, closing)
        self._move_prices(self._today(self.open_column), self._today(self.close_column))
        if self.day == self.end_idx and self.end_idx > self.trading_end_idx:
            self._close_book()
        reward = self._book_keep(before, appetite)
        bankrupt = self.equity < BANKRUPT
        over = self.day == self.end_idx
        terminated = bankrupt or (over and self.end_idx > self.trading_end_idx)
        return self._observation(), reward, terminated, over and not terminated, self._info()

    @property
    def equity(self) -> float:
        """Cash plus positions, as a multiple of the money at the start."""
        return float(self.cash + self.holdings.sum())

    @property
    def settling(self) -> bool:
        """Whether the next orders can only shrink positions."""
        return self.day >= self.trading_end_idx

    def summary(self) -> EpisodeSummary:
        """The episode so far."""
        curve = np.asarray([1.0, *self._curve])
        changes = np.diff(np.log(np.maximum(curve, 1e-9)))
        spread = float(changes.std()) if len(changes) else 0.0
        return EpisodeSummary(
            days=len(changes),
            reward=self.cumulative_reward,
            total_return=float(curve[-1] - 1),
            sharpe=float(changes.mean() / spread * np.sqrt(252)) if spread > 1e-12 else 0.0,
            max_drawdown=float((1 - curve / np.maximum.accumulate(curve)).max()),
            turnover=self.turnover,
            cost=self.cost,
            trades=self.trades,
            wins=self.wins,
            losses=self.losses,
            days_with_positions=self.days_with_positions,
            days_without_positions=self.days_without_positions,
        )

    @property
    def equity_curve(self) -> np.ndarray:
        """Equity after each step of the episode, starting with 1."""
        return np.asarray([1.0, *self._curve])

    def clear_history(self) -> None:
        """Forget the rewards and actions of the last episode."""
        self.episode_rewards.clear()
        self.episode_actions.clear()

    def _aim(self, start_idx: int, end_idx: int, trading_end_idx: int) -> None:
        last = len(self.data_array) - 1
        oldest = max(self.view.lags)
        if not oldest <= start_idx < trading_end_idx <= end_idx <= last:
            raise ValueError(
                f"window {start_idx}..{trading_end_idx}..{end_idx} does not fit: need "
                f"{oldest} <= start < trading_end <= end <= {last}"
            )
        self.start_idx, self.end_idx, self.trading_end_idx = start_idx, end_idx, trading_end_idx

    def _open_account(self) -> None:
        self.day = self.start_idx
        self.cash = 1.0
        self.holdings = np.zeros(self.stocks)
        self._basis = np.zeros(self.stocks)
        self._realized = np.zeros(self.stocks)
        self._curve: list[float] = []
        self.cumulative_reward = self.turnover = self.cost = 0.0
        self.trades = self.wins = self.losses = 0
        self.days_with_positions = self.days_without_positions = 0

    def _today(self, column: int) -> np.ndarray:
        return self.data_array[self.day, :, column]

    def _yesterday(self, column: int) -> np.ndarray:
        return self.data_array[self.day - 1, :, column]

    def _target_weights(self, appetite: np.ndarray) -> np.ndarray:
        intensity = (appetite + 1) / 2
        if self.rules.max_positions < self.stocks:
            intensity[~largest(intensity, self.rules.max_positions)] = 0.0
        room = 1 - 2 * self.rules.cost_rate
        weights = intensity * (room / max(1.0, intensity.sum()))
        if self.settling:
            weights = np.minimum(weights, self.holdings / max(self.equity, 1e-9))
        return weights

    def _move_prices(self, before: np.ndarray, after: np.ndarray) -> None:
        held = np.flatnonzero(self.holdings)
        old = before[held].astype(np.float64)
        new = after[held].astype(np.float64)
        moved = np.divide(new, old, out=np.ones(len(held)), where=(old > 0) & self._traded[held])
        self.holdings[held] *= moved

    @property
    def _traded(self) -> np.ndarray:
        return self.mask[self.day]

    def _fill(self, wanted: np.ndarray, closing: bool) -> None:
        equity = self.equity
        orders = wanted * equity - self.holdings
        if closing:
            orders = np.minimum(orders, 0.0)
        small = np.abs(orders) < self.rules.no_trade_band * equity
        orders[(small & (wanted > 0)) | ~self._traded] = 0.0
        self._execute(orders)

    def _close_book(self) -> None:
        """Sell everything at the close; what no longer trades leaves at a loss."""
        gone = (self.holdings > 0) & ~self._traded
        self.holdings[gone] *= 1 - DELISTING_HAIRCUT
        self._execute(-self.holdings)

    def _execute(self, orders: np.ndarray) -> None:
        stocks, equity = np.flatnonzero(orders), self.equity
        value, held, basis = orders[stocks], self.holdings[stocks], self._basis[stocks]
        fee = np.abs(value) * self.rules.cost_rate
        selling = (value < 0) & (held > 0)
        sold = np.divide(-value, held, out=np.zeros(len(stocks)), where=selling)
        realized = self._realized[stocks] + np.where(selling, -value - sold * basis, 0.0) - fee
        basis = np.where(selling, basis * (1 - sold), basis + value)
        held += value
        closed = selling & (held <= 1e-9)
        won, count = int((realized[closed] > 0).sum()), int(closed.sum())
        self.trades += count
        self.wins += won
        self.losses += count - won
        held[closed] = realized[closed] = basis[closed] = 0.0
        self.holdings[stocks], self._realized[stocks], self._basis[stocks] = held, realized, basis
        self.cash -= float(value.sum() + fee.sum())
        self.cost += float(fee.sum())
        self.turnover += float(np.abs(value).sum()) / max(equity, 1e-9)

    def _book_keep(self, before: float, appetite: np.ndarray) -> float:
        change = np.log(max(self.equity, 1e-9) / max(before, 1e-9))
        if self.rules.excess:
            change -= self._market_change()
        reward = float(self.rules.reward_scale * change)
        self.cumulative_reward += reward
        invested = bool((self.holdings > 0).any())
        self.days_with_positions += invested
        self.days_without_positions += not invested
        self._curve.append(self.equity)
        self.episode_rewards.append(reward)
        self.episode_actions.append(appetite.astype(np.float32))
        return reward

    def _market_change(self) -> float:
        """Log of the mean growth of the stocks that trade today, close to close."""
        old, new = self._yesterday(self.close_column), self._today(self.close_column)
        traded = self._traded & (old > 0)
        return float(np.log((new[traded] / old[traded]).mean())) if traded.any() else 0.0

    @property
    def weights(self) -> np.ndarray:
        """Positions as shares of equity, rounded to the float16 that the buffer keeps."""
        return (self.holdings / max(self.equity, 1e-9)).astype(np.float16)

    @property
    def progress(self) -> tuple[int, int]:
        """Steps taken and steps of the whole episode."""
        return self.day - self.start_idx, self.end_idx - self.start_idx

    def _observation(self) -> np.ndarray:
        out = np.empty((1, self.view.size + self.stocks + 2), dtype=np.float32)
        write_observations(
            self.view,
            np.array([self.day]),
            self.weights[None],
            np.array([self.progress]),
            np.array([self.settling]),
            out,
        )
        return out[0]

    def _info(self) -> dict[str, Any]:
        return {
            "day": self.day,
            "weights": self.weights,
            "progress": self.progress,
            "settling": self.settling,
            "equity": self.equity,
        }


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """Mask of the `count` largest values of a vector; ties go to the lower index."""
    if count >= len(values):
        return np.ones(len(values), dtype=bool)
    # Not sorted: of hundreds of values, most need not be put in order.
    least = -np.partition(-values, count - 1)[count - 1]
    if np.isnan(least):  # too few numbers: all of them, and what is none makes up the rest
        mask = ~np.isnan(values)
        tied = np.flatnonzero(~mask)
    else:
        mask = values > least
        tied = np.flatnonzero(values == least)
    mask[tied[: count - np.count_nonzero(mask)]] = True
    return mask


def write_observations(
    view: MarketView,
    days: np.ndarray,
    weights: np.ndarray,
    progress: np.ndarray,
    settling: np.ndarray,
    out: np.ndarray,
) -> None:
    """Build observations in place from what the buffer stores.

    `days` int `[n]`, `weights` `[n, stocks]`, `progress` int `[n, 2]` (done, whole),
    `settling` bool `[n]`, `out` float32 `[n, view.size + stocks + 2]`.
    """
    market = view.size
    view.write(days, out[:, :market])
    out[:, market:-2] = weights
    out[:, -2] = progress[:, 0] / progress[:, 1]
    out[:, -1] = settling
