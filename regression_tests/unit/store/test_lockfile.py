"""Files that pin releases, as each tool writes them."""

from __future__ import annotations

import pytest

from leakguard.errors import UsageError
from leakguard.model.known_leak import Package
from leakguard.store.lockfile import packages_in

_REQUIREMENTS = """\
# what we train with
--index-url https://index.example/simple
-r other.txt
numpy==2.3.1 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
torch == 2.6.0+cu124  # pinned
pandas>=2
scipy==1.*
orjson[x]==3.9.0 ; python_version >= "3"
old==1.0 ; python_version < "3"
local @ file:///home/me/local
-e git+https://host.example/x#egg=x
"""


def test_requirements_are_read_with_the_lines_that_pin_them():
    assert packages_in(_REQUIREMENTS, "requirements.txt") == [
        Package("numpy", "2.3.1", 4),
        Package("torch", "2.6.0+cu124", 7),
        Package("pandas", None, 8),
        Package("scipy", None, 9),
        Package("orjson", "3.9.0", 10),
        Package("local", None, 12),
    ]


@pytest.mark.parametrize("table", ["package", "packages"])
@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "pylock.toml", "standard input"])
def test_lock_file_is_read_whatever_it_is_called(table, name):
    text = (
        f'version = 1\n\n[[{table}]]\nname = "numpy"\nversion = "2.3.1"\n\n'
        f'[[{table}]]\nname = "app"\nsource = {{ virtual = "." }}\n'
    )
    assert packages_in(text, name) == [Package("numpy", "2.3.1", 4), Package("app", None, 8)]


def test_requirements_that_are_called_a_lock_are_requirements():
    assert packages_in("numpy==2.3.1\n", "requirements.lock") == [Package("numpy", "2.3.1", 1)]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("", "requirements.txt", "lists no package"),
        ("# nothing\n\n", "requirements.txt", "lists no package"),
        ("numpy==\n", "requirements.txt", "requirements.txt:1 is no requirement"),
        ("ok==1\n{json: 1}\n", "requirements.txt", "requirements.txt:2 is no requirement"),
        ("[project]\nname = 'x'\n", "pyproject.toml", "lists no package"),
        ("[[package]]\nname = \n", "uv.lock", "uv.lock is not TOML"),
        ("packages = 3\n", "pylock.toml", "no list of tables"),
        ("packages = [1]\n", "pylock.toml", "no list of tables"),
    ],
)
def test_what_is_no_list_of_packages_is_said_in_one_line(text, name, said):
    with pytest.raises(UsageError) as told:
        packages_in(text, name)
    assert said in str(told.value)
    assert "\n" not in str(told.value)
