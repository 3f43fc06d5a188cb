"""``leakguard report``: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import training_logs
from told_runs import add_run

from leakguard import LeakGuard
from leakguard.cli import main


@pytest.fixture
def leaking(tmp_path):
    path = tmp_path / "leaking.log"
    path.write_text(training_logs.leaking(), encoding="utf-8")
    return str(path)


@pytest.fixture
def healthy(tmp_path):
    path = tmp_path / "healthy.log"
    path.write_text(training_logs.healthy(), encoding="utf-8")
    return str(path)


def run(*argv, stdin=b"", **environment):
    return subprocess.run(
        [sys.executable, "-m", "leakguard", *argv],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_leaking_log_names_phase_object_and_pattern(leaking, capsys):
    assert main(["report", leaking]) == 0
    out = capsys.readouterr().out
    assert "LEAK DETECTED:\n" in out
    assert "After evaluate_population" in out
    assert "2 → 18 → 34" in out
    assert "- Pattern: Adds 16 TradingEnvironment per generation\n" in out


@pytest.mark.parametrize(
    ("which", "fail_on", "status"),
    [
        ("leaking", "leak", 1),
        ("leaking", "suspect", 1),
        ("healthy", "leak", 0),
        ("healthy", "suspect", 0),
    ],
)
def test_exit_status_is_what_the_caller_asked_to_fail_on(which, fail_on, status, request, capsys):
    path = request.getfixturevalue(which)
    assert main(["report", path, "--fail-on", fail_on]) == status


def test_several_paths_exit_with_the_gravest(leaking, healthy, capsys):
    assert main(["report", healthy, leaking, "--fail-on", "leak"]) == 1
    out = capsys.readouterr().out
    assert out.index("STABLE") < out.index("LEAK:")


@pytest.fixture
def restarted(tmp_path):
    """What a leaking run wrote into a file, and its repaired program after it."""
    path = tmp_path / "run.jsonl"
    for leaks in (True, False):
        add_run(path, leaks=leaks)
    return str(path)


def test_run_again_after_the_fix_reports_the_last_run_of_the_file(restarted, capsys):
    assert main(["report", restarted, "--fail-on", "suspect"]) == 0
    out = capsys.readouterr().out
    assert "(run 2 of 2, the last)" in out
    assert "STABLE" in out and "LEAK" not in out


def test_every_run_of_a_file_is_told_when_asked(restarted, capsys):
    assert main(["report", restarted, "--all", "--fail-on", "leak"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("2 runs\n")
    assert out.index("LEAK: ") < out.index("STABLE: ")


def test_folder_begins_with_a_table(tmp_path, restarted, capsys):
    Path(tmp_path / "again.jsonl").write_bytes(Path(restarted).read_bytes())
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("2 runs\n  Run ")


def test_brief_report_says_that_a_file_is_cut(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path, report=None) as guard:
        for _ in guard.generations(range(1, 6)):
            pass
    main(["report", str(path), "--brief"])
    whole = capsys.readouterr().out
    path.write_bytes(path.read_bytes()[:-120])
    main(["report", str(path), "--brief"])
    cut = capsys.readouterr().out
    assert "Not the whole run" not in whole
    assert "Incomplete run: the file ends with generation" in cut
    assert "is cut off" in " ".join(cut.split())


def test_brief_and_full_are_what_they_say(leaking, capsys):
    main(["report", leaking, "--brief"])
    brief = capsys.readouterr().out
    main(["report", leaking])
    usual = capsys.readouterr().out
    main(["report", leaking, "--full"])
    full = capsys.readouterr().out
    assert len(brief.splitlines()) < len(usual.splitlines()) < len(full.splitlines())
    assert "LEAK DETECTED" in usual and "LEAK DETECTED" not in brief
    assert "MEMORY SNAPSHOT" in full and "MEMORY SNAPSHOT" not in usual


def test_output_file_chooses_the_format(leaking, tmp_path, capsys):
    target = tmp_path / "report.json"
    assert main(["report", leaking, "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(target.read_text(encoding="utf-8"))["verdict"] == "leak"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "no command given"),
        (["report"], "Missing argument"),
        (["report", "{leaking}", "--format", "pdf"], "'pdf' is not one of"),
        (["report", "{leaking}", "--frmat", "json"], "No such option"),
        (["report", "{tmp}/nothing.log"], "nothing.log"),
        (["report", "{empty}"], "empty"),
        (["report", "{binary}"], "binary"),
        (["report", "{prose}"], "prose.log"),
        (["report", "{leaking}", "-o", "{tmp}"], "it is a folder"),
        (["report", "{leaking}", "-o", "{tmp}/no/where.md"], "does not exist"),
        (["report", "{leaking}", "-o", "{tmp}/report.pdf"], "choose one with --format"),
        (["frobnicate"], "No such command"),
    ],
)
def test_unusable_input_is_one_line_and_status_2(argv, says, leaking, tmp_path):
    files = {"empty": b"", "binary": b"\x7fELF\x02\x00\x00\xff" * 99, "prose": b"all is well\n"}
    for name, content in files.items():
        (tmp_path / f"{name}.log").write_bytes(content)
    places = {name: str(tmp_path / f"{name}.log") for name in files}
    filled = [a.format(leaking=leaking, tmp=tmp_path, **places) for a in argv]
    done = run(*filled)
    error = done.stderr.decode()
    assert done.returncode == 2
    assert done.stdout == b""
    assert error.count("\n") == 1
    assert says in error
    assert "Traceback" not in error


def test_missing_package_is_one_line_and_status_2(leaking, tmp_path):
    out = tmp_path / "report.html"
    program = (
        "import sys\n"
        "sys.modules['jinja2'] = None\n"
        "from leakguard.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    argv = [sys.executable, "-c", program, "report", str(leaking), "-o", str(out)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    line = "leakguard: jinja2 is not installed, and leakguard needs it; reinstall leakguard\n"
    assert (done.returncode, done.stderr) == (2, line)
    assert not out.exists()


def test_one_unreadable_path_does_not_hide_the_others(leaking, tmp_path, capsys):
    assert main(["report", leaking, str(tmp_path / "missing.log"), "--fail-on", "leak"]) == 2
    captured = capsys.readouterr()
    assert "LEAK DETECTED:" in captured.out
    assert captured.err.count("\n") == 1


def test_reader_that_goes_away_is_no_error(leaking):
    command = f"{sys.executable} -m leakguard report {leaking} | head -c 1 > {os.devnull}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""


def test_ascii_terminal_gets_every_line(leaking):
    done = run("report", leaking, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert b"count increasing: 2" in done.stdout
    assert done.stderr == b""


def test_no_colour_without_a_terminal(leaking):
    assert b"\x1b" not in run("report", leaking).stdout
    assert b"\x1b[" in run("report", leaking, "--color", "always").stdout


def test_github_adds_to_the_step_summary(leaking, tmp_path):
    page = tmp_path / "summary.md"
    page.write_text("before\n", encoding="utf-8")
    done = run("report", leaking, "--format", "github", GITHUB_STEP_SUMMARY=str(page))
    assert done.stdout.startswith(b"::error title=LEAK DETECTED")
    assert page.read_text(encoding="utf-8").startswith("before\n# 🔴 LEAK")


def test_log_can_be_piped_in():
    done = run("report", "-", stdin=training_logs.leaking().encode())
    assert done.stdout.startswith(b"leakguard: standard input\nLEAK:")
    nothing = run("report", "-")
    assert nothing.returncode == 2
    assert nothing.stderr.count(b"\n") == 1
    assert nothing.stderr.startswith(b"leakguard: standard input is empty")


def test_version_and_help_end_well(capsys):
    assert main(["--version"]) == 0
    assert main(["report", "--help"]) == 0
    assert "leakguard, version" in capsys.readouterr().out


def test_installed_command_and_module_agree(healthy):
    script = Path(sys.executable).with_name("leakguard")
    if not script.exists():
        pytest.skip("the console script is not installed")
    installed = subprocess.run([script, "report", healthy], capture_output=True, check=False)
    assert installed.stdout == run("report", healthy).stdout


def test_what_the_project_ignores_is_listed_apart(leaking, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.leakguard]\nignore = ['*']\n")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "report.json"
    main(["report", leaking, "-o", str(out)])
    report = json.loads(out.read_text())
    assert report["findings"] == []
    assert {item["pattern"] for item in report["ignored"]} == {"*"}


def test_runs_of_a_folder_are_told_apart_by_their_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        guard = LeakGuard(out=name, report=None, trace="off")
        with guard:
            for _ in guard.generations(3):
                pass
    assert main(["report", "."]) == 0
    whole = capsys.readouterr().out
    assert "leakguard: a.jsonl\n" in whole
    assert "leakguard: b.jsonl\n" in whole
    (tmp_path / "torn.jsonl").touch()
    assert main(["report", "."]) == 2  # a file that cannot be read is named and hides no other
    said = capsys.readouterr()
    assert said.out == whole
    assert said.err.startswith("leakguard: torn.jsonl is empty")
    assert said.err.count("\n") == 1


def test_pods_of_one_log_are_one_report_with_a_row_for_each(tmp_path, capsys):
    log = tmp_path / "pods.log"
    log.write_text(
        "".join(
            "NAME        CPU(cores)   MEMORY(bytes)\n"
            f"trainer-0   1775m        {2000 + 95 * n + n % 3}Mi\n"
            f"store-0     142m         {806 + n % 2}Mi\n"
            for n in range(40)
        )
    )
    assert main(["report", str(log), "--fail-on", "suspect"]) == 1
    told = capsys.readouterr().out
    assert "pods.log, 2 pods" in told
    assert "SUSPECT: trainer-0 grows, the other one does not" in told
    assert "read from kubectl top: the working set of trainer-0" in told
    assert [line.split()[:3] for line in told.splitlines() if "finished" in line] == [
        ["store-0", "finished", "stable"],
        ["trainer-0", "finished", "suspect"],
    ]
    assert main(["watch", str(log), "--once"]) == 0
    assert "trainer-0 grows" in capsys.readouterr().out


def test_gpu_alone_is_judged_by_its_memory(tmp_path, capsys):
    log = tmp_path / "gpu.csv"
    rows = (f"2026/11/03 09:00:{n:02d}.1, 0, {1000 + 50 * n} MiB\n" for n in range(40))
    log.write_text("timestamp, index, memory.used [MiB]\n" + "".join(rows))
    assert main(["report", str(log), "--full", "--fail-on", "suspect"]) == 1
    told = capsys.readouterr().out
    assert "GPU memory in use grows by +52.4 MB per generation" in " ".join(told.split())
