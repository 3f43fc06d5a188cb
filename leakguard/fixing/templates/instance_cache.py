"""Replaces ``functools.lru_cache`` on a method, which keeps every instance, by a cache in each."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Source, last_name

_METHOD = """\
def {name}(self, {parameters}):
    known = self.__dict__.setdefault("_{name}_known", {{}})
    if {asked} not in known:
        known[{key}] = self._compute_{name}({arguments})
    return known[{key}]
"""


def instance_cache(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Keep the results of a cached method in a dict of the instance."""
    for node in source.nodes():
        if not isinstance(node, cst.FunctionDef) or node.name.value != clue.cached:
            continue
        names = [parameter.name.value for parameter in node.params.params]
        in_class = any(isinstance(upper, cst.ClassDef) for upper in source.above(node))
        if not in_class or len(names) < 2 or names[0] != "self" or not _is_plain_list(node):
            continue
        left = [d for d in node.decorators if not _is_cache(d)]
        if len(left) == len(node.decorators):
            continue
        name = node.name.value
        computing = node.with_changes(
            decorators=left, name=cst.Name(f"_compute_{name}"), lines_after_decorators=()
        )
        arguments = ", ".join(names[1:])
        key = arguments if len(names) > 2 else names[1]
        asking = source.parsed(
            _METHOD.format(
                name=name,
                key=key,
                asked=f"({key})" if len(names) > 2 else key,
                arguments=arguments,
                parameters=", ".join(source.code(p).rstrip(", ") for p in node.params.params[1:]),
            )
        )[0].with_changes(leading_lines=[cst.EmptyLine(indent=False)])
        title = f"cache {name} in each instance: lru_cache on a method keeps every self"
        yield title, source.replaced({node: [computing, asking]})


def _is_plain_list(node: cst.FunctionDef) -> bool:
    params = node.params
    starred = isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None
    return not (starred or params.kwonly_params or params.posonly_params)


def _is_cache(decorator: cst.Decorator) -> bool:
    called = decorator.decorator
    function = called.func if isinstance(called, cst.Call) else called
    return last_name(function) in ("lru_cache", "cache")
