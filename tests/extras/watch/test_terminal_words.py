"""The reply that has the terminal, the printed texts of all, and texts that the terminal does not
take.
"""

import os
from collections.abc import Iterator, Sequence
from time import sleep
from typing import TextIO

import pytest

from converter.core.model.events import Event, Failure, Start, Text, Thinking, ThinkingEnd, ToolCall
from converter.extras.watch import terminal as printers
from converter.extras.watch.terminal import MARGIN, TERMINAL_LIMIT, Printer

PATH = "/v1/messages"
SECONDS = 30  # only a printer that never writes meets it


class Pipe:
    """`file` writes into it; `read` takes all that is there, until `end` has come."""

    def __init__(self) -> None:
        self._out, into = os.pipe()
        self.file: TextIO = os.fdopen(into, "w", encoding="utf-8")

    def read(self, end: str) -> str:
        data = b""
        while not data.endswith(end.encode()):
            data += os.read(self._out, 1 << 16)
        return data.decode()

    def rest(self) -> str:
        self.file.close()
        return b"".join(iter(lambda: os.read(self._out, 1 << 16), b"")).decode()

    def close(self) -> None:
        self.file.close()
        self.hang_up()

    def hang_up(self) -> None:
        if self._out >= 0:
            os.close(self._out)
        self._out = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    built = Pipe()
    yield built
    built.close()


@pytest.fixture
def printer(pipe: Pipe) -> Printer:
    return Printer(pipe.file, coloured=False)


def _reply(name: str, thought: str, answer: str) -> list[Event]:
    return [Start(name, name), Thinking(thought), ThinkingEnd(), Text(answer)]


def _printed(events: Sequence[Event], coloured: bool = False, path: str = PATH) -> str:
    """Return what is printed of one reply."""
    pipe = Pipe()
    printer = Printer(pipe.file, coloured)
    printer.queue_events("a", path, events)
    printer.queue_end("a")
    assert printer.end_open_line(SECONDS)
    output = pipe.rest()
    pipe.close()
    return output


def test_thinking_is_dim_and_the_answer_plain_below_a_head() -> None:
    assert _printed(_reply("small", "deep", "hello"), coloured=True) == (
        "\x1b[1m── #1 /v1/messages small ──\x1b[0m\n  \x1b[2m│ deep\x1b[0m\n\n  hello\n"
    )


def test_without_colours_a_line_at_the_left_sets_thinking_apart() -> None:
    assert _printed(_reply("small", "one\ntwo", "hello")) == (
        "── #1 /v1/messages small ──\n  │ one\n  │ two\n\n  hello\n"
    )


def test_replies_are_printed_one_after_another(pipe: Pipe, printer: Printer) -> None:
    printer.queue_events("a", PATH, [Start("a", "one"), Thinking("I")])
    printer.queue_events("b", PATH, _reply("two", "short", "done"))
    printer.queue_events("c", PATH, [Text("c1")])
    printer.queue_end("b")
    printer.queue_events("a", PATH, [Thinking(" go on")])
    assert pipe.read("go on") == "── #1 /v1/messages one ──\n  │ I go on"
    printer.queue_end("a")
    assert pipe.read("c1") == (
        "\n── #2 /v1/messages two ──\n  │ short\n\n  done\n── #3 /v1/messages ──\n  c1"
    )
    printer.queue_events("c", PATH, [Text("c2")])
    printer.queue_end("c")
    printer.queue_end("never heard")
    assert printer.end_open_line(SECONDS)
    assert pipe.rest() == "c2\n"


def test_of_several_choices_the_first_is_printed() -> None:
    output = _printed(
        [Text(f"{name}{number}", at) for number in "12" for at, name in enumerate("xy")]
    )
    assert output.endswith("\n  x1x2\n")


def test_a_tool_call_is_printed_with_its_arguments_laid_out() -> None:
    output = _printed(
        [ToolCall(0, "call_1", "weather", '{"city":'), ToolCall(0, "", "", '"Paris"}')]
    )
    assert output.splitlines()[-4:] == [
        "  → weather call_1",
        "    {",
        '      "city": "Paris"',
        "    }",
    ]


HOSTILE: Sequence[Sequence[Event]] = (
    [Start("a", "\x1b[2J\x9b31m")],
    [Thinking("\x1b]0;title\x07\x9b2J\rover")],
    [Text("\x1b[31mred\x00\x7f\u202e")],
    [ToolCall(0, "\x1b[1m", "\x9b1m", '{"a": "\x1b[2J"}')],
    [Failure("\x1b[2J\x07")],
)


@pytest.mark.parametrize("events", HOSTILE)
def test_no_content_acts_on_the_terminal(events: Sequence[Event]) -> None:
    out = _printed([*events, Text("end")], path=PATH + "\x1b[2J")
    assert "end\n" in out
    assert not set(out) & set("\x1b\x07\x00\x7f\x9b\r\u202e")


def test_no_line_of_a_reply_passes_for_a_head_or_a_line_of_the_log() -> None:
    forged = ("── #2 /v1/messages other ──", "[12:00:00.123] think: a key is sent")
    output = _printed([Text(f"{line}\n{line}") for line in forged])
    assert [line for line in output.splitlines() if not line.startswith(MARGIN)] == [
        "── #1 /v1/messages ──"
    ]


def test_a_full_pipe_keeps_nobody_waiting_and_loses_nothing_that_was_taken(
    pipe: Pipe, printer: Printer
) -> None:
    for _ in range(300):  # a pipe takes 64 kB
        printer.queue_events("a", PATH, [Text("x" * 1000)])
    assert not printer.end_open_line(0.01)
    assert not printer.end_open_line(SECONDS), "nobody waits twice for what does not move"
    assert pipe.read("x\n").endswith(f"\n  {'x' * 300_000}\n")
    printer.queue_events("a", PATH, [Text("end")])
    assert pipe.read("end") == "  end"


def test_a_full_pipe_that_does_not_block_is_waited_for_in_peace(
    pipe: Pipe, printer: Printer, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.set_blocking(pipe.file.fileno(), False)  # as programs do that share a terminal
    slept: list[float] = []

    def noted(seconds: float) -> None:
        slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(printers, "sleep", noted)
    printer.queue_events("a", PATH, [Text("x" * 200_000 + "end")])
    assert not printer.end_open_line(1.0)
    assert set(slept) == {printers._PAUSE}, "each look at the full pipe has its pause"
    assert pipe.read("end\n").count("x") == 200_000


def test_beyond_the_limit_is_left_out_and_a_line_says_how_much(
    pipe: Pipe, printer: Printer
) -> None:
    printer.queue_events("a", PATH, [Text("first")])
    printer.queue_events("b", PATH, [Text("x" * (TERMINAL_LIMIT - 5))])
    printer.queue_events("c", PATH, [Text("never seen")])
    printer.queue_events("a", PATH, [Text(" never seen either")])
    printer.queue_end("a")
    assert pipe.read("x" * (TERMINAL_LIMIT - 5)).startswith("── #1 ")
    printer.queue_events("b", PATH, [Text("end")])
    assert pipe.read("end") == (
        "\n[28 characters were not printed: the terminal did not take them]\n  end"
    )
    printer.queue_events("b", PATH, [Text(" once")])
    assert pipe.read("once") == " once"


def test_closing_does_not_wait_for_a_pipe_that_nobody_reads(pipe: Pipe, printer: Printer) -> None:
    printer.queue_events("a", PATH, [Text("x" * (1 << 18))])
    printer.close(0.01)
    printer.queue_events("a", PATH, [Text("too late")])
    assert pipe.read("x\n").count("x") == 1 << 18


def test_a_reader_that_has_gone_is_no_error(pipe: Pipe, printer: Printer) -> None:
    pipe.hang_up()
    for text in ("nobody reads this", "nor this"):
        printer.queue_events("a", PATH, [Text(text)])
        assert printer.end_open_line(SECONDS)


def test_a_fault_of_ours_costs_this_output_and_a_line_of_the_log(
    pipe: Pipe, printer: Printer, caplog: pytest.LogCaptureFixture
) -> None:
    printer.queue_events("a", PATH, [Thinking("ok")])
    printer.queue_events("a", PATH, [Start("a", 5)])  # type: ignore[arg-type]
    printer.queue_events("a", PATH, [Text("end")])
    pipe.read("end")
    assert "a reply could not be printed" in caplog.text
