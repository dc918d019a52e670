"""Writing to a pipe that is slow or not read: nobody waits, order is kept, and what is left out is
said.
"""

import os
from collections.abc import Iterator
from time import sleep
from typing import TextIO

import pytest

from converter.shell.watch.terminal import writer as writers
from converter.shell.watch.terminal.writer import Writer
from converter.wire.bounds import TERMINAL_LIMIT

SECONDS = 30  # only a writer that never writes meets it


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

    def close(self) -> None:
        self.file.close()
        self.hang_up()

    def hang_up(self) -> None:
        if self._out >= 0:
            os.close(self._out)
        self._out = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


def test_what_is_written_goes_out_in_order(pipe: Pipe) -> None:
    writer = Writer(pipe.file)
    pieces = [f"piece {number} é\n" for number in range(500)]
    for piece in pieces:
        writer.write(piece)
    writer.write("end")
    assert pipe.read("end") == "".join(pieces) + "end"


def test_a_full_pipe_keeps_nobody_waiting_and_loses_nothing_that_was_taken(pipe: Pipe) -> None:
    writer = Writer(pipe.file)
    pieces = ["x" * 1000 for _ in range(300)]  # a pipe takes 64 kB
    for piece in pieces:
        writer.write(piece)
    assert not writer.settle(0.01)
    writer.write("end")
    assert pipe.read("end") == "".join(pieces) + "end"
    assert writer.settle(SECONDS)


def test_a_full_pipe_that_does_not_block_is_waited_for_in_peace(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.set_blocking(pipe.file.fileno(), False)  # as programs do that share a terminal
    writer, text = Writer(pipe.file), "x" * 200_000 + "end"
    slept: list[float] = []

    def noted(seconds: float) -> None:
        slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(writers, "sleep", noted)
    writer.write(text)
    assert not writer.settle(1.0)
    assert set(slept) == {writers._PAUSE}, "each look at the full pipe has its pause"
    assert pipe.read("end") == text


def test_beyond_the_limit_is_left_out_and_a_line_says_how_much(pipe: Pipe) -> None:
    writer = Writer(pipe.file)
    writer.write("x" * TERMINAL_LIMIT)
    writer.write("never seen")
    assert set(pipe.read("x" * TERMINAL_LIMIT)) == {"x"}
    assert writer.settle(SECONDS)
    writer.write("end")
    assert (
        pipe.read("end")
        == "\n[10 characters were not printed: the terminal did not take them]\nend"
    )
    writer.write("once")
    assert pipe.read("once") == "once"


def test_closing_does_not_wait_for_a_pipe_that_nobody_reads(pipe: Pipe) -> None:
    writer = Writer(pipe.file)
    writer.write("x" * (1 << 18))
    writer.close(0.01)
    writer.write("too late")
    assert set(pipe.read("x" * (1 << 18))) == {"x"}


def test_closing_writes_the_rest(pipe: Pipe) -> None:
    writer = Writer(pipe.file)
    writer.write("all of it")
    writer.close(SECONDS)
    assert pipe.read("all of it") == "all of it"


def test_a_reader_that_has_gone_is_no_error(pipe: Pipe) -> None:
    writer = Writer(pipe.file)
    pipe.hang_up()
    writer.write("nobody reads this")
    writer.settle(SECONDS)
    writer.write("nor this")
    assert writer.settle(SECONDS)


def test_an_encoding_that_lacks_a_character_spells_it(pipe: Pipe) -> None:
    into = os.dup(pipe.file.fileno())
    with os.fdopen(into, "w", encoding="ascii") as ascii_file:
        writer = Writer(ascii_file)
        writer.write("é end")
        assert pipe.read(" end") == "\\xe9 end"
