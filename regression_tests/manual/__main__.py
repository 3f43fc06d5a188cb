"""Write the generated pages of the manual: ``python -m regression_tests.manual``."""

from __future__ import annotations

from regression_tests.manual.pages import generated

for path, text in generated().items():
    path.write_text(text, encoding="utf-8")
