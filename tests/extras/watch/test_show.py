"""The command `think.show`."""

import logging

import pytest
from mitmproxy import exceptions
from mitmproxy.test import tflow

from converter.extras.watch.show import Show
from tests.support.addon_flows import MESSAGES, answer, ask, request, response, running
from tests.support.frames import whole


def test_the_conversation_is_written_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(MESSAGES))
        answer(addon, flow, response(), whole("<think>deep</think>b"))
        with caplog.at_level(logging.INFO):
            Show().show(flow)
    assert "conversation:" in caplog.text
    assert "deep" in caplog.text


def test_what_cannot_be_shown_is_refused_in_one_line() -> None:
    with pytest.raises(exceptions.CommandError, match="no conversation"):
        Show().show(tflow.ttcpflow())
    with pytest.raises(exceptions.CommandError, match="expected log or clipboard, got 'page'"):
        Show().show(request(MESSAGES), "page")
