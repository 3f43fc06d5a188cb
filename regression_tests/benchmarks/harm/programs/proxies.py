"""Proxies: objects that answer for others, or load when touched, must not be touched."""

import importlib.util
import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


class Lazy:
    """Everything that it is asked is an event, its class, length and truth included."""

    def __getattribute__(self, name):
        event("asked for", name)
        return object.__getattribute__(self, name)

    def __len__(self):
        event("asked for its length")
        return 3

    def __bool__(self):
        event("asked for its truth")
        return True

    def __eq__(self, other):
        event("compared")
        return self is other

    def __hash__(self):
        event("hashed")
        return 7

    def __iter__(self):
        event("gone through")
        return iter(())

    def __sizeof__(self):
        event("weighed")
        return 100

    def __repr__(self):
        event("shown")
        return "Lazy()"

    @property
    def __class__(self):
        event("asked for its class")
        return int


class Meta(type):
    def __instancecheck__(cls, instance):
        event("asked whether an instance")
        return False

    def __getattribute__(cls, name):
        if name not in ("__mro__", "__dict__"):
            event("class asked for", name)
        return super().__getattribute__(name)


class Strange(metaclass=Meta):
    pass


def lazily_loaded(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


lazily_loaded("this")
kept = []
with watched(max_overhead=None) as guard:
    for number in guard.generations(range(12)):
        kept.extend(Lazy() for _ in range(200))
        kept.extend(Strange() for _ in range(200))
        kept.append(Sample())
        time.sleep(0.05)
        event(number)
