"""`TokenCounts` keeps the token counts of one reply: those of the server, and what is needed to
estimate them. `counts_of` reads llama.cpp's `timings`; decoders read all other counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from converter.core.model.events import (
    BYTES_PER_TOKEN,
    End,
    Event,
    Failure,
    Start,
    ToolCall,
    Usage,
    model_text,
)
from converter.core.wire.json_text import as_object

_FULL_FRAME = 2 * BYTES_PER_TOKEN
"""The most bytes of text in a frame that counts as one token. Under load, vLLM and llama.cpp send
several tokens in a frame. So if a reply's frames have more bytes on average, its tokens are
estimated from the bytes.
"""


class TokenCounts:
    """The token counts of one reply.

    Arguments:
        prompt: a function that returns an estimate of the prompt's tokens; None if the client gets
            only counts that the server sends.

    Attributes:
        usage: the counts that the client got; None if it got none.
        first: the server's counts of the first reply, once a second reply continues it; None before
            that, and if the server sent none.
    """

    def __init__(self, prompt: Callable[[], int] | None) -> None:
        self._prompt = prompt
        self.usage: Usage | None = None
        self.first: Usage | None = None
        self._server_counts: Usage | None = None
        self._tokens_before = self._text_size = self._frame_count = 0

    def read(self, events: Sequence[Event]) -> None:
        """Read the events of a frame: count their text, and keep the server's counts among them
        (also those in the field `timings` of a `Start`).
        """
        text = ""
        for event in events:
            if isinstance(event, Usage) and (event.input or event.output):
                self._server_counts = event
            elif isinstance(event, Start) and event.own:
                timings = as_object(event.own.fields.get("timings"))
                self._server_counts = self._server_counts or counts_of(timings)
            text += model_text(event) + (event.name if isinstance(event, ToolCall) else "")
        if text:
            self.count(text, 1)

    def count(self, text: str, frame_count: int) -> None:
        """Add the bytes of `text`, and the `frame_count` frames in which it came, to the sums from
        which tokens are estimated.
        """
        self._text_size += len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        self._frame_count += frame_count

    def go_on(self) -> int:
        """End the counting of the first reply and begin that of the second, which continues it.
        Return the number of tokens of the first reply, by the server's count or an estimate.
        """
        counted, by_size = self._server_counts, self._text_size > _FULL_FRAME * self._frame_count
        written = self._text_size // BYTES_PER_TOKEN if by_size else self._frame_count
        self.first, self._tokens_before = counted, counted.output if counted else written
        self.usage = self._server_counts = None
        self._text_size = self._frame_count = 0
        return self._tokens_before

    def with_counts(self, events: Sequence[Event], is_last: bool = False) -> list[Event]:
        """Return the events. If they end a reply without counts and without a failure, add the
        counts of `missing` before the end. `is_last`: True if no further events follow.
        """
        kinds = [type(event) for event in events]
        if {Usage, Failure} & {*kinds} or not (is_last or End in kinds):
            return [*events]
        index = kinds.index(End) if End in kinds else len(kinds)
        return [*events[:index], *self.missing(), *events[index:]]

    def missing(self) -> list[Usage]:
        """Return the counts to add to a reply that ends without counts: those that the server sent
        elsewhere, as in llama.cpp's `timings`, else an estimate. For a second reply without text,
        return the server's counts of the first one. Return nothing if the client has got counts, or
        gets only counts that the server sends.

        Text is estimated by its length, and not by the frames in which it came, so that a stream
        and a whole reply have the same counts. (Only `go_on` counts frames, too.)
        """
        if self.usage or self._prompt is None:
            return []
        first, written = self.first, -(-self._text_size // BYTES_PER_TOKEN)
        if counts := self._server_counts or (None if written else first):
            return [replace(counts, own=None)]
        prompt = first.input if first else self._prompt()
        cached = first.cached if first else None
        return [Usage(prompt, self._tokens_before + written, cached=cached, estimated=True)]


def counts_of(timings: Mapping[str, object]) -> Usage | None:
    """Return the token counts in the field `timings`; None if it has none. llama.cpp sends this
    field even if the request does not ask for token counts.
    """
    read, cached, written = (timings.get(name) for name in ("prompt_n", "cache_n", "predicted_n"))
    if type(read) is not int or type(written) is not int:
        return None
    counts = cached if type(cached) is int else 0
    return Usage(read + counts, written, cached=counts)
