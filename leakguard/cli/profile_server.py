"""Sends a pprof file to a server of profiles: Pyroscope or Parca, by their documented HTTP.

* Pyroscope: ``POST .../ingest`` with a form, see its "Server HTTP API", "The pprof format".
* Parca: ``POST .../profiles/writeraw``, the HTTP binding of ``WriteRaw`` in its ``profilestore``.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from leakguard.errors import UsageError
from leakguard.model.report import Report
from leakguard.render import document
from leakguard.render.pprof import span
from leakguard.render.stacks import WEIGHTS

_TIMEOUT = 10.0  # seconds; a job that reports must not wait for a server that hangs
_PYROSCOPE, _PARCA = "/ingest", "/profiles/writeraw"
_NAME = "leakguard"
_UNITS = {"count": "objects", "bytes": "bytes"}  # the words of Pyroscope


@dataclass(frozen=True, slots=True)
class _Body:
    content: bytes
    type: str


def push(reports: Sequence[Report], url: str, *, redact: bool = False) -> None:
    """Send the profile of the reports to ``url``; its path says which server it is.

    Raises:
        UsageError: the URL is none of the two, or the server did not accept the profile.
    """
    parts = _split(url)
    profile = document(reports, "pprof", redact=redact)
    assert isinstance(profile, bytes)
    if parts.path.rstrip("/").endswith(_PARCA):
        _post(parts, "", _parca_body(profile))
    else:
        _post(parts, _pyroscope_query(parts, reports), _pyroscope_body(profile))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises, where the port is no number
    except ValueError:
        raise UsageError("--push: the URL cannot be read") from None
    path = parts.path.rstrip("/")
    known = parts.scheme in ("http", "https") and path.endswith((_PYROSCOPE, _PARCA))
    if known and parts.hostname:
        return parts
    raise UsageError(
        f"--push needs a URL such as http://localhost:4040{_PYROSCOPE} for Pyroscope or "
        f"http://localhost:7070/api{_PARCA} for Parca"
    )


# -- what the servers expect -----------------------------------------------------------------------


def _pyroscope_query(parts: SplitResult, reports: Sequence[Report]) -> str:
    """Return the query; a name in the URL wins, for example ``?name=trainer{host=a}``."""
    started, seconds = span(reports)
    known = {"name": _NAME, "spyName": _NAME}
    given = [name.partition("=")[0] for name in parts.query.split("&")]
    query = {name: value for name, value in known.items() if name not in given}
    query |= {"format": "pprof", "from": str(int(started)),
              "until": str(math.ceil(started + seconds))}  # fmt: skip
    return urlencode(query)


def _pyroscope_body(profile: bytes) -> _Body:
    """Return the form: the profile, and what each of its weights means."""
    types = {
        name: {"units": _UNITS[unit], "aggregation": "average", "display-name": name,
               "sampled": False}
        for name, unit in WEIGHTS.items()
    }  # fmt: skip
    fields = {"profile": profile, "sample_type_config": json.dumps(types).encode()}
    border = secrets.token_hex(16)
    content = b"".join(
        f'--{border}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n".encode()
        + data
        + b"\r\n"
        for name, data in fields.items()
    )
    return _Body(content + f"--{border}--\r\n".encode(), f"multipart/form-data; boundary={border}")


def _parca_body(profile: bytes) -> _Body:
    labels = [{"name": "__name__", "value": "memory"}, {"name": "job", "value": _NAME}]
    raw = base64.b64encode(profile).decode()
    series = {"labels": {"labels": labels}, "samples": [{"rawProfile": raw}]}
    return _Body(json.dumps({"series": [series]}).encode(), "application/json")


# -- the request -----------------------------------------------------------------------------------


def _post(parts: SplitResult, query: str, body: _Body) -> None:
    whole = parts._replace(
        netloc=parts.netloc.rpartition("@")[2],
        query="&".join(filter(None, (parts.query, query))),
        fragment="",
    )
    request = Request(whole.geturl(), body.content, {"Content-Type": body.type}, method="POST")
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        request.add_header("Authorization", f"Basic {base64.b64encode(pair).decode()}")
    try:
        build_opener(_Stay).open(request, timeout=_TIMEOUT).close()
    except (OSError, HTTPException, ValueError) as error:
        # Neither the user's name nor the query is repeated: both may hold a secret.
        place = f"{whole.scheme}://{whole.netloc}{whole.path}"
        raise UsageError(f"{place} did not take the profile: {_why(error)}") from None


class _Stay(HTTPRedirectHandler):
    """Follows no redirection: it would become a GET without the profile, and keep the password."""

    def redirect_request(self, *args: object) -> None:
        """Return no request, so that the redirection is an error."""


def _why(error: Exception) -> str:
    if isinstance(error, HTTPError):
        with error:
            said = error.read(200).decode("utf-8", "replace").strip()
        return f"HTTP {error.code} {said or error.reason}"
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no answer within {_TIMEOUT:.0f} s"
    return str(getattr(reason, "strerror", None) or reason)
