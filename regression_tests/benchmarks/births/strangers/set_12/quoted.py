"""A quote service: option prices off a moving surface, tick by tick."""
import asyncio
import hashlib
import logging
import logging.handlers
import sys

import numpy as np

FIXED = sys.argv[1] == "fixed"
TICKS = 120
STRESS_FROM = 46
EXPIRIES = (7, 30, 60, 90, 180, 365)


class ArbitrageError(ValueError):
    pass


class Audit(logging.Handler):
    def __init__(self):
        super().__init__()
        self.digest = hashlib.sha256()
        self.count = 0

    def emit(self, record):
        self.digest.update(self.format(record).encode())
        self.count += 1


audit = Audit()
desk_log = logging.getLogger("desk")
desk_log.setLevel(logging.INFO)
shared = logging.handlers.MemoryHandler(100, target=audit)
if FIXED:
    desk_log.addHandler(shared)


def session_log(session):
    if FIXED:
        return logging.LoggerAdapter(desk_log, {"session": session})
    log = logging.getLogger(f"desk.session.{session}")
    log.addHandler(logging.handlers.MemoryHandler(100, target=audit))
    return log


class Surface:
    def __init__(self, rng):
        self.rng = rng
        self.version = 0
        self.level, self.skew, self.kink = 0.22, -0.12, 0.0

    def move(self, stressed):
        self.version += 1
        self.level = 0.2 + 0.05 * abs(self.rng.standard_normal())
        self.skew = -0.12 + 0.01 * self.rng.standard_normal()
        self.kink = 0.35 if stressed else 0.0

    def volatility(self, strikes, days):
        smile = self.level + self.skew * np.log(strikes) + 0.2 * np.log(strikes) ** 2
        return smile + self.kink * np.exp(-((strikes - 1.1) / 0.03) ** 2) * (days < 45)


def calibrate(surface, days):
    """Risk-neutral density of one expiry; refuses a surface with arbitrage."""
    strikes = np.linspace(0.4, 2.2, 3000)
    width = surface.volatility(strikes, days) * np.sqrt(days / 365)
    forward = 1.0
    for _ in range(12):
        d1 = np.log(forward / strikes) / width + width / 2
        calls = forward * normal(d1) - strikes * normal(d1 - width)
        forward += 0.5 * (0.6 - calls[0])
    density = np.gradient(np.gradient(calls, strikes), strikes)
    if density[5:-5].min() < -0.05:
        raise ArbitrageError(f"negative density at {days} days in version {surface.version}")
    return strikes, calls, density


def normal(x):
    return 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


class Desk:
    def __init__(self, surface):
        self.surface = surface
        self.curves = {}
        self.refusals = {}
        self.gates = {"ACME": asyncio.Event(), "ZORG": asyncio.Event()}
        self.gates["ACME"].set()
        self.filled = self.refused = self.late = 0

    def next_tick(self, stressed):
        self.surface.move(stressed)
        self.curves.clear()
        if FIXED:
            self.refusals.clear()

    async def curve(self, days):
        """Calibrate once for all requests on the same curve, whatever comes of it."""
        key = (self.surface.version, days)
        if key in self.refusals:
            raise self.refusals[key]
        if key not in self.curves:
            try:
                self.curves[key] = calibrate(self.surface, days)
            except ArbitrageError as error:
                self.refusals[key] = error
                raise
        await asyncio.sleep(0)
        return self.curves[key]

    async def quote(self, log, days, strike):
        try:
            strikes, calls, density = await self.curve(days)
        except ArbitrageError as error:
            self.refused += 1
            log.info("refused %d days at %.3f: %s", days, strike, str(error))
            return 0.0
        price = float(np.interp(strike, strikes, calls))
        tail = float(np.trapezoid(density[strikes > strike], strikes[strikes > strike]))
        log.info("quoted %d days at %.3f: %.5f, tail %.4f", days, strike, price, tail)
        return price

    async def session(self, name, strikes):
        log = session_log(name)
        wanted = [self.quote(log, days, strike) for days in EXPIRIES for strike in strikes]
        return sum(await asyncio.gather(*wanted))

    async def fill(self, symbol, book):
        await self.gates[symbol].wait()
        self.filled += int((book[:, 1] > book[:, 0].mean()).sum() > 0)

    async def order(self, symbol, book):
        task = asyncio.create_task(self.fill(symbol, book))
        done, pending = await asyncio.wait({task}, timeout=0.002)
        if pending:
            self.late += 1
            if FIXED:
                task.cancel()


async def serve():
    rng = np.random.default_rng(21)
    desk = Desk(Surface(rng))
    total = 0.0
    for tick in range(TICKS):
        desk.next_tick(stressed=tick + 1 >= STRESS_FROM)
        sessions = [desk.session(f"{tick:04d}-{i}", rng.uniform(0.8, 1.3, 9)) for i in range(3)]
        total += sum(await asyncio.gather(*sessions))
        orders = [desk.order(symbol, rng.random((800, 2))) for symbol in ("ACME", "ZORG") * 5]
        await asyncio.gather(*orders)
    print(f"total {total:.3f}, filled {desk.filled}, refused {desk.refused}, late {desk.late}")


asyncio.run(serve())
