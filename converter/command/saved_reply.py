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

from converter.dialects import table
from converter.dialects.table import COMMON, Dialect, Form
from converter.exchange import settings
from converter.exchange.settings import Settings
from converter.model.initial_state import InitialState
from converter.observe.summary import SHORTEST
from converter.parsing.reading import Expected
from converter.reply.rewriter import Rewriter
from converter.transcript import request
from converter.transcript.facts import TIMES
from converter.transcript.recognise import Recogniser, is_request
from converter.transcript.reply import ReplyReader
from converter.transcript.terminal import TerminalWriter, write
from converter.transcript.turns import Facts
from converter.wire import json_text

NOTHING_READ, MISUSED = 1, 2
"""Exit codes beside 0."""
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
Exit codes: 0 read; 1 nothing could be read; 2 wrong use. NO_COLOR turns colours off."""


class Headless:
    """Saved bytes in, the body out: without the heads that `curl -i` puts before it.
    `content_type`: what they said.
    """

    def __init__(self) -> None:
        self.content_type = ""
        self._held: bytes | None = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return the body's part of it; nothing while it may be a head."""
        if self._held is None:
            return chunk
        self._held += chunk
        while head := _HEAD.match(self._held):
            self._held = self._held[head.end() :]
            content_type = _CONTENT_TYPE.search(head[0])
            self.content_type = (
                content_type[1].decode(errors="replace") if content_type else self.content_type
            )
        begun = self._held[: len(_HEAD_BEGINS)]
        if begun and _HEAD_BEGINS.startswith(begun) and len(self._held) < _HEAD_LIMIT:
            return b""
        return self.close() if begun else b""

    def close(self) -> bytes:
        """Return the held bytes, being no head."""
        held, self._held = self._held or b"", None
        return held


class Converting:
    """A reply's bytes in, those of the same reply in `client`'s dialect out, its form kept.

    `dialect`: what it turned out to be; None for what is no reply, of which nothing is written.
    """

    def __init__(
        self, settings: Settings, client: Dialect, expected: Expected | None = None
    ) -> None:
        self._settings = settings
        self._client = client
        self._expected = expected or Expected()
        self._recogniser = Recogniser()
        self._rewriter: Rewriter | None = None

    @property
    def dialect(self) -> Dialect | None:
        """The reply's dialect, if it is known."""
        return self._recogniser.dialect

    @property
    def notes(self) -> list[str]:
        """Notes for a person, a line each."""
        return self._rewriter.notes if self._rewriter else []

    def feed(self, chunk: bytes, content_type: str = "") -> bytes:
        """Return the text that can be written by now."""
        if self._rewriter:
            return b"".join(self._rewriter.feed(chunk))
        return self._begin() if self._recogniser.feed(chunk, content_type) else b""

    def close(self) -> bytes:
        """Return the rest."""
        begun = b""
        if not self._rewriter and self._recogniser.feed(b"", last=True):
            begun = self._begin()
        return begun + b"".join(self._rewriter.close()) if self._rewriter else b""

    def _begin(self) -> bytes:
        form, dialect = self._recogniser.form, self._recogniser.dialect
        assert form
        assert dialect
        self._rewriter = Rewriter(
            self._settings, self._client, form, form, server=dialect, expected=self._expected
        )
        return b"".join(self._rewriter.feed(self._recogniser.take()))


class _UnreadableError(Exception):
    """Exit status: the input is no reply."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code. An interrupt and a closed pipe are its caller's."""
    chosen = _parser().parse_args(arguments)
    try:
        _refuse_closed()
        read = settings.read({"tags": chosen.tags or ["auto"], "start": chosen.start})
        _run(chosen.file, chosen.to or (TRANSCRIPT if sys.stdout.isatty() else COMMON.name), read)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise  # the caller's; an OSError it is as well
    except OSError as error:
        return _complain(f"{chosen.file}: {error.strerror or error}", NOTHING_READ)
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


def _refuse_closed() -> None:
    if sys.stdin is None or sys.stdout is None:
        raise ValueError("standard input or output is closed")


def _complain(words: str, code: int) -> int:
    print(f"think-addon: {' '.join(words.split())}", file=sys.stderr)
    return code


def _run(file: str, to: str, chosen: Settings) -> None:
    pieces = _pieces(file)
    if to == TRANSCRIPT:
        _show(pieces, chosen, live=file == STANDARD_INPUT)
    else:
        _convert(pieces, Converting(chosen, DIALECTS[to]))


def _pieces(file: str) -> Iterator[tuple[bytes, str]]:
    """Yield a body's bytes as they come, and its content type if it is known."""
    headless = Headless()
    with open(sys.stdin.fileno() if file == STANDARD_INPUT else file, "rb", buffering=0) as source:
        while piece := source.read(_PIECE):
            yield headless.feed(piece), headless.content_type
    yield headless.close(), headless.content_type


def _write(text: str | bytes) -> None:
    sys.stdout.buffer.write(
        text if isinstance(text, bytes) else text.encode(errors="backslashreplace")
    )
    sys.stdout.buffer.flush()


def _convert(pieces: Iterator[tuple[bytes, str]], converting: Converting) -> None:
    body = b""
    for piece, content_type in pieces:
        body = b"" if converting.dialect else body + piece
        _write(converting.feed(piece, content_type))
    _write(converting.close())
    if converting.dialect is None:
        of_request = is_request(json_text.read_or_none(body))
        raise _UnreadableError(
            "a request; --to transcript shows it" if of_request else _what_it_is(body)
        )
    for note in converting.notes:
        _complain(note, 0)


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
        body = [] if reader.form is Form.STREAM else [*body, piece]
    whole = b"".join(body)
    if is_request(json_text.read_or_none(whole)):
        _write(write(request.read(whole, chosen), colour=colour))
        return
    _write(writer.feed(reader.close()))
    read = reader.transcript()
    _write(writer.close(_known(read.facts), read.beside) if reader.dialect else writer.close())
    if reader.dialect is None:
        raise _UnreadableError(_what_it_is(whole))


def _what_it_is(body: bytes) -> str:
    """Name the input that is no reply, and the command that reads it."""
    return next(
        (f"{_NO_REPLY}, but {words}" for beginning, words in _OTHERS if beginning.match(body)),
        _NO_REPLY,
    )


def _known(facts: Facts) -> Facts:
    """Return the facts without times that say nothing, because the clock begins with the first
    byte, and a saved file comes at once.
    """
    end = facts.get("end")
    left_out = ("first_byte",) if isinstance(end, float) and end >= SHORTEST else TIMES
    return {name: value for name, value in facts.items() if name not in left_out}
