"""Phases: named parts of a program, as a ``with`` block or a decorator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from types import BuiltinFunctionType, FunctionType, MethodType, TracebackType
from typing import Any, TypeVar, cast

from leakguard.live.active import (
    ActiveGuard,
    Leave,
    active_guard,
    close_phases_beyond,
    open_phases,
)
from leakguard.live.names import plain_text

F = TypeVar("F", bound=Callable[..., Any])


class phase:  # noqa: N801 - reads as a statement: `with phase("evaluate"):`
    """Measure a piece of code as a phase of the active guard.

    Works as ``with phase("evaluate"):`` and as ``@phase("evaluate")`` on functions, methods,
    coroutines, generators and async generators; ``@phase`` alone takes the function's name. A
    decorated call with no active guard costs only a check whether a list is empty. A generator is
    in its phase while its own body runs, not while its consumer does. A phase that is already open
    around this point is not opened twice, so a recursive function counts once.
    """

    def __new__(cls, name: object = "", guard: ActiveGuard | None = None) -> Any:
        """Return a phase; for a function, return that function wrapped in a phase of its name."""
        if type(name) is str or not _is_function(name):
            return super().__new__(cls)
        function = getattr(name, "__func__", None) or name
        return cls(getattr(function, "__name__", "phase"), guard)(cast("Any", name))

    def __init__(self, name: object, guard: ActiveGuard | None = None) -> None:
        """Name the phase by a text, or by an object with a name; ``guard`` is the active guard."""
        self.name = plain_text(_of_class(name) or name) or "(no name)"
        self._guard = guard
        self._exits: list[Leave | None] = []

    def __enter__(self) -> phase:
        guard, outer, entered = self._guard or active_guard(), open_phases(), len(self._exits)
        try:
            self._exits.append(_entered(guard, self.name) if guard else None)
        except BaseException as error:  # an interrupt: no block is entered to end it
            if len(self._exits) > entered:
                self.__exit__(type(error), error, None)
            close_phases_beyond(outer)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        leave = self._exits.pop() if self._exits else None
        if leave is not None:
            leave(error)

    def __call__(self, function: F) -> F:
        """Return ``function`` with this phase around each of its calls."""
        if isinstance(function, staticmethod | classmethod):
            inner = function.__func__
            wrapped = _wrapper_of(inner)(inner, self.name, self._guard)
            return cast("F", type(function)(wrapped))
        return cast("F", _wrapper_of(function)(function, self.name, self._guard))


_FUNCTIONS = (
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    functools.partial,
    staticmethod,
    classmethod,
)


def _of_class(name: object) -> str | None:
    return type.__getattribute__(name, "__name__") if issubclass(type(name), type) else None


def _is_function(name: object) -> bool:
    return issubclass(type(name), _FUNCTIONS)  # isinstance() would ask the object itself


def _entered(guard: ActiveGuard, name: str) -> Leave | None:
    """Begin the phase; if the stack has no room for that, the program runs on without it."""
    try:
        return guard.enter_phase(name)
    except RecursionError:
        return None


def _wrapper_of(function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator
    if inspect.isgeneratorfunction(function):
        return _wrap_generator
    return _wrap_function


def _wrap_function(
    function: Callable[..., Any], name: str, guard: ActiveGuard | None
) -> Callable[..., Any]:
    @functools.wraps(function)
    def in_phase(*args: Any, **kwargs: Any) -> Any:
        if guard is None and active_guard() is None:
            return function(*args, **kwargs)
        with phase(name, guard):
            return function(*args, **kwargs)

    return in_phase


def _wrap_coroutine(
    function: Callable[..., Any], name: str, guard: ActiveGuard | None
) -> Callable[..., Any]:
    @functools.wraps(function)
    async def in_phase(*args: Any, **kwargs: Any) -> Any:
        with phase(name, guard):
            return await function(*args, **kwargs)

    return in_phase


def _wrap_generator(
    function: Callable[..., Any], name: str, guard: ActiveGuard | None
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
    function: Callable[..., Any], name: str, guard: ActiveGuard | None
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
