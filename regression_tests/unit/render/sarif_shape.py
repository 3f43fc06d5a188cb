"""The part of SARIF 2.1.0 that the log uses, as a JSON schema: required keys, types, allowed words.

It is written after the specification, for the parts we write; what we never write is not allowed
here. With ``LEAKGUARD_SARIF_SCHEMA=FILE`` the official schema is held against the log as well.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from jsonschema import validate

OFFICIAL = "LEAKGUARD_SARIF_SCHEMA"


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split(),
            "additionalProperties": False}  # fmt: skip


def _list(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": of, "uniqueItems": True}


_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = _object("text", text=_TEXT, markdown=_TEXT)
_PHYSICAL = _object(
    "artifactLocation",
    artifactLocation=_object(
        "uri", uri={"type": "string", "format": "uri-reference", "pattern": r"^[^\s\\]+$"},
        uriBaseId={"const": "%SRCROOT%"},
    ),
    region=_object("startLine", startLine={"type": "integer", "minimum": 1}),
)  # fmt: skip
_LOCATION = _object(
    "",
    physicalLocation=_PHYSICAL,
    logicalLocations=_list(_object("fullyQualifiedName", fullyQualifiedName=_TEXT, kind=_TEXT)),
    message=_MESSAGE,
)
_RULE = _object("id", id=_TEXT, shortDescription=_MESSAGE, help=_MESSAGE, helpUri=_TEXT)
_RESULT = _object(
    "ruleId ruleIndex level message locations partialFingerprints",
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations=_list(_LOCATION),
    relatedLocations=_list(_LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": _TEXT, "minProperties": 1},
    properties={"type": "object"},
    suppressions=_list(
        _object(
            "kind",
            kind={"enum": ["inSource", "external"]},
            status={"enum": ["accepted", "underReview", "rejected"]},
            justification=_TEXT,
        )
    ),
)
_RUN = _object(
    "tool results",
    tool=_object("driver", driver=_object("name", name=_TEXT, version=_TEXT, rules=_list(_RULE))),
    automationDetails=_object("id", id=_TEXT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": _RESULT},
)
_LOG = _object(
    "version runs",
    **{"$schema": _TEXT, "version": {"const": "2.1.0"}, "runs": {"type": "array", "items": _RUN}},
)


def checked(text: str) -> dict[str, Any]:
    """Return the log as values; each result names a rule that is there.

    Raises:
        ValidationError: it is no SARIF.
    """
    log: dict[str, Any] = json.loads(text)
    validate(log, _LOG)
    if os.environ.get(OFFICIAL):
        validate(log, json.loads(Path(os.environ[OFFICIAL]).read_text("utf-8")))
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(set(rules)) == len(rules)
        assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in run["results"])
    return log
