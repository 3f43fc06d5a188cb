"""The kinds of change, the most plausible first; one file each.

A template turns a Clue and one Source into proposed changes: pairs of what the change does and the
whole text after it. It yields nothing where it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from leakguard.fixing.clue import Clue
from leakguard.fixing.edit import Edit
from leakguard.fixing.source import Source
from leakguard.fixing.templates.bound import bound
from leakguard.fixing.templates.clear import clear
from leakguard.fixing.templates.close import close
from leakguard.fixing.templates.copied_part import copied_part
from leakguard.fixing.templates.detach import detach
from leakguard.fixing.templates.hoist import hoist
from leakguard.fixing.templates.instance_cache import instance_cache
from leakguard.fixing.templates.unlink import unlink
from leakguard.fixing.templates.unregister import unregister
from leakguard.fixing.templates.weak import weak

Template = Callable[[Clue, Source], Iterator[tuple[str, str]]]

#: A template that names the cause comes before one that only limits its effect.
TEMPLATES: tuple[Template, ...] = (
    instance_cache, detach, copied_part, unregister, close, unlink, weak, hoist, clear, bound,
)  # fmt: skip


def edits(clue: Clue, sources: list[Source]) -> Iterator[Edit]:
    """Yield the proposed changes, by template and then by source; no text twice."""
    seen: set[tuple[str, str]] = set()
    for template in TEMPLATES:
        for source in sources:
            for title, after in template(clue, source):
                is_new = after != source.text and (source.path, after) not in seen
                if is_new and _is_python(after):
                    seen.add((source.path, after))
                    yield Edit(template.__name__, title, source.path, source.text, after)


def _is_python(text: str) -> bool:
    """Return whether a changed text can still be compiled."""
    try:
        compile(text, "changed", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
