"""One file of the program as a concrete syntax tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

Block = cst.Module | cst.IndentedBlock
Loop = cst.For | cst.While
#: Methods by which a container gains entries.
ADDERS = ("append", "add", "appendleft", "extend", "insert", "put", "put_nowait", "update")


@dataclass(frozen=True)
class Addition:
    """One statement that adds to a container.

    ``owner`` is the container as the statement names it, ``how`` the method that adds (``[]`` for
    an assigned key, ``+=`` for a sum) and ``value`` what is added.
    """

    statement: cst.SimpleStatementLine
    owner: cst.BaseExpression
    how: str
    value: cst.BaseExpression | None


class Source:
    """The text of a file, the statements that templates look for, and changed copies of the text.

    Raises:
        libcst.ParserSyntaxError: the text is no Python that LibCST knows.
    """

    def __init__(self, path: str, text: str) -> None:
        """Parse ``text``; ``path`` is the file's place below the program's folder."""
        self.path = path
        self.text = text
        wrapper = MetadataWrapper(cst.parse_module(text))
        self.module = wrapper.module
        self._places = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)

    def nodes(self, within: cst.CSTNode | None = None) -> Iterator[cst.CSTNode]:
        """Yield all nodes below a node, in the order of the text."""
        waiting: list[cst.CSTNode] = [within or self.module]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    def code(self, node: cst.CSTNode) -> str:
        """Return the text of a node."""
        return self.module.code_for_node(node).strip()

    def line(self, node: cst.CSTNode) -> int:
        """Return the number of a node's first line."""
        return int(self._places[node].start.line)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that contains a node; None for the module."""
        return self._parents.get(node)

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what contains a node, the nearest first."""
        upper = self.parent(node)
        while upper is not None:
            yield upper
            upper = self.parent(upper)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the nearest function around a node; None outside of functions."""
        return next((n for n in self.above(node) if isinstance(n, cst.FunctionDef)), None)

    def loop_of(self, node: cst.CSTNode) -> Loop | None:
        """Return the nearest loop around a node in the same function; None without one."""
        for upper in self.above(node):
            if isinstance(upper, cst.For | cst.While):
                return upper
            if isinstance(upper, cst.FunctionDef):
                return None
        return None

    def statements(self) -> Iterator[cst.SimpleStatementLine]:
        """Yield the lines of one statement each."""
        for node in self.nodes():
            if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
                yield node

    def statement_at(self, number: int) -> cst.SimpleStatementLine | None:
        """Return the statement that covers a line; None for a compound statement's head."""
        for statement in self.statements():
            place = self._places[statement]
            if place.start.line <= number <= place.end.line:
                return statement
        return None

    def additions(self, name: str) -> Iterator[Addition]:
        """Yield the statements that add to a container of this name, also to one in its entries."""
        for statement in self.statements():
            added = _addition(statement)
            if added is not None and name in (last_name(added.owner), _outer_name(added.owner)):
                yield added

    def rounds(self, function: str | None) -> Iterator[Loop]:
        """Yield the outermost loops of a function, or those outside of functions and in ``main``.

        A loop in a function that is named like the script's start counts as one of the script.
        """
        for node in self.nodes():
            if not isinstance(node, cst.For | cst.While) or self.loop_of(node) is not None:
                continue
            around = self.function_of(node)
            if function is None or (around is not None and around.name.value == function):
                yield node

    def parsed(self, text: str) -> list[cst.BaseStatement]:
        """Return statements with the indentation and line ends of this file."""
        body = cst.parse_module(text, self.module.config_for_parsing).body
        return [part for part in body if isinstance(part, cst.BaseStatement)]

    def replaced(self, new: Mapping[cst.CSTNode, Sequence[cst.CSTNode] | cst.CSTNode]) -> str:
        """Return the text with each node of ``new`` replaced by one or several others."""
        changed = self.module.visit(_Replacement(new))
        return changed.code if isinstance(changed, cst.Module) else self.text

    def rest_of_block(self, statement: cst.CSTNode) -> Sequence[cst.BaseStatement]:
        """Return the statements that follow one in its block; empty where it is in none."""
        block = self.parent(statement)
        if not isinstance(block, cst.Module | cst.IndentedBlock):
            return ()
        body = list(block.body)
        place = next(n for n, part in enumerate(body) if part is statement)
        return [part for part in body[place + 1 :] if isinstance(part, cst.BaseStatement)]


class _Replacement(cst.CSTTransformer):
    def __init__(self, new: Mapping[cst.CSTNode, Sequence[cst.CSTNode] | cst.CSTNode]) -> None:
        super().__init__()
        self._new = new

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel:
        if original_node not in self._new:
            return updated_node
        new = self._new[original_node]
        if isinstance(new, cst.CSTNode):
            return new
        return cst.FlattenSentinel(new) if new else cst.RemoveFromParent()


def last_name(node: cst.CSTNode | None) -> str | None:
    """Return the name of a variable, or the attribute's name; None for other expressions."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else None


def _outer_name(owner: cst.BaseExpression) -> str | None:
    """Return the name of what an entry is taken from, as in ``rows[key].append(x)``."""
    if isinstance(owner, cst.Subscript):
        return last_name(owner.value)
    if isinstance(owner, cst.Call) and isinstance(owner.func, cst.Attribute):
        named = owner.func.attr.value in ("setdefault", "get")
        return last_name(owner.func.value) if named else None
    return None


def _addition(statement: cst.SimpleStatementLine) -> Addition | None:
    part = statement.body[0]
    if isinstance(part, cst.AugAssign) and isinstance(part.operator, cst.AddAssign):
        return Addition(statement, part.target, "+=", part.value)
    if isinstance(part, cst.Assign) and len(part.targets) == 1:
        target = part.targets[0].target
        if isinstance(target, cst.Subscript):
            return Addition(statement, target.value, "[]", part.value)
    call = part.value if isinstance(part, cst.Expr) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        how = call.func.attr.value
        if how in (*ADDERS, "setdefault"):
            last = call.args[-1].value if call.args else None
            return Addition(statement, call.func.value, how, last)
    return None
