"""Notes on a reply: a line for each thing that a person should know."""

import pytest

from converter.core.dialects.table import ANTHROPIC
from tests.support.frames import ROLE, data, finish, stream
from tests.support.frames_of import OPENAI, call, failure_and_notes, rewriter

NOTHING_TO_TELL = {
    "a usual reply": stream("<think>a</think>b"),
    "pings": [b": ping\n\n", *stream("a")],
    "blank lines": [b"\n\n", *stream("a"), b"\n"],
    "calls": [ROLE, call(0, "f", "{}", id="a"), finish("tool_calls")],
}


@pytest.mark.parametrize("client", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("chunks", NOTHING_TO_TELL.values(), ids=NOTHING_TO_TELL)
def test_a_usual_reply_is_nothing_to_tell(client: object, chunks: list[bytes]) -> None:
    assert not any(failure_and_notes(rewriter(OPENAI if client is OPENAI else ANTHROPIC), *chunks))


UNTOLD = {
    "garbage": [b"garbage: 1\nmore\n\n", *stream("a")],
    "a page": [b"<html>\n<body>"],
    "an error of two lines": [data({"error": {"message": "one\ntwo"}})],
    "arguments of two lines": [ROLE, call(0, "f", "one\ntwo", id="a"), finish("tool_calls")],
    "a tool's name of two lines": [ROLE, call(0, "f\ng", "one", id="a"), finish("tool_calls")],
}


@pytest.mark.parametrize("chunks", UNTOLD.values(), ids=UNTOLD)
def test_a_note_is_one_line(chunks: list[bytes]) -> None:
    emitted = [line for line in failure_and_notes(rewriter(ANTHROPIC), *chunks)[1:] if line]
    assert all("\n" not in line for line in emitted)
