"""``leakguard mcp``, asked by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
import training_logs

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from leakguard import LeakGuard
from leakguard.cli import main
from leakguard.cli.mcp import TOOLS, server


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A project with the log of a leaking run, a healthy run file, a budget and a secret beside."""
    root = tmp_path_factory.mktemp("disk")
    folder = root / "project"
    folder.mkdir()
    (folder / "leaking.log").write_text(training_logs.leaking(), encoding="utf-8")
    (root / "secret.log").write_text(training_logs.leaking(), encoding="utf-8")
    (folder / "link.log").symlink_to(root / "secret.log")
    (folder / "budget.toml").write_text("threads = 0\n")
    with LeakGuard(out=folder / "healthy.jsonl", report=None) as guard:
        for _ in guard.generations(range(1, 7)):
            with guard.phase("train"):
                [bytearray(1000) for _ in range(10)]
    return folder


def call(folder, tool, **arguments):
    """Return what a tool answers: its value, or the line of its refusal after ``refused: ``."""

    async def asked():
        async with Client(server([folder])) as client:
            return await client.call_tool(tool, arguments)

    return value_of(asyncio.run(asked()))


def value_of(answer):
    text = answer.content[0].text if answer.content else ""
    if answer.is_error:
        return f"refused: {text.split(': ', 1)[1]}"  # the SDK names the tool first
    content = answer.structured_content
    return content["result"] if content and set(content) == {"result"} else content or text


def test_every_tool_says_what_it_does(runs):
    async def listed():
        async with Client(server([runs])) as client:
            return (await client.list_tools()).tools

    tools = asyncio.run(listed())
    assert {tool.name for tool in tools} == set(TOOLS)
    assert all(tool.description and tool.description.endswith(".") for tool in tools)


def test_runs_are_listed_without_links_that_lead_out(runs):
    names = {Path(run["path"]).name for run in call(runs, "list_runs")}
    assert names == {"leaking.log", "healthy.jsonl"}


def test_report_and_finding_are_read(runs):
    report = call(runs, "read_report", path="leaking.log")
    assert report["schema"] == "leakguard.report/1"
    assert report["verdict"] == "leak"
    assert len(report["trend"]) <= 12
    fingerprint = report["findings"][0]["fingerprint"]
    told = call(runs, "read_finding", path="leaking.log", fingerprint=fingerprint)
    assert told["finding"]["type"] == report["findings"][0]["type"]
    assert "LEAK DETECTED" in told["text"]
    assert "MEMORY SNAPSHOT" in told["snapshot"]
    assert call(runs, "read_finding", path="leaking.log", fingerprint="no").startswith(
        "refused: the run has no finding 'no'; its fingerprints: "
    )


def test_runs_are_compared_and_checked(runs):
    changed = call(runs, "compare_runs", before="healthy.jsonl", after="leaking.log")
    assert changed["new"] and changed["after"]["verdict"] == "leak"
    checked = call(runs, "check_budget", path="healthy.jsonl", budget="budget.toml")
    assert checked["passed"] is True


def test_words_are_explained(runs):
    assert "loss.item()" in call(runs, "explain", word="autograd")
    assert call(runs, "explain", word="xyzzy").startswith("refused: no explanation of 'xyzzy'")


@pytest.mark.parametrize("path", ["../secret.log", "link.log", "/etc/passwd", "nothing.log", "\0"])
@pytest.mark.parametrize("tool", ["read_report", "read_finding", "compare_runs", "check_budget"])
def test_nothing_outside_of_the_folder_is_read(runs, tool, path):
    arguments = {
        "read_report": {"path": path},
        "read_finding": {"path": path, "fingerprint": "x"},
        "compare_runs": {"before": "healthy.jsonl", "after": path},
        "check_budget": {"path": "healthy.jsonl", "budget": path},
    }
    answer = call(runs, tool, **arguments[tool])
    assert answer.startswith("refused: ")
    assert "TradingEnvironment" not in answer and "root:" not in answer


def test_process_that_does_not_listen_is_refused(runs):
    assert call(runs, "ask_process", pid=1).startswith("refused: no guard listens in process 1")


def test_command_serves_standard_input_and_output(runs):
    script = Path(sys.executable).with_name("leakguard")
    command = str(script) if script.exists() else shutil.which("leakguard")

    async def asked():
        async with Client(
            StdioServerParameters(command=command, args=["mcp", str(runs)])
        ) as client:
            return await client.call_tool("read_report", {"path": "healthy.jsonl"})

    assert value_of(asyncio.run(asked()))["verdict"] == "stable"


def test_folder_that_is_none_is_one_line(tmp_path, capsys):
    assert main(["mcp", str(tmp_path / "nowhere")]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and "is not a folder" in said.err


def test_answers_are_json(runs):
    json.dumps(call(runs, "read_report", path="healthy.jsonl"), allow_nan=False)
