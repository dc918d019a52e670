"""The laws 2 to 6: what a client reads is what the server said, however it was cut and whether it
was streamed.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from converter.dialects.table import OPENAI_CHAT, RESPONSES, Form
from converter.initial_state import InitialState
from converter.laws.call_oracle import Call, same
from converter.laws.client_view import completion_of, message_of, told, told_completion
from converter.laws.expected import (
    anthropic_blocks,
    calls_in_text,
    is_whole,
    openai_words,
    parts,
    reading_for,
)
from converter.laws.failures import BrokenLawError, compare
from converter.laws.limits import Case
from converter.laws.marks import Explanation, count, literal_marks, without_blanks
from converter.laws.recut import fold, recut_words, unfold
from converter.laws.server_words import Heard, ServerWords
from converter.laws.variants import IN_BLOCKS, Way, body_of, cut_anywhere, luck, ways, with_body
from converter.recordings.recording import Recording

_PIECES = 6
_CUT = ("length", "max_tokens")
"""Finishes of a reply that its limit cut off."""
_CALLED = ("tool_calls", "function_call")
_STOP_STRINGS = ("stop_reason", "matched_stop")
"""Fields of a choice in which servers tell the string of the request's that it stopped at."""


def law_2(recording: Recording, drawn: int) -> None:
    """The words cut into characters, joined, and in drawn cuts: the same message."""
    streamed = as_stream(recording)
    drawing = luck(recording, 2)
    cuts: dict[str, Callable[[str], list[str]]] = {
        "in characters": list,
        "joined": lambda words: [words],
    }
    cuts |= {
        f"drawn cut {number}": partial(cut_anywhere, most=_PIECES, drawing=drawing)
        for number in range(drawn)
    }
    before = {way: told(streamed, way) for way in ways(streamed)}
    for name, cut in cuts.items():
        recut = with_body(streamed, recut_words(streamed.body, cut))
        for way, expected in before.items():
            compare(f"{way}, the words {name}", expected, told(recut, way))


def as_stream(recording: Recording) -> Recording:
    """Return the recording as a stream; a whole reply is taken apart."""
    if recording.server_form is Form.STREAM:
        return recording
    body = unfold(recording.body, recording.server_dialect, lambda words: [words] if words else [])
    return with_body(recording, body, Form.STREAM)


def law_3(recording: Recording, _: int) -> None:
    """Streamed equals whole: the stream folded into a body, the body taken apart into a stream.

    Only a whole reply can tell by itself where it began, so that is settled first for the streams.
    """
    streamed = as_stream(recording)
    whole = (
        with_body(recording, fold(recording.body, recording.server_dialect), Form.WHOLE)
        if streamed is recording
        else recording
    )
    clients = [client for client in IN_BLOCKS if next(ways(recording, client), None)]
    for client in clients:
        to = [Way(client, form) for form in Form]
        _check_same(to, [whole, streamed], skip=(streamed, Form.STREAM))
    starts = {"start": _start(recording)}
    settled = [with_body(each, each.body, each.server_form, **starts) for each in (whole, streamed)]
    for client in clients:
        _check_same([Way(client, form) for form in Form], settled)
    if recording.server_dialect is OPENAI_CHAT:
        _check_completions(*settled)


def _start(recording: Recording) -> str:
    inside = reading_for(recording, whole=False).inside
    return str((InitialState.THINKING if inside else InitialState.TEXT).value)


def _check_same(
    to: list[Way], recordings: list[Recording], skip: tuple[Recording, Form] | None = None
) -> None:
    pairs = [
        (each, way)
        for each in recordings
        for way in to
        if skip is None or (each is not skip[0] or way.form is not skip[1])
    ]
    expected = told(*pairs[0])
    for each, way in pairs[1:]:
        sent = "streamed" if each.server_form is Form.STREAM else "whole"
        compare(f"{way}, the server's reply {sent}, against both whole", expected, told(each, way))


def _check_completions(whole: Recording, streamed: Recording) -> None:
    said = [completion_of(each, Way(OPENAI_CHAT, each.server_form)) for each in (whole, streamed)]
    expected, got = (list(told_completion(each, ordered=False)) for each in said)
    compare("chat completions client, streamed, against whole", expected, got)


def law_4(recording: Recording, _: int) -> None:
    """Nothing is lost: words but for the marks, calls, ends, counts, and for its own dialect every
    other field.
    """
    case = Case(recording)
    for way in ways(recording):
        if way.client in IN_BLOCKS:
            _check_message(case, way)
        else:
            _check_completion(case, way)


def _explain(case: Case, way: Way, heard: Heard, got: str) -> None:
    settings = case.recording.settings
    reading = reading_for(case.recording, is_whole(case.recording, way.form))
    calls = [words for words, _ in calls_in_text(heard, reading)]
    explanation = Explanation(reading.families, settings.attributes, calls)
    sent, told_words = without_blanks(heard.joined("text", "raw", "thinking")), without_blanks(got)
    if place := explanation.missing(sent, told_words):
        compare(f"{way}, the words", [sent[place[0] :]], [told_words[place[1] :]])


def _check_message(case: Case, way: Way) -> None:
    message, heard = message_of(case.recording, way), case.words.choice()
    if case.recording.awaited().request.shown and "content" in message:
        _explain(
            case,
            way,
            heard,
            "".join(
                block.get("text", "") + block.get("thinking", "") for block in message["content"]
            ),
        )
    if message.get("error") or not case.words.complete:
        return
    calls = [(call["name"], _object(call["arguments"])) for call in heard.calls.values()]
    blocks = [block for block in message["content"] if block["type"] == "tool_use"]
    got = [(block["name"], block["input"]) for block in blocks]
    read = _read_calls(case, way, heard)
    _check_read(way, read, got)
    calls += got if read else []
    if all(name and isinstance(given, dict) for name, given in calls):
        compare(f"{way}, the calls", calls, got)
    cut = heard.finish in _CUT
    compare(f"{way}, whether it was cut off", [cut], [message["stop_reason"] == "max_tokens"])
    if case.recording.server_dialect is OPENAI_CHAT and not cut:
        compare(
            f"{way}, whether the client is to call a tool",
            [bool(got)],
            [message["stop_reason"] == "tool_use"],
        )
    if case.recording.server_dialect is OPENAI_CHAT and not (
        cut or calls or heard.finish in _CALLED
    ):
        stops = [
            said
            for name in _STOP_STRINGS
            for said in heard.others.get(name, ())
            if isinstance(said, str)
        ]
        stops = [] if way.client is RESPONSES else stops  # it has no place for one
        compare(f"{way}, the stop string", [*stops, None][:1], [message["stop_sequence"]])
    output = case.words.usage.get("completion_tokens", case.words.usage.get("output_tokens"))
    if type(output) is int and message["usage"]:
        compare(f"{way}, the output tokens", [output], [message["usage"]["output_tokens"]])


def _read_calls(case: Case, way: Way, heard: Heard) -> list[Call]:
    reading = reading_for(case.recording, is_whole(case.recording, way.form))
    return [call for _, call in calls_in_text(heard, reading)]


def _check_read(way: Way, read: list[Call], got: Sequence[tuple[str, object]]) -> None:
    """Calls that were read from text: the oracle's, in order."""
    matching = [same(call, *told_call) for call, told_call in zip(read, got, strict=False)]
    if read and not (all(matching) and len(read) == len(got)):
        compare(f"{way}, the calls in the text", [(c.name, c.arguments) for c in read], list(got))


def _object(written: str) -> object:
    try:
        return json.loads(written or "{}")
    except (ValueError, RecursionError):
        return None


def _check_completion(case: Case, way: Way) -> None:
    sent, got = case.words, completion_of(case.recording, way)
    compare(f"{way}, the fields of frames", list(sent.heads.items()), list(got.heads.items()))
    compare(f"{way}, counts and marks of the stream", _marks_of(sent), _marks_of(got))
    for index, heard in sent.choices.items():
        told_choice = got.choice(index)
        read = _read_calls(case, way, heard)
        told_calls = list(told_choice.calls.values())
        got_calls = [(call["name"], _object(call["arguments"])) for call in told_calls]
        _check_read(way, read, got_calls if read else [])
        compare(f"{way}, the calls", list(heard.calls.values()), [] if read else told_calls)
        finish = "tool_calls" if read and heard.finish == "stop" else heard.finish
        compare(f"{way}, the finish", [finish], [told_choice.finish])
        compare(
            f"{way}, fields beside the words",
            list(heard.others.items()),
            list(told_choice.others.items()),
        )
        lost = [
            name
            for name, words in heard.thoughts.items()
            if words not in told_choice.thoughts.get(name, "")
        ]
        compare(f"{way}, the server's own names of thinking", [], lost)
        if way.form is Form.STREAM:
            _explain(case, way, heard, told_choice.joined("text", "raw", "thinking"))
    if untouched(case) and (out := body_of(case.recording, way)) != case.recording.body:
        raise BrokenLawError(
            str(way), f"nothing is to be changed, and yet the bytes differ\n  got: {out[:300]!r}"
        )


def _marks_of(words: ServerWords) -> list[tuple[object, ...]]:
    return [
        ("usage", words.usage),
        ("comments", words.comments),
        ("done", words.done),
        ("error", words.error),
    ]


def untouched(case: Case) -> bool:
    """Tell whether its own client gets the very bytes: nothing may begin a mark, and thinking has
    the names wanted.
    """
    settings = case.recording.settings
    if case.recording.awaited().expected.tools:
        return False  # blanks wait for what follows them
    if settings.markers or reading_for(case.recording, whole=False).inside:
        return False
    begins = {mark[0] for mark in literal_marks(reading_for(case.recording, whole=True).families)}
    heard = list(case.words.choices.values())
    named = all(not each.thoughts or set(settings.fields) <= set(each.thoughts) for each in heard)
    return named and not any(begins & set(each.joined("text")) for each in heard)


def law_5(recording: Recording, _: int) -> None:
    """The oracle, which reads the server's whole text at once, finds the same thinking and the same
    text.
    """
    case = Case(recording)
    shown = recording.awaited().request.shown
    for way in ways(recording):
        reading = reading_for(recording, is_whole(recording, way.form))
        if way.client in IN_BLOCKS:
            message = message_of(recording, way)
            blocks = [
                block
                for block in message.get("content", ())
                if block["type"] in ("text", "thinking")
            ]
            got = [(block["type"], block[block["type"]]) for block in blocks]
            if "content" in message:
                compare(
                    f"{way}, against the oracle",
                    anthropic_blocks(parts(case.words.choice(), reading), shown),
                    got,
                )
            continue
        said = completion_of(recording, way)
        for index, heard in case.words.choices.items():
            thinking, content = openai_words(parts(heard, reading))
            told_choice = said.choice(index)
            name = recording.settings.fields[0]
            compare(
                f"{way}, choice {index}, against the oracle",
                [("thinking", thinking), ("text", content)],
                [
                    ("thinking", told_choice.thoughts.get(name, "").strip("\r\n")),
                    ("text", told_choice.joined("text", "raw")),
                ],
            )


def law_6(recording: Recording, _: int) -> None:
    """No mark is told that the oracle reads as one; what stands in code or behind the server's own
    thinking is text.
    """
    case = Case(recording)
    for way in ways(recording):
        reading = reading_for(recording, is_whole(recording, way.form))
        for choice, texts in _told_texts(recording, way):
            found = parts(case.words.choice(choice), reading)
            openai = way.client is OPENAI_CHAT
            allowed = (
                [*openai_words(found)] if openai else [text for _, text in anthropic_blocks(found)]
            )
            for mark in literal_marks(reading.families):
                left, right = count(mark, texts), count(mark, allowed)
                if left > right:
                    event, told_text = next(
                        (event, text) for event, text in enumerate(texts) if count(mark, [text])
                    )
                    words = (
                        f"event {event}: {mark!r} is told {left} times where {right} are text\n"
                        f"  got: {told_text[:200]!r}"
                    )
                    raise BrokenLawError(f"{way}, choice {choice}", words)


def _told_texts(recording: Recording, way: Way) -> Iterator[tuple[int, list[str]]]:
    if way.client in IN_BLOCKS:
        yield (
            0,
            [
                str(block.get(block["type"], ""))
                for block in message_of(recording, way).get("content", ())
            ],
        )
        return
    for index, heard in completion_of(recording, way).choices.items():
        name = recording.settings.fields[0]
        yield index, [heard.thoughts.get(name, ""), heard.joined("text", "raw")]
