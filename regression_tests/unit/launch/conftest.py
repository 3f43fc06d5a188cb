"""A folder for a script."""

from __future__ import annotations

import pytest
from scripts import Script


@pytest.fixture
def script(tmp_path):
    return Script(tmp_path)
