"""Phases: named stretches of a program, as a ``with`` block or a decorator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from leakguard.live.active import active_guard

if TYPE_CHECKING:
    from leakguard.guard import LeakGuard

F = TypeVar("F", bound=Callable[..., Any])


class phase:  # noqa: N801 - reads as a statement: `with phase("evaluate"):`
    """Measure a stretch of code as a phase of the active guard.

    Works as ``with phase("evaluate"):`` and as ``@phase("evaluate")`` on functions, methods,
    coroutines, generators and async generators. A decorated call with no active guard costs one
    look at a list. A generator is in its phase while its own body runs, not while its consumer
    does. A phase that is already open around this point is not opened twice, so a recursive
    function counts once.
    """

    def __init__(self, name: str, guard: LeakGuard | None = None) -> None:
        """Name the phase; ``guard`` is the active one unless given."""
        self.name = name
        self._guard = guard
        self._exits: list[Callable[[BaseException | None], None] | None] = []

    def __enter__(self) -> phase:
        guard = self._guard or active_guard()
        self._exits.append(guard.enter_phase(self.name) if guard else None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        leave = self._exits.pop()
        if leave is not None:
            leave(error)

    def __call__(self, function: F) -> F:
        """Return ``function`` with this phase around each of its calls."""
        return cast(F, _wrapper_of(function)(function, self.name, self._guard))


def _wrapper_of(function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator
    if inspect.isgeneratorfunction(function):
        return _wrap_generator
    return _wrap_function


def _wrap_function(
    function: Callable[..., Any], name: str, guard: LeakGuard | None
) -> Callable[..., Any]:
    @functools.wraps(function)
    def in_phase(*args: Any, **kwargs: Any) -> Any:
        if guard is None and active_guard() is None:
            return function(*args, **kwargs)
        with phase(name, guard):
            return function(*args, **kwargs)

    return in_phase


def _wrap_coroutine(
    function: Callable[..., Any], name: str, guard: LeakGuard | None
) -> Callable[..., Any]:
    @functools.wraps(function)
    async def in_phase(*args: Any, **kwargs: Any) -> Any:
        with phase(name, guard):
            return await function(*args, **kwargs)

    return in_phase


def _wrap_generator(
    function: Callable[..., Any], name: str, guard: LeakGuard | None
) -> Callable[..., Any]:
    @functools.wraps(function)
    def in_phase(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        body = function(*args, **kwargs)
        resume = functools.partial(next, body)
        while True:
            try:
                with phase(name, guard):
                    item = resume()
            except StopIteration as end:
                return end.value
            try:
                sent = yield item
            except GeneratorExit:
                body.close()
                raise
            except BaseException as error:
                resume = functools.partial(body.throw, error)
            else:
                resume = functools.partial(body.send, sent)

    return in_phase


def _wrap_async_generator(
    function: Callable[..., Any], name: str, guard: LeakGuard | None
) -> Callable[..., Any]:
    @functools.wraps(function)
    async def in_phase(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        body = function(*args, **kwargs)
        resume = functools.partial(body.asend, None)
        while True:
            try:
                with phase(name, guard):
                    item = await resume()
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except GeneratorExit:
                await body.aclose()
                raise
            except BaseException as error:
                resume = functools.partial(body.athrow, error)
            else:
                resume = functools.partial(body.asend, sent)

    return in_phase
