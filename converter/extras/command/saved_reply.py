"""`think-addon read FILE`: a saved reply, of any dialect, as a transcript or in the dialect that is
asked for.

`curl -N ... | think-addon read --to transcript` shows a reply while it comes.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.exchange.settings import Settings
from converter.addon.transcript import request
from converter.addon.transcript.reply import ReplyReader
from converter.addon.transcript.terminal import TerminalWriter, write
from converter.addon.transcript.turns import Facts
from converter.core.dialects import table
from converter.core.dialects.recogniser import Recogniser
from converter.core.dialects.table import COMMON, Dialect, Form
from converter.core.model.initial_state import InitialState
from converter.core.model.raw_messages import is_request
from converter.core.reply.summary import SHORTEST, TIMES
from converter.core.wire import json_text

NOTHING_READ, MISUSED = 1, 2
"""Exit codes beside 0."""
_NO_FILE = (FileNotFoundError, IsADirectoryError, PermissionError)
DIALECTS = {dialect.name: dialect for dialect in table.DIALECTS}
TRANSCRIPT = "transcript"
STANDARD_INPUT = "-"
_NO_REPLY = "no reply of chat completions, the Messages API or the Responses API"
_OTHERS = (
    (
        re.compile(rb"\x1f\x8b|\x28\xb5\x2f\xfd"),
        "compressed: uncompress it first, or ask with curl's --compressed",
    ),
    (re.compile(rb"\xff\xfe|\xfe\xff|.\0", re.DOTALL), "UTF-16: a reply is UTF-8"),
    (
        re.compile(rb"\d+:\d+:\w+;"),
        "flows of mitmproxy: open it with mitmweb -s think_addon.py -n -r",
    ),
)
"""Files that people take for a saved reply, by their beginnings."""
_HEAD = re.compile(rb"HTTP/[\d.]+ \d{3}.*?\r?\n\r?\n", re.DOTALL)
_CONTENT_TYPE = re.compile(rb"^content-type:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_HEAD_BEGINS = b"HTTP/"
_HEAD_LIMIT = 4096
_PIECE = 65536
_EPILOG = """\
Without --to a terminal gets a transcript and anything else a chat completion. A streamed reply
stays streamed, a whole one whole.
Exit codes: 0 read; 1 nothing could be read; 2 wrong use, as of a file that is not there.
NO_COLOR turns colours off."""


class _UnreadableError(Exception):
    """Exit status: the input is no reply."""


def headless(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, str]]:
    """Yield a body's bytes as they come, without the heads of `curl -i`, and the content type of
    these heads. Yield nothing while the bytes may be a head.
    """
    held, content_type = b"", ""
    for chunk in chunks:
        held += chunk
        while head := _HEAD.match(held):
            held = held[head.end() :]
            said = _CONTENT_TYPE.search(head[0])
            content_type = said[1].decode(errors="replace") if said else content_type
        begun = held[: len(_HEAD_BEGINS)]
        if begun and not (_HEAD_BEGINS.startswith(begun) and len(held) < _HEAD_LIMIT):
            break
        yield b"", content_type
    yield held, content_type
    yield from ((chunk, content_type) for chunk in chunks)


def converted(
    pieces: Iterator[tuple[bytes, str]], chosen: Settings, client: Dialect
) -> Iterator[bytes]:
    """Yield a reply in `client`'s dialect as it comes, its form kept; the notes on it go to the
    standard error. Raises _UnreadableError for what is no reply.
    """
    recogniser = Recogniser()
    is_reply = any(recogniser.feed(*piece) for piece in pieces) or recogniser.feed(b"", last=True)
    form, dialect = recogniser.form, recogniser.dialect
    if not (is_reply and form and dialect):
        of_request = is_request(json_text.read_or_none(recogniser.held))
        raise _UnreadableError(
            "a request; --to transcript shows it" if of_request else _what_it_is(recogniser.held)
        )
    rewriter = rewriter_of(chosen, client, form, server=dialect)
    for piece in chain([recogniser.take()], (piece for piece, _ in pieces)):
        yield b"".join(rewriter.feed(piece))
    yield b"".join(rewriter.close())
    for note in rewriter.notes:
        _complain(note, 0)


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code. An interrupt and a closed pipe are its caller's."""
    chosen = _parser().parse_args(arguments)
    try:
        if sys.stdin is None or sys.stdout is None:
            raise ValueError("standard input or output is closed")
        read = settings.read({"tags": chosen.tags or ["auto"], "start": chosen.start})
        to = chosen.to or (TRANSCRIPT if sys.stdout.isatty() else COMMON.name)
        if to == TRANSCRIPT:
            _show(_pieces(chosen.file), read, live=chosen.file == STANDARD_INPUT)
        else:
            for written in converted(_pieces(chosen.file), read, DIALECTS[to]):
                _write(written)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # the caller's; an OSError it is as well
    except OSError as error:
        code = MISUSED if isinstance(error, _NO_FILE) else NOTHING_READ
        return _complain(f"{chosen.file}: {error.strerror or error}", code)
    except _UnreadableError as error:
        return _complain(f"{chosen.file}: {error}", NOTHING_READ)
    except ValueError as error:
        return _complain(str(error).replace("think_", "--", 1), MISUSED)
    return 0


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "think-addon read",
        description="Read a saved reply.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    parser.add_argument(
        "file",
        nargs="?",
        default=STANDARD_INPUT,
        metavar="FILE",
        help="JSON or SSE; - is standard input",
    )
    parser.add_argument("--to", choices=[*DIALECTS, TRANSCRIPT], help="what to write")
    parser.add_argument(
        "--tags", action="append", metavar="TAGS", help="as think_tags; once for each"
    )
    parser.add_argument(
        "--start",
        default="auto",
        choices=[start.value for start in InitialState],
        help="as think_start",
    )
    return parser


def _complain(message: str, code: int) -> int:
    print(f"think-addon: {' '.join(message.split())}", file=sys.stderr)
    return code


def _pieces(file: str) -> Iterator[tuple[bytes, str]]:
    with open(sys.stdin.fileno() if file == STANDARD_INPUT else file, "rb", buffering=0) as source:
        yield from headless(iter(lambda: source.read(_PIECE), b""))


def _write(text: str | bytes) -> None:
    sys.stdout.buffer.write(
        text if isinstance(text, bytes) else text.encode(errors="backslashreplace")
    )
    sys.stdout.buffer.flush()


def _show(pieces: Iterator[tuple[bytes, str]], chosen: Settings, *, live: bool) -> None:
    """Write a transcript, in pieces as they come; a file is all there, which tells more of where
    its reply began.
    """
    colour = (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )
    writer, reader = TerminalWriter(colour), ReplyReader(chosen, complete=not live)
    body: list[bytes] = []
    began: float | None = None
    for piece, content_type in pieces:
        reader.content_type = content_type
        began = time.monotonic() if began is None else began
        _write(writer.feed(reader.feed(piece, time.monotonic() - began if live else None)))
        body = [] if reader.recogniser.form is Form.STREAM else [*body, piece]
    whole = b"".join(body)
    if is_request(json_text.read_or_none(whole)):
        _write(write(request.read(whole, chosen), colour=colour))
        return
    _write(writer.feed(reader.close()))
    read, dialect = reader.transcript(), reader.recogniser.dialect
    _write(writer.close(_telling(read.facts), read.beside) if dialect else writer.close())
    if dialect is None:
        raise _UnreadableError(_what_it_is(whole))


def _what_it_is(body: bytes) -> str:
    """Name the input that is no reply, and the command that reads it."""
    return next(
        (f"{_NO_REPLY}, but {kind}" for beginning, kind in _OTHERS if beginning.match(body)),
        _NO_REPLY,
    )


def _telling(facts: Facts) -> Facts:
    """Return the facts without times that say nothing, because the clock begins with the first
    byte, and a saved file comes at once.
    """
    end = facts.get("end")
    left_out = ("first_byte",) if isinstance(end, float) and end >= SHORTEST else TIMES
    return {name: value for name, value in facts.items() if name not in left_out}
