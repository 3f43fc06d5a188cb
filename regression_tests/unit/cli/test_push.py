"""``leakguard report --push``: what a server of profiles receives, and what is said if it fails."""

from __future__ import annotations

import base64
import email
import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import training_logs

from leakguard.cli import main, profile_server


class Server:
    """A server on loopback that keeps each request and answers with ``status``."""

    def __init__(self):
        self.requests, self.status, self.wait = [], 200, threading.Event()
        self.wait.set()
        keeper = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                keeper.requests.append((self.path, self.headers, body))
                keeper.wait.wait(10)
                self.send_response(keeper.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(b"the server's words")

            def do_GET(self):
                self.do_POST()

            def log_message(self, *args):
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.wait.set()
    made.http.shutdown()
    made.http.server_close()
    made.thread.join()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "leaking.log"
    path.write_text(training_logs.leaking(), encoding="utf-8")
    return str(path)


def form(headers, body):
    """Return the fields of a form as the library for mail reads them."""
    text = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body
    parts = email.message_from_bytes(text).get_payload()
    return {p.get_param("name", header="content-disposition"): p.get_payload(decode=True)
            for p in parts}  # fmt: skip


def test_pyroscope_receives_the_profile_and_what_its_weights_mean(server, log, capsys):
    assert main(["report", log, "--push", f"http://{server.place}/ingest?name=trainer"]) == 0
    assert "LEAK" in capsys.readouterr().out
    [(path, headers, body)] = server.requests
    query = parse_qs(urlsplit(path).query)
    assert urlsplit(path).path == "/ingest"
    assert (query["name"], query["format"]) == (["trainer"], ["pprof"])
    assert int(query["until"][0]) >= int(query["from"][0])
    fields = form(headers, body)
    assert gzip.decompress(fields["profile"])
    types = json.loads(fields["sample_type_config"])
    assert types["retained_bytes"] == {
        "units": "bytes", "aggregation": "average", "display-name": "retained_bytes",
        "sampled": False,
    }  # fmt: skip


def test_parca_receives_the_profile_in_json(server, log):
    assert main(["report", log, "--push", f"http://{server.place}/api/profiles/writeraw"]) == 0
    [(path, headers, body)] = server.requests
    assert (path, headers["Content-Type"]) == ("/api/profiles/writeraw", "application/json")
    [series] = json.loads(body)["series"]
    assert {"name": "job", "value": "leakguard"} in series["labels"]["labels"]
    assert gzip.decompress(base64.b64decode(series["samples"][0]["rawProfile"]))


def test_user_of_the_url_is_authorized_and_not_said(server, log, capsys):
    server.status = 403
    assert main(["report", log, "--push", f"http://me:s%3Ax@{server.place}/ingest"]) == 2
    [(_, headers, _)] = server.requests
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"me:s:x").decode()
    [line] = capsys.readouterr().err.splitlines()
    assert line == (f"leakguard: http://{server.place}/ingest did not take the profile: "
                    "HTTP 403 the server's words")  # fmt: skip


def test_redirection_is_an_error(server, log, capsys):
    server.status = 302
    assert main(["report", log, "--push", f"http://{server.place}/ingest"]) == 2
    assert len(server.requests) == 1
    assert "HTTP 302" in capsys.readouterr().err


def test_server_that_hangs_ends_in_one_line(server, log, capsys, monkeypatch):
    monkeypatch.setattr(profile_server, "_TIMEOUT", 0.2)
    server.wait.clear()
    assert main(["report", log, "--push", f"http://{server.place}/ingest"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "no answer within" in line


def test_nobody_at_the_place_ends_in_one_line(server, log, capsys):
    server.http.socket.close()
    assert main(["report", log, "--push", f"http://{server.place}/ingest"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "did not take the profile" in line


@pytest.mark.parametrize(
    "url", ["localhost:4040", "ftp://a/ingest", "http://a/", "http://[a/ingest", "http:///ingest",
            "http://a:x/ingest"]
)  # fmt: skip
def test_url_of_no_known_server_is_refused(log, capsys, url):
    assert main(["report", log, "--push", url]) == 2
    assert "--push" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "start"), [("a.pb.gz", b"\x1f\x8b"), ("a.speedscope.json", b"{")])
def test_name_of_the_file_chooses_the_format(log, tmp_path, name, start):
    assert main(["report", log, "-o", str(tmp_path / name)]) == 0
    data = (tmp_path / name).read_bytes()
    assert data.startswith(start)
    assert name != "a.speedscope.json" or "profiles" in json.loads(data)
