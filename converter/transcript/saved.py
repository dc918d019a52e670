"""A saved reply of whatever dialect and form, written in the dialect that is asked for; `curl -i`
may have saved its head too.
"""

import re

from converter.dialects.table import Dialect, Form, recognise
from converter.parsing.think_stage import Expected
from converter.rewriter import Rewriter
from converter.settings import Settings
from converter.transcript.recognise import dialect_of, form_of, value_of
from converter.wire.sse import FrameDecoder

_HEAD = re.compile(rb"HTTP/[\d.]+ \d{3}.*?\r?\n\r?\n", re.DOTALL)
_CONTENT_TYPE = re.compile(rb"^content-type:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_HEAD_BEGINS = b"HTTP/"
_HEAD_LIMIT = 4096


class Headless:
    """What was saved in, the body out: without the heads that `curl -i` puts before it.
    `content_type`: what they said.
    """

    def __init__(self) -> None:
        self.content_type = ""
        self._held: bytes | None = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return what is body of it; nothing while it may be a head."""
        if self._held is None:
            return chunk
        self._held += chunk
        while found := _HEAD.match(self._held):
            self._held = self._held[found.end() :]
            said = _CONTENT_TYPE.search(found[0])
            self.content_type = said[1].decode(errors="replace") if said else self.content_type
        begun = self._held[: len(_HEAD_BEGINS)]
        if begun and _HEAD_BEGINS.startswith(begun) and len(self._held) < _HEAD_LIMIT:
            return b""
        return self.close() if begun else b""

    def close(self) -> bytes:
        """Return what was held, being no head."""
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
        self._held = bytearray()
        self._looked = FrameDecoder()
        self._unseen = 0
        self._form: Form | None = None
        self._machine: Rewriter | None = None
        self.dialect: Dialect | None = None

    @property
    def notes(self) -> list[str]:
        """What a person should know, a line each."""
        return self._machine.notes if self._machine else []

    def feed(self, chunk: bytes, content_type: str = "") -> bytes:
        """Return what can be written by now."""
        if self._machine:
            return b"".join(self._machine.feed(chunk))
        self._held += chunk
        self._form = self._form or form_of(bytes(self._held[:_HEAD_LIMIT]), content_type)
        if self._form is Form.STREAM:
            unseen, self._unseen = bytes(self._held[self._unseen :]), len(self._held)
            self.dialect = next(filter(None, map(dialect_of, self._looked.feed(unseen))), None)
        return self._begin() if self.dialect else b""

    def close(self) -> bytes:
        """Return the rest."""
        begun = b""
        if not self._machine:
            body = bytes(self._held)
            self._form = self._form or form_of(body[:_HEAD_LIMIT], last=True)
            last = self._looked.close() if self._form is Form.STREAM else []
            self.dialect = (
                next(filter(None, map(dialect_of, last)), None)
                if last
                else recognise(value_of(body))
            )
            begun = self._begin() if self.dialect else b""
        return begun + b"".join(self._machine.close()) if self._machine else b""

    def _begin(self) -> bytes:
        held, self._held = bytes(self._held), bytearray()
        assert self._form
        assert self.dialect
        self._machine = Rewriter(
            self._settings,
            self._client,
            self._form,
            self._form,
            server=self.dialect,
            expected=self._expected,
        )
        return b"".join(self._machine.feed(held))
