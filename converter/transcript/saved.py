"""A saved reply of whatever dialect and form, written in the dialect that is asked for; `curl -i`
may have saved its head too.
"""

import re

from converter.dialects.table import Dialect
from converter.exchange.settings import Settings
from converter.parsing.reading import Expected
from converter.reply.rewriter import Rewriter
from converter.transcript.recognise import Recogniser

_HEAD = re.compile(rb"HTTP/[\d.]+ \d{3}.*?\r?\n\r?\n", re.DOTALL)
_CONTENT_TYPE = re.compile(rb"^content-type:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_HEAD_BEGINS = b"HTTP/"
_HEAD_LIMIT = 4096


class Headless:
    """Saved bytes in, the body out: without the heads that `curl -i` puts before it.
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
        """Return what can be written by now."""
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
