"""What the tests of the layers share."""

from time import monotonic

import pytest

from converter.shell.layers import reply_layer, stream_layer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which passes only as a test says."""
    now = [monotonic()]
    for module in (stream_layer, reply_layer):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now
