"""What counts as a stream function of ours."""

from converter.shell.layers.contract import is_stream_function
from tests.support.proxy_core import Marker


def test_only_what_can_be_broken_off_and_can_ping_is_ours() -> None:
    assert is_stream_function(Marker())
    assert not is_stream_function(lambda data: data)
    assert not is_stream_function(True)
    assert not is_stream_function(False)
