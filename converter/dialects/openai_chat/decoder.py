"""Replies of chat completions, read: frames of a stream, or one whole body, to events.

A frame's fields become events or ride in `Opaque` and `own`, so that a frame written anew
holds all that the server sent.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from converter.dialects.error_words import MisshapenError, ServerError, server_error, unreadable
from converter.dialects.openai_chat.frame_fields import (
    NAME,
    SAME_IN_EVERY_FRAME,
    choice_index,
    object_of,
    string_of,
    tool_calls,
    usage_of,
)
from converter.dialects.reasoning_fields import (
    REASONING_FIELDS,
    THINKING,
    Mapped,
    ReasoningMerger,
    is_said,
    words_of,
)
from converter.model.events import (
    End,
    Event,
    Failure,
    Finish,
    MappedField,
    Opaque,
    OpaqueFrame,
    Own,
    Start,
    Text,
    Thinking,
)
from converter.wire import json_text
from converter.wire.sse import Frame

STOP_STRING_FIELDS = ("stop_reason", "matched_stop")
"""Where vLLM and SGLang tell which stop string ended the choice (also token ids, which are
numbers).
"""
_IN_PARTS = Own(NAME)
"""Of a content of parts: the list itself rides in `Opaque`."""
NOTHING_MAPPED: Mapping[str, Mapped] = {}
_DONE = b"[DONE]"


class _UnknownError(Exception):
    """A frame of JSON that is no chat completion."""


class OpenAIDecoder:
    """Frames in, events out. A frame that is not of the dialect's shape is one `OpaqueFrame`;
    nothing is raised.

    `mapped`: fields that are thinking, or a block of the user's, beside those that are thinking
    anyway.
    """

    def __init__(self, mapped: Mapping[str, Mapped] = NOTHING_MAPPED) -> None:
        self._head: Mapping[str, object] | None = None
        rows = {**REASONING_FIELDS, **mapped}
        self._thinking = [name for name, row in rows.items() if row == THINKING]
        self._blocks = {name: row for name, row in rows.items() if row != THINKING}
        self._mergers: defaultdict[int, ReasoningMerger] = defaultdict(ReasoningMerger)

    def feed(self, frame: Frame) -> list[Event]:
        """Return the frame's events; a whole body is a frame whose choices hold a `message`."""
        data = (frame.data or b"").strip()
        if not data:
            return [OpaqueFrame(_frame(frame), frame.comment, lost=frame.oversized)]
        if data == _DONE:
            return [End(_frame(frame))]
        try:
            return self._read(json_text.read_strictly(data), frame)
        except json_text.UnreadableError:
            return unreadable(frame, NAME)
        except (MisshapenError, _UnknownError) as error:
            return [OpaqueFrame(_frame(frame), lost=isinstance(error, MisshapenError))]

    def repeat(self, event: Text | Thinking) -> bool:
        """Take note of words in frames like the last one; return whether they would have been read
        as this event: thinking only while it has come under one name.
        """
        if isinstance(event, Text) or not event.own:
            return True
        merger = self._mergers[event.choice]
        names = list(event.own.fields)
        return merger.names == names and merger.feed(names[0], event.text) == event.text

    def _read(self, value: object, frame: Frame) -> list[Event]:
        error = server_error(value, frame.event)
        return [_failure(error, value, frame)] if error else self._body(object_of(value))

    def _body(self, body: dict[str, object]) -> list[Event]:
        usage = body.get("usage")
        choices = body.get("choices")
        if choices is None and isinstance(usage, dict):
            choices = []
        if not isinstance(choices, list):
            raise MisshapenError if choices else _UnknownError
        whole = any(isinstance(choice, dict) and choice.get("message") for choice in choices)
        if whole and len(choices) > 1:
            choices = _told_apart(choices)
        head = {name: value for name, value in body.items() if name not in ("choices", "usage")}
        beside = isinstance(usage, dict) or not head.keys() <= SAME_IN_EVERY_FRAME
        events = [
            event
            for position, choice in enumerate(choices)
            for event in self._choice(object_of(choice), position, beside)
        ]
        out: list[Event] = []
        if head != self._head:
            self._head = head
            own = Own(NAME, head)
            out.append(Start(string_of(head.get("id")), string_of(head.get("model")), own))
        out += events
        if isinstance(usage, dict):
            out.append(usage_of(usage))
        return [*out, End()] if whole else out

    def _choice(self, choice: dict[str, object], position: int, beside: bool) -> Iterator[Event]:
        """`beside`: the frame says something next to its choices, which then has to find its place
        though their text be held.
        """
        index = choice_index(choice, position)
        key = "message" if choice.get("message") else "delta"
        inner = dict(object_of(choice.get(key)))
        outer = {
            name: value
            for name, value in choice.items()
            if name not in ("index", "message", "delta", "finish_reason")
        }
        thoughts = self._thoughts(inner, index)
        answer = [*self._text(inner, index), *tool_calls(inner, index)]
        blocks = {name: row for name, row in self._blocks.items() if is_said(inner.get(name))}
        if key == "message" and (thoughts or answer) and "content" not in inner:
            inner["content"] = ""
        if inner or outer or beside:
            yield Opaque(NAME, inner, outer, index, (*blocks, *_told_parts(inner)))
        yield from thoughts
        yield from (
            MappedField(row.block, row.key, inner[name], index) for name, row in blocks.items()
        )
        yield from answer
        if reason := choice.get("finish_reason"):
            stops = [outer[name] for name in STOP_STRING_FIELDS if isinstance(outer.get(name), str)]
            yield Finish(string_of(reason), string_of(stops[0]) if stops else None, index)

    def _thoughts(self, inner: dict[str, object], index: int) -> list[Event]:
        """Take the reasoning fields out. A repeat of another name's words goes along with
        them.
        """
        thoughts: list[tuple[str, dict[str, object]]] = []
        for name in [name for name in self._thinking if name in inner]:
            if isinstance(inner[name], (bool, int, float)) and name in REASONING_FIELDS:
                raise MisshapenError
            if not (words := words_of(inner[name])):
                continue
            new = self._mergers[index].feed(name, words)
            sent = {name: inner.pop(name)}
            if thoughts and not (thoughts[-1][0] and new):
                new, sent = thoughts[-1][0] + new, thoughts.pop()[1] | sent
            thoughts.append((new, sent))
        return [Thinking(text, index, Own(NAME, sent)) for text, sent in thoughts]

    def _text(self, inner: dict[str, object], index: int) -> list[Event]:
        content = inner.get("content")
        if isinstance(content, list) and _has_more_than_text(content):
            return self._parts(content, index)
        events: list[Event] = []
        for name, text in (("content", content), ("refusal", inner.get("refusal"))):
            if text is None or text == "":
                continue
            if not isinstance(text, str):
                raise MisshapenError
            del inner[name]
            events.append(Text(text, index, name == "refusal"))
        return events

    def _parts(self, content: list[object], index: int) -> list[Event]:
        """Read a content of parts, as Mistral's API sends it; the list itself stays where it is."""
        events: list[Event] = []
        for part in map(object_of, content):
            kind = part.get("type")
            if kind == "text":
                events.append(Text(string_of(part.get("text")), index, own=_IN_PARTS))
            elif kind == "thinking" and (
                new := self._mergers[index].feed("content[]", words_of([part]))
            ):
                events.append(Thinking(new, index, _IN_PARTS))
        return events


def _told_apart(choices: list[object]) -> list[object]:
    """Return a whole reply's choices by their places where two have one index: a message is whole,
    so that the second is another.
    """
    known = [object_of(choice) for choice in choices]
    indices = {choice_index(choice, place) for place, choice in enumerate(known)}
    if len(indices) == len(known):
        return choices
    return [{**choice, "index": place} for place, choice in enumerate(known)]


def _failure(error: ServerError, value: object, frame: Frame) -> Failure:
    """Return the error's event; one in OpenAI's own shape may go on as it came."""
    inner = value.get("error") if isinstance(value, dict) else None
    as_usual = isinstance(inner, dict) and inner.get("message") == error.message
    own = _frame(frame) if as_usual and not frame.raw.startswith(b"error") else None
    return Failure(error.message, error.kind, error.status, own)


def _frame(frame: Frame) -> Own:
    return Own(NAME, raw=frame.raw)


def _told_parts(inner: Mapping[str, object]) -> list[str]:
    """Name the content, when all its parts are told."""
    parts = inner.get("content")
    are_objects = isinstance(parts, list) and all(
        isinstance(part, dict) and part.get("type") in ("text", "thinking") for part in parts
    )
    return ["content"] if are_objects else []


def _has_more_than_text(content: list[object]) -> bool:
    """Tell whether a content is in parts as Mistral's API has them, and some are no text."""
    return any(object_of(part).get("type", "text") != "text" for part in content)
