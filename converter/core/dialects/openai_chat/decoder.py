"""`OpenAIDecoder` turns the frames of chat completions, or one whole body, into events. `mend`
corrects small faults in a frame that the decoder could not read.

A field that no event has is kept in an `Opaque`, or in the `own` of an event, so that an encoder of
this dialect can write all that the server sent. `reasoning_fields` reads the fields with thinking.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from converter.core.calls.arguments import ARGUMENT_KEYS, arguments_of
from converter.core.dialects.error_words import (
    DialectDecoder,
    MisshapenError,
    as_count,
    as_index,
    id_of,
    object_of,
    string_of,
)
from converter.core.dialects.finish_words import meaning_of
from converter.core.dialects.reasoning_fields import (
    REASONING_FIELDS,
    THINKING,
    ReasoningMerger,
    has_value,
    thinking_in,
)
from converter.core.dialects.wire_form import NO_FIELDS, Mapped
from converter.core.model.events import (
    NO_INDEX,
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
    TextEvent,
    Thinking,
    ToolCall,
    Usage,
)
from converter.core.wire.bounds import MOST_CHOICES
from converter.core.wire.json_text import as_object, objects
from converter.core.wire.sse import Frame

NAME = "openai"
"""Name of the dialect. Events have it in their `own`, with data that only its encoder can write."""
SAME_IN_EVERY_FRAME = {"id", "object", "created", "model", "system_fingerprint", "service_tier"}
"""The usual fields beside `choices` and `usage`. Each has one value in all frames. Any other field
beside `choices` and `usage` is the server's own.
"""


def tool_calls(inner: dict[str, object], index: int, *, whole: bool = False) -> list[ToolCall]:
    """Remove the calls from a choice's message or delta, and return them: of `tool_calls` the calls
    or pieces of calls, of a `function_call` without `tool_calls` this one call.

    A `function_call` beside `tool_calls` is dropped: it repeats the call for clients from before
    2024. Raises MisshapenError for `tool_calls` that break the format.

    Arguments:
        inner: the message or delta.
        index: the index of the choice.
        whole: True for a message, in which each call is whole.
    """
    entries, legacy = inner.get("tool_calls"), inner.get("function_call")
    if is_twin := isinstance(legacy, dict):
        del inner["function_call"]
    if is_twin and not entries:
        own = Own(NAME, {"function_call": legacy})
        piece = _tool_call({"index": 0, "function": legacy}, 0, index, whole=whole)
        return [replace(piece, own=own)]
    if not entries:
        return []
    if not isinstance(entries, list):
        raise MisshapenError
    del inner["tool_calls"]
    alone = len(entries) == 1 and not whole
    pieces = [
        _tool_call(object_of(entry), NO_INDEX if alone else position, index, whole=whole)
        for position, entry in enumerate(entries)
    ]
    return [replace(piece, misshapen=True) for piece in pieces] if is_twin else pieces


def _tool_call(entry: dict[str, object], position: int, choice: int, *, whole: bool) -> ToolCall:
    """Return a piece of a call, from an entry of `tool_calls`. Raises MisshapenError for an entry
    that breaks the format.

    Arguments:
        position: the call's index if its entry has no field `index`. In a whole reply it is the
            index even if the entry has one, because there each entry is another call.
        choice: the index of the choice.
        whole: True for an entry of a whole reply.
    """
    custom = entry.get("custom")
    free_text = isinstance(custom, dict)
    function = object_of((custom if free_text else entry.get("function")) or {})
    arguments, in_shape = arguments_of(function)
    in_shape = in_shape or free_text
    index = entry.get("index")
    if type(index) is not int and index is not None and not whole:
        raise MisshapenError
    in_order = index in (None, position) if whole else index is not None
    number = index if isinstance(index, int) and not whole else position
    entry_id = entry.get("id")
    return ToolCall(
        number,
        id_of(entry_id),
        string_of(function.get("name")),
        arguments,
        choice,
        Own(NAME, {"tool_calls": entry}),
        ends=whole,
        misshapen=not (in_shape and in_order) or type(entry_id) is int,
        free_text=free_text,
        is_value=not in_shape and any(isinstance(function.get(key), dict) for key in ARGUMENT_KEYS),
    )


def usage_of(entry: dict[str, object]) -> Usage:
    """Return the counts of a reply, from the object `usage`."""
    details = entry.get("completion_tokens_details")
    prompt, counted = entry.get("prompt_tokens_details"), as_count(entry, "prompt_tokens") or 0
    cached = as_count(prompt, "cached_tokens")
    # If more tokens are cached than the prompt has, the server does not count the cached ones as
    # tokens of the prompt.
    apart = cached if cached and cached > counted else 0
    return Usage(
        counted + apart,
        as_count(entry, "completion_tokens") or 0,
        cached=cached,
        created=as_count(prompt, "created_cache_tokens"),  # a field of vLLM 0.32
        thinking=as_count(details, "reasoning_tokens") or as_count(entry, "reasoning_tokens"),
        own=Own(NAME, entry),
    )


def _mended_usage(body: Mapping[str, object]) -> dict[str, object]:
    """Return a body's `usage` with the count of the prompt's tokens from `timings`, if the count in
    `usage` is 0, as some versions of llama.cpp write it (a report of 2026). Return an empty object
    if the count is not 0, or if `timings` lacks it.
    """
    usage, timings = as_object(body.get("usage")), body.get("timings")
    prompt = (as_count(timings, "prompt_n") or 0) + (as_count(timings, "cache_n") or 0)
    if usage.get("prompt_tokens") != 0 or not prompt:
        return {}
    total = prompt + (as_count(usage, "completion_tokens") or 0)
    return {**usage, "prompt_tokens": prompt, "total_tokens": total}


def choice_index(choice: dict[str, object], position: int) -> int:
    """Return the index of a choice. In a whole reply it is the choice's `position` in the list,
    because servers may repeat an index. Raises MisshapenError for an index that is no whole number
    from 0 to below `MOST_CHOICES`, and, in a stream, for a choice without an index.
    """
    index, whole = choice.get("index"), bool(choice.get("message"))
    if index is None and whole:
        return position
    if type(index) is not int or not 0 <= index < MOST_CHOICES:
        raise MisshapenError
    return position if whole else index


STOP_STRING_FIELDS = ("stop_reason", "matched_stop")
"""Fields in which vLLM and SGLang send the stop string that ended the choice. The value may also be
the number of a token.
"""
_KEPT_IN_LIST = Own(NAME)
"""The `own` of the events for a list of parts, if an `Opaque` holds the whole list. An encoder of
this dialect leaves out texts with this `own`, because it writes the list; other encoders write
them.
"""


class OpenAIDecoder(DialectDecoder):
    """Takes frames and returns events; a whole body is a frame whose choices have a `message`.

    `mapped`: the user's field map (`think_map`): a server's own field -> the block that it becomes.
    """

    name = NAME
    """Name of the dialect, in the `own` of its events."""

    def __init__(self, mapped: Mapping[str, Mapped] = NO_FIELDS) -> None:
        self._head: Mapping[str, object] | None = None
        rows = {**REASONING_FIELDS, **mapped}
        self._thinking = [name for name, row in rows.items() if row == THINKING]
        self._blocks = {name: row for name, row in rows.items() if row != THINKING}
        self._mergers: defaultdict[int, ReasoningMerger] = defaultdict(ReasoningMerger)

    def _events_of_done(self, frame: Frame) -> list[Event]:
        """Return the `End` for a frame `[DONE]`."""
        return [End(self._own(frame))]

    def record_unparsed(self, event: TextEvent) -> bool:
        """Record text of frames that the fast path rewrote without parsing them, so that the
        decoder did not get them. `event`: the event of the last frame that the decoder got, with
        the text of the frames that followed. Return True if the decoder would have returned the
        same event. Return False if not, because the thought has come under other field names, too,
        or because some of the text repeats earlier text.
        """
        if not (isinstance(event, Thinking) and event.own):
            return True
        merger = self._mergers[event.choice]
        names = list(event.own.fields)
        return merger.names == names and merger.feed(names[0], event.text) == event.text

    def _failure(self, error: Failure, parsed: object, frame: Frame) -> Failure:
        """Return the event for an error in a frame. An error in OpenAI's own format, in a `data:`
        line or a whole body, keeps the frame in `own`, so that the encoder can send it as it came.
        `parsed`: the frame's JSON.
        """
        as_usual = as_object(as_object(parsed).get("error")).get("message") == error.message
        own = self._own(frame) if as_usual and not frame.raw.startswith(b"error") else None
        return replace(error, own=own)

    def _read(self, parsed: object, frame: Frame) -> list[Event]:
        """Return the events for the JSON of a frame or of a whole body. Raises MisshapenError if
        its shape would make clients fail, or if its counts are to be mended (`_mended_usage`).
        """
        body = object_of(parsed)
        usage = body.get("usage")
        if _mended_usage(body):
            raise MisshapenError
        choices = body.get("choices")
        if choices is None and isinstance(usage, dict):
            choices = []
        if not isinstance(choices, list):
            if choices:
                raise MisshapenError
            return [OpaqueFrame(self._own(frame))]  # without `choices` it is no chat completion
        whole = any(isinstance(choice, dict) and choice.get("message") for choice in choices)
        head = {name: value for name, value in body.items() if name not in ("choices", "usage")}
        beside = isinstance(usage, dict) or not head.keys() <= SAME_IN_EVERY_FRAME
        events = [
            event
            for position, choice in enumerate(choices)
            for event in self._read_choice(object_of(choice), position, beside)
        ]
        if head != self._head:
            self._head = head
            names = string_of(head.get("id")), string_of(head.get("model"))
            events.insert(0, Start(*names, Own(NAME, head)))
        if isinstance(usage, dict):
            events.append(usage_of(usage))
        # A whole reply was cut if a choice has the `finish_reason` null: Ollama 0.5.4 sends this in
        # JSON mode if the model repeats itself. A choice without the field has ended.
        if whole and all(as_object(each).get("finish_reason", "") is not None for each in choices):
            events.append(End())
        return events

    def _read_choice(self, choice: dict[str, object], position: int, more: bool) -> Iterator[Event]:
        """Yield the events of a choice.

        Arguments:
            position: the choice's position in the frame's list of choices.
            more: True if the frame has counts, or fields of the server's own, beside its choices.
                Then the choice gets an `Opaque`, even an empty one. It keeps the place of these
                fields in the stream while a stage holds the text before them.
        """
        index = choice_index(choice, position)
        key = "message" if choice.get("message") else "delta"
        inner = dict(object_of(choice.get(key)))
        outer = {
            name: value
            for name, value in choice.items()
            if name not in ("index", "message", "delta", "finish_reason")
        }
        # Calls and text are read before the thoughts, because their readers may raise. Then the
        # frame is mended and read again. If the thoughts had been read before, the merger would get
        # a signed thought twice, and drop it.
        pieces = tool_calls(inner, index, whole=key == "message")
        answer = [*self._read_text(inner, index), *pieces]
        thoughts = self._read_thoughts(inner, index)
        blocks = {name: row for name, row in self._blocks.items() if has_value(inner.get(name))}
        if key == "message" and (thoughts or answer) and "content" not in inner:
            inner["content"] = ""
        if inner or outer or more:
            yield Opaque(NAME, inner, outer, index, tuple(blocks))
        yield from thoughts
        for name, row in blocks.items():
            yield MappedField(row.block, row.key, inner[name], index)
        for event in answer:
            if not isinstance(event, Thinking):
                yield event
            elif new := self._mergers[index].feed("content[]", event.text):
                yield replace(event, text=new)
        reason = choice.get("finish_reason")
        word = string_of(reason).strip()
        if word or (reason is not None and not isinstance(reason, str)):
            stops = [outer[name] for name in STOP_STRING_FIELDS if isinstance(outer.get(name), str)]
            # Some servers send a number in place of a word. Any value but a text counts as `stop`.
            meaning = meaning_of(word or "stop")
            yield Finish(meaning, string_of(stops[0]) if stops else None, index, server_word=word)

    def _read_thoughts(self, inner: dict[str, object], index: int) -> list[Event]:
        """Remove the reasoning fields with text from `inner`, a delta or message, and return the
        thoughts in them. A field that repeats the text of another field makes no second thought.
        `index`: the index of the choice. Raises MisshapenError for a number in such a field.
        """
        thoughts: list[tuple[str, dict[str, object]]] = []
        for name in [name for name in self._thinking if name in inner]:
            if isinstance(inner[name], (bool, int, float)) and name in REASONING_FIELDS:
                raise MisshapenError
            if not (thinking := thinking_in(inner[name])):
                continue
            # LiteLLM sends the whole text of a thought a second time, together with its signature.
            may_repeat = any(block.get("signature") for block in objects(inner[name]))
            new = self._mergers[index].feed(name, thinking, may_repeat=may_repeat)
            sent = {name: inner.pop(name)}
            if thoughts and not (thoughts[-1][0] and new):
                new, sent = thoughts[-1][0] + new, thoughts.pop()[1] | sent
            thoughts.append((new, sent))
        return [Thinking(text, index, Own(NAME, sent)) for text, sent in thoughts]

    def _read_text(self, inner: dict[str, object], index: int) -> list[Event]:
        """Remove the answer's text and a refusal from `inner`, a delta or message, and return their
        events. What stays in `inner` becomes an `Opaque`. `index`: the index of the choice. Raises
        MisshapenError for a list of texts only, which `mend` joins, and for a text of another type.
        """
        content = inner.get("content")
        if isinstance(content, list) and any(
            object_of(part).get("type", "text") != "text" for part in content
        ):
            return self._read_parts(content, inner, index)
        events: list[Event] = []
        for name, text in (("content", content), ("refusal", inner.get("refusal"))):
            if isinstance(text, str) and text:
                del inner[name]
                events.append(Text(text, index, name == "refusal"))
            elif text not in (None, ""):
                raise MisshapenError
        return events

    def _read_parts(self, parts: list[object], inner: dict[str, object], index: int) -> list[Event]:
        """Return the events of a content that is a list of parts, as Mistral's API sends it. If the
        list has parts of other types than text and thinking, it stays in `inner`: an encoder of
        this dialect writes this list, and leaves out the events of its texts. Otherwise the list is
        removed from `inner`.
        """
        events: list[Event] = []
        kinds = {part.get("type") for part in map(object_of, parts)}
        own = None if kinds <= {"text", "thinking"} else _KEPT_IN_LIST
        if own is None:
            del inner["content"]
        for part in map(object_of, parts):
            kind = part.get("type")
            if kind == "text":
                events.append(Text(string_of(part.get("text")), index, own=own))
            elif kind == "thinking":
                events.append(Thinking(thinking_in([part]), index, own))
        return events


# The decoder raises MisshapenError for a frame with a fault. If the fault is small and its meaning
# is clear, the functions below mend the frame, and it is read again: so a fault in one field does
# not cost the whole frame. Such faults are an index that is a text, or a choice that is null.


def mend(value: object) -> object:
    """Return the JSON of a frame or reply with small faults mended: `"index": "0"` -> 0. JSON
    without such a fault, and JSON that is no chat completion, is returned with the same values.
    """
    if not isinstance(value, dict):
        return value
    if counts := _mended_usage(value):
        value = {**value, "usage": counts}
    choices = value.get("choices")
    if isinstance(choices, str):
        return {**value, "choices": []}
    if isinstance(choices, dict):
        choices = [choices] if choices else []
    if not isinstance(choices, list):
        return value
    whole = [choice for choice in choices if choice is not None]
    return {
        **value,
        "choices": [_mend_choice(choice, position) for position, choice in enumerate(whole)],
    }


def _mend_choice(choice: object, position: int) -> object:
    """Return a choice with small faults mended: in its index, its message or delta, its texts and
    reasoning fields, and in the list and the indexes of its calls. `position`: the choice's
    position in the frame's list of choices, which is its index if it has none.
    """
    if not isinstance(choice, dict):
        return choice
    key = "message" if choice.get("message") else "delta"
    inner = choice.get(key)
    inner = {"content": inner} if isinstance(inner, (str, list)) else inner or {}
    mended = {**choice, "index": as_index(choice.get("index"), position), key: inner}
    if not isinstance(inner, dict):
        return mended
    fields = {
        name: value
        for name, value in inner.items()
        # A reasoning field with a number is removed, because a number is no thought.
        if not (name in REASONING_FIELDS and isinstance(value, (bool, int, float)))
    }
    for name in ("content", "refusal"):
        if name in fields:
            fields[name] = _as_strings(fields[name])
    if calls := fields.get("tool_calls"):
        entries = calls if isinstance(calls, list) else [calls]
        fields["tool_calls"] = [
            {**entry, "index": as_index(entry["index"], at)}
            if isinstance(entry, dict) and "index" in entry
            else entry
            for at, entry in enumerate(entries)
        ]
    return {**mended, key: fields}


def _as_strings(content: object) -> object:
    """Return a content as one string if it is a list of texts only; else return it as it is."""
    parts = content if isinstance(content, list) else [content]
    values = (
        part.get("text") if isinstance(part, dict) and part.get("type", "text") == "text" else part
        for part in parts
    )
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if len(texts) == len(parts) else content
