"""The command `think-addon record show FILE`: print a saved reply of any dialect, as a transcript
or in the dialect of a client.

`curl -N ... | think-addon record show -` shows a reply while it comes.
"""

import sys
import time
from collections.abc import Iterator
from http.client import HTTPException, parse_headers
from io import BufferedReader
from itertools import chain

from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.exchange.settings import Settings
from converter.addon.transcript.reply import ReplyReader
from converter.addon.transcript.terminal import TerminalWriter, shows_colours
from converter.core.dialects.recogniser import Recogniser
from converter.core.dialects.table import Dialect
from converter.core.reply.summary import SHORTEST, TIMES
from converter.extras.recordings.recording import RecordingError

STANDARD_INPUT = "-"
"""The file name that stands for standard input."""
_NO_REPLY = "no reply of chat completions, the Messages API, the Responses API or Ollama"
"""The error for an input that is no reply of a known dialect."""
_HEAD_BEGINNING = b"HTTP/"
"""The first bytes of an HTTP head, which `curl -i` prints before the body."""


def body_pieces(source: BufferedReader) -> Iterator[tuple[bytes, str]]:
    """Yield the bytes of a body as they come, each time with the reply's content type.

    The HTTP heads that `curl -i` prints before the body are left out; the content type comes from
    them.
    """
    content_type = ""
    while source.peek(len(_HEAD_BEGINNING)).startswith(_HEAD_BEGINNING):
        source.readline()
        content_type = parse_headers(source)["content-type"] or content_type
    while piece := source.read1():
        yield piece, content_type


def convert_reply(
    pieces: Iterator[tuple[bytes, str]], chosen: Settings, client_dialect: Dialect
) -> Iterator[bytes]:
    """Yield a reply in `client_dialect` as its `pieces` (bytes and content type) come, then
    print the addon's notes on the reply to standard error. A stream stays a stream. `chosen`: the
    options by which the reply is read. Raises RecordingError for an input that is no reply.
    """
    recogniser = Recogniser()
    is_reply = any(recogniser.feed(*piece) for piece in pieces) or recogniser.feed(b"", last=True)
    form, dialect = recogniser.form, recogniser.dialect
    if not (is_reply and form and dialect):
        raise RecordingError(_NO_REPLY)
    rewriter = rewriter_of(chosen, client_dialect, form, server=dialect)
    for piece in chain([recogniser.release()], (piece for piece, _ in pieces)):
        yield b"".join(rewriter.feed(piece))
    yield b"".join(rewriter.close())
    for note in rewriter.notes:
        print(" ".join(note.split()), file=sys.stderr)


def print_reply(file: str, chosen: Settings, client_dialect: Dialect | None) -> None:
    """Print a saved reply in `client_dialect`, or as a transcript if that is None. The file `-` is
    standard input. `chosen`: the options by which the reply is read. Raises RecordingError, with
    the file's name, for a file that cannot be read or holds no reply.
    """
    try:
        with open(sys.stdin.fileno() if file == STANDARD_INPUT else file, "rb") as source:
            if client_dialect is None:
                _print_transcript(body_pieces(source), chosen, live=file == STANDARD_INPUT)
                return
            for written in convert_reply(body_pieces(source), chosen, client_dialect):
                _write_output(written)
    except BrokenPipeError:
        raise  # The program that reads our output, such as `head`, has ended; the file is fine.
    except OSError as error:
        raise RecordingError(f"{file}: {error.strerror}") from None
    except (RecordingError, HTTPException) as error:
        raise RecordingError(f"{file}: {error}") from None


def _write_output(text: str | bytes) -> None:
    """Write to standard output at once, so that a reply is seen while it comes."""
    written = text if isinstance(text, bytes) else text.encode(errors="backslashreplace")
    sys.stdout.buffer.write(written)
    sys.stdout.buffer.flush()


def _print_transcript(pieces: Iterator[tuple[bytes, str]], chosen: Settings, *, live: bool) -> None:
    """Print a transcript of the reply whose `pieces` (bytes and content type) come. `live`: True
    for standard input, from which a reply is printed as it comes. False for a file: it is read to
    its end first, to see whether the reply began in a thought.
    """
    writer = TerminalWriter(shows_colours(sys.stdout))
    reader = ReplyReader(chosen, complete=not live)
    began: float | None = None
    for piece, content_type in pieces:
        reader.content_type = content_type
        began = time.monotonic() if began is None else began
        _write_output(writer.feed(reader.feed(piece, time.monotonic() - began if live else None)))
    _write_output(writer.feed(reader.close()))
    read = reader.transcript()
    if reader.recogniser.dialect is None:
        _write_output(writer.close())
        raise RecordingError(_NO_REPLY)
    # `first_byte` means nothing, because the clock starts at this byte. No time means anything if
    # the whole reply came at once, as from a file.
    end = read.facts.get("end")
    left_out = ("first_byte",) if isinstance(end, float) and end >= SHORTEST else TIMES
    facts = {name: value for name, value in read.facts.items() if name not in left_out}
    _write_output(writer.close(facts, read.beside))
