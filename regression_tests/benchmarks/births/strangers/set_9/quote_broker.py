"""A broker of option quotes: clients ask, two venues answer over a simulated wire, sessions come and go."""
import asyncio
import math
import random
import sys
from collections import OrderedDict, deque

TIDY = sys.argv[1] == "fixed"
TICKS, ASKS, STEPS = 90, 40, 120


class Market:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.prices = {f"S{number:02d}": 60.0 + 5 * number for number in range(12)}

    def move(self):
        for name in self.prices:
            self.prices[name] *= math.exp(0.002 * self.random.gauss(0, 1))

    def depth(self, name):
        return [self.prices[name] * (1 + 0.001 * self.random.gauss(0, 1)) for _ in range(80)]


class Pricer:
    """American puts on a binomial tree; the last 400 answers stay."""

    def __init__(self, limit=400):
        self.limit, self.known = limit, OrderedDict()

    def put(self, spot, strike, life):
        key = (round(spot, 2), strike, life)
        if key not in self.known:
            self.known[key] = self._tree(spot, strike, life)
            if len(self.known) > self.limit:
                self.known.popitem(last=False)
        return self.known[key]

    def _tree(self, spot, strike, life):
        step = life / STEPS
        up = math.exp(0.25 * math.sqrt(step))
        rate = math.exp(-0.03 * step)
        chance = (1 / rate - 1 / up) / (up - 1 / up)
        ladder = [spot * up ** (2 * level - STEPS) for level in range(STEPS + 1)]
        values = [max(0.0, strike - price) for price in ladder]
        for row in range(STEPS, 0, -1):
            values = [max(rate * (chance * values[level + 1] + (1 - chance) * values[level]),
                          strike - spot * up ** (2 * level - row + 1)) for level in range(row)]
        return values[0]


class Request:
    def __init__(self, number, name, strike, life):
        self.number, self.name, self.strike, self.life = number, name, strike, life
        self.state = "open"


class Venue:
    """Answers through the loop; in its bad times every eighth request is swallowed, and the caller is told so."""

    def __init__(self, market, pricer, bad_from):
        self.market, self.pricer, self.bad_from, self.tick = market, pricer, bad_from, 0
        self.on_reply = self.on_refusal = None

    def send(self, request):
        loop = asyncio.get_running_loop()
        if self.tick >= self.bad_from and request.number % 8 == 0:
            loop.call_soon(self.on_refusal, request.number)
        else:
            value = self.pricer.put(self.market.prices[request.name], request.strike, request.life)
            loop.call_soon(self.on_reply, request.number, value)


class Broker:
    def __init__(self, venue):
        self.venue, self.waiting, self.lost = venue, {}, 0
        self.spreads = deque(maxlen=500)
        venue.on_reply, venue.on_refusal = self.reply, self.refuse

    def reply(self, number, value):
        request, answer, depth = self.waiting.pop(number)
        request.state = "answered"
        self.spreads.append((max(depth) - min(depth)) * value)
        answer.set_result(value)

    def refuse(self, number):
        request, answer, depth = self.waiting[number]
        if TIDY:
            del self.waiting[number]
        request.state = "refused"
        answer.set_exception(ConnectionError(f"request {number} was refused"))

    def overdue(self, request, answer):
        if not answer.done():
            request.state = "overdue"
            answer.set_exception(TimeoutError(f"request {request.number} is overdue"))

    async def quote(self, request):
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self.waiting[request.number] = request, answer, self.venue.market.depth(request.name)
        alarm = loop.call_later(900, self.overdue, request, answer)
        self.venue.send(request)
        try:
            return await answer
        except (ConnectionError, TimeoutError):
            self.lost += 1
            return None
        finally:
            if TIDY:
                alarm.cancel()


class Session:
    def __init__(self, number):
        self.number, self.closed, self.beats = number, asyncio.Event(), 0


class Hub:
    def __init__(self, market):
        self.market, self.tasks, self.sessions, self.opened = market, set(), deque(), 0

    def open(self):
        self.opened += 1
        session = Session(self.opened)
        task = asyncio.create_task(self.pulse(session))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        self.sessions.append(session)

    async def pulse(self, session):
        book = [self.market.random.gauss(0, 1) for _ in range(600)]
        session.beats = sum(level > 0 for level in book)
        await session.closed.wait()
        session.beats = len(book)

    def hang_up(self, session):
        session.closed.set()

    def rotate(self, tick):
        """In the morning the lines are steady; from noon on the oldest ones are replaced."""
        if tick >= TICKS * 5 // 9:
            for _ in range(3):
                oldest = self.sessions.popleft()
                if TIDY:
                    self.hang_up(oldest)
        while len(self.sessions) < 12:
            self.open()


class Service:
    def __init__(self, seed):
        self.market = Market(seed)
        self.venue = Venue(self.market, Pricer(), bad_from=TICKS * 2 // 5)
        self.broker, self.hub, self.number = Broker(self.venue), Hub(self.market), 0

    def ask(self):
        self.number += 1
        name = self.market.random.choice(sorted(self.market.prices))
        strike = 5 * round(self.market.prices[name] / 5) + 5
        return Request(self.number, name, strike, self.market.random.choice((0.25, 0.5)))

    async def tick(self, number):
        self.venue.tick = number
        self.market.move()
        self.hub.rotate(number)
        quotes = await asyncio.gather(*(self.broker.quote(self.ask()) for _ in range(ASKS)))
        return sum(quote for quote in quotes if quote is not None)


async def main():
    service = Service(21)
    for number in range(1, TICKS + 1):
        total = await service.tick(number)
        if number % 10 == 0:
            print(f"tick {number:3d} quoted {total:8.2f} lost {service.broker.lost} lines {service.hub.opened}", flush=True)


asyncio.run(main())
