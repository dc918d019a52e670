"""Tables of rows beside a test: long texts are data, not code."""

import json
from pathlib import Path
from typing import Any


def rows_of(test: str) -> Any:
    """Return the tables by name; `test` is `__file__` of test_name.py, beside test_name.json."""
    return json.loads(Path(test).with_suffix(".json").read_text())
