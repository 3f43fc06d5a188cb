"""Leaks of packages written in Python."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

from regression_tests.benchmarks.packages.pair import Call, pair


@pair(
    "aiohttp",
    "3.12.2",
    "3.12.3",
    "Python",
    calls=200,
    holders="_cookies _morsel_cache CookieJar",
    types="SimpleCookie defaultdict dict Morsel",
    source="aiohttp 3.12.3 changelog",
)
def aiohttp_cookie_jar() -> Call:
    """filter_cookies() makes an entry for each path that was ever asked for."""
    import asyncio

    import aiohttp
    from yarl import URL

    async def made() -> aiohttp.CookieJar:
        return aiohttp.CookieJar()

    jar = asyncio.new_event_loop().run_until_complete(made())
    jar.update_cookies({"session": "1"}, URL("http://example.org/"))
    numbers = count()
    return lambda: jar.filter_cookies(URL(f"http://example.org/page/{next(numbers)}"))


@pair(
    "Babel",
    "2.11.0",
    "2.12.1",
    "Python",
    calls=300,
    holders="_pattern_cache",
    types="DateTimePattern",
    source="python-babel/babel#962",
)
def babel_patterns() -> Call:
    """Each pattern ever parsed stays in a cache."""
    from datetime import date

    from babel.dates import format_date

    numbers = count()
    return lambda: format_date(date(2024, 1, 1), f"yyyy.MM.dd '{next(numbers)}'", locale="en")


@pair(
    "aiohttp",
    "3.10.10",
    "3.10.11",
    "Python",
    calls=3,
    types="MatchInfoError UrlMappingMatchInfo HTTPMethodNotAllowed partial Request",
    holders="lru_cache _cached_build_middleware _build_middlewares web_app",
    source="aiohttp 3.10.11 release notes, CVE-2024-52303",
)
def aiohttp_middleware_cache() -> Call:
    """Each request with a method that is not allowed stays in a cache."""
    import asyncio

    from aiohttp import web
    from aiohttp.test_utils import make_mocked_request

    @web.middleware
    async def through(request, handler):  # type: ignore[no-untyped-def]
        return await handler(request)

    async def hello(request):  # type: ignore[no-untyped-def]
        return web.Response(text="hello")

    application = web.Application(middlewares=[through])
    application.router.add_get("/", hello)
    application.freeze()
    loop = asyncio.new_event_loop()

    async def ask() -> None:
        with suppress(web.HTTPException):
            await application._handle(make_mocked_request("POST", "/", app=application))

    return lambda: loop.run_until_complete(ask())


@pair(
    "opentelemetry-sdk",
    "1.27.0",
    "1.28.0",
    "Python",
    calls=10,
    module="opentelemetry",
    types="InMemoryMetricReader",
    holders="_all_metric_readers",
    needs="setuptools<80",
    source="opentelemetry-python#4220",
)
def opentelemetry_reader() -> Call:
    """The class of providers keeps each reader, also after its shutdown."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    def call() -> None:
        MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False).shutdown()

    return call


@pair(
    "opentelemetry-sdk",
    "1.31.1",
    "1.32.0",
    "Python",
    calls=4,
    module="opentelemetry",
    types="BatchSpanProcessor deque Condition Exporter",
    needs="setuptools<80",
    source="opentelemetry-python#4422",
)
def opentelemetry_batch() -> Call:
    """What a batch processor asks for after a fork keeps the processor."""
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

    class Exporter(SpanExporter):
        def export(self, spans: object) -> None:
            pass

        def shutdown(self) -> None:
            pass

    return lambda: BatchSpanProcessor(Exporter()).shutdown()
