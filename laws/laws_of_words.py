"""The laws 4 to 6: what a client reads is what the server said."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from converter.core.dialects.table import OLLAMA, OPENAI_CHAT, RESPONSES, Form
from converter.core.reading.family_choice import families_of
from converter.core.reading.reading import Reading
from converter.core.wire.json_text import as_object
from converter.extras.recordings.recording import Recording
from laws.call_oracle import Call, same
from laws.client_view import completion_of, message_of
from laws.expected import (
    anthropic_blocks,
    calls_in_text,
    calls_in_thoughts,
    is_whole,
    markup_in_thoughts,
    openai_words,
    parts,
    reading_for,
    repeated,
    stopped_at,
)
from laws.failures import BrokenLawError, compare
from laws.heard import CALLED, Heard, ServerWords
from laws.limits import Case
from laws.marks import Explanation, count, literal_marks, without_blanks
from laws.variants import IN_BLOCKS, IN_FIELDS, Variant, body_of, variants

type Json = dict[str, Any]
_CUT = ("length", "max_tokens")
"""Finishes of a reply that its limit cut off."""
_STOP_STRINGS = ("stop_reason", "matched_stop")
"""Fields of a choice in which servers tell the string of the request's that it stopped at."""


def law_4(recording: Recording, _: int) -> None:
    """Nothing is lost: words but for the marks, calls, ends, counts, and for its own dialect every
    other field.
    """
    case = Case(recording)
    for variant in variants(recording):
        if variant.client in IN_BLOCKS:
            _check_message(case, variant)
        else:
            _check_completion(case, variant)


def _explain(case: Case, variant: Variant, heard: Heard, got: str) -> None:
    settings = case.recording.settings
    reading = reading_for(case.recording, is_whole(case.recording, variant.form))
    calls = [words for words, _ in calls_in_text(heard, reading)]
    calls += filter(None, markup_in_thoughts(heard, reading))
    every = [mark for row in families_of(reading) for mark in row.closes]
    again = [repeated(heard.pieces, families_of(reading), unsaid) for unsaid in ((), every)]
    calls += filter(None, again)
    explanation = Explanation(families_of(reading), settings.attributes, calls)
    sent, told_words = without_blanks(heard.joined("text", "raw", "thinking")), without_blanks(got)
    if place := explanation.missing(sent, told_words):
        compare(f"{variant}, the words", [sent[place[0] :]], [told_words[place[1] :]])


def _check_message(case: Case, variant: Variant) -> None:
    message, heard = message_of(case.recording, variant), case.words.choice()
    if case.recording.awaited().request.shown and "content" in message:
        texts = (block.get("text", "") + block.get("thinking", "") for block in message["content"])
        if variant.client is not OLLAMA:
            _explain(case, variant, heard, "".join(texts))
        elif message["words"]:  # a whole reply does not tell the order
            _explain(case, variant, heard, message["words"])
    if message.get("error") or not case.words.complete:
        return
    called = _check_calls(case, variant, message)
    limit = case.recording.awaited().expected.limit
    in_thought = "thinking" in (message["content"] or [{}])[-1]
    cut = heard.finish in _CUT or (in_thought and case.words.reaches(limit))
    compare(f"{variant}, whether it was cut off", [cut], [message["stop_reason"] == "max_tokens"])
    if case.recording.server_dialect is OPENAI_CHAT and not cut:
        _check_stop(case, variant, message, called)
    output = case.words.output
    if type(output) is int and message["usage"]:
        compare(f"{variant}, the output tokens", [output], [message["usage"]["output_tokens"]])


def _check_calls(case: Case, variant: Variant, message: Json) -> bool:
    """Compare the calls of a message; return whether there are any."""
    heard = case.words.choice()
    blocks = [block for block in message["content"] if block["type"] == "tool_use"]
    got = [(block["name"], block["input"]) for block in blocks]
    told = [{"name": name, "arguments": json.dumps(given)} for name, given in got]
    sent = _in_types(case, [*heard.calls.values()], told)
    calls = [(call["name"], _object(call["arguments"])) for call in sent]
    read = _read_calls(case, variant, heard)
    _check_read(variant, read, got)
    expected = calls + (got if read else [])
    if all(name and isinstance(given, dict) for name, given in expected):
        compare(f"{variant}, the calls", expected, got)
    if case.recording.server_dialect is OPENAI_CHAT and heard.finish not in _CUT:
        wants, ready = message["stop_reason"] == "tool_use", got and not _stops(case, heard)
        compare(f"{variant}, whether the client is to call a tool", [bool(ready)], [wants])
    return bool(expected)


def _stops(case: Case, heard: Heard) -> tuple[str, ...]:
    return stopped_at(heard, reading_for(case.recording, whole=True))


def _check_stop(case: Case, variant: Variant, message: Json, called: bool) -> None:
    """Compare the string of the request's at which the reply stopped."""
    heard = case.words.choice()
    of_call = _stops(case, heard)
    if not of_call and (called or heard.finish in CALLED):
        return
    told_stops = [said for name in _STOP_STRINGS for said in heard.others.get(name, ())]
    stops = [said for said in told_stops if said and isinstance(said, str)]
    stops = stops or (list(of_call) if len(of_call) == 1 else [])
    stops = [] if variant.client in (RESPONSES, OLLAMA) else stops  # it has no place for one
    compare(f"{variant}, the stop string", [*stops, None][:1], [message["stop_sequence"]])


def _in_types(case: Case, sent: Sequence[Json], got: Sequence[Json]) -> list[Json]:
    """Return the server's calls; the values that got the types of the schema as the client `got`
    them, if the words are the same and the schema takes no string there.
    """
    if not case.calls_read.typed or len(sent) != len(got):
        return [*sent]
    schemas = case.recording.awaited().expected.calls.schemas
    pairs = zip(sent, got, strict=True)
    return [_in_type(call, other, schemas.get(call["name"], {})) for call, other in pairs]


def _in_type(call: Json, other: Json, schema: Mapping[str, object]) -> Json:
    said = Call(0, 0, call["name"], as_object(_object(call["arguments"])))
    given = _object(other["arguments"])
    if not (isinstance(given, dict) and same(said, other["name"], given)):
        return call
    members = as_object(schema.get("properties"))
    wrong = [name for name in given if given[name] != said.arguments[name]]
    if any(_takes_strings(members.get(name)) for name in wrong):
        return call
    return {**call, "arguments": other["arguments"]}


def _takes_strings(schema: object) -> bool:
    """Tell whether a string may stand where a schema is; a schema that it only names takes none."""
    if not isinstance(schema, dict):
        return True
    unions = [one for name in ("anyOf", "oneOf") for one in schema.get(name, ())]
    if "$ref" in schema or unions:
        return any(map(_takes_strings, unions))
    return "string" in schema.get("type", "string")  # a name, or a list of them


def _read_calls(case: Case, variant: Variant, heard: Heard) -> list[Call]:
    reading = reading_for(case.recording, is_whole(case.recording, variant.form))
    in_text = [call for _, call in calls_in_text(heard, reading)]
    return in_text or calls_in_thoughts(heard, reading)


def _check_read(variant: Variant, read: list[Call], got: Sequence[tuple[str, object]]) -> None:
    """Calls that were read from text: the oracle's, in order."""
    matching = [same(call, *told_call) for call, told_call in zip(read, got, strict=False)]
    if read and not (all(matching) and len(read) == len(got)):
        compare(
            f"{variant}, the calls in the text", [(c.name, c.arguments) for c in read], list(got)
        )


def _object(written: str) -> object:
    try:
        return json.loads(written or "{}")
    except (ValueError, RecursionError):
        return None


def _check_completion(case: Case, variant: Variant) -> None:
    sent, got = case.words, completion_of(case.recording, variant)
    if sent.choices or variant.form is Form.STREAM:  # a body without a choice: an error answers it
        heads = (list(words.heads.items()) for words in (sent, got))
        compare(f"{variant}, the fields of frames", *heads)
    told = got if sent.usage else replace(got, usage={})  # the addon's estimate
    compare(f"{variant}, counts and marks of the stream", _marks_of(sent), _marks_of(told))
    for index, heard in sent.choices.items():
        told_choice = got.choice(index)
        read = _read_calls(case, variant, heard)
        told_calls = list(told_choice.calls.values())
        got_calls = [(call["name"], _object(call["arguments"])) for call in told_calls]
        _check_read(variant, read, got_calls if read else [])
        sent_calls = _in_types(case, [*heard.calls.values()], told_calls)
        compare(f"{variant}, the calls", sent_calls, [] if read else told_calls)
        called = (read or heard.calls) and heard.finish == "stop"
        finish = "tool_calls" if called else heard.finish
        finish = "stop" if _stops(case, heard) else finish
        compare(f"{variant}, the finish", [finish], [told_choice.finish])
        compare(
            f"{variant}, fields beside the words",
            list(heard.others.items()),
            list(told_choice.others.items()),
        )
        reading = reading_for(case.recording, is_whole(case.recording, variant.form))
        lost = heard.thoughts_lost_in(told_choice, markup_in_thoughts(heard, reading)[-1:])
        compare(f"{variant}, the server's own names of thinking", [], lost)
        if variant.form is Form.STREAM:
            _explain(case, variant, heard, told_choice.joined("text", "raw", "thinking"))
    if untouched(case) and (out := body_of(case.recording, variant)) != case.recording.body:
        raise BrokenLawError(
            str(variant),
            f"nothing is to be changed, and yet the bytes differ\n  got: {out[:300]!r}",
        )


def _marks_of(words: ServerWords) -> list[tuple[object, ...]]:
    marks = ("usage", "comments", "done", "complete")
    return [(name, getattr(words, name)) for name in marks]


def untouched(case: Case) -> bool:
    """Tell whether its own client gets the very bytes: nothing may begin a mark, and thinking has
    the names wanted.
    """
    settings, awaited = case.recording.settings, case.recording.awaited()
    expected = awaited.expected
    if awaited.as_text or not case.words.complete or expected.calls.read or expected.no_thought_due:
        return False  # an error follows, or blanks wait for what follows them, as behind a thought
    if any(_stops(case, heard) for heard in case.words.choices.values()):
        return False
    if settings.markers or reading_for(case.recording, whole=False).inside:
        return False
    begins = {
        mark[0] for mark in literal_marks(families_of(reading_for(case.recording, whole=True)))
    }
    heard = list(case.words.choices.values())
    named = all(not each.thoughts or set(settings.fields) <= set(each.thoughts) for each in heard)
    waits = any(each.thoughts and each.joined("text")[:1].isspace() for each in heard)
    waits = waits or any(each.first("thinking").isspace() for each in heard)
    return named and not waits and not any(begins & set(each.joined("text")) for each in heard)


def law_5(recording: Recording, _: int) -> None:
    """The oracle, which reads the server's whole text at once, finds the same thinking and the same
    text.
    """
    case = Case(recording)
    for variant in variants(recording):
        reading = reading_for(recording, is_whole(recording, variant.form))
        if variant.client in IN_BLOCKS:
            _check_blocks(case, variant, reading)
            continue
        said, name = completion_of(recording, variant), recording.settings.fields[0]
        for index, heard in case.words.choices.items():
            thinking, content = openai_words(parts(heard, reading))
            choice = said.choice(index)
            got = (choice.thoughts.get(name, "").strip("\r\n"), choice.joined("text", "raw"))
            names = ("thinking", "text")
            where = f"{variant}, choice {index}, against the oracle"
            expected = list(zip(names, (thinking, content), strict=True))
            compare(where, expected, list(zip(names, got, strict=True)))


def _check_blocks(case: Case, variant: Variant, reading: Reading) -> None:
    message = message_of(case.recording, variant)
    if "content" not in message:
        return
    shown = case.recording.awaited().request.shown
    told_blocks = [each for each in message["content"] if each["type"] in ("text", "thinking")]
    got = [(block["type"], block[block["type"]]) for block in told_blocks]
    if not shown:  # an omitted thought is a block without words
        got = [(kind, words) for kind, words in got if (kind, words) != ("thinking", "")]
    found = parts(case.words.choice(), reading)
    expected = anthropic_blocks(found, shown)
    if variant.client in IN_FIELDS:  # blanks around a thought are nobody's words there
        both = zip(("thinking", "text"), openai_words(found), strict=True)
        expected = [block for block in both if block[1].strip() and (shown or block[0] == "text")]
        expected, got = ([(kind, text.strip()) for kind, text in each] for each in (expected, got))
    compare(f"{variant}, against the oracle", expected, got)


def law_6(recording: Recording, _: int) -> None:
    """No mark is told that the oracle reads as one; what stands in code or behind the server's own
    thinking is text.
    """
    case = Case(recording)
    for variant in variants(recording):
        reading = reading_for(recording, is_whole(recording, variant.form))
        for choice, texts in _told_texts(recording, variant):
            found = parts(case.words.choice(choice), reading)
            blocks: Sequence[str] = [said for _, said in anthropic_blocks(found)]
            blocks = openai_words(found) if variant.client in IN_FIELDS else blocks
            for mark in literal_marks(families_of(reading)):
                _check_mark(f"{variant}, choice {choice}", mark, texts, blocks)


def _check_mark(where: str, mark: str, texts: Sequence[str], allowed: Sequence[str]) -> None:
    left, right = count(mark, texts), count(mark, allowed)
    if left > right:
        event = next(event for event, text in enumerate(texts) if count(mark, [text]))
        words = f"event {event}: {mark!r} is told {left} times where {right} are text"
        raise BrokenLawError(where, f"{words}\n  got: {texts[event][:200]!r}")


def _told_texts(recording: Recording, variant: Variant) -> Iterator[tuple[int, list[str]]]:
    if variant.client in IN_BLOCKS:
        blocks = message_of(recording, variant).get("content", ())
        yield 0, [str(block.get(block["type"], "")) for block in blocks]
        return
    for index, heard in completion_of(recording, variant).choices.items():
        name = recording.settings.fields[0]
        yield index, [heard.thoughts.get(name, ""), heard.joined("text", "raw")]
