from dataclasses import replace

from converter.core.dialects.table import ANTHROPIC, Form
from converter.extras.recordings.commands import row, table
from converter.extras.recordings.recording import RecordedRequest
from tests.support.raw_exchanges import JSON, STREAMS, WHOLE, exchange


def test_a_row_says_what_a_recording_shows() -> None:
    recording = exchange()
    assert row(recording) == (
        "hello",
        "generic",
        "OpenAI",
        "stream",
        "1 thought, text; stop",
        "8",
        f"{len(recording.body):,}",
    )


def test_it_says_calls_errors_ends_lists_and_the_native_dialect() -> None:
    calls = exchange(STREAMS["parallel calls with alternating pieces"], ANTHROPIC)
    broken = exchange(ended="Client \x1b disconnected.")
    models = RecordedRequest(
        "GET", "/v1/models", {"anthropic-version": "1", "content-type": JSON}, b""
    )
    listed = replace(exchange([b"{}"], form=Form.WHOLE), asked=models)
    assert row(calls)[2:5] == ("Anthropic", "stream", "2 calls; tool_calls")
    assert row(broken)[4] == "1 thought, text; Client ␛ disconnected."
    assert row(exchange([b"{}"], form=Form.WHOLE, status=400))[3:5] == ("whole", "error 400")
    assert row(listed)[4] == "a list"
    assert (
        row(exchange(client=ANTHROPIC, options={"native": ["messages"]}))[2] == "Anthropic, native"
    )
    assert row(exchange(WHOLE, form=Form.WHOLE))[4] == "1 thought, text; stop"


def test_it_says_when_there_is_no_reply_and_when_there_was_nothing_new() -> None:
    assert row(exchange([b""], form=Form.WHOLE))[4] == "the server's reply was empty"
    assert row(exchange([b"{}"], form=Form.WHOLE, status=304))[4] == "status 304"
    assert row(exchange(WHOLE, form=Form.WHOLE, status=201))[4] == "1 thought, text; stop"


def test_a_long_end_is_cut() -> None:
    shown = row(exchange(ended="why " * 99))[4]
    assert shown.endswith("why…")
    assert len(shown) < 80


def test_columns_begin_below_each_other() -> None:
    lines = table(
        [["a", "b", "c", "d", "e", "1", "2"], ["a long name", "b", "c", "d", "e", "1", "2"]]
    ).split("\n")
    assert len({line.index("  b") for line in lines[1:3]} - {0}) <= 2
    assert lines[0].index("server") == lines[1].index("b") == lines[2].index("b")
    assert len(lines) == 4
