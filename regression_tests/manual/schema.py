"""The page of the JSON report, written from its published schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

_TOP = """# JSON report

`leakguard report RUN --format json` writes it. Names stay; new ones may come. Unknown values are
null, never invented. The schema is in the package, `leakguard/render/templates/report.schema.json`:

```python
from importlib.resources import files

schema = files("leakguard.render").joinpath("templates/report.schema.json").read_text()
```

"""


def page() -> str:
    """Return the page: the report, then each value it is made of."""
    text = files("leakguard.render").joinpath("templates/report.schema.json").read_text("utf-8")
    schema = json.loads(text)
    parts = {"report": schema["$defs"].pop("report", schema), **schema["$defs"]}
    return _TOP + "\n".join("\n".join(_section(name, part)) for name, part in parts.items())


def _section(name: str, part: Mapping[str, Any]) -> Iterator[str]:
    properties = next((p for p in _objects(part) if p), {})
    yield f"## {name}\n"
    if "description" in part:
        yield f"{part['description']}\n"
    yield "| Key | Type | Meaning |\n|---|---|---|"
    for key, value in properties.items():
        meaning = value.get("description", "").replace("|", "\\|")
        yield f"| `{key}` | {_type(value)} | {meaning} |"
    yield ""


def _objects(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the keys of a value, also where it is one of several or null."""
    for one in (part, *part.get("anyOf", ()), *part.get("oneOf", ())):
        yield one.get("properties", {})


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if "anyOf" in value or "oneOf" in value:
        return " or ".join(map(_type, value.get("anyOf") or value["oneOf"]))
    kinds = value.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if "array" in kinds and "items" in value:
        kinds[kinds.index("array")] = f"array of {_type(value['items'])}"
    return " or ".join(kinds)
