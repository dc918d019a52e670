"""Lines of the log: nothing raw, nothing without an end."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from mitmproxy import ctx, log
from mitmproxy.test import taddons

from converter.addon.log_lines import (
    LONGEST,
    LONGEST_LINE,
    is_logged,
    log_if_read,
    method_and_path,
    path_of,
    report,
    write_each_line_at_once,
)
from tests.support.addon_flows import request

HOSTILE = "/a\x1b[2J\n\u202e" + "b" * 9999


def test_a_request_is_named_in_bounded_text_without_its_query() -> None:
    flow = request(HOSTILE + "?secret=1")
    for line in (method_and_path(flow.request), path_of(flow.request)):
        assert line.isprintable()
        assert len(line) == LONGEST
        assert "secret" not in line
    assert path_of(request("/v1/models?secret=1").request) == "/v1/models"


def test_what_is_reported_of_a_reply_is_one_line_of_bounded_length(
    caplog: pytest.LogCaptureFixture,
) -> None:
    report(request(HOSTILE).request, ["one\ntwo\x1b[31m", "x" * 9999], logging.WARNING)
    [line] = [record.getMessage() for record in caplog.records]
    assert line.isprintable()
    assert "one two" in line
    assert len(line) < LONGEST + LONGEST_LINE + 20


class Legacy(logging.NullHandler):
    """A handler like mitmproxy's, which calls the deprecated hook."""


@contextmanager
def shown(level: str) -> Iterator[None]:
    """The log has one handler of this level, and that of the hook."""
    handler = logging.NullHandler()
    handler.setLevel(level)
    with taddons.context(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "LegacyLogEvents", Legacy)
        patch.setattr(logging.getLogger(), "handlers", [Legacy(), handler])
        yield


@pytest.mark.parametrize(("level", "logged"), [("DEBUG", True), ("INFO", True), ("WARNING", False)])
def test_a_line_is_logged_where_a_handler_takes_it(level: str, logged: bool) -> None:
    with shown(level):
        assert is_logged(logging.INFO) is logged
        assert is_logged(logging.ERROR)


def test_who_wants_no_lines_on_flows_gets_none_on_connections(
    caplog: pytest.LogCaptureFixture,
) -> None:
    line = logging.getLogger("mitmproxy.proxy.server")
    with shown("INFO"), caplog.at_level(logging.INFO, line.name):
        logging.getLogger().addHandler(caplog.handler)
        ctx.options.add_option("flow_detail", int, 1, "how much")
        line.info("server connect")
        ctx.options.flow_detail = 0
        line.info("client connect")
        line.warning("broken")
    assert caplog.messages == ["server connect", "broken"]


@pytest.mark.parametrize(("level", "lines"), [("INFO", 2), ("ERROR", 1)])
def test_what_nobody_hears_is_not_written(level: str, lines: int) -> None:
    written: list[object] = []
    handler = SimpleNamespace(log=lambda *line: written.append(line))
    log_if_read(handler)
    with shown(level):
        handler.log("server connect")
        handler.log("broken", logging.ERROR, exc_info=True)
    assert len(written) == lines
    assert written[-1] == ("broken", logging.ERROR, True)


def test_output_that_is_no_terminal_has_each_line_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log"
    with file.open("w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        write_each_line_at_once()
        print("a line", file=output)
        assert file.read_text() == "a line\n"
