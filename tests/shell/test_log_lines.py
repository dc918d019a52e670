"""Lines of the log: nothing raw, nothing without an end."""

import logging

import pytest

from converter.shell.log_lines import LONGEST, LONGEST_LINE, in_a_line, path_of
from converter.shell.watch.thought_hook import report
from tests.support.addon_flows import request

HOSTILE = "/a\x1b[2J\n\u202e" + "b" * 9999


def test_a_request_is_named_in_bounded_words_without_its_query() -> None:
    flow = request(HOSTILE + "?secret=1")
    for said in (in_a_line(flow), path_of(flow)):
        assert said.isprintable()
        assert len(said) == LONGEST
        assert "secret" not in said
    assert path_of(request("/v1/models?secret=1")) == "/v1/models"


def test_what_is_reported_of_a_reply_is_one_line_of_bounded_length(
    caplog: pytest.LogCaptureFixture,
) -> None:
    report(request(HOSTILE), ["one\ntwo\x1b[31m", "x" * 9999], logging.WARNING)
    [line] = [record.getMessage() for record in caplog.records]
    assert line.isprintable()
    assert "one two" in line
    assert len(line) < LONGEST + LONGEST_LINE + 20
