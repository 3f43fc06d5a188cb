"""The limits of memory are read from the files of the kernel, here from made ones."""

from __future__ import annotations

import resource

import pytest

from leakguard.capture.ceilings import Ceilings


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A process of 100 pages in RAM on a machine that has 1 GB left, without limits."""
    (tmp_path / "statm").write_text("1000 100 10 1 0 500 0\n")
    (tmp_path / "meminfo").write_text(
        "MemTotal: 4000000 kB\nMemFree: 10 kB\nMemAvailable: 1000000 kB\n"
    )
    monkeypatch.setattr(resource, "getrlimit", lambda _: (-1, -1))
    return tmp_path


def ceilings(kernel, groups=()):
    read = Ceilings(kernel, kernel / "meminfo", lambda: iter(groups)).read()
    return {watched.ceiling.kind: watched.ceiling for watched in read}


def group_of(kernel, name, **files):
    folder = kernel / name
    folder.mkdir()
    for file, text in files.items():
        (folder / f"memory.{file}").write_text(text)
    version_2 = "max" in files
    return (
        folder / ("memory.max" if version_2 else "memory.limit_in_bytes"),
        folder / ("memory.current" if version_2 else "memory.usage_in_bytes"),
    )


def test_group_of_version_2_has_its_limits_and_pages_of_files_do_not_count(kernel):
    own = group_of(
        kernel, "own", max="1000000\n", high="800000\n", current="900000\n",
        stat="anon 1\ninactive_file 150000\nactive_file 50000\n",
    )  # fmt: skip

    found = ceilings(kernel, [own])

    assert (found["cgroup"].used, found["cgroup"].most) == (700_000, 1_000_000)
    assert (found["cgroup high"].used, found["cgroup high"].most) == (700_000, 800_000)


def test_group_of_version_1_counts_the_files_of_its_children_once(kernel):
    own = group_of(
        kernel, "own", limit_in_bytes="1000000\n", usage_in_bytes="900000\n",
        stat="inactive_file 1000\ntotal_inactive_file 100000\ntotal_active_file 0\n",
    )  # fmt: skip

    found = ceilings(kernel, [own])

    assert (found["cgroup"].used, found["cgroup"].most) == (800_000, 1_000_000)


def test_nearest_limit_of_all_groups_above_comes_first(kernel):
    above = group_of(kernel, "above", max="2000000\n", current="1900000\n")
    own = group_of(kernel, "own", max="1000000\n", current="500000\n")
    read = Ceilings(kernel, kernel / "meminfo", lambda: iter([own, above])).read()

    assert read[0].ceiling.most == 2_000_000
    assert read[0].wire(1_000) == (str(above[1]), 0, 1_901_000, False)


@pytest.mark.parametrize("limit", ["max\n", "9223372036854771712\n", "", "12 MB"])
def test_limit_that_is_none_is_left_out(kernel, limit):
    own = group_of(kernel, "own", limit_in_bytes=limit, usage_in_bytes="900000\n")

    assert "cgroup" not in ceilings(kernel, [own])


def test_machine_counts_what_it_has_left_for_this_process(kernel):
    page = resource.getpagesize()

    found = ceilings(kernel)["machine"]

    assert (found.used, found.left) == (100 * page, 1_024_000_000)


def test_limits_of_the_process_are_its_address_space_and_its_data(kernel, monkeypatch):
    page = resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2000 * page, -1))

    found = ceilings(kernel)

    assert (found["address space"].used, found["data"].used) == (1000 * page, 500 * page)
    assert found["address space"].share == 0.5


def test_without_the_files_nothing_is_known_and_nothing_raises(tmp_path):
    assert Ceilings(tmp_path, tmp_path / "meminfo", lambda: iter(())).read() == []
