"""Takes back what a function registered: hooks, handlers, listeners, callbacks."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from leakguard.fixing.clue import Clue
from leakguard.fixing.source import Source
from leakguard.fixing.templates.lasting import ended

_HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
          "register_hook", "register_full_backward_pre_hook", "register_step_post_hook",
          "register_step_pre_hook", "register_state_dict_pre_hook")  # fmt: skip
# What takes back the argument of a method; both belong to the same object.
_PAIRS = {
    "addHandler": "removeHandler", "addFilter": "removeFilter", "subscribe": "unsubscribe",
    "add_listener": "remove_listener", "add_observer": "remove_observer", "attach": "detach",
    "add_callback": "remove_callback", "add_done_callback": "remove_done_callback",
    "connect": "disconnect", "register": "unregister", "on": "off", "add_hook": "remove_hook",
}  # fmt: skip
_OLD_HANDLERS = """\
for old in {owner}.handlers[:]:
    {owner}.removeHandler(old)
    old.close()
"""


def unregister(clue: Clue, source: Source) -> Iterator[tuple[str, str]]:
    """Remove in ``finally`` what the function around a registration is done with."""
    for statement in source.statements():
        part = statement.body[0]
        call = part.value if isinstance(part, cst.Expr | cst.Assign) else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
            continue
        method = call.func.attr.value
        if method in _HOOKS and _concerns_hooks(clue):
            yield from _removed_hook(source, statement, call)
        elif method in _PAIRS and _is_of(clue, source, statement, method):
            yield from _taken_back(source, statement, call, method)
        elif method == "append" and _is_registry(clue, call, source):
            yield from _removed_entry(source, statement, call)


def _concerns_hooks(clue: Clue) -> bool:
    return any("hooks" in name for name in clue.names) or clue.kind in ("tensors", "instances")


def _is_of(clue: Clue, source: Source, statement: cst.CSTNode, method: str) -> bool:
    """Return whether a registration is the one that a finding names, by its line or container."""
    if method == "addHandler":
        return "handlers" in clue.names
    back = _PAIRS[method]
    near = any(line.number == source.line(statement) for line in clue.lines)
    return f"def {back}(" in source.text and (near or clue.name is not None)


def _is_registry(clue: Clue, call: cst.Call, source: Source) -> bool:
    words = ("callback", "listener", "hook", "observer", "handler", "subscriber", "watcher")
    owner = source.code(call.func.value) if isinstance(call.func, cst.Attribute) else ""
    name = clue.name or ""
    return owner.rpartition(".")[2] == name and any(word in name.lower() for word in words)


def _removed_hook(
    source: Source, statement: cst.SimpleStatementLine, call: cst.Call
) -> Iterator[tuple[str, str]]:
    part, loop = statement.body[0], source.loop_of(statement)
    title = "remove the hook when its work is done"
    if isinstance(part, cst.Assign):
        target = part.targets[0].target
        if isinstance(target, cst.Name):
            yield from _titled(title, ended(source, statement, [statement], _end(target.value)))
        elif isinstance(target, cst.Attribute):
            yield from _removed_by_maker(source, statement, target.attr.value)
    elif loop is None:
        kept = source.parsed(f"handle = {source.code(call)}\n")[0]
        kept = kept.with_changes(leading_lines=statement.leading_lines)
        yield from _titled(title, ended(source, statement, [kept], _end("handle")))
    else:
        kept = source.parsed(f"handles.append({source.code(call)})\n")[0]
        inner = loop.deep_replace(statement, kept.with_changes(leading_lines=()))
        begun = source.parsed("handles = []\n")[0]
        begun = begun.with_changes(leading_lines=loop.leading_lines)
        new = [begun, inner.with_changes(leading_lines=())]
        end = "for handle in handles:\n    handle.remove()\n"
        yield from _titled(title, ended(source, loop, new, end))


def _end(name: str) -> str:
    return f"{name}.remove()"


def _removed_by_maker(
    source: Source, statement: cst.CSTNode, attribute: str
) -> Iterator[tuple[str, str]]:
    """Yield the removal of a hook that a class registers, where an instance of it is made."""
    owner = next((n for n in source.above(statement) if isinstance(n, cst.ClassDef)), None)
    for made in source.statements() if owner is not None else ():
        part = made.body[0]
        if not isinstance(part, cst.Assign) or not isinstance(part.value, cst.Call):
            continue
        target = part.targets[0].target
        is_maker = source.code(part.value.func) == owner.name.value  # type: ignore[union-attr]
        if is_maker and isinstance(target, cst.Name):
            end = f"{target.value}.{attribute}.remove()"
            yield from _titled(
                f"remove the hook of {target.value} when its work is done",
                ended(source, made, [made], end),
            )


def _taken_back(
    source: Source, statement: cst.SimpleStatementLine, call: cst.Call, method: str
) -> Iterator[tuple[str, str]]:
    owner = source.code(call.func.value) if isinstance(call.func, cst.Attribute) else ""
    arguments = ", ".join(source.code(argument).rstrip(",") for argument in call.args)
    simple = all(isinstance(a.value, cst.Name | cst.Attribute | cst.BaseString) for a in call.args)
    if simple:
        end = f"{owner}.{_PAIRS[method]}({arguments})"
        if method == "addHandler":
            end += f"\n{arguments}.close()"
        title = f"take it back: {owner}.{_PAIRS[method]}({arguments})"
        yield from _titled(title, ended(source, statement, [statement], end))
    if method == "addHandler":
        first = source.parsed(_OLD_HANDLERS.format(owner=owner))
        after = source.replaced({statement: [*first, statement]})
        yield f"remove the handlers of {owner} before one is added", after


def _removed_entry(
    source: Source, statement: cst.SimpleStatementLine, call: cst.Call
) -> Iterator[tuple[str, str]]:
    value = call.args[0].value if call.args else None
    if isinstance(value, cst.Name) and isinstance(call.func, cst.Attribute):
        owner = source.code(call.func.value)
        end = f"{owner}.remove({value.value})"
        yield from _titled(f"take it back: {end}", ended(source, statement, [statement], end))


def _titled(title: str, after: str | None) -> Iterator[tuple[str, str]]:
    if after is not None:
        yield title, after
