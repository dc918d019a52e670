"""Decoder of chat completions: the frames of a stream, or one whole body.

A field that no event has is kept in an `Opaque`, or in the `own` of an event, so that an encoder of
this dialect can write all that the server sent.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
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
from converter.core.wire.json_text import as_object
from converter.core.wire.sse import Frame

NAME = "openai"
"""Name of the dialect, in the `Own` data of its events."""
SAME_IN_EVERY_FRAME = {"id", "object", "created", "model", "system_fingerprint", "service_tier"}
"""The usual fields beside `choices`, which have one value in all frames. Any other field beside
`choices` is the server's own.
"""


def tool_calls(inner: dict[str, object], index: int, *, whole: bool = False) -> list[ToolCall]:
    """Remove the calls from a choice's message or delta, and return them.

    `whole`: `inner` is a message, in which each call is whole. A `function_call` beside
    `tool_calls` repeats the call for clients from before 2024, and is dropped.
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
    """Return a piece of a call.

    `position` is the entry's position in the frame. It takes the place of an index that the server
    left out. In a whole reply it takes the place of every index, because each entry is another
    call.
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
    # more cached tokens than tokens of the prompt: the server counts the two separately
    apart = cached if cached and cached > counted else 0
    return Usage(
        counted + apart,
        as_count(entry, "completion_tokens") or 0,
        cached=cached,
        created=as_count(prompt, "created_cache_tokens"),  # vLLM 0.32
        thinking=as_count(details, "reasoning_tokens") or as_count(entry, "reasoning_tokens"),
        own=Own(NAME, entry),
    )


def _counts_with_prompt(body: Mapping[str, object]) -> dict[str, object]:
    """Return the `usage` of a body with the prompt's tokens taken from llama.cpp's `timings`; empty
    unless `usage` has 0 prompt tokens and `timings` have some (a report of 2026).
    """
    usage, timings = as_object(body.get("usage")), body.get("timings")
    prompt = (as_count(timings, "prompt_n") or 0) + (as_count(timings, "cache_n") or 0)
    if usage.get("prompt_tokens") != 0 or not prompt:
        return {}
    total = prompt + (as_count(usage, "completion_tokens") or 0)
    return {**usage, "prompt_tokens": prompt, "total_tokens": total}


def choice_index(choice: dict[str, object], position: int) -> int:
    """Return the index of a choice. In a whole reply the index is the choice's position, because
    servers may repeat an index. Raises MisshapenError for an index that no request can have asked
    for.
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
_IN_PARTS = Own(NAME)
"""The `own` of text in a list of parts, if the list itself is kept in an `Opaque`."""


class OpenAIDecoder(DialectDecoder):
    """Takes frames and returns events; a whole body is a frame whose choices have a `message`.

    `mapped`: the user's field map (`think_map`): a server's own field -> the block that it becomes.
    """

    name = NAME

    def __init__(self, mapped: Mapping[str, Mapped] = NO_FIELDS) -> None:
        self._head: Mapping[str, object] | None = None
        self._thinking: Collection[str] = REASONING_FIELDS
        self._blocks: Mapping[str, Mapped] = NO_FIELDS
        if mapped:
            rows = {**REASONING_FIELDS, **mapped}
            self._thinking = [name for name, row in rows.items() if row == THINKING]
            self._blocks = {name: row for name, row in rows.items() if row != THINKING}
        self._mergers: defaultdict[int, ReasoningMerger] = defaultdict(ReasoningMerger)

    def _ended(self, frame: Frame) -> list[Event]:
        return [End(self._own(frame))]

    def repeat(self, event: TextEvent) -> bool:
        """Note that frames like the last one were not parsed, and that `event` has their text.
        Return False if the decoder would have read another event: if a thought came under several
        field names, or if some of its text repeats earlier text.
        """
        if not (isinstance(event, Thinking) and event.own):
            return True
        merger = self._mergers[event.choice]
        names = list(event.own.fields)
        return merger.names == names and merger.feed(names[0], event.text) == event.text

    def _failure(self, error: Failure, inner: object, frame: Frame) -> Failure:
        """Return the event for an error. An error in OpenAI's own format keeps its frame in `own`,
        so that it can be sent as it came.
        """
        inner = as_object(as_object(inner).get("error"))
        as_usual = inner.get("message") == error.message
        own = self._own(frame) if as_usual and not frame.raw.startswith(b"error") else None
        return replace(error, own=own)

    def _read(self, inner: object, frame: Frame) -> list[Event]:
        body = object_of(inner)
        usage = body.get("usage")
        if _counts_with_prompt(body):
            raise MisshapenError
        choices = body.get("choices")
        if choices is None and isinstance(usage, dict):
            choices = []
        if not choices and not isinstance(choices, list):
            return [OpaqueFrame(self._own(frame))]  # JSON that is no chat completion
        if not isinstance(choices, list):
            raise MisshapenError
        whole = any(isinstance(choice, dict) and choice.get("message") for choice in choices)
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
            names = string_of(head.get("id")), string_of(head.get("model"))
            out.append(Start(*names, Own(NAME, head)))
        out += events
        if isinstance(usage, dict):
            out.append(usage_of(usage))
        return [*out, End()] if whole and not any(map(_goes_on, choices)) else out

    def _choice(self, choice: dict[str, object], position: int, beside: bool) -> Iterator[Event]:
        """Yield the events of a choice.

        `beside`: True if the frame has fields beside its choices. Then the choice gets an `Opaque`,
        even an empty one, so that these fields keep their position among the frames while text is
        held.
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
        pieces = tool_calls(inner, index, whole=key == "message")
        answer = [*self._text(inner, index), *pieces]
        blocks = {name: row for name, row in self._blocks.items() if has_value(inner.get(name))}
        if key == "message" and (thoughts or answer) and "content" not in inner:
            inner["content"] = ""
        if inner or outer or beside:
            yield Opaque(NAME, inner, outer, index, tuple(blocks))
        yield from thoughts
        yield from (
            MappedField(row.block, row.key, inner[name], index) for name, row in blocks.items()
        )
        yield from answer
        reason = choice.get("finish_reason")
        word = string_of(reason).strip()
        if word or (reason is not None and not isinstance(reason, str)):
            stops = [outer[name] for name in STOP_STRING_FIELDS if isinstance(outer.get(name), str)]
            meaning = meaning_of(word or "stop")  # some servers send a number, without any word
            yield Finish(meaning, string_of(stops[0]) if stops else None, index, server_word=word)

    def _thoughts(self, inner: dict[str, object], index: int) -> list[Event]:
        """Remove the reasoning fields from a delta or message, and return their thoughts. A field
        that repeats the text of another one makes no second thought.
        """
        thoughts: list[tuple[str, dict[str, object]]] = []
        for name in [name for name in self._thinking if name in inner]:
            if isinstance(inner[name], (bool, int, float)) and name in REASONING_FIELDS:
                raise MisshapenError
            if not (thinking := thinking_in(inner[name])):
                continue
            is_whole = _is_signed(inner[name])
            new = self._mergers[index].feed(name, thinking, is_whole=is_whole)
            sent = {name: inner.pop(name)}
            if thoughts and not (thoughts[-1][0] and new):
                new, sent = thoughts[-1][0] + new, thoughts.pop()[1] | sent
            thoughts.append((new, sent))
        return [Thinking(text, index, Own(NAME, sent)) for text, sent in thoughts]

    def _text(self, inner: dict[str, object], index: int) -> list[Event]:
        content = inner.get("content")
        if isinstance(content, list) and any(
            object_of(part).get("type", "text") != "text" for part in content
        ):
            return self._parts(content, inner, index)
        events: list[Event] = []
        for name, text in (("content", content), ("refusal", inner.get("refusal"))):
            if text is None or text == "":
                continue
            if not isinstance(text, str):
                raise MisshapenError
            del inner[name]
            events.append(Text(text, index, name == "refusal"))
        return events

    def _parts(self, content: list[object], inner: dict[str, object], index: int) -> list[Event]:
        """Return the events of a content that is a list of parts, as Mistral's API sends it. If the
        list has parts of other types than text and thinking, the list stays in `inner`, and its
        texts are events as well.
        """
        events: list[Event] = []
        kinds = {part.get("type") for part in map(object_of, content)}
        own = None if kinds <= {"text", "thinking"} else _IN_PARTS
        if own is None:
            del inner["content"]
        for part in map(object_of, content):
            kind = part.get("type")
            if kind == "text":
                events.append(Text(string_of(part.get("text")), index, own=own))
            elif kind == "thinking" and (
                new := self._mergers[index].feed("content[]", thinking_in([part]))
            ):
                events.append(Thinking(new, index, own))
        return events


def _is_signed(thought: object) -> bool:
    """Return True if a thought comes with its signature. LiteLLM then repeats the whole text of the
    thought.
    """
    blocks = thought if isinstance(thought, list) else []
    return any(isinstance(block, dict) and block.get("signature") for block in blocks)


def _goes_on(choice: object) -> bool:
    """Return True if the `finish_reason` of a whole reply's choice is null: the reply was cut.
    Ollama 0.5.4 sends this in JSON mode if the model repeats itself. A reply without the field has
    ended.
    """
    return isinstance(choice, dict) and choice.get("finish_reason", "") is None


# Small faults of chat completions are mended where their meaning is clear: an index that is a text,
# a content in parts, a choice that is null. So a fault in one field does not cost the whole frame.
# For any other fault the decoder raises MisshapenError.


def mend(value: object) -> object:
    """Return the body of a frame or reply with its choices mended."""
    if not isinstance(value, dict):
        return value
    if counts := _counts_with_prompt(value):
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
        "choices": [_choice(choice, position) for position, choice in enumerate(whole)],
    }


def _choice(choice: object, position: int) -> object:
    if not isinstance(choice, dict):
        return choice
    mended = {**choice, "index": as_index(choice.get("index"), position)}
    key = "message" if choice.get("message") else "delta"
    inner = choice.get(key)
    mended[key] = _message({"content": inner} if isinstance(inner, (str, list)) else inner or {})
    return mended


def _message(message: object) -> object:
    if not isinstance(message, dict):
        return message
    mended = {
        name: value
        for name, value in message.items()
        # a number in a reasoning field is no thought
        if not (name in REASONING_FIELDS and isinstance(value, (bool, int, float)))
    }
    for name in ("content", "refusal"):
        if name in mended:
            mended[name] = _as_strings(mended[name])
    if calls := mended.get("tool_calls"):
        entries = calls if isinstance(calls, list) else [calls]
        mended["tool_calls"] = [
            {**entry, "index": as_index(entry["index"], position)}
            if isinstance(entry, dict) and "index" in entry
            else entry
            for position, entry in enumerate(entries)
        ]
    return mended


def _as_strings(content: object) -> object:
    """Return a content as one string if it is a list of texts only; else return it as it is."""
    parts = content if isinstance(content, list) else [content]
    texts = [text for part in parts if isinstance(text := _text(part), str)]
    return content if len(texts) < len(parts) else "".join(texts)


def _text(part: object) -> object:
    if not isinstance(part, Mapping):
        return part
    return part.get("text") if part.get("type", "text") == "text" else None
