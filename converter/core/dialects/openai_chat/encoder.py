"""`OpenAIEncoder` writes chat completions: the frames of a stream, or one body joined from frames.

A frame that nothing has changed is sent as the bytes that came, unless the client wants its
thinking under another field name, its text needs a blank line before it (`words_apart`), or clients
would fail on it (`silent_frames`). Events of another dialect are written with the usual fields of
chat completions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from converter.core.calls.arguments import ARGUMENT_KEYS, CUSTOM_INPUT
from converter.core.calls.free_text import text_of
from converter.core.dialects.finish_words import meaning_of
from converter.core.dialects.openai_chat.decoder import NAME, SAME_IN_EVERY_FRAME
from converter.core.dialects.openai_chat.errors import error_body
from converter.core.dialects.openai_chat.silent_frames import SilentFrames
from converter.core.dialects.reasoning_fields import has_value
from converter.core.dialects.signs_of_life import COMMENT, NONE
from converter.core.dialects.wire_form import Encoder, ReplyContext
from converter.core.dialects.words_apart import JOINT, TextApart
from converter.core.model.events import (
    DialectBlock,
    End,
    Event,
    Failure,
    Finish,
    MappedField,
    Opaque,
    OpaqueFrame,
    Start,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
    own_fields,
)
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object
from converter.core.wire.sse import write_frame

_CHUNK, _WHOLE = "chat.completion.chunk", "chat.completion"
"""Values of `object` in a frame and in a whole reply."""

PING = b": ping\n"
"""A comment without a blank line after it, so that a client reads it as a line of the next event.
If a blank line followed, some clients would take the comment for an event, and fail because it has
no data.
"""
NO_CONTEXT = ReplyContext()
"""The context of an encoder that knows nothing of the request: all facts have their defaults."""
_FIRST_DELTA: Mapping[str, object] = {"role": "assistant", "content": ""}
"""The first delta that a client gets if the server speaks another dialect."""

_CALL_FIELDS = frozenset(("name", *ARGUMENT_KEYS))
"""Fields of a call's `function` that are written from the event, and not copied from the server's
entry in `tool_calls`, because the assembler may have changed them.
"""
_ENTRY_FIELDS = frozenset(("index", "id", "function", "custom", "parameters"))
"""Fields of an entry in `tool_calls` that are written from the event. All other fields are copied
from the server's entry.
"""
_ORDER = {Opaque: 0, Thinking: 1, Text: 1, ToolCall: 1, Finish: 2, Usage: 3}
"""The order of events within one frame: an event begins another frame if its number is not higher
than that of the event before. A call is the exception: it may follow a call in the same frame.
"""


def _own_head_fields(head: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of `head` that are the server's own (`timings`), without the usual ones
    (`id`, `model`). `head`: all fields of a frame beside `choices` and `usage`.
    """
    return {name: value for name, value in head.items() if name not in SAME_IN_EVERY_FRAME}


type _FrameEvent = Opaque | Text | Thinking | ToolCall | Finish | Usage


@dataclass(slots=True)
class _OpenFrame:
    """The body of a frame that is being put together: events are added until one does not fit."""

    choice: int | None = None
    """The index of the choice to which all events belong; None before an event of a choice was
    added.
    """
    last_order: int = -1
    """The order (`_ORDER`) of the last event that was added; -1 before the first one."""
    inner: dict[str, object] = field(default_factory=dict)
    """The fields of the delta, without `tool_calls`."""
    outer: dict[str, object] = field(default_factory=dict)
    """The fields of the choice beside its delta, without `index` and `finish_reason`."""
    calls: list[object] = field(default_factory=list)
    """The entries of `tool_calls`, as JSON; for a whole reply pairs of a call's index and an entry.
    """
    finish: str | None = None
    """The value of `finish_reason`; None if the choice has not ended."""
    usage: object = None
    """The counts, as JSON; None if the frame has none."""

    def takes(self, event: _FrameEvent) -> bool:
        """Return True if the event fits into the frame: it belongs to the frame's choice (counts
        belong to any choice), and by `_ORDER` it may follow the event that was added last.
        """
        order = _ORDER[type(event)]
        same_choice = isinstance(event, Usage) or self.choice in (None, event.choice)
        return same_choice and (
            order > self.last_order or (order == self.last_order and isinstance(event, ToolCall))
        )


class OpenAIEncoder(Encoder):
    """Takes events and returns frames; for a whole reply, `close` returns one body or an error.

    Attributes:
        foreign: True once a `Start` has shown that the server speaks another dialect.
    """

    failure = ""
    """The message of an error that `close` returns for a whole reply; empty for a stream."""

    def __init__(self, context: ReplyContext = NO_CONTEXT, whole: bool = False) -> None:
        self._context, self._whole = context, whole
        self._kind = _WHOLE if whole else _CHUNK
        self.foreign = False
        self._left_out = 0
        self._head: Mapping[str, object] = {}
        self._after_thought: set[int] = set()
        self._apart = TextApart()
        # Index of a choice -> names of the reasoning fields that the encoder has added to those of
        # the server.
        self._added: defaultdict[int, set[str]] = defaultdict(set)
        # True if the last `Start` has fields of the server's own that no frame has sent yet.
        self._has_unsent_fields = False
        self._silent = SilentFrames()
        self._raw: list[bytes] = []
        self._body: dict[str, object] = {}
        self._choices: dict[int, tuple[_Pieces, _Pieces]] = {}
        self._error: dict[str, object] = {}

    @property
    def notes(self) -> list[str]:
        """A line for the user, in the log and in the flow's comment, with the number of blocks and
        frames that a chat completion cannot hold; no line if there are none.
        """
        note = f"{self._left_out} blocks or frames have no place in a chat completion, left out"
        return [note] if self._left_out else []

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames for these events; nothing for a whole reply, which `close` returns.
        `raw`: the server's frame, if it holds exactly these events in this dialect; else None. It
        is sent as it came if the client needs no change in it.
        """
        frames = [each for each in self.frames(events, raw) if each]
        sent: list[bytes] = []
        for each in frames:
            if not self._whole:
                sent.append(self._silent.feed(each) if isinstance(each, bytes) else _frame_of(each))
            elif isinstance(each, bytes):
                self._raw.append(each)
            elif "choices" in each:
                self._add_to_whole_reply(each)
            else:
                self._error, self.failure = each, str(as_object(each["error"])["message"])
        return [*filter(None, sent)]

    def record_unparsed_text(self, kind: TextKind, text: str, _: int) -> int:
        """Record text whose frames the fast path rewrote, so that it did not come through `feed`.
        Return 0, because frames of this dialect have no numbers.
        """
        self._apart.record_unparsed_text(kind, text)
        return 0

    def ping(self) -> list[bytes]:
        """Return a frame without content, in the form that the client accepts (`alive` in the
        context). Return none for a whole reply, or if that form is `none`.
        """
        if self._whole or self._context.alive == NONE:
            return []
        if self._context.alive == COMMENT:
            return [PING]
        of = self._context
        head = {"id": of.id, "object": _CHUNK, "created": of.created_at, "model": of.model}
        choice = {"index": 0, "delta": {}, "finish_reason": None}
        return [_frame_of({**head, **self._head, "choices": [choice]})]

    def close(self) -> list[bytes]:
        """Return the body of a whole reply: an error that the encoder has written; or the server's
        own bytes, if nothing was changed or nothing could be read; else the joined frames. Return
        nothing for a stream: an end that the server left out (`[DONE]`, a finish) is not added.
        """
        if self._error:
            return [json_text.write(self._error)]
        if not (self._body or self._choices):
            return self._raw
        kind = {"object": _WHOLE} if self._body.get("object") == _CHUNK else {}
        streamed = bool(kind) or self.foreign
        choices = [
            {"message": _join_message(inner, streamed)}
            | {name: _join_values(pieces, dict) for name, pieces in beside.items()}
            for _, (inner, beside) in sorted(self._choices.items())
        ]
        return [json_text.write(self._body | kind | {"choices": choices})]

    def _add_to_whole_reply(self, body: dict[str, object]) -> None:
        """Add the JSON of a frame to the whole reply: each value of its choices becomes one of the
        pieces that `close` joins.
        """
        choices = body.pop("choices")
        self._body |= body
        for choice in choices if isinstance(choices, list) else []:
            inner, beside = self._choices.setdefault(choice["index"], ({}, {}))
            for name, value in choice.pop("delta").items():
                inner.setdefault(name, []).append(value)
            for name, value in choice.items():
                beside.setdefault(name, []).append(value)

    def frames(
        self, events: Sequence[Event], raw: bytes | None
    ) -> Iterator[dict[str, object] | bytes]:
        """Yield the frames for these events, each as JSON, or as the server's bytes if it goes on
        as it came. The frame of a failure is the body of an error, without `choices`. `raw`: the
        server's frame, if it holds exactly these events in this dialect; else None.
        """
        thoughts = [event for event in events if isinstance(event, Thinking)]
        raw = None if self._apart.separates_next_text else raw
        events = [*map(self._apart.feed, events)]
        if raw is not None and all(
            self._as_fields(each) == own_fields(each.own, NAME) for each in thoughts
        ):
            for event in events:
                self._record_boundary(event)
            # The server's frame, which is sent as it came, has the head's fields.
            self._has_unsent_fields = False
            yield raw
            return
        frame = _OpenFrame()
        for event in [own for each in events for own in self._expand(each)]:
            self._record_boundary(event)
            if isinstance(event, (Start, ThinkingEnd, DialectBlock, MappedField)):
                pass  # It gets no frame of its own: it changes later ones, or is left out.
            elif isinstance(event, (OpaqueFrame, End, Failure)):
                yield from self._write_frame(frame)
                frame = _OpenFrame()
                yield self._unshared_frame(event)
            else:
                if not frame.takes(event):
                    yield from self._write_frame(frame)
                    frame = _OpenFrame()
                self._add_event(frame, event)
        yield from self._write_frame(frame)

    def _expand(self, event: Event) -> list[Event]:
        """Return the event, with an event that this dialect adds if its own server sent none: the
        first delta behind a `Start`, the stop string before a `Finish`. Return an empty list for
        data of another dialect: its `Opaque`s, and its `OpaqueFrame`s that are no comments.
        """
        match event:
            case Start() if own_fields(event.own, NAME) is None:
                first = [] if self.foreign else [Opaque(NAME, _FIRST_DELTA, {})]
                self.foreign = True
                return [event, *first]
            case Finish(stop_sequence=str(stop), server_word=word) if stop and (
                # If a server of this dialect sent the finish, an `Opaque` has its stop string.
                self.foreign or not word
            ):
                return [Opaque(NAME, {}, {"stop_reason": stop}, event.choice), event]
            case Opaque() if event.dialect != NAME:
                return []
            case DialectBlock():
                self._left_out += event.event.get("type") == "content_block_start"
            case OpaqueFrame() if event.own.dialect != NAME and not event.own.raw.startswith(b":"):
                self._left_out += not event.comment and bool(event.own.raw.strip())
                return []
        return [event]

    def _unshared_frame(self, event: OpaqueFrame | End | Failure) -> dict[str, object] | bytes:
        """Return the frame for an event that shares its frame with no other event; empty bytes for
        the end of a whole reply.
        """
        if isinstance(event, OpaqueFrame):
            return event.own.raw
        if event.own and event.own.dialect == NAME and event.own.raw:
            return event.own.raw
        if isinstance(event, Failure):
            return error_body(event.message, event.kind, event.status)
        return b"" if self._whole else write_frame(b"[DONE]")

    def _record_boundary(self, event: Event) -> None:
        """Record the head of the next frames if the event is a `Start`, or the end of a thought if
        it is a `ThinkingEnd`.
        """
        if isinstance(event, ThinkingEnd):
            self._after_thought.add(event.choice)
        elif isinstance(event, Start):
            foreign = {"id": event.id, "object": self._kind, "created": 0, "model": event.model}
            head = own_fields(event.own, NAME)
            head = foreign if head is None else head
            own = _own_head_fields(head)
            self._has_unsent_fields = bool(own) and own != _own_head_fields(self._head)
            self._head = head

    def _write_frame(self, frame: _OpenFrame) -> Iterator[dict[str, object]]:
        """Yield the JSON of a frame; nothing for an empty frame, unless the head has fields of the
        server's own that were not sent yet.
        """
        inner, outer = frame.inner, frame.outer
        values = [*inner.values(), *outer.values(), frame.calls, frame.finish, frame.usage]
        if not (self._has_unsent_fields or any(map(has_value, values))):
            return
        self._has_unsent_fields = False
        delta = inner | {"tool_calls": frame.calls} if frame.calls else inner
        choice = {"index": frame.choice, "delta": delta, **outer, "finish_reason": frame.finish}
        body = {**self._head, "choices": [] if frame.choice is None else [choice]}
        if frame.usage is not None:
            body["usage"] = frame.usage
        # The server sent a whole reply, but the client gets frames: they need their own `object`.
        if not self._whole and body.get("object") == _WHOLE:
            body["object"] = self._kind
        yield body

    def _add_event(self, frame: _OpenFrame, event: _FrameEvent) -> None:
        """Add an event to a frame that has room for it (`_OpenFrame.takes`); nothing for a text
        with `own`, because an `Opaque` has the list from which it was copied.
        """
        frame.last_order = _ORDER[type(event)]
        if isinstance(event, Usage):
            own = own_fields(event.own, NAME)
            frame.usage = _usage_json(event) if own is None else own
            return
        frame.choice = event.choice
        match event:
            case Opaque():
                frame.inner, frame.outer = dict(event.inner), dict(event.outer)
            case Thinking():
                fields = self._as_fields(event)
                frame.inner |= fields
                self._after_thought.discard(event.choice)
                sent = own_fields(event.own, NAME) or fields
                self._added[event.choice] |= fields.keys() - sent.keys()
            case Text(own=None):
                frame.inner |= {"refusal" if event.refusal else "content": event.text}
            case ToolCall():
                # For a call from another dialect, or from text, there is no entry of `tool_calls`
                # from the server: `foreign`, an entry with the usual fields, takes its place.
                named = {"type": "function"} if event.id else {}
                foreign = {"index": event.index, **named, "function": {"arguments": ""}}
                own = own_fields(event.own, NAME) or {"tool_calls": foreign}
                name, entry = next(iter(own.items()))
                if name != "tool_calls":
                    frame.inner[name] = _function_fields(entry, event)
                # The last piece of a call with free text may be empty: then no entry is written.
                elif not event.free_text or event.name or event.id or text_of(event):
                    own_entry = self._call_entry(entry, event)
                    frame.calls.append((event.index, own_entry) if self._whole else own_entry)
            case Finish():
                # A server of this dialect keeps its own word, unless a stage changed the reason.
                word = "" if self.foreign else event.server_word
                frame.finish = word if meaning_of(word) == event.reason else event.reason

    def _call_entry(self, entry: object, event: ToolCall) -> dict[str, object]:
        """Return the entry of `tool_calls` for a piece of a call. Fields in `_ENTRY_FIELDS` are
        written from the event; all other fields are those of the server's `entry`. In a stream the
        returned entry has the call's index; in a whole body only if the server sent one.
        """
        fields = as_object(entry)
        kind = "custom" if event.free_text else "function"
        number = {"index": event.index} if "index" in fields or not self._whole else {}
        named: dict[str, object] = {"id": event.id} if event.id else {}
        if named and "index" not in fields and not self._whole:
            # A server that leaves out `index` leaves out `type`, too: so `type` is added.
            named["type"] = kind
        kept = {name: value for name, value in fields.items() if name not in _ENTRY_FIELDS}
        return {**number, **named, **kept, kind: _function_fields(fields.get(kind), event)}

    def _as_fields(self, event: Thinking) -> dict[str, object]:
        """Return the reasoning fields for a thought.

        - A thought from tags or from another dialect is written under the client's field names,
          with a blank line before it if it follows another thought.
        - A thought from the server's reasoning fields keeps them, and the client's missing names
          are added.

        Later the server itself may send a field whose name was added here, and may repeat in it
        what the client has got. Then only the new text is written.
        """
        names = own_fields(event.own, NAME)
        if names is None:
            joint = JOINT if event.choice in self._after_thought else ""
            return dict.fromkeys(self._context.fields, joint + event.text)
        added = self._added[event.choice]
        sent = {
            name: event.text if name in added and isinstance(value, str) else value
            for name, value in names.items()
        }
        missing = [name for name in self._context.fields if event.text and name not in names]
        return sent | dict.fromkeys(missing, event.text)


def _frame_of(body: dict[str, object]) -> bytes:
    """Return a server-sent event with this JSON as its data."""
    return write_frame(json_text.write(body))


def _usage_json(usage: Usage) -> dict[str, object]:
    """Return the object `usage` for counts without a `usage` of the server's: from another dialect,
    or estimated. Details that nobody counted are left out.
    """
    details = {
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking},
    }
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        **{name: counts for name, counts in details.items() if None not in counts.values()},
    }


def _function_fields(function: object, event: ToolCall) -> dict[str, object]:
    """Return the `function` (or `custom`) object of an entry: the server's own fields, and the name
    and arguments (or free text) of the event. Only a call's first piece has the name.
    """
    fields, names = as_object(function), ("name", CUSTOM_INPUT) if event.free_text else _CALL_FIELDS
    others = {name: value for name, value in fields.items() if name not in names}
    name: dict[str, object] = {"name": event.name} if event.name else {}
    if event.free_text:
        return {**name, **others, CUSTOM_INPUT: text_of(event)}
    has_arguments = event.arguments or "arguments" in fields
    return {**name, **others, **({"arguments": event.arguments} if has_arguments else {})}


type _Pieces = dict[str, list[Any]]
"""The values of each field, in the order of their frames."""


def _join_message(fields: _Pieces, streamed: bool) -> dict[str, object]:
    """Return the message of a whole reply. `fields`: field -> its values in all frames. `streamed`:
    True if the server sent a stream or another dialect: then calls have an `index` to remove.
    """
    return {
        name: _join_calls(lists, streamed)
        if name == "tool_calls" and (lists := [each for each in pieces if isinstance(each, list)])
        else _join_values(pieces, list if name == "role" else str)
        for name, pieces in fields.items()
    }


def _join_values(pieces: list[Any], kind: type) -> Any:
    """Return a field's value in the whole reply, joined from `pieces`, its values in all frames.

    The last value decides. If it is a list, all lists are joined. If it has the type `kind`, all
    values of this type are joined: strings, or objects field by field. Else it alone is returned.
    Null does not count, because SGLang sends it in each frame.
    """
    values = [value for value in pieces if value is not None]
    last: Any = values[-1] if values else None
    alike: list[Any] = [value for value in values if type(value) is type(last)]
    if isinstance(last, list):
        return list(chain.from_iterable(alike))
    if type(last) is not kind:
        return last
    if kind is str:
        return "".join(alike)
    # The values are objects, such as `logprobs`: each of their fields is joined.
    names = dict.fromkeys(chain.from_iterable(alike))
    return {name: _join_values([value.get(name) for value in alike], list) for name in names}


def _join_calls(
    lists: Sequence[Sequence[tuple[int, dict[str, object]]]], streamed: bool
) -> list[dict[str, object]]:
    """Return the whole calls. Each call is joined from the pieces that have its index. `lists`: for
    each frame its pieces of calls, each with the index of its call. `streamed`: as for
    `_join_message`.
    """
    calls: dict[int, list[dict[str, object]]] = {}
    for number, entry in chain.from_iterable(lists):
        calls.setdefault(number, []).append(entry)
    return [_join_pieces(pieces, streamed) for pieces in calls.values()]


def _join_pieces(pieces: list[dict[str, object]], streamed: bool) -> dict[str, object]:
    """Return a call: the first of its pieces, with the arguments or the free text of all pieces. If
    it was `streamed`, its `index` is left out, because the calls of a whole reply have none.
    """
    call = pieces[0]
    for kind, name in (("function", "arguments"), ("custom", CUSTOM_INPUT)):
        functions = [as_object(piece.get(kind)) for piece in pieces]
        if texts := [text for each in functions if isinstance(text := each.get(name), str)]:
            call = call | {kind: functions[0] | {name: "".join(texts)}}
    return {name: value for name, value in call.items() if name != "index" or not streamed}
