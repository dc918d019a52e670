"""`PendingFinish` holds a frame with a finish back until the next frame shows whether this finish
counts. `finish_words` has the meanings of servers' words for a finish.

There are two reasons:

- If the token counts reach the request's limit, the limit has cut the reply, even if the server's
  finish is `stop`. The counts may come in the frame behind the finish.
- A gateway may send a second finish: `tool_calls`, then `stop`. Only the stronger one counts.

A frame with a finish waits for the next frame. It waits on while each next frame has a finish, or
has text of choices whose finish waits and of no other choice. Any other frame lets the waiting
frames go on. So does a frame with counts, with an error or with the end, even if it has the finish.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from converter.core.dialects.finish_words import NOT_WHOLE
from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    OpaqueFrame,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from converter.core.wire.sse import Frame

_TEXT_EVENTS = (Text, Thinking, ToolCall)
"""Types of events with text of the model. Some servers send text behind the finish. If all text of
the next frame is of choices whose finish waits, the finish waits for one more frame.
"""
_STRENGTH = ("stop", "tool_calls", "content_filter", "length", NOT_WHOLE)
"""Finish reasons from weak to strong. If a second finish of a choice comes while the first one
waits, the stronger one counts; of two equally strong ones, the first.
"""
_MAY_BE_CUT = ("stop", "tool_calls")
"""Finish reasons that some servers send although the limit has cut the reply."""


@dataclass(frozen=True, slots=True)
class ReadFrame:
    """A server's frame, and the events that the decoder has read in it."""

    came: Frame
    """The frame as the server sent it."""
    frame: Frame
    """The frame that was decoded: `came` itself, or a mended one in its place."""
    events: Sequence[Event]
    """The events of the frame, perhaps without some that were removed (`without`)."""
    intact: bool = True
    """True if no event was removed, so that the frame may be sent as it came."""

    @property
    def finishes(self) -> list[Finish]:
        """The finishes among the frame's events."""
        return [event for event in self.events if isinstance(event, Finish)]

    def without(self, leaves_out: Callable[[Event], bool]) -> "ReadFrame":
        """Return the frame without the events for which `leaves_out` returns True. Return the same
        object if there are none.
        """
        events = [event for event in self.events if not leaves_out(event)]
        whole = len(events) == len(self.events)
        return self if whole else replace(self, events=events, intact=False)


class PendingFinish:
    """Takes the frames of one reply and returns those that go on, but holds frames with a finish,
    so that the next frames can change it.

    Of two finishes of a choice only one goes on, unless text came after the first had gone on. The
    other is removed from its frame. If text comes while a finish waits, the frame of the finish is
    split: its other events go on before the text. A frame that has lost all its events is dropped.

    `limit`: the most tokens that the request allows the reply; 0 if there is no limit.
    """

    def __init__(self, limit: int = 0) -> None:
        self._limit = limit
        self._frames: list[ReadFrame] = []
        # The indexes of the choices whose finish was already returned, without any text since. A
        # second finish of such a choice is dropped.
        self._returned: set[int] = set()

    @property
    def holds(self) -> bool:
        """True if a finish waits that lets the reply be whole. A finish that says that the reply is
        not whole (`NOT_WHOLE`) does not count.
        """
        return any(each.reason != NOT_WHOLE for read in self._frames for each in read.finishes)

    def feed(self, read: ReadFrame) -> list[ReadFrame]:
        """Take the next frame. Return the frames that go on now: frames that have waited, parts of
        them, and the new one. The new one is not returned if it waits, or if all its events were
        removed.
        """
        kinds = {type(event) for event in read.events}
        if not (self._frames or self._returned or Finish in kinds):
            return [read]  # no finish has come so far, as in nearly all frames: save the work below
        spoke = {event.choice for event in read.events if isinstance(event, _TEXT_EVENTS)}
        self._returned -= spoke
        out = self._take_other_events(spoke)
        new = {finish.choice: _strength(finish) for finish in read.finishes}
        out += self._drop_finishes(lambda finish: _strength(finish) < new.get(finish.choice, -1))
        if Failure in kinds:  # a finish `error` is dropped, because the failure says more
            out += self._drop_finishes(lambda finish: finish.reason == NOT_WHOLE)
        has_one = self._returned.union(each.choice for it in self._frames for each in it.finishes)
        read = read.without(lambda event: isinstance(event, Finish) and event.choice in has_one)
        waits = bool(read.finishes)
        self._frames += [read] if waits else []
        counts = [event for event in read.events if isinstance(event, Usage)]
        says_more = Finish in kinds or bool(spoke and spoke <= has_one)
        # Behind an end or a failure, neither a finish nor counts can come. An unreadable frame may
        # have been the end.
        lost = any(isinstance(event, OpaqueFrame) and event.lost for event in read.events)
        if counts or not says_more or lost or {End, Failure} & kinds:
            out += self.close(counts[-1] if counts else None)
        return out if waits or not (read.events or read.intact) else [*out, read]

    def close(self, counts: Usage | None = None) -> list[ReadFrame]:
        """Return all waiting frames, because nothing more can come that would change their finish.

        `counts`: the server's token counts of the reply; None if it has sent none. If they reach
        the request's limit, `stop` and `tool_calls` are marked as `at_limit`.
        """
        frames, self._frames = self._frames, []
        self._returned.update(finish.choice for read in frames for finish in read.finishes)
        if not counts or not 0 < self._limit <= counts.output:
            return frames
        return [replace(read, events=[*map(_mark_at_limit, read.events)]) for read in frames]

    def _take_other_events(self, choices: set[int]) -> list[ReadFrame]:
        """Split the waiting frames that have a finish of one of `choices`: return frames with all
        their other events, and let the finishes wait on. The caller has got more text of these
        choices, and must send it behind those events, but before the finish.
        """
        mixed = [read for read in self._frames if any(it.choice in choices for it in read.finishes)]
        self._frames = [it.without(_no_finish) if it in mixed else it for it in self._frames]
        beside = [read.without(lambda event: not _no_finish(event)) for read in mixed]
        return [read for read in beside if read.events]

    def _drop_finishes(self, drops: Callable[[Finish], bool]) -> list[ReadFrame]:
        """Remove the waiting finishes for which `drops` returns True. A frame that has then no
        finish left need not wait any longer: return each such frame that has other events.
        """
        frames = [
            read.without(lambda event: isinstance(event, Finish) and drops(event))
            for read in self._frames
        ]
        self._frames = [read for read in frames if read.finishes]
        return [read for read in frames if read.events and not read.finishes]


def _no_finish(event: Event) -> bool:
    """Return True if the event is not a `Finish`."""
    return not isinstance(event, Finish)


def _strength(finish: Finish) -> int:
    """Return the index of the finish's reason in `_STRENGTH`; 0, the weakest, for other reasons."""
    return _STRENGTH.index(finish.reason) if finish.reason in _STRENGTH else 0


def _mark_at_limit(event: Event) -> Event:
    """Return the event. A finish that some servers send for a cut reply (`_MAY_BE_CUT`) is returned
    with `at_limit` set, unless a stop string ended the choice.
    """
    ends = isinstance(event, Finish) and event.stop_sequence is None and event.reason in _MAY_BE_CUT
    return replace(event, at_limit=True) if isinstance(event, Finish) and ends else event
