"""Services: requests come in, and something of each one stays."""

from __future__ import annotations

import contextvars
import functools
import logging
import random
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from regression_tests.benchmarks.leakbench.program import ROUNDS, leaking, work


class Request:
    def __init__(self, number: int) -> None:
        self.number = number
        self.headers = {"host": f"node-{number}", "trace": str(number * 7919)}


class Response:
    def __init__(self, request: Request) -> None:
        self.status = 200
        self.body = bytes(20_000)
        self.number = request.number


class Server:
    def __init__(self) -> None:
        self.responses: dict[float, Response] = {}
        self.served = 0

    def handle(self, request: Request, keep: bool) -> Response:
        response = Response(request)
        self.served += 1
        if keep:
            self.responses[time.monotonic()] = response
        return response


@leaking("handle", type="Response", holder=".responses")
def cache_by_timestamp(guard: Any, leak: bool) -> None:
    server = Server()
    for generation in guard.generations(ROUNDS):
        with guard.phase("accept"):
            requests = [Request(generation * 100 + i) for i in range(25)]
            work()
        with guard.phase("handle"):
            for request in requests:
                server.handle(request, leak)
            work()


class Page:
    def __init__(self, number: int) -> None:
        self.number = number
        self.rows = [f"cell {number}.{i}" for i in range(50)]

    @functools.cache  # noqa: B019 - this is the leak
    def rendered(self) -> str:
        return "".join(self.rows)

    def rendered_afresh(self) -> str:
        return "".join(self.rows)


@leaking("render load", type="Page", holder="rendered cache")
def lru_cache_on_method(guard: Any, leak: bool) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("load"):
            pages = [Page(generation * 100 + i) for i in range(20)]
            work()
        with guard.phase("render"):
            for page in pages:
                page.rendered() if leak else page.rendered_afresh()
            work()


class EventBus:
    def __init__(self) -> None:
        self.listeners: list[Callable[[str], None]] = []

    def publish(self, event: str) -> None:
        for listener in self.listeners:
            listener(event)


class Session:
    def __init__(self, user: int) -> None:
        self.user = user
        self.basket = [f"item {user} {i}" for i in range(30)]

    def on_event(self, event: str) -> None:
        self.basket[0] = event


@leaking("serve", type="Session method function", holder=".listeners")
def event_listeners(guard: Any, leak: bool) -> None:
    bus = EventBus()
    for generation in guard.generations(ROUNDS):
        with guard.phase("serve"):
            for user in range(15):
                session = Session(generation * 100 + user)
                bus.listeners.append(session.on_event)
                bus.publish("opened")
                if not leak:
                    bus.listeners.remove(session.on_event)
            work()
        with guard.phase("report"):
            work()


@leaking("subscribe", type="function cell bytearray", holder=".callbacks")
def closures_registered_each_round(guard: Any, leak: bool) -> None:
    class Scheduler:
        def __init__(self) -> None:
            self.callbacks: list[Callable[[], int]] = []

    scheduler = Scheduler()
    for _ in guard.generations(ROUNDS):
        with guard.phase("subscribe"):
            if not leak:
                scheduler.callbacks.clear()
            for i in range(12):
                payload = bytearray(10_000)
                scheduler.callbacks.append(lambda payload=payload, i=i: len(payload) + i)
            work()
        with guard.phase("fire"):
            sum(callback() for callback in scheduler.callbacks)
            work()


class AuditHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines[:] = [record.getMessage()]


@leaking("handle", type="AuditHandler", holder=".handlers")
def logging_handlers(guard: Any, leak: bool) -> None:
    logger = logging.getLogger("leakbench.service")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    for generation in guard.generations(ROUNDS):
        with guard.phase("handle"):
            for _ in range(4):
                handler = AuditHandler()
                logger.addHandler(handler)
                logger.info("request %d", generation)
                if not leak:
                    logger.removeHandler(handler)
            work()
        with guard.phase("idle"):
            work()


class BadRequest(Exception):
    pass


class Supervisor:
    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.messages: set[str] = set()

    def parse(self, number: int) -> int:
        document = bytearray(60_000)
        document[0] = number % 256
        raise BadRequest(f"malformed {document[1]}")

    def run(self, number: int, keep: bool) -> None:
        try:
            self.parse(number)
        except BadRequest as error:
            if keep:
                self.errors.append(error)
            else:
                self.messages.add(str(error))


@leaking("parse", type="BadRequest frame traceback bytearray", holder=".errors")
def stored_exceptions(guard: Any, leak: bool) -> None:
    supervisor = Supervisor()
    for generation in guard.generations(ROUNDS):
        with guard.phase("parse"):
            for i in range(10):
                supervisor.run(generation * 10 + i, leak)
            work()
        with guard.phase("answer"):
            work()


def _score(number: int) -> list[float]:
    return [number / (i + 1) for i in range(400)]


@leaking("submit", type="Future", holder=".futures")
def executor_futures(guard: Any, leak: bool) -> None:
    class Dispatcher:
        def __init__(self) -> None:
            self.pool = ThreadPoolExecutor(2)
            self.futures: list[Future[list[float]]] = []

    dispatcher = Dispatcher()
    for generation in guard.generations(ROUNDS):
        with guard.phase("submit"):
            futures = [dispatcher.pool.submit(_score, generation + i) for i in range(20)]
            for future in futures:
                future.result()
            if leak:
                dispatcher.futures.extend(futures)
            work()
        with guard.phase("collect"):
            work()
    dispatcher.pool.shutdown()


class Subscriber:
    def __init__(self, number: int) -> None:
        self.number = number


class Presence:
    def __init__(self) -> None:
        self.watchers: list[weakref.ref[Subscriber]] = []

    def watch(self, subscriber: Subscriber, forget: bool) -> None:
        note = f"subscriber {subscriber.number} left"

        def gone(reference: weakref.ref[Subscriber]) -> None:
            if forget:
                self.watchers.remove(reference)
            assert note

        self.watchers.append(weakref.ref(subscriber, gone))


@leaking("connect", type="ReferenceType weakref function cell", holder=".watchers")
def weakref_callbacks(guard: Any, leak: bool) -> None:
    presence = Presence()
    for generation in guard.generations(ROUNDS):
        with guard.phase("connect"):
            for i in range(30):
                subscriber = Subscriber(generation * 100 + i)
                presence.watch(subscriber, forget=not leak)
            del subscriber
            work()
        with guard.phase("poll"):
            work()


class Span:
    def __init__(self, name: str) -> None:
        self.name = name
        self.tags = [name] * 10
        self.attributes = bytearray(2_000)


spans: contextvars.ContextVar[tuple[Span, ...]] = contextvars.ContextVar("spans", default=())


@leaking("trace", type="Span", holder="spans ContextVar Context")
def context_variable(guard: Any, leak: bool) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("trace"):
            for i in range(20):
                token = spans.set((*spans.get(), Span(f"{generation}.{i}")))
                if not leak:
                    spans.reset(token)
                del token
            work()
        with guard.phase("export"):
            work()


class Connection:
    def __init__(self, number: int) -> None:
        self.number = number
        self.inbox = bytearray(8_000)


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.connections: list[Connection] = []


@leaking("query", type="Connection", holder="connections _PerThread")
def thread_local_storage(guard: Any, leak: bool) -> None:
    local = _PerThread()

    def query(number: int) -> int:
        connection = Connection(number)
        local.connections.append(connection)
        if not leak:
            local.connections.clear()
        return connection.number

    with ThreadPoolExecutor(1) as pool:
        for generation in guard.generations(ROUNDS):
            with guard.phase("query"):
                list(pool.map(query, range(generation, generation + 12)))
                work()
            with guard.phase("reply"):
                work()


class Plugin:
    registry: list[Plugin] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings = {f"{name} {i}": i for i in range(20)}


@leaking("reload", type="Plugin", holder=".registry")
def class_registry(guard: Any, leak: bool) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("reload"):
            if not leak:
                Plugin.registry.clear()
            for i in range(8):
                Plugin.registry.append(Plugin(f"plugin {generation} {i}"))
            work()
        with guard.phase("serve"):
            work()


class Visit:
    def __init__(self, number: int) -> None:
        self.path = f"/articles/{number}"
        self.agent = f"browser {number}"


def remember(visit: Visit, seen: list[Visit] = []) -> int:  # noqa: B006 - this is the leak
    seen.append(visit)
    return len(seen)


def remember_in(visit: Visit, seen: list[Visit] | None = None) -> int:
    seen = [] if seen is None else seen
    seen.append(visit)
    return len(seen)


@leaking("track", type="Visit", holder="remember")
def default_argument(guard: Any, leak: bool) -> None:
    for generation in guard.generations(ROUNDS):
        with guard.phase("track"):
            for i in range(40):
                visit = Visit(generation * 1000 + i)
                remember(visit) if leak else remember_in(visit)
            del visit
            work()
        with guard.phase("respond"):
            work()


@leaking("append", type="str", holder=".transcript", kind="container memory arrays instances")
def string_building(guard: Any, leak: bool) -> None:
    class Console:
        def __init__(self) -> None:
            self.transcript = ""

    console = Console()
    line = "x" * 399 + "\n"
    for _ in guard.generations(ROUNDS):
        with guard.phase("append"):
            for _ in range(1000):
                console.transcript += line
            if not leak:
                console.transcript = console.transcript[-4000:]
            work()
        with guard.phase("flush"):
            work()


class Transaction:
    def __init__(self, number: int) -> None:
        self.number = number
        self.journal = bytearray(3_000)


@contextmanager
def transaction(number: int) -> Any:
    yield Transaction(number)


@leaking("write", type="Transaction generator _GeneratorContextManager", holder=".stack")
def exit_stack_never_closed(guard: Any, leak: bool) -> None:
    class Store:
        def __init__(self) -> None:
            self.stack = ExitStack()

    store = Store()
    for generation in guard.generations(ROUNDS):
        with guard.phase("write"):
            for i in range(15):
                store.stack.enter_context(transaction(generation * 100 + i))
            if not leak:
                store.stack.close()
            work()
        with guard.phase("read"):
            work()


class Customer:
    def __init__(self, number: int) -> None:
        self.number = number
        self.orders = [random.random() for _ in range(50)]


class Order:
    def __init__(self, customer: Customer) -> None:
        self.customer = customer
        self.document = bytearray(50_000)
        self.line: Any = None


class Line:
    def __init__(self, order: Any) -> None:
        self.order = order


@leaking("checkout", type="Order Line Customer", kind="cycles instances")
def cycles_with_collector_off(guard: Any, leak: bool) -> None:
    import gc

    gc.disable()
    for generation in guard.generations(ROUNDS):
        with guard.phase("browse"):
            customers = [Customer(generation + i) for i in range(10)]
            work()
        with guard.phase("checkout"):
            for customer in customers:
                order = Order(customer)
                order.line = Line(order if leak else weakref.proxy(order))
            del order
            work()
