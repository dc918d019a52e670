"""Rows of a table with the clients' dialects by turns: each kind once, each client often."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from converter.core.dialects.table import DIALECTS


def in_turns(names: Iterable[Any], clients: Sequence[Any] = DIALECTS) -> list[Any]:
    """Return parameters: each name with the next client."""
    return [
        pytest.param(
            name, clients[at % len(clients)], id=f"{name}-{clients[at % len(clients)].label.title}"
        )
        for at, name in enumerate(names)
    ]
